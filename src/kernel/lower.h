// kernel/lower.h: the "lower" arrow: what a kernel computes becomes plain serial loops. The order of every sum is decided here,
// from the graph alone, and never changed afterwards: the same for every target.
#pragma once

#include "core/target.h"
#include "ir/kernel_graph.h"
#include "kernel/kernel.h"

namespace weft::kernel {

Kernel lower(const ir::KernelGraph& graph, const Numerics& numerics = {});

}  // namespace weft::kernel
