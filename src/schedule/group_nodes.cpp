// schedule/group_nodes.cpp: one forward pass puts nodes into groups.
// - A Reduce opens a group. Elementwise work on its result, element by element, joins it (epilogue). Where the result is spread
//   over trailing axes again (x - mean), the group becomes a *row* group: later reduces over the same rows join it too, so
//   softmax, layer norm and cross-entropy are one kernel each.
// - What needs no reduce stays *free*: it is inlined wherever it is used (prologue), unless that repeats expensive work.
// - Roots that are still free get groups at the end, and those over the same elements share one.
#include "schedule/group_nodes.h"

#include "core/interrupt.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/walk.h"
#include "schedule/worth_storing.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using Cut = KernelGraph::Cut;
using ir::Node;
using ir::Op;

constexpr int kMostTangles = 6;  // reshapes of moved axes on top of each other: each doubles the index arithmetic

// Are all stretched axes behind the axes that the source really has? Then element (row, i) of the result is element row.
bool expands_trailing(const Node& expand) {
    bool stretched = false;
    for (std::size_t d = 0; d < expand.shape.size(); ++d) {
        const std::int64_t from = expand.source().shape[d], to = expand.shape[d];
        if (from != to) stretched = true;
        else if (from != 1 && stretched) return false;
    }
    return true;
}

// Does the reduce sum exactly over the trailing axes (those of size 1 aside)?
bool reduces_trailing(const Node& reduce) {
    bool reduced = false;
    for (std::size_t d = 0; d < reduce.shape.size(); ++d) {
        if (reduce.source().shape[d] != reduce.shape[d]) reduced = true;
        else if (reduce.shape[d] != 1 && reduced) return false;
    }
    return true;
}

struct ExpressionSize {
    int nodes = 0, leaves = 0;
};

// Distinct (node, chain of views) pairs and buffers below a free node: what its expression really holds.
ExpressionSize count_exactly(const Groups& groups, const Node& node) {
    std::vector<std::pair<const Node*, std::uint64_t>> stack{{&node, 0}};
    struct PairHash {
        std::size_t operator()(const std::pair<const Node*, std::uint64_t>& p) const {
            return std::hash<const void*>()(p.first) ^ (p.second * 0x9e3779b97f4a7c15);
        }
    };
    std::unordered_set<std::pair<const Node*, std::uint64_t>, PairHash> seen{stack[0]};
    std::unordered_set<const Node*> leaves;
    int nodes = 0;
    while (!stack.empty() && nodes <= kMaxNodes && seen.size() <= 16 * kMaxNodes) {
        const auto [at, views] = stack.back();
        stack.pop_back();
        if (at != &node && (groups.home(*at) >= 0 || at->sources.empty())) {
            if (groups.home(*at) >= 0 || at->op == Op::Param) leaves.insert(at), ++nodes;
            continue;
        }
        nodes += is_expression(*at);
        const std::uint64_t below = ir::is_movement(at->op) && at->op != Op::Reshape
                                        ? (views * 1099511628211u) ^ (at->hash ^ hash_of(at->arg))
                                        : views;
        for (const NodeRef& source : at->sources)
            if (!ir::constant_value(source) && seen.emplace(source.get(), below).second)
                stack.emplace_back(source.get(), below);
    }
    return {stack.empty() ? nodes : kMaxNodes + 1, static_cast<int>(leaves.size())};
}

// What a chain of free views looks at: that is stored, not what an expansion makes of it.
const Node& before_views(const Groups& groups, const Node& node) {
    const Node* at = &node;
    while (ir::is_movement(at->op) && at->op != Op::Insert && groups.home(at->source()) < 0 &&
           !at->source().sources.empty())
        at = &at->source();
    return *at;
}

bool related(const Group& a, const Group& b) {
    if (a.row_count <= 4096 && !a.reduces && !b.reduces) return true;
    for (const Node* leaf : a.leaves)
        if (b.leaves.contains(leaf)) return true;
    return false;
}

