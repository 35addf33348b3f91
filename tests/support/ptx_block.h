// tests/support/ptx_block.h: the inside of the PTX machine: decoded instructions, threads, and the block that they belong to.
// ptx_decode.cpp makes instructions; ptx_scalar.cpp, ptx_memory.cpp, ptx_warp.cpp and ptx_async.cpp execute them; ptx_machine.cpp runs blocks.
#pragma once

#include "device/denormals.h"
#include "support/ptx_async.h"
#include "support/ptx_machine.h"
#include "support/ptx_parse.h"
#include "support/ptx_shadow.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing::ptx {

struct Thread;
struct Instruction;
class Block;

// Returns the next instruction; null: the thread does not go on, and has set its pc and its state.
using Handler = const Instruction* (*)(Thread&, const Instruction&);

// What the lanes of a warp do together.
using Collective = void (*)(Block& block, const Instruction& at, int warp, std::uint32_t lanes);

// How the host must treat subnormal numbers while it executes an instruction.
enum class Mode : std::uint8_t { Any, Flush, Keep };

struct Instruction {
    Handler run = nullptr;
    std::uint32_t d = 0, a = 0, b = 0, c = 0, e = 0;  // slots of registers; 0: none
    std::uint32_t guard = 0;
    bool guard_negated = false;
    Mode mode = Mode::Any;
    Space space = Space::Generic;
    std::uint8_t how = 0;        // which variant, where it is no template of its own
    std::uint8_t flags = 0;      // negated operands, bit by bit
    std::uint32_t list = 0;      // where its vector's slots begin in Code::lists
    std::int64_t offset = 0;     // of an address; a number in the text
    std::uint64_t mask = ~0ull;  // bits of the register that is written
    const Instruction* target = nullptr;
    Collective collective = nullptr;
};

// An entry, decoded. Registers, constants and special registers are slots of one array; slot 0 takes what nobody wants.
struct Code {
    enum class Special : std::uint8_t { Tid, Ntid, Ctaid, Nctaid, Lane, Warp };
    struct SpecialSlot {
        std::uint32_t slot;
        Special what;
        int axis;
    };
    std::string name;
    std::vector<Instruction> instructions;  // an exit comes last
    std::vector<std::string_view> texts;    // of each
    std::vector<std::uint32_t> lists;
    std::vector<std::uint64_t> slots;  // as a thread begins
    std::vector<Poison> poison;
    std::vector<SpecialSlot> specials;
    std::vector<Parameter> parameters;
    std::size_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
    std::int64_t most_threads = 1024;
};

class Program {
public:
    explicit Program(std::string text);
    const Code& entry(std::string_view name) const;
    const std::vector<Range>& variables() const { return ranges_; }

private:
    const std::string text_;
    std::vector<std::unique_ptr<std::byte[]>> memory_;
    std::vector<Range> ranges_;
    std::vector<Code> entries_;
};

// Where shared memory, local memory and parameters are, for a pointer that may point anywhere. No address of the host is so high.
inline constexpr std::uint64_t kSharedWindow = 1ull << 56, kLocalWindow = 2ull << 56, kParamWindow = 3ull << 56;
// Shared memory begins here in its own space, as on Hopper: 0 is no address of it.
inline constexpr std::uint64_t kSharedBase = 1024;
inline constexpr std::int64_t kMostShared = 232448;

struct Thread {
    enum class State : std::uint8_t { Ready, AtBarrier, InWarp, Waiting, Exited };
    Block* block = nullptr;
    std::uint64_t* r = nullptr;  // slots
    Poison* p = nullptr;
    const Instruction* pc = nullptr;
    State state = State::Ready;
    std::uint16_t number = 0;
    std::uint32_t lanes = 0;  // InWarp: that it waits for
    std::int64_t branches = 0;
    std::byte* local = nullptr;
    Poison* local_poison = nullptr;

    int lane() const { return number % 32; }
    int warp() const { return number / 32; }
};

class Block {
public:
    Block(const Program& program, const Launch& launch);
    std::int64_t run();  // all blocks of the launch, one after the other

    [[noreturn]] void fault(const Thread& thread, const Instruction& at, const std::string& what) const;
    // Complains about a value that matters.
    void need(const Thread& thread, const Instruction& at, Poison poison, const char* what) const {
        if (poison) [[unlikely]]
            fault_of(thread, at, poison, what);
    }

