// device/pool.h: where tensors' memory comes from. Blocks are kept across runs, because fresh pages cost more than most kernels.
#pragma once

#include "ir/storage.h"

#include <cstddef>
#include <cstdint>

namespace weft::device {

// At least `bytes` of memory, 64-byte aligned, contents arbitrary; it goes back to the pool with the last reference.
// Throws MemoryError, with the byte count, and then nothing has changed.
ir::StorageRef allocate(std::int64_t bytes);

struct PoolStats {
    std::int64_t bytes_in_use = 0, bytes_peak = 0;
    std::int64_t bytes_kept = 0;  // free, for reuse
    std::int64_t allocations = 0, fresh_allocations = 0;
    std::int64_t live_buffers = 0;
};
PoolStats pool_stats();
std::int64_t bytes_in_use();  // takes no lock

void trim_pool(std::int64_t keep_bytes = 0);  // frees kept blocks, oldest first
std::int64_t pool_limit();
void set_pool_limit(std::int64_t bytes);      // 0: memory and swap of the machine (or of the control group)
void set_pool_retention(std::int64_t bytes);  // blocks kept for reuse, at least; 1 GiB unless set

// For tests: the n-th allocation from now on throws MemoryError, once (1: the next one; 0: none).
void fail_allocation_after(std::int64_t n);

}  // namespace weft::device
