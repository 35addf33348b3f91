// ir/walk.cpp: iterative walks; an explicit stack of (node, next source) stands in for recursion.
#include "ir/walk.h"

#include <unordered_map>

namespace weft::ir {

std::vector<const Node*> topological_order(std::span<const NodeRef> roots) { return topological_order(roots, nullptr); }

std::vector<const Node*> topological_order(std::span<const NodeRef> roots,
                                           const std::function<bool(const Node&)>& enter) {
    const std::uint64_t epoch = next_epoch();
    std::vector<const Node*> order;
    std::vector<std::pair<const Node*, std::uint32_t>> stack;
    const auto visit = [&](const Node* node) {
        if (node->mark == epoch) return;
        node->mark = epoch;
        stack.emplace_back(node, enter && !enter(*node) ? static_cast<std::uint32_t>(node->sources.size()) : 0);
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
    std::unordered_map<const Node*, NodeRef> done;
    for (const Node* node : topological_order(roots)) {
        Sources sources;
        for (const NodeRef& source : node->sources) sources.push_back(done.at(source.get()));
        done.emplace(node, replace(*node, sources));
    }
    std::vector<NodeRef> result;
    for (const NodeRef& root : roots) result.push_back(root ? done.at(root.get()) : nullptr);
    return result;
}

}  // namespace weft::ir
