// kernel/lower.h: the "lower" arrow: what a kernel computes becomes plain serial loops. The order of every sum is decided here,
// from shapes and strides alone, and never changed afterwards.
#pragma once

#include "ir/kernel_graph.h"
#include "kernel/kernel.h"

namespace weft::kernel {

Kernel lower(const ir::KernelGraph& graph);

}  // namespace weft::kernel
