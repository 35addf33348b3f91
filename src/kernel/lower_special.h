// kernel/lower_special.h: kernels that are not rows: scans and scatters, whose order along an axis is their meaning.
#pragma once

#include "core/target.h"
#include "ir/kernel_graph.h"
#include "kernel/kernel.h"

namespace weft::kernel {

Kernel lower_special(const ir::KernelGraph& graph, const Numerics& numerics);

// Shared with lower.cpp: a kernel with the graph's parameters and nothing else.
Kernel empty_kernel(const ir::KernelGraph& graph, const Numerics& numerics);

}  // namespace weft::kernel
