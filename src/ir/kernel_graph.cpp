// ir/kernel_graph.cpp: why kernels are cut, in words; a copy shares no node with the graph that it was made from.
#include "ir/kernel_graph.h"

#include "ir/walk.h"

namespace weft::ir {

std::string_view describe(KernelGraph::Cut cut) {
    using enum KernelGraph::Cut;
    switch (cut) {
        case None: return "";
        case Contraction: return "a contraction";
        case Reduction: return "a reduction";
        case AddsBlocks: return "adds the blocks of a sum in their order";
        case Scan: return "a scan";
        case Scatter: return "a scatter";
        case Custom: return "a custom function";
        case AskedFor: return "asked for";
        case Contiguous: return "contiguous() asks for memory";
        case Part: return "a part of an array";
        case Written: return "written in place";
        case ReadByCustom: return "a custom function reads memory";
        case ExpensiveRepeated: return "expensive, and used more than once";
        case OutOfOrderRepeated: return "read out of order, and used more than once";
        case ExpensiveOperand: return "too expensive for an operand of a contraction";
        case Tangled: return "its index would be too tangled";
        case TooLarge: return "the kernel would be too large";
    }
    return "";
}

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
