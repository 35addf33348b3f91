// kernel/verify.h: what every kernel must keep, whatever pass has written it.
//
// verify() (kernel.h) checks references, after lowering and after the last pass (after every pass, once something is wrong):
// - Every expression uses variables of loops around it; every loop has a variable of its own.
// - Every load and store names a buffer that exists, with its type. No store goes to an input.
// - A local that is private to the lanes of a vector loop is used inside that loop, and nowhere else.
// - Block and Thread loops stand as kernel.h says; Shared and per_thread locals are used by threads, others by one nest of Thread loops.
// - A Parallel loop is outermost, and alone. A count belongs to a Serial loop. A Vector loop has at most kMaxLanes iterations.
//
// verify_memory() proves what a kernel does to memory, for the kernel as it was lowered and as it is compiled:
// - Bounds: every load and store, of parameters and locals, is at an index of its buffer, under the load's gate and the counts of the
//   loops around.
// - Races: no two iterations of a Parallel loop touch the same element of a parameter if one of them stores there. The same is true
//   of the lanes of a Vector loop and of the iterations of a loop that is marked independent, and for them of locals, too; except for
//   those that are private to the lanes, and of independent loops those that every iteration stores to before it loads. Blocks share
//   parameters, threads also Shared locals: what two threads of one loop touch, if one of them stores there, lacks a barrier.
// - Order: of a donated parameter, no element is loaded after it was stored to: a load means what was there before the kernel. What
//   this cannot prove is no error: the parameters are returned, and their memory must not be shared.
#pragma once

#include "ir/kernel_graph.h"
#include "kernel/kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace weft::kernel {

// The parameters that a kernel reads and overwrites, of which its loads mean the old values. A scatter has none: it adds to what is there,
// and what it takes over is loaded where it is stored.
std::vector<int> donated_parameters(const ir::KernelGraph& graph);

// Throws InternalError that names the kernel, `after`, the buffer and the index, as verify() does (kernel.h). Returns those of the
// donated parameters of which the order is not proven.
std::vector<int> verify_memory(const Kernel& kernel, std::string_view after, std::span<const int> donated = {});

}  // namespace weft::kernel
