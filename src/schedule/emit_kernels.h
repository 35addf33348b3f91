// schedule/emit_kernels.h: the backward pass of fuse(): each group becomes a KernelGraph, and consumers say what must be stored.
#pragma once

#include "schedule/group_nodes.h"

namespace weft::schedule {

Schedule emit_kernels(const FusionGraph& graph, const Grouping& grouping);

}  // namespace weft::schedule
