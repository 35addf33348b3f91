// schedule/scan_blocks.h: long running sums, for processors with thousands of threads. A Scan has a thread per row. The blocks of its order
// (SumOrder::Kind::Blocks) do not wait for each other, and integers, maxima and minima have no order, so a row becomes
//
//     inside = scan of each block        before = scan of the blocks' last elements, from the neutral element
//     out    = before + inside
//
// with the same bits.
#pragma once

#include "core/target.h"
#include "ir/node.h"

namespace weft::schedule {

// Null: the node is no Scan, its order is one chain, or there are rows enough.
ir::NodeRef scan_in_blocks(const ir::Node& scan, const Target& target);

}  // namespace weft::schedule