// Horizontal fusion: elementwise outputs over the same elements, at the same level, that read something in common (or are
// small) share a kernel: an Adam update writes p, m and v in one pass.
void merge_maps(const FusionGraph& graph, Groups& groups) {
    std::unordered_map<std::uint64_t, std::vector<int>> alike;
    for (const NodeRef& root : graph.roots) {
        const int id = groups.home(*root);
        Group& g = groups[id];
        if (g.kind != KernelGraph::Kind::Rows || g.row_count == 0) continue;
        std::vector<int>& candidates = alike[static_cast<std::uint64_t>(g.row_count) * 1021 + g.level];
        bool merged = false;
        for (const int other : candidates) {
            const int into = groups.find(other);
            if (into == id) merged = true;
            if (merged) break;
            if (groups[into].level == g.level && groups[into].row_count == g.row_count && related(groups[into], g))
                merged = groups.merge(into, id);
        }
        if (!merged) candidates.push_back(id);
    }
}

class Grouper {
public:
    explicit Grouper(const FusionGraph& graph) : graph_(graph), groups_(graph), concatenations_(graph, groups_) {}

    Grouping run() {
        for (const Node* node : graph_.order) {
            poll_interrupt();
            place(*node);
        }
        open_roots();
        merge_maps(graph_, groups_);
        return {std::move(groups_), std::move(concatenations_.subviews), std::move(concatenations_.copies)};
    }

private:
    void place(const Node& node) {
        if (groups_.home(node) >= 0) return;  // somebody needed it before
        if (const auto found = graph_.written.find(&node); found != graph_.written.end())
            return open_box(node, *found->second);
        if (node.sources.empty()) {
            groups_.state(node).leaves = groups_.state(node).nodes = node.op == Op::Param;
            return;
        }
        if (node.op == Op::Reduce) return place_reduce(node);
        if (node.op == Op::Scan || node.op == Op::Scatter) return place_special(node);
        if (node.op == Op::Custom) return place_custom(node);
        if (node.op == Op::Part) {
            groups_.enter(node, groups_.home(node.source()), false);
            return;
        }
        if (node.op == Op::Contiguous) {
            make_free(node);
            return open_map(node, Cut::Contiguous);
        }
        if (ir::is_movement(node.op) && node.op != Op::Insert) return place_view(node);
        if (!is_free_kind(node)) throw InternalError(str("fuse: unexpected ", ir::name_of(node.op)));
        if (graph_.inner_inserts.contains(&node)) return;
        const bool is_factor = node.op == Op::Cast && graph_.factors.contains(&node);
        const bool joins = ir::is_elementwise(node.op) ? join(node) : node.op == Op::Gather && join_gather(node);
        if (is_factor || !joins) make_free(node);
    }

    // A node that no group takes: it is inlined where it is used, up to the limits.
    void make_free(const Node& node) {
        NodeState& mine = groups_.state(node);
        mine.group = -1;
        mine.cost = ir::info(node.op).cost;
        mine.nodes = is_expression(node);
        mine.leaves = 0;
        mine.tangles = 0;
        mine.moved = false;
        const Node* previous = nullptr;
        const bool has_parts = graph_.parts.contains(&node);
        for (const Node* source : operands_of(graph_, node)) {
            mine.nodes += has_parts;
            if (source == previous) continue;
            previous = source;
            const int from = groups_.home(*source);
            mine.level = std::max(mine.level, groups_.level(*source));
            if (from >= 0) {
                groups_[from].has_dependents = true;
                mine.leaves += 1;
                mine.nodes += 1;
            } else {
                const NodeState& theirs = groups_.state(*source);
                mine.cost = std::min(1 << 20, mine.cost + theirs.cost);
                mine.nodes += theirs.nodes;
                mine.leaves += theirs.leaves;
                mine.tangles = std::max(mine.tangles, theirs.tangles);
                mine.moved |= theirs.moved;
            }
        }
        if (node.op == Op::Reshape && mine.moved && !(squeezed(node.shape) == squeezed(node.source().shape))) {
            if (++mine.tangles > kMostTangles) {
                open_map(node.source(), Cut::Tangled);
                return make_free(node);
            }
            mine.moved = false;
        } else {
            mine.moved |= ir::is_movement(node.op) && node.op != Op::Reshape;
        }
        if (mine.nodes > kMaxNodes || mine.leaves > kMaxParams) {
            const ExpressionSize exact = count_exactly(groups_, node);
            mine.nodes = exact.nodes;
            mine.leaves = exact.leaves;
        }
        const bool over = mine.nodes > kMaxNodes || mine.leaves > kMaxParams;
        if (has_parts && (over || concatenations_.cost_of_parts(node) < concatenations_.cost_of_selects(node)))
            return concatenations_.open_parts(node);
        // Over the limit: store the largest operand, so that this node starts again from memory.
        while (mine.nodes > kMaxNodes || mine.leaves > kMaxParams) {
            const Node* heaviest = nullptr;
            for (const NodeRef& source : node.sources)
                if (groups_.home(*source) < 0 && !source->sources.empty() &&
                    (!heaviest || groups_.state(*source).nodes > groups_.state(*heaviest).nodes))
                    heaviest = source.get();
            if (!heaviest) break;
            open_map(before_views(groups_, *heaviest), Cut::TooLarge);
            return make_free(node);
        }
        store_if_repeated(node);
    }

