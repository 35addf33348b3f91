// kernel/grid_rows.h: blocks of threads for kernels that work on rows. The threads of a group share the loops inside of a row: element i
// of a row belongs to thread i modulo their number, so that what several of the loops need can stay in its thread's registers.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

// The body as a Block loop, as kernel/row_schedule.h has chosen.
Stmt rows_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body);

}  // namespace weft::kernel
