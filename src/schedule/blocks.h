// schedule/blocks.h: a large value between two sums that is only read on the way to a small one is computed, read and let go in blocks of
// rows, so that memory grows with the rows and not with their square: attention over long sequences.
#pragma once

#include "ir/node.h"

#include <span>
#include <vector>

namespace weft::schedule {

// Which value is computed in blocks, and along which of its axes.
struct BlockSchedule {
    const ir::Node* large = nullptr;   // what would take much memory
    const ir::Node* result = nullptr;  // all that is read of it goes through this
    int axis = 0;                      // of the result
    std::int64_t rows = 0;             // of one block
};

// In elements. Below `whole` a value is stored as a whole: blocks would only be more kernels. A product of fewer rows does not fill the tiles.
struct BlockLimits {
    std::int64_t whole = std::int64_t{16} << 20, block = std::int64_t{2} << 20, fewest_rows = 64;
};

// One for each large value of the graph that can be computed so.
std::vector<BlockSchedule> choose_blocks(std::span<const ir::NodeRef> roots, const BlockLimits& limits = {});

// The graph with these values as blocks, put together. The order of every sum stays.
std::vector<ir::NodeRef> in_blocks(std::span<const ir::NodeRef> roots, std::span<const BlockSchedule> blocks);

}  // namespace weft::schedule