    // A value that several kernels may want and that is expensive is stored. So is one that reads memory out of order: each kernel would
    // gather it anew.
    void store_if_repeated(const Node& node) {
        const NodeState& mine = groups_.state(node);
        if (graph_.uses_of(node) < 2 || mine.leaves == 0 || ir::is_movement(node.op)) return;
        if (mine.cost > kCheapRecompute) open_map(node, Cut::ExpensiveRepeated);
        else if (mine.tangles > 0) open_map(node, Cut::OutOfOrderRepeated);
    }

    void place_view(const Node& node) {
        const Node& source = node.source();
        const int from = groups_.home(source);
        if (from >= 0 && groups_[from].kind == KernelGraph::Kind::Rows) {
            Group& g = groups_[from];
            if (node.op == Op::Reshape && groups_.enter(node, from, !g.contraction && groups_.state(source).full))
                return;
            const bool keeps_rows = g.row_count == 1 || (!groups_.state(source).full && expands_trailing(node));
            const bool spreads = node.op == Op::Expand && keeps_rows && !graph_.factors.contains(&node);
            if (spreads && spread(g, node) && groups_.enter(node, from, true)) return;
        }
        make_free(node);
    }

    void place_reduce(const Node& node) {
        const Node& source = node.source();
        const int from = groups_.home(source);
        if (from >= 0 && groups_.state(source).full && groups_[from].kind == KernelGraph::Kind::Rows &&
            groups_[from].reduces < kMaxReduces && reduces_trailing(node) &&
            numel(node.shape) == groups_[from].row_count && groups_.admits(from, node)) {
            groups_.state(node) = {.group = from, .full = false, .level = groups_[from].level};
            ++groups_[from].reduces;
            return;
        }
        if (from >= 0) groups_[from].has_dependents = true;
        const auto is_stored = [&](const Node& n) { return groups_.home(n) >= 0; };
        const auto contraction = ir::find_contraction(node, is_stored);
        if (contraction) {
            store_expensive_operand(*contraction->left);
            store_expensive_operand(*contraction->right);
        }
        const bool in_order = node.as<ir::ReduceArg>().order.kind == ir::SumOrder::Kind::Sequence;
        Group& g = groups_.open(node, KernelGraph::Kind::Rows,
                                contraction ? Cut::Contraction
                                : in_order  ? Cut::AddsBlocks
                                            : Cut::Reduction);
        g.contraction = contraction.has_value();
        g.reduces = 1;
        groups_.settle(g, node);
    }

    // An unpacked operand is read once per tile, so anything but casts, scales, sums and selects is stored first, and so is what is
    // computed from memory in another order (the gradient of a pool) or is concatenated.
    void store_expensive_operand(const Node& factor) {
        const Node* node = &factor;
        while (ir::is_movement(node->op) && node->op != Op::Insert && groups_.home(*node) < 0) node = &node->source();
        if (groups_.home(*node) >= 0 || node->sources.empty()) return;
        if (groups_.state(*node).cost <= kCheapPrologue && groups_.state(*node).tangles == 0 && node->op != Op::Insert)
            return;
        if (groups_.state(*node).leaves == 0 && groups_.state(*node).cost <= kCheapRecompute) return;
        open_map(*node, Cut::ExpensiveOperand);
    }

    void place_special(const Node& node) {
        for (const NodeRef& source : node.sources)
            if (const int from = groups_.home(*source); from >= 0) groups_[from].has_dependents = true;
        const bool scatter =
            node.op == Op::Scatter;  // its base is copied and then written: it must be memory or a constant
        groups_.settle(groups_.open(node, scatter ? KernelGraph::Kind::Scatter : KernelGraph::Kind::Scan,
                                    scatter ? Cut::Scatter : Cut::Scan),
                       node);
    }

