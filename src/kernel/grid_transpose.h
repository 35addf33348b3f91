// kernel/grid_transpose.h: blocks of threads for elementwise work whose loads run through memory across the stores. A block has a square of
// the two axes: its threads load along the loads' axis, into shared memory, and compute and store along the stores'.
#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <vector>

namespace weft::kernel {

// How to share out the iterations over `loops` of a body without loops, if it has such loads.
std::optional<GridSchedule> choose_transpose_schedule(const Kernel& kernel, const Body& body,
                                                      const std::vector<NodeRef>& loops);

// The body inside these loops as a Block loop.
Stmt transposes_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body);

}  // namespace weft::kernel
