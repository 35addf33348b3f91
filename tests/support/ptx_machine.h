// tests/support/ptx_machine.h: runs PTX on the host, as a GPU would and more strictly: what is undefined on a GPU, or depends on which thread is faster,
// throws a Fault. Threads run one after the other from one synchronisation to the next, in an order that the caller chooses.
//
// A Fault is thrown for
// - an access outside of the memory that the launch lists, or not aligned to its size;
// - a value that was never written (a register, shared or local memory), or may not be there yet (a copy that nobody has waited for, a lane that
//   is not there), where it matters: in an address, a predicate of a branch, or memory of the device. Computing with it is fine;
// - two threads that touch a byte of shared memory, one of them to write, with nothing between them that orders the two;
// - a barrier, or an instruction of a warp, where not all threads arrive; a loop without an end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing::ptx {

class Fault : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Memory of the device.
struct Range {
    std::uint64_t address = 0, bytes = 0;
    bool writable = true;
    std::byte* data = nullptr;  // where its bytes are; null: at the address
    std::byte* host(std::uint64_t at) const { return data ? data + (at - address) : reinterpret_cast<std::byte*>(at); }
};
template <class T>
Range range_of(std::vector<T>& data, bool writable = true) {
    return {reinterpret_cast<std::uint64_t>(data.data()), data.size() * sizeof(T), writable};
}

enum class Order : std::uint8_t { Forward, Backward, Shuffled };

struct Launch {
    std::string_view entry;
    std::array<std::int64_t, 3> blocks{1, 1, 1};
    std::int64_t threads = 1;
    std::vector<const void*> parameters;  // where each one is, as cuLaunchKernel() takes them
    std::vector<Range> memory;            // that the kernel may touch; variables of the module are added
    Range scratch;                  // a part for each block, in the order of their numbers: watched as shared memory is
    std::int64_t shared_bytes = 0;  // of a block, besides what the module declares
    Order order = Order::Forward;
    std::int64_t most_branches = 1 << 26;  // of one thread
    bool (*stop)() = nullptr;              // asked before each block; may be null
};

class Program;
std::shared_ptr<const Program> load(
    std::string text);  // throws std::runtime_error where the text is not known to be right

// Returns how many instructions were executed, by all threads together.
std::int64_t run(const Program& program, const Launch& launch);

}  // namespace weft::testing::ptx
