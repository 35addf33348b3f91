// ir/walk.cpp: iterative walks; an explicit stack of (node, next source) stands in for recursion.
#include "ir/walk.h"

#include "ir/node_table.h"
#include "ir/origins.h"

namespace weft::ir {

std::vector<const Node*> topological_order(std::span<const NodeRef> roots) { return topological_order(roots, nullptr); }

std::vector<const Node*> topological_order(std::span<const NodeRef> roots,
                                           const std::function<bool(const Node&)>& enter) {
    const std::uint64_t epoch = next_epoch();
    std::vector<const Node*> order;
    order.reserve(16);
    InlineVector<std::pair<const Node*, std::uint32_t>, 32> stack;
    const auto visit = [&](const Node* node) {
        if (node->mark == epoch) return;
        node->mark = epoch;
        stack.push_back({node, enter && !enter(*node) ? static_cast<std::uint32_t>(node->sources.size()) : 0});
    };
    for (const NodeRef& root : roots) {
        if (!root) continue;
        visit(root.get());
        while (!stack.empty()) {
            auto& [node, next] = stack.back();
            if (next < node->sources.size()) {
                const Node* source = node->sources[next++].get();
                visit(source);
            } else {
                node->slot = static_cast<std::uint32_t>(order.size());
                order.push_back(node);
                stack.pop_back();
            }
        }
    }
    return order;
}

std::vector<NodeRef> rebuild(std::span<const NodeRef> roots,
                             const std::function<NodeRef(const Node&, const Sources&)>& replace) {
    NodeTable<NodeRef> done;
    for (const Node* node : topological_order(roots)) {
        Sources sources;
        for (const NodeRef& source : node->sources) sources.push_back(done[source.get()]);
        const OriginsOf origins(*node);
        NodeRef fresh = replace(*node, sources);
        if (fresh) origins.hand_to(*fresh);
        done[node] = std::move(fresh);
    }
    std::vector<NodeRef> result;
    for (const NodeRef& root : roots) result.push_back(root ? done[root.get()] : nullptr);
    return result;
}

// Depth first, so that a graph with data in it is known after a few steps.
bool is_made_of_constants(const Node& root) {
    const std::uint64_t epoch = next_epoch();
    InlineVector<const Node*, 16> stack{&root};
    while (!stack.empty()) {
        const Node* const node = stack.back();
        stack.pop_back();
        if (node->mark == epoch) continue;
        node->mark = epoch;
        if (node->op == Op::Buffer || node->op == Op::Var || is_marker(node->op)) return false;  // no plan has these
        for (const NodeRef& source : node->sources) stack.push_back(source.get());
    }
    return true;
}

}  // namespace weft::ir
