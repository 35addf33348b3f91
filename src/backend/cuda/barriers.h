// backend/cuda/barriers.h: which threads must wait for each other before a Thread loop. Its iterations may need what others stored in the
// loops before it, or overwrite what others load there. Threads whose accesses stay apart need not wait, and those of one warp or of one
// group wait for that alone.
#pragma once

#include "backend/cuda/shared_memory.h"
#include "backend/expand.h"

#include <span>
#include <unordered_map>

namespace weft::backend::cuda {

inline constexpr std::int64_t kWarp = 32;

enum class Sync : std::uint8_t {
    None,
    Warp,   // the 32 threads of a warp
    Group,  // the threads of one iteration of the outer one of two nested Thread loops: whole warps
    Block,
};

// By the outermost Thread loop of each nest in a block.
using Barriers = std::unordered_map<const kernel::Loop*, Sync>;
Barriers barriers_of(const kernel::Kernel& kernel, const kernel::Loop& block, std::int64_t threads,
                     std::span<const SharedPlace> places);

}  // namespace weft::backend::cuda
