// schedule/groups.cpp: how groups grow: nodes enter them, and groups of the same rows merge.
#include "schedule/groups.h"

#include "ir/walk.h"

#include <algorithm>

namespace weft::schedule {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

namespace {

constexpr std::int64_t kLongestRow = 1 << 20, kSmallWork = 1 << 17;

// Neighbouring results are added by neighbouring threads: what joins them is elementwise, as behind the contraction that they were.
bool adds_blocks(const Group& group) {
    return group.anchor->op == Op::Reduce &&
           group.anchor->as<ir::ReduceArg>().order.kind == ir::SumOrder::Kind::Sequence;
}

}  // namespace

std::size_t Groups::position(const Node& node) const {
    const auto found = graph_.position.find(&node);
    return found != graph_.position.end() ? found->second : added_.at(&node);
}

bool Groups::contains(const Node& node) const { return graph_.position.contains(&node) || added_.contains(&node); }

void Groups::add(const Node& node) {
    added_.emplace(&node, states_.size());
    states_.emplace_back();
}

int Groups::find(int id) const {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
}

int Groups::home(const Node& node) const {
    const int id = state(node).group;
    return id < 0 ? -1 : find(id);
}

int Groups::level(const Node& node) const {
    const int id = home(node);
    return id < 0 ? state(node).level : groups_[id].level;
}

Group Groups::make(const Node& anchor, KernelGraph::Kind kind, KernelGraph::Cut cut) const {
    int below = 0;
    for (const Node* source : operands_of(graph_, anchor)) below = std::max(below, level(*source));
    Group group;
    group.kind = kind;
    group.rows = squeezed(anchor.shape);
    group.row_count = numel(anchor.shape);
    group.level = below + 1;
    group.anchor = &anchor;
    group.nodes = state(anchor).nodes;
    group.cut = cut;
    return group;
}

Group& Groups::adopt(const Node& node, Group group) {
    parent_.push_back(size());
    state(node) = {.group = size(), .full = false, .level = group.level};
    return groups_.emplace_back(std::move(group));
}

Group& Groups::open(const Node& node, KernelGraph::Kind kind, KernelGraph::Cut cut) {
    return adopt(node, make(node, kind, cut));
}

// What a new group reads. It is above all of that, also above values that got a kernel of their own after views of them were placed.
void Groups::settle(Group& group, const Node& node) {
    add_leaves(group, node);
    for (const Node* leaf : group.leaves)
        if (const int from = home(*leaf); from >= 0) group.level = std::max(group.level, groups_[from].level + 1);
}

void Groups::add_leaves(Group& group, const Node& node) {
    const NodeRef root(&node);
    const auto enter = [&](const Node& n) { return &n == &node || home(n) < 0; };
    for (const Node* n : ir::topological_order(std::span(&root, 1), enter)) {
        if (n == &node) continue;
        const bool leaf = n->op == Op::Param || home(*n) >= 0;
        if (leaf) group.leaves.insert(n);
        if (const int from = home(*n); from >= 0) groups_[from].has_dependents = true;  // it stays below this group
        group.nodes += leaf || (!n->sources.empty() && is_expression(*n));
    }
}

// Would the kernel stay within its limits with this node's free operands inlined?
bool Groups::admits(int id, const Node& node) {
    int nodes = groups_[id].nodes + 1, leaves = static_cast<int>(groups_[id].leaves.size());
    for (const NodeRef& source : node.sources) {
        const int from = home(*source);
        if (from == id) continue;
        nodes += from >= 0 ? 1 : state(*source).nodes;
        leaves += from >= 0 ? 1 : state(*source).leaves;
    }
    if (nodes > kMaxNodes || leaves > kMaxParams) return false;
    for (const NodeRef& source : node.sources)
        if (home(*source) < 0) add_leaves(groups_[id], *source);
    groups_[id].nodes = std::min(groups_[id].nodes + 1, nodes);
    return true;
}

// Puts a node into a group, unless it would have to be stored by a kernel that cannot.
bool Groups::enter(const Node& node, int id, bool full) {
    Group& group = groups_[id];
    if (full && graph_.is_root.contains(&node)) {
        if (is_narrow(node, full, group)) return false;
        group.stores_full = true;
    }
    state(node) = {.group = id, .full = full, .level = group.level};
    return true;
}

// Puts group b into group a, if they run over the same rows and neither has to come before the other.
bool Groups::merge(int a, int b) {
    Group &into = groups_[a], &from = groups_[b];
    if (into.kind != KernelGraph::Kind::Rows || from.kind != KernelGraph::Kind::Rows) return false;
    if ((into.contraction && from.reduces) || (from.contraction && into.reduces)) return false;
    if (into.row_count != from.row_count || into.row_count == 0) return false;
    if (into.inner_count != from.inner_count && into.inner_count != 1 && from.inner_count != 1) return false;
    if ((into.contraction || from.contraction) && into.inner_count * from.inner_count != 1) return false;
    if (into.level != from.level) {
        Group& lower = into.level < from.level ? into : from;
        if (lower.has_dependents) return false;
        lower.level = std::max(into.level, from.level);
    }
    std::unordered_set<const Node*> leaves = into.leaves;
    leaves.insert(from.leaves.begin(), from.leaves.end());
    if (into.nodes + from.nodes > kMaxNodes || static_cast<int>(leaves.size()) > kMaxParams ||
        into.reduces + from.reduces > kMaxReduces)
        return false;
    const bool take_shape =
        from.contraction || (from.inner_count != 1 && into.inner_count == 1) || (from.reduces && !into.reduces);
    if (take_shape) {
        into.rows = from.rows;
        if (into.inner_count == 1) {  // else both have the same, or `from` has only row values
            into.inner = from.inner;
            into.inner_count = from.inner_count;
        }
        into.anchor = from.anchor;
        into.cut = from.cut;
    }
    into.leaves = std::move(leaves);
    into.nodes += from.nodes;
    into.reduces += from.reduces;
    into.again += from.again;
    into.contraction |= from.contraction;
    into.has_dependents |= from.has_dependents;
    into.stores_full |= from.stores_full;
    parent_[b] = a;
    return true;
}

bool spread(Group& group, const Node& expand) {
    const std::int64_t inner = numel(expand.shape) / std::max<std::int64_t>(1, group.row_count);
    if (group.contraction || adds_blocks(group) || group.row_count == 0 || inner == 0) return false;
    const bool one_row = group.row_count == 1;
    if (group.inner_count == inner || (one_row && inner < group.inner_count)) return true;
    if (group.inner_count != 1 && (!one_row || group.stores_full)) return false;
    const std::int64_t work = group.row_count * inner;
    if (work > kSmallWork && (group.row_count < 2 || inner > kLongestRow)) return false;
    group.inner_count = inner;
    group.inner = squeezed(expand.shape);
    std::int64_t covered = 1;  // the trailing axes that make up `inner`
    std::size_t first = group.inner.size();
    while (first > 0 && covered < inner) covered *= group.inner[--first];
    group.inner = covered == inner ? Shape(group.inner.begin() + static_cast<std::ptrdiff_t>(first), group.inner.end())
                                   : Shape{inner};
    return true;
}

}  // namespace weft::schedule
