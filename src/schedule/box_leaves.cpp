// schedule/box_leaves.cpp: who reads a leaf is asked of the simplified graph: of x * 1, all readers of the product read x there.
#include "schedule/box_leaves.h"

#include "ir/walk.h"

namespace weft::schedule {

using ir::Node;
using ir::NodeRef;
using ir::Op;

BoxLeaves::BoxLeaves(const Captured& captured, const CanonicalGraph& canonical, const ir::Rewritten& simple) {
    const auto note_reader = [&](const Node& source) {
        if (source.op == Op::Param) ++readers_[source.as<ir::SlotArg>().slot];
    };
    std::vector<NodeRef> read_by_custom;
    for (const Node* node : ir::topological_order(simple.roots)) {
        checks_ = checks_ || node->op == Op::Check;
        for (const NodeRef& source : node->sources) note_reader(*source);
        if (node->op == Op::Custom)
            read_by_custom.insert(read_by_custom.end(), node->sources.begin(), node->sources.end());
    }
    for (const NodeRef& root : simple.roots) {
        note_reader(*root);
        ++roots_[root.get()];
    }
    for (const Node* node : ir::topological_order(read_by_custom)) feeds_custom_.insert(node);
    for (std::size_t i = 0; i < captured.items.size(); ++i) {
        const Node* before = canonical.values[i].get();
        if (!before || before->op != Op::Insert) continue;
        const auto became = simple.became.find(before);
        if (became == simple.became.end()) continue;
        const Node& insert = *became->second;
        if (insert.op != Op::Insert || !(before->as<ir::BoxArg>().starts == insert.as<ir::BoxArg>().starts)) continue;
        const auto [found, only] = start_constant_.try_emplace(&insert, captured.items[i].constant);
        if (!only) found->second = -1;
    }
}

int BoxLeaves::leaf(const NodeRef& root, const Donation& donation) const {
    if (root->op != Op::Insert || root->source(0).op != Op::Param) return -1;
    const int leaf = root->source(0).as<ir::SlotArg>().slot;
    const Node& value = root->source(1);
    if (!donation.is_donatable(leaf) || numel(value.shape) == 0 || start_constant(*root) < 0) return -1;
    if (checks_ || roots_.contains(&value)) return -1;
    // A custom function reads dense memory. It may raise, too: nothing that it depends on may be written in place before.
    if (feeds_custom_.contains(&value)) return -1;
    return readers_.at(leaf) == 1 ? leaf : -1;
}

int BoxLeaves::start_constant(const Node& insert) const {
    const auto found = start_constant_.find(&insert);
    return found == start_constant_.end() ? -1 : found->second;
}

}  // namespace weft::schedule
