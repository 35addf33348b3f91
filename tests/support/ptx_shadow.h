// tests/support/ptx_shadow.h: what the PTX machine knows about memory that threads share: which bytes hold no value, who touched them
// last, and whether that was before, in the order that barriers make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::testing::ptx {

// Why there is no value; 0: there is one. What is computed from several has all their reasons.
using Poison = std::uint8_t;
inline constexpr Poison kNoRegister = 1, kNoShared = 2, kNoLocal = 4, kPendingCopy = 8, kNoLane = 16, kUndefined = 32,
                        kPendingProduct = 64, kBarrierObject = 128;

// Which thread has seen what of the others. A thread's time goes on whenever it lets others know; what a thread has learnt is shared by all
// that have learnt it together. What works beside the threads, such as the unit that copies, has a time, too: an agent.
class Clocks {
public:
    using Known =
        std::shared_ptr<const std::vector<std::uint32_t>>;  // by thread and agent: the time up to which it is known

    void begin(std::size_t threads, std::size_t agents);  // a new block: what was before is known to all
    std::uint32_t time(std::size_t thread) const { return times_[thread]; }
    std::uint32_t start() const { return start_; }  // of the block: accesses up to then are of others
    bool knows(std::size_t me, std::size_t other, std::uint32_t time) const {
        return me == other || time <= base_ || (known_[me] && (*known_[me])[other] >= time);
    }
    void meet(std::span<const std::uint16_t> group);  // they wait for each other
    void meet_all();
    Known release(std::size_t thread, const Known& with);  // what it knows, and what `with` has
    void acquire(std::size_t thread, const Known& known);
    Known joined(const Known& known, std::size_t agent, std::uint32_t time) const;  // … and the agent's work
    std::uint32_t tick(std::size_t agent) { return times_[agent]++; }               // the time of its next work

    // Fences between what threads write and what agents read: how many each thread has executed, and when it did last.
    void fence(std::size_t thread) { ++fences_[thread], fence_times_[thread] = times_[thread]; }
    std::uint16_t fences(std::size_t thread) const { return fences_[thread]; }
    bool has_fenced_now(std::size_t thread) const { return fence_times_[thread] == times_[thread]; }

private:
    std::vector<std::uint32_t> joined(const Known& a, const Known& b) const;
    std::uint32_t base_ = 0, start_ = 0;  // known to all
    std::vector<std::uint32_t> times_, fence_times_;
    std::vector<std::uint16_t> fences_;
    std::vector<Known> known_;
};

enum class Touch : std::uint8_t { Read, Write, Atomic };

// The last thread that wrote a word of memory, and the last two that read it. That finds most races, and nothing that is none.
class Word {
public:
    struct Access {
        std::uint32_t time = 0;    // 0: there was none
        std::uint16_t thread = 0;  // or agent
        std::uint16_t fences = 0;  // that it had executed
        std::uint8_t bytes = 0;    // bit by bit
        Touch how = Touch::Read;
    };
    // The access that nothing orders with this one; null: there is none. Those up to the time `apart` are of other blocks, which nothing orders.
    const Access* touch(const Clocks& clocks, std::size_t me, const Access& access, std::uint32_t apart);
    const Access& last_write() const { return write_; }

private:
    Access write_, read_, read_before_;
};

// A thread, or what it has an agent do at a time.
struct Toucher {
    std::size_t me = 0;  // whose knowledge counts
    std::size_t as = 0;  // who will be known for it
    std::uint32_t time = 0;
};

// The bytes of a block's shared memory.
class Shadow {
public:
    void begin(std::size_t bytes, Poison poison);                 // none of them has a value
    void use(std::byte* data, std::size_t bytes, Poison poison);  // … of memory that others own
    std::size_t size() const { return size_; }
    std::byte* data() { return data_; }
    Poison* poison() { return poison_.data(); }

    const Word::Access* touch(const Clocks& clocks, const Toucher& who, std::size_t offset, std::size_t bytes,
                              Touch how);
    const Word::Access& last_write(std::size_t offset) const { return words_[offset / 4].last_write(); }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::vector<std::byte> own_;
    std::vector<Poison> poison_;
    std::vector<Word> words_;
};

// Memory of the device that a launch writes: all its blocks share it.
class DeviceShadow {
public:
    const Word::Access* touch(const Clocks& clocks, const Toucher& who, std::uint64_t address, std::size_t bytes,
                              Touch how);

private:
    static constexpr std::size_t kPage = 256;  // words
    Word* page_of(std::uint64_t number);
    std::unordered_map<std::uint64_t, std::unique_ptr<Word[]>> pages_;
    std::uint64_t last_ = ~0ull;
    Word* last_page_ = nullptr;
};

}  // namespace weft::testing::ptx
