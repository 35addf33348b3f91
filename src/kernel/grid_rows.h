// kernel/grid_rows.h: blocks of threads for kernels that work on rows. The threads of a group share the loops inside of a row: element i
// of a row belongs to thread i modulo their number, so that what several of the loops need can stay in its thread's registers.
#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace weft::kernel {

// How to share out a body, whose iterations over `loops` are rows (none: it is one row).
GridSchedule choose_row_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                 std::vector<NodeRef> loops);

// The body as a Block loop.
Stmt rows_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body);

}  // namespace weft::kernel
