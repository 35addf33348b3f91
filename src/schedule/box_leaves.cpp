// schedule/box_leaves.cpp: who reads a leaf is asked of the simplified graph: of x * 1, all readers of the product read x there.
#include "schedule/box_leaves.h"

#include "ir/walk.h"

#include <algorithm>

namespace weft::schedule {

using ir::Node;
using ir::NodeRef;
using ir::Op;

BoxLeaves::BoxLeaves(const Captured& captured, const CanonicalGraph& canonical, const ir::Rewritten& simple) {
    const auto note_reader = [&](const Node& source) {
        if (source.op == Op::Param) ++readers_[source.as<ir::SlotArg>().slot];
    };
    for (const Node* node : ir::topological_order(simple.roots)) {
        checks_ = checks_ || node->op == Op::Check;
        for (const NodeRef& source : node->sources) note_reader(*source);
        if (node->op == Op::Custom) customs_.push_back(node);
    }
    for (const NodeRef& root : simple.roots) {
        note_reader(*root);
        ++roots_[root.get()];
    }
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
    // A custom function may raise: all of them come before what is written in place, so the value must need each.
    if (!customs_.empty()) {
        const std::vector<const Node*> needed = ir::topological_order(std::span(&root->sources[1], 1));
        const auto is_needed = [&](const Node* custom) {
            return std::find(needed.begin(), needed.end(), custom) != needed.end();
        };
        if (!std::all_of(customs_.begin(), customs_.end(), is_needed)) return -1;
    }
    return readers_.at(leaf) == 1 ? leaf : -1;
}

int BoxLeaves::start_constant(const Node& insert) const {
    const auto found = start_constant_.find(&insert);
    return found == start_constant_.end() ? -1 : found->second;
}

}  // namespace weft::schedule
