// kernel/row_schedule.h: how threads of a block share a row: what kernel/grid_rows.h makes the loops of.
#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace weft::kernel {

// How to share out a body, whose iterations over `loops` are rows (none: it is one row).
GridSchedule choose_row_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                 std::vector<NodeRef> loops);

}  // namespace weft::kernel