    // Where an access of so many bytes goes.
    struct Place {
        std::byte* data;
        Poison* poison;          // null: there is a value
        Shadow* shadow;          // of what a block shares; null: of nothing
        std::size_t offset = 0;  // in the shadow
        bool watched = false;    // memory of the device that is written
    };
    Place place(const Thread& thread, const Instruction& at, Space space, std::uint64_t address, std::size_t bytes,
                bool write);
    Place place_bytes(const Thread& thread, const Instruction& at, Space space, std::uint64_t address,
                      std::size_t bytes,
                      bool write);  // at any address
    // Says which bytes are touched, and how, so that races are found.
    void touch(const Thread& thread, const Instruction& at, const Place& place, std::size_t bytes, Touch how);
    void touch_as(const Toucher& who, const Instruction& at, const Place& place, std::size_t bytes, Touch how);

    // Threads that wait.
    const Instruction* arrive(Thread& thread, const Instruction& at, std::uint64_t barrier, std::uint64_t count,
                              bool wait);
    // The instruction's Collective runs when all lanes that have not exited are there.
    const Instruction* meet(Thread& thread, const Instruction& at, std::uint64_t lanes);
    // … of a warpgroup: 128 threads, all of them.
    const Instruction* meet_group(Thread& thread, const Instruction& at);
    void wait(Thread& thread, const Instruction& at);  // until wake(), which goes on after the instruction
    void wake(Thread& thread);
    std::uint32_t lanes_there(int warp) const { return warps_[static_cast<std::size_t>(warp)].there; }  // not exited
    Thread& thread(int warp, int lane) { return threads_[static_cast<std::size_t>(warp * 32 + lane)]; }

    Thread& thread(std::size_t number) { return threads_[number]; }

    const Code& code() const { return code_; }
    Async& async() { return async_; }
    std::size_t agent(std::size_t which) const { return threads_.size() + which; }
    std::size_t choose(std::size_t count);  // the next of so many, in the order of the launch
    Clocks& clocks() { return clocks_; }
    std::int64_t most_branches() const { return launch_.most_branches; }

private:
    struct Barrier {
        std::int64_t arrived = 0, expected = 0;  // 0: all
        std::vector<std::uint16_t> waiting;
        Clocks::Known released;  // by those that do not wait
    };
    struct Warp {
        std::uint32_t there = 0, waiting = 0;  // lanes
    };
    void begin(std::int64_t number);
    void run_thread(Thread& thread);
    void resume(std::span<std::uint16_t> threads);  // … after the instructions at which they wait
    void open(Barrier& barrier);
    void check_aligned(const Barrier& barrier) const;
    bool together(const Thread& thread) const;  // all that its instruction needs are there
    void exited(Thread& thread);
    [[noreturn]] void stuck() const;
    [[noreturn]] void fault_of(const Thread& thread, const Instruction& at, Poison poison, const char* what) const;
    void set_mode(Mode mode);
    void sort(std::span<std::uint16_t> threads);  // as they shall run

    const Program& program_;
    const Launch& launch_;
    const Code& code_;
    std::vector<Range> memory_;
    std::vector<bool> watched_;        // those that are written, or reach into one that is
    std::vector<std::uint8_t> hints_;  // by instruction: in which range its last address was
    std::vector<std::byte> parameters_;
    std::vector<std::uint64_t> slots_;
    std::vector<Poison> poison_;
    std::vector<std::byte> local_;
    std::vector<Poison> local_poison_;
    std::vector<Thread> threads_;
    std::deque<std::uint16_t> ready_;
    std::array<Barrier, 16> barriers_;
    std::vector<Warp> warps_;
    std::array<std::vector<std::uint16_t>, 8> groups_;  // threads of a warpgroup that wait for the others
    Async async_{*this};
    std::size_t there_ = 0;  // threads that have not exited
    Clocks clocks_;
    Shadow shared_, scratch_;
    DeviceShadow device_;
    std::array<std::int64_t, 3> at_{};  // of this block in the grid
    std::int64_t number_ = 0, steps_ = 0;
    Mode mode_ = Mode::Any;
    std::optional<device::DenormalScope> host_mode_;
    std::minstd_rand random_;
};

}  // namespace weft::testing::ptx
