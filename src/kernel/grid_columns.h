// kernel/grid_columns.h: blocks of threads for sums down columns, where there are fewer columns than a processor has threads. A sum in blocks
// has an order, but its blocks do not wait for each other: the threads of a block compute them for 32 columns at the same time, and then one
// for each column adds them in their order.
#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <vector>

namespace weft::kernel {

// How to share out the iterations over `loops` of a body, if they have such sums.
std::optional<GridSchedule> choose_column_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                                   const std::vector<NodeRef>& loops);

// The body inside these loops as a Block loop.
Stmt columns_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body);

}  // namespace weft::kernel