    void place_custom(const Node& node) {
        for (const NodeRef& source : node.sources) {
            if (source->op == Op::Param) continue;  // dense: capture sees to that
            const int from = groups_.home(*source);
            if (from < 0 || is_narrow(*source, groups_.state(*source).full, groups_[from]))
                open_map(*source, Cut::ReadByCustom);
            Group& g = groups_[groups_.home(*source)];
            g.stores_full |= groups_.state(*source).full;  // no wider value may come after it
            g.has_dependents = true;
        }
        groups_.open(node, KernelGraph::Kind::Custom, Cut::Custom);
    }

    // An elementwise kernel of its own for a free node, or one for each part of it.
    void open_map(const Node& node, Cut cut) {
        if (graph_.parts.contains(&node) &&
            concatenations_.cost_of_parts(node) <= kLaunch + numel(node.shape) + concatenations_.cost_of_selects(node))
            return concatenations_.open_parts(node);
        groups_.settle(groups_.open(node, KernelGraph::Kind::Rows, cut), node);
    }

    // Memory of which another group writes a box.
    void open_box(const Node& insert, const Node& value) {
        if (groups_.home(value) < 0) {
            if (value.op == Op::Contiguous) make_free(value);  // it may come later in the graph
            open_map(value, Cut::Written);
        }
        Group& writer = groups_[groups_.home(value)];
        writer.has_dependents = true;
        Group g = groups_.make(insert, KernelGraph::Kind::Custom, Cut::None);
        g.parts = true;
        g.level = writer.level;
        groups_.adopt(insert, std::move(g));
    }

    // Free roots get kernels as if none of the others had one: a root that reads another one shares its level, and its leaves.
    void open_roots() {
        for (const NodeRef& root : graph_.roots)
            if (groups_.state(*root).group < 0 && graph_.uses_of(*root) == 0 && graph_.parts.contains(root.get()))
                open_map(*root, Cut::AskedFor);
        std::vector<std::pair<const Node*, Group>> fresh;
        for (const NodeRef& root : graph_.roots) {
            if (groups_.state(*root).group >= 0) continue;
            fresh.emplace_back(root.get(), groups_.make(*root, KernelGraph::Kind::Rows, Cut::AskedFor));
            groups_.add_leaves(fresh.back().second, *root);
        }
        for (auto& [node, g] : fresh) groups_.adopt(*node, std::move(g));
    }

    // Elementwise work on the result of a group joins that group, if nothing it also reads must come later.
    bool join(const Node& node) {
        int best = -1;
        for (const NodeRef& source : node.sources) {
            const int id = groups_.home(*source);
            if (id >= 0 && takes_epilogues(groups_[id]) && (best < 0 || groups_[id].level > groups_[best].level))
                best = id;
        }
        if (best < 0) return false;
        bool full = false;
        for (const NodeRef& source : node.sources) {
            const int id = groups_.home(*source);
            if (id >= 0 && id != best && groups_.merge(best, id)) best = groups_.find(best);
        }
        for (const NodeRef& source : node.sources)
            if (groups_.home(*source) == best) full |= groups_.state(*source).full;
        int needed = 0;  // the group must be above everything else that the node reads
        for (const NodeRef& source : node.sources)
            if (groups_.home(*source) != best) needed = std::max(needed, groups_.level(*source));
        if (needed >= groups_[best].level) {
            if (groups_[best].has_dependents) return false;
            groups_[best].level = needed + 1;
        }
        if (!groups_.admits(best, node)) return false;
        for (const NodeRef& source : node.sources)
            if (const int id = groups_.home(*source); id >= 0 && id != best) groups_[id].has_dependents = true;
        return groups_.enter(node, best, full);
    }

    // So does a gather whose index a group computes: it reads memory that another group has stored, or a leaf.
    bool join_gather(const Node& node) {
        const Node &source = node.source(0), &index = node.source(1);
        const int id = groups_.home(index), from = groups_.home(source), below = groups_.level(source);
        if (id < 0 || id == from || groups_[id].kind != KernelGraph::Kind::Rows || groups_[id].contraction)
            return false;
        if (below >= groups_[id].level) {
            if (groups_[id].has_dependents) return false;
            groups_[id].level = below + 1;
        }
        if (!groups_.admits(id, node)) return false;
        if (from >= 0) groups_[from].has_dependents = true;
        return groups_.enter(node, id, groups_.state(index).full);
    }

    const FusionGraph& graph_;
    Groups groups_;
    Concatenations concatenations_;
};

}  // namespace

Grouping group_nodes(const FusionGraph& graph) { return Grouper(graph).run(); }

}  // namespace weft::schedule
