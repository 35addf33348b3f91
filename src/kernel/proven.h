// kernel/proven.h: from a kernel graph to the loops that are compiled, with a proof of what they do to memory (kernel/verify.h). What is
// not proven is not done: a pass that makes something without a proof is left out, and a donated parameter keeps memory of its own.
#pragma once

#include "ir/kernel_graph.h"
#include "kernel/kernel.h"
#include "kernel/optimise.h"

#include <string>
#include <vector>

namespace weft::kernel {

struct Proven {
    Kernel kernel;
    std::vector<int> unordered;        // donated parameters that must not share memory after all
    std::vector<std::string> refused;  // for each pass that was left out: what is not proven of the kernel that it made
};

// Throws InternalError if the kernel has no proof as it was lowered.
Proven proven_kernel(const ir::KernelGraph& graph, const Target& target, const Trace& trace = nullptr);

}  // namespace weft::kernel
