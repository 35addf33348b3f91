// kernel/row_sums.h: long sums for many threads. A sum in blocks has an order, but its blocks do not wait for each other: they are computed at
// the same time, and added in their order afterwards. Where there is no order (a maximum), the terms of a chain are shared out.
#pragma once

#include "kernel/row_parts.h"

namespace weft::kernel {

// Blocks of sums in these parts that could be computed at the same time: the most of all sums; 1: there are none.
std::int64_t blocks_of_sums(const Kernel& kernel, const Parts& parts);

// Computes `width` blocks at a time, each by so many threads.
void share_blocks_of_sums(Kernel& kernel, Parts& parts, std::int64_t width, std::int64_t threads);

}  // namespace weft::kernel
