// schedule/fuse.cpp: fuses a simplified graph into kernels (the "schedule" arrow of docs/architecture.md).
// In: nodes, no two equal. Out: KernelGraphs in run order; each says what to compute, none says how to loop.
#include "schedule/fuse.h"

#include "schedule/emit_kernels.h"
#include "schedule/fusion_graph.h"
#include "schedule/group_nodes.h"

namespace weft::schedule {

Schedule fuse(std::span<const NodeRef> roots, const RootBoxes& boxes) {
    const FusionGraph graph = inspect_graph(roots, boxes);  // what is known before any decision
    const Grouping grouping = group_nodes(graph);           // forward: which kernel computes which nodes
    return emit_kernels(graph, grouping);                   // backward: consumers say what must be stored
}

}  // namespace weft::schedule
