// ir/kernel_graph.cpp: a copy shares no node with the graph that it was made from.
#include "ir/kernel_graph.h"

#include "ir/walk.h"

namespace weft::ir {

KernelGraph copied_into(Interner& interner, const KernelGraph& graph) {
    std::vector<NodeRef> values;
    for (const KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    values = rebuild(values, [&](const Node& node, const Sources& sources) {
        return interner.make(node.op, node.dtype, node.shape, sources, node.arg);
    });
    KernelGraph copy = graph;
    for (std::size_t i = 0; i < values.size(); ++i) copy.outputs[i].value = values[i];
    return copy;
}

}  // namespace weft::ir
