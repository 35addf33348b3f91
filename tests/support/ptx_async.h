// tests/support/ptx_async.h: what is under way beside the threads of a block: copies into and out of shared memory, products of tensor cores, and
// the barriers in shared memory that count them. All of it is done as late as possible, so that who does not wait finds nothing.
#pragma once

#include "support/ptx_shadow.h"
#include "support/ptx_tensor_map.h"

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace weft::testing::ptx {

struct Thread;
struct Instruction;
class Block;

// Who works beside the threads: the unit that copies into shared memory, the one that copies out of it, and the tensor cores of each warpgroup.
inline constexpr std::size_t kLoads = 0, kStores = 1, kProducts = 2, kAgents = 10;

// Of cp.async: of one thread, which waits for it.
struct ThreadCopy {
    std::uint64_t to = 0, from = 0;
    std::uint32_t bytes = 0, valid = 0;  // the others are zeros
    const Instruction* at = nullptr;
};

// Of cp.async.bulk: bytes one after the other, or a box of a tensor.
struct BulkCopy {
    std::uint16_t thread = 0;
    const Instruction* at = nullptr;
    std::uint64_t shared = 0, device = 0, barrier = 0;
    std::uint32_t bytes = 0, time = 0;  // when its agent does it
    bool is_tensor = false;
    TensorMap map;
    std::array<std::int32_t, 5> corner{};
};

// A product of tensor cores, of 128 threads.
struct Product {
    const Instruction* at = nullptr;
    std::uint64_t a = 0, b = 0;  // descriptors
    bool adds = false;           // to what is there
};

class Async {
public:
    explicit Async(Block& block) : block_(block) {}
    void begin(std::size_t threads);  // a new block
    bool progress();                  // one of the copies arrives; false: none is under way
    void exited(const Thread& thread) const;
    void end() const;  // complains about what nobody has waited for

    // cp.async
    void copy(Thread& thread, const ThreadCopy& copy);
    void commit_copies(Thread& thread);
    void wait_copies(Thread& thread, std::size_t keep,
                     bool all);  // but for the last groups; all: also those of no group

    // Barriers in shared memory
    void init_barrier(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t count);
    void fence_barriers(const Thread& thread);  // that it has made
    void drop_barrier(Thread& thread, const Instruction& at, std::uint64_t address);
    std::uint64_t arrive(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t count,
                         std::uint64_t expected_bytes);  // the phase before
    void expect(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t bytes);
    // Whether the phase has ended; else the thread waits, and goes on after the instruction when it has.
    bool wait_phase(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t phase, bool parity);

    // cp.async.bulk
    void load(Thread& thread, BulkCopy copy);
    void store(Thread& thread, BulkCopy copy);
    void commit_stores(Thread& thread);
    void wait_stores(Thread& thread, std::size_t keep);

    // wgmma
    void multiply(int group, const Product& product);
    void commit_products(int group);
    void wait_products(int group, std::size_t keep, const Instruction& at);
    bool& fenced(int group) { return fenced_[static_cast<std::size_t>(group)]; }

    // What an agent reads of shared memory must be fenced off from what threads write.
    void need_fence(const Thread& thread, const Instruction& at, std::uint64_t address, std::size_t bytes) const;

private:
    struct Barrier {
        std::uint64_t expected = 0, left = 0;  // arrivals
        std::int64_t bytes = 0;                // that have not arrived
        std::uint64_t phase = 0;
        Clocks::Known arrived, done;
        std::vector<std::uint16_t> waiting;
        std::uint16_t made_by = 0;
        std::uint32_t made_at = 0;
        bool fenced = false;  // since it was made
    };
    template <class T>
    struct Groups {
        std::vector<T> open;
        std::vector<std::vector<T>> committed;
    };
    Barrier& barrier_at(Thread& thread, const Instruction& at, std::uint64_t address);
    void check_phase(Barrier& barrier);
    void finish(const ThreadCopy& copy, Thread& thread);
    void finish_load(const BulkCopy& copy);
    void finish_store(const BulkCopy& copy);
    void finish_product(int group, const Product& product, bool last);
    template <class F>
    void for_pieces(const BulkCopy& copy, F f) const;  // f(address in shared memory, on the device or 0, bytes)

    Block& block_;
    std::vector<Groups<ThreadCopy>> copies_;  // by thread
    std::vector<Groups<BulkCopy>> stores_;
    std::vector<BulkCopy> loads_;  // under way
    std::map<std::uint64_t, Barrier> barriers_;
    std::array<Groups<Product>, 8> products_;  // by warpgroup
    std::array<bool, 8> fenced_{};
};

}  // namespace weft::testing::ptx
