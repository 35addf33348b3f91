// schedule/fusion_graph.cpp: one walk over the graph, before any decision.
#include "schedule/fusion_graph.h"

#include "ir/contraction.h"
#include "ir/walk.h"

#include <algorithm>

namespace weft::schedule {
namespace {

using ir::Node;
using ir::Op;

constexpr std::int64_t kShortestRun = 64;  // bytes: a part's neighbours in the whole; fewer are no whole cache lines

// A factor of a contraction is spread by the contraction's own loops. A row group that did it (a pooling before a linear layer)
// would take the product along, and store every product instead of their sums. A half that is made wide for the sum is stored as a half.
void note_factors(FusionGraph& graph, const Node& reduce) {
    const auto contraction = ir::find_contraction(reduce, [](const Node& n) { return n.op == Op::Reduce; });
    if (!contraction) return;
    for (const Node* node : {contraction->left.get(), contraction->right.get()}) {
        for (; ir::is_movement(node->op) && node->op != Op::Insert; node = &node->source())
            if (node->op == Op::Expand) graph.factors.insert(node);
        if (node->op == Op::Cast && is_half(node->source().dtype)) graph.factors.insert(node);
    }
}

// The Inserts below the topmost one are nobody else's: they are seen as one node with many operands.
void note_parts(FusionGraph& graph, const Node& top) {
    std::vector<Part> parts = concatenated_parts(top);
    const auto run_is_short = [&](const Part& part) {
        const std::int64_t run = run_length(part, top.shape);
        return run < numel(part.value->shape) && run * static_cast<std::int64_t>(size_of(top.dtype)) < kShortestRun;
    };
    if (parts.size() < 2 || std::any_of(parts.begin(), parts.end(), run_is_short)) return;
    if (graph.box_strides.contains(&top)) return;  // a box in a leaf: where it begins is known only when it runs
    const Node* below = &top;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        below = &below->source();
        if (graph.uses_of(*below) > 1 || graph.is_root.contains(below) || graph.written.contains(below)) return;
    }
    // What the parts cover is none of their operands. A kernel may name it all the same, so nothing else may compute it.
    const Node* covered = &below->source();
    while (ir::is_movement(covered->op) && covered->op != Op::Insert) covered = &covered->source();
    if (covered->op != Op::Const && covered->op != Op::Param) return;
    below = &top;
    for (std::size_t i = 1; i < parts.size(); ++i) graph.inner_inserts.insert(below = &below->source());
    graph.parts.emplace(&top, std::move(parts));
}

}  // namespace

FusionGraph inspect_graph(std::span<const NodeRef> roots, const RootBoxes& boxes) {
    FusionGraph graph;
    graph.roots = roots;
    graph.order = ir::topological_order(roots);
    for (const auto& [value, box] : boxes) {
        graph.box_strides.emplace(value, box.strides);
        graph.written.emplace(box.insert.get(), value);
    }
    for (std::size_t i = 0; i < graph.order.size(); ++i) graph.position.emplace(graph.order[i], i);
    graph.uses.resize(graph.order.size());
    for (const NodeRef& root : roots) graph.is_root.insert(root.get());
    for (const Node* node : graph.order)
        for (const NodeRef& source : node->sources) ++graph.uses[graph.position.at(source.get())];
    for (const Node* node : graph.order) {
        if (node->op == Op::Reduce) note_factors(graph, *node);
        if (node->op == Op::Custom)
            for (const NodeRef& source : node->sources) graph.read_by_custom.insert(source.get());
    }
    for (auto node = graph.order.rbegin(); node != graph.order.rend(); ++node)
        if ((*node)->op == Op::Insert && !graph.inner_inserts.contains(*node)) note_parts(graph, **node);
    return graph;
}

InlineVector<const Node*, 3> operands_of(const FusionGraph& graph, const Node& node) {
    InlineVector<const Node*, 3> result;
    if (const auto found = graph.parts.find(&node); found != graph.parts.end())
        for (const Part& part : found->second) result.push_back(part.value.get());
    else
        for (const NodeRef& source : node.sources) result.push_back(source.get());
    return result;
}

}  // namespace weft::schedule
