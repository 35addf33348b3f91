// schedule/fuse.cpp: fuses a simplified graph into kernels (the "schedule" arrow of docs/architecture.md).
// In: nodes, no two equal. Out: KernelGraphs in run order; each says what to compute, none says how to loop.
//
// One forward pass puts nodes into groups, one backward pass finds what must be stored:
// - A Reduce opens a group. Elementwise work on its result, element by element, joins it (epilogue). Where the result is spread
//   over trailing axes again (x - mean), the group becomes a *row* group: later reduces over the same rows join it too, so
//   softmax, layer norm and cross-entropy are one kernel each.
// - What needs no reduce stays *free*: it is inlined wherever it is used (prologue), unless that repeats costly work.
// - What is put side by side (cat, stack) needs no kernel where its parts are stored anyway: each lies in its place of the whole.
// - Groups have levels; a group only ever reads groups of lower levels. That is why no fusion can close a cycle, and why two groups
//   of one level may always merge.
#include "schedule/fuse.h"

#include "core/interrupt.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/custom.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/boxes.h"
#include "schedule/groups.h"
#include "schedule/worth_storing.h"

#include <weft/error.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

constexpr int kMaxNodes = 480;           // per kernel; the design's limit is 512 expression nodes
constexpr int kMaxParams = 28;           // … to be read; with what is stored …
constexpr std::size_t kMaxBuffers = 32;  // … 32 buffers
constexpr int kMaxReduces = 7;           // … and 8 loop nests
constexpr int kCheapPrologue = 6;        // per element, in additions: dearer operands of a contraction are stored first
constexpr std::int64_t kLongestRow = 1 << 20, kSmallWork = 1 << 17;
constexpr std::int64_t kLaunch = 24 << 10;  // what a kernel costs beside its work, in elements copied
constexpr std::int64_t kShortestRun = 64;   // bytes: a part's neighbours in the whole; fewer are no whole cache lines
constexpr std::size_t kMostCopies = 16;     // of parts by one kernel
constexpr int kMostAgain =
    4;  // parts that a kernel stores once more: one with too many buffers is cut, and computes twice
constexpr int kMostTangles = 6;  // reshapes of moved axes on top of each other: each doubles the index arithmetic

constexpr int kSlice = -1;  // the number of a stand-in for a slice, among copies of a node

// Elements of memory from the first to the last one of an array.
std::int64_t reach(const Shape& shape, const Dims& strides) {
    std::int64_t size = numel(shape) ? 1 : 0;
    for (std::size_t d = 0; d < strides.size() && size; ++d) size += std::abs(strides[d]) * (shape[d] - 1);
    return size;
}

class Fuser {
public:
    Fuser(std::span<const NodeRef> roots, const RootBoxes& boxes)
        : roots_(roots), order_(ir::topological_order(roots)) {
        for (const auto& [value, box] : boxes) {
            strides_.emplace(value, box.strides);
            written_.emplace(box.insert.get(), value);
        }
        facts_.resize(order_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) slot_.emplace(order_[i], i);
        for (const NodeRef& root : roots) is_root_.insert(root.get());
        for (const Node* node : order_)
            for (const NodeRef& source : node->sources) ++facts(*source).uses;
        for (const Node* node : order_) {
            if (node->op == Op::Reduce) note_factors(*node);
            if (node->op == Op::Custom)
                for (const NodeRef& source : node->sources) dense_.insert(source.get());
        }
        for (auto node = order_.rbegin(); node != order_.rend(); ++node)
            if ((*node)->op == Op::Insert && !within_.contains(*node)) note_parts(**node);
    }

    Schedule run() {
        for (const Node* node : order_) {
            poll_interrupt();
            place(*node);
        }
        open_roots();
        merge_maps();
        for (const NodeRef& root : roots_) store(*root);
        Schedule schedule;
        schedule.placed = lay_out_parts();
        schedule.kernels = emit();
        schedule.slices = std::move(slices_);
        return schedule;
    }

private:
    Facts& facts(const Node& node) { return facts_[slot_.at(&node)]; }
    Group& group(int id) { return groups_[find(id)]; }
    int find(int id) {
        while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
        return id;
    }
    int home(const Node& node) {
        const int id = facts(node).group;
        return id < 0 ? -1 : find(id);
    }
    int level(const Node& node) {  // of everything below a free node, or of the group itself
        const int id = home(node);
        return id < 0 ? facts(node).level : groups_[id].level;
    }

    // A factor of a contraction is spread by the contraction's own loops. A row group that did it (a pooling before a linear layer)
    // would take the product along, and store every product instead of their sums.
    void note_factors(const Node& reduce) {
        const auto contraction = ir::find_contraction(reduce, [](const Node& n) { return n.op == Op::Reduce; });
        if (!contraction) return;
        for (const Node* node : {contraction->left.get(), contraction->right.get()})
            for (; ir::is_movement(node->op) && node->op != Op::Insert; node = &node->source())
                if (node->op == Op::Expand) factor_.insert(node);
    }

    // The Inserts below the topmost one are nobody else's: they are seen as one node with many operands.
    void note_parts(const Node& top) {
        std::vector<Part> parts = parts_side_by_side(top);
        const auto run_is_short = [&](const Part& part) {
            const std::int64_t run = run_length(part, top.shape);
            return run < numel(part.value->shape) && run * static_cast<std::int64_t>(size_of(top.dtype)) < kShortestRun;
        };
        if (parts.size() < 2 || std::any_of(parts.begin(), parts.end(), run_is_short)) return;
        if (strides_.contains(&top)) return;  // a box in a leaf: where it begins is known only when it runs
        const Node* below = &top;
        for (std::size_t i = 1; i < parts.size(); ++i) {
            below = &below->source();
            if (facts(*below).uses > 1 || is_root_.contains(below) || written_.contains(below)) return;
        }
        below = &top;
        for (std::size_t i = 1; i < parts.size(); ++i) within_.insert(below = &below->source());
        parts_.emplace(&top, std::move(parts));
    }

    // ---- the forward pass ---------------------------------------------------------------------------------------------

    void place(const Node& node) {
        if (home(node) >= 0) return;  // somebody needed it before
        if (const auto found = written_.find(&node); found != written_.end()) return open_box(node, *found->second);
        if (node.sources.empty()) {
            facts(node).leaves = facts(node).nodes = node.op == Op::Param;
            return;
        }
        if (node.op == Op::Reduce) return place_reduce(node);
        if (node.op == Op::Scan || node.op == Op::Scatter) return place_special(node);
        if (node.op == Op::Custom) return place_custom(node);
        if (node.op == Op::Part) {
            enter(node, home(node.source()), false);
            return;
        }
        if (node.op == Op::Contiguous) {
            make_free(node);
            return open_map(node, "contiguous() asks for memory");
        }
        if (ir::is_movement(node.op) && node.op != Op::Insert) return place_view(node);
        if (!is_free_kind(node)) throw InternalError(str("fuse: unexpected ", ir::name_of(node.op)));
        if (within_.contains(&node)) return;
        if (!ir::is_elementwise(node.op) || !join(node)) make_free(node);
    }

    // The sources of a node; those of arrays side by side are all its parts.
    InlineVector<const Node*, 3> operands(const Node& node) const {
        InlineVector<const Node*, 3> result;
        if (const auto found = parts_.find(&node); found != parts_.end())
            for (const Part& part : found->second) result.push_back(part.value.get());
        else
            for (const NodeRef& source : node.sources) result.push_back(source.get());
        return result;
    }

    // A node that no group takes: it is inlined where it is used, up to the limits.
    void make_free(const Node& node) {
        Facts& mine = facts(node);
        mine.group = -1;
        mine.cost = ir::info(node.op).cost;
        mine.nodes = is_expression(node);
        mine.leaves = 0;
        mine.tangles = 0;
        mine.moved = false;
        const Node* previous = nullptr;
        const bool has_parts = parts_.contains(&node);
        for (const Node* source : operands(node)) {
            mine.nodes += has_parts;
            if (source == previous) continue;
            previous = source;
            const int from = home(*source);
            mine.level = std::max(mine.level, level(*source));
            if (from >= 0) {
                groups_[from].has_dependents = true;
                mine.leaves += 1;
                mine.nodes += 1;
            } else {
                const Facts& theirs = facts(*source);
                mine.cost = std::min(1 << 20, mine.cost + theirs.cost);
                mine.nodes += theirs.nodes;
                mine.leaves += theirs.leaves;
                mine.tangles = std::max(mine.tangles, theirs.tangles);
                mine.moved |= theirs.moved;
            }
        }
        if (node.op == Op::Reshape && mine.moved && !(squeezed(node.shape) == squeezed(node.source().shape))) {
            if (++mine.tangles > kMostTangles) {
                open_map(node.source(), "its index would be too tangled");
                return make_free(node);
            }
            mine.moved = false;
        } else {
            mine.moved |= ir::is_movement(node.op) && node.op != Op::Reshape;
        }
        if (mine.nodes > kMaxNodes || mine.leaves > kMaxParams) count_exactly(node);
        const bool over = mine.nodes > kMaxNodes || mine.leaves > kMaxParams;
        if (has_parts && (over || cost_of_parts(node) < cost_of_selects(node))) return open_parts(node);
        // Over the limit: store the largest operand, so that this node starts again from memory.
        while (mine.nodes > kMaxNodes || mine.leaves > kMaxParams) {
            const Node* heaviest = nullptr;
            for (const NodeRef& source : node.sources)
                if (home(*source) < 0 && !source->sources.empty() &&
                    (!heaviest || facts(*source).nodes > facts(*heaviest).nodes))
                    heaviest = source.get();
            if (!heaviest) break;
            open_map(before_views(*heaviest), "the kernel would be too large");
            return make_free(node);
        }
        store_if_repeated(node);
    }

    // What a chain of free views looks at: that is stored, not what an expansion makes of it.
    const Node& before_views(const Node& node) {
        const Node* at = &node;
        while (ir::is_movement(at->op) && at->op != Op::Insert && home(at->source()) < 0 &&
               !at->source().sources.empty())
            at = &at->source();
        return *at;
    }

    // A value that several kernels may want and that is dear is stored. So is one that reads memory out of order: each kernel would
    // gather it anew.
    void store_if_repeated(const Node& node) {
        const Facts& mine = facts(node);
        if (mine.uses < 2 || mine.leaves == 0 || ir::is_movement(node.op)) return;
        if (mine.cost > kCheapRecompute) open_map(node, "dear, and used more than once");
        else if (mine.tangles > 0) open_map(node, "read out of order, and used more than once");
    }

    // Distinct (node, chain of views) pairs and buffers below a free node: what its expression really holds.
    void count_exactly(const Node& node) {
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
            if (at != &node && (home(*at) >= 0 || at->sources.empty())) {
                if (home(*at) >= 0 || at->op == Op::Param) leaves.insert(at), ++nodes;
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
        facts(node).nodes = stack.empty() ? nodes : kMaxNodes + 1;
        facts(node).leaves = static_cast<int>(leaves.size());
    }

    void place_view(const Node& node) {
        const Node& source = node.source();
        const int from = home(source);
        if (from >= 0 && groups_[from].kind == KernelGraph::Kind::Rows) {
            Group& g = groups_[from];
            if (node.op == Op::Reshape && enter(node, from, !g.contraction && facts(source).full)) return;
            const bool keeps_rows = g.row_count == 1 || (!facts(source).full && expands_trailing(node));
            const bool spreads = node.op == Op::Expand && keeps_rows && !factor_.contains(&node);
            if (spreads && spread(g, node) && enter(node, from, true)) return;
        }
        make_free(node);
    }

    // Puts a node into a group, unless it would have to be stored by a kernel that cannot.
    bool enter(const Node& node, int id, bool full) {
        Group& g = groups_[id];
        if (full && is_root_.contains(&node)) {
            if (is_narrow(node, full, g)) return false;
            g.stores_full = true;
        }
        facts(node) = {.group = id, .full = full, .level = g.level, .uses = facts(node).uses};
        return true;
    }

    // In a kernel of a single row every index is the row's: a scalar may be spread over few elements on the way to many. Only the widest
    // values are stored; a kernel that wants one of the others computes it from the row's values.
    static bool is_narrow(const Node& node, bool full, const Group& g) {
        return full && numel(node.shape) != g.row_count * g.inner_count;
    }

    // May row values of this group be used along trailing axes, all in one kernel?
    bool spread(Group& g, const Node& expand) {
        const std::int64_t inner = numel(expand.shape) / std::max<std::int64_t>(1, g.row_count);
        if (g.contraction || g.row_count == 0 || inner == 0) return false;
        const bool one_row = g.row_count == 1;
        if (g.inner_count == inner || (one_row && inner < g.inner_count)) return true;
        if (g.inner_count != 1 && (!one_row || g.stores_full)) return false;
        const std::int64_t work = g.row_count * inner;
        if (work > kSmallWork && (g.row_count < 2 || inner > kLongestRow)) return false;
        g.inner_count = inner;
        g.inner = squeezed(Shape(expand.shape.begin(), expand.shape.end()));
        std::int64_t covered = 1;  // the trailing axes that make up `inner`
        std::size_t first = g.inner.size();
        while (first > 0 && covered < inner) covered *= g.inner[--first];
        g.inner = covered == inner ? Shape(g.inner.begin() + static_cast<std::ptrdiff_t>(first), g.inner.end())
                                   : Shape{inner};
        return true;
    }

    void place_reduce(const Node& node) {
        const Node& source = node.source();
        const int from = home(source);
        if (from >= 0 && facts(source).full && groups_[from].kind == KernelGraph::Kind::Rows &&
            groups_[from].reduces < kMaxReduces && reduces_trailing(node) &&
            numel(node.shape) == groups_[from].row_count && admits(from, node)) {
            facts(node) = {.group = from, .full = false, .level = groups_[from].level, .uses = facts(node).uses};
            ++groups_[from].reduces;
            return;
        }
        if (from >= 0) groups_[from].has_dependents = true;
        const auto is_stored = [&](const Node& n) { return home(n) >= 0; };
        const auto contraction = ir::find_contraction(node, is_stored);
        if (contraction) {
            store_dear_operand(*contraction->left);
            store_dear_operand(*contraction->right);
        }
        open(node, KernelGraph::Kind::Rows, contraction ? "a contraction" : "a reduction");
        Group& g = groups_.back();
        g.contraction = contraction.has_value();
        g.reduces = 1;
        settle(g, node);
    }

    // An unpacked operand is read once per tile, so anything but casts, scales, sums and selects is stored first, and so is what is
    // computed from memory in another order (the gradient of a pool) or from several arrays side by side.
    void store_dear_operand(const Node& factor) {
        const Node* node = &factor;
        while (ir::is_movement(node->op) && node->op != Op::Insert && home(*node) < 0) node = &node->source();
        if (home(*node) >= 0 || node->sources.empty()) return;
        if (facts(*node).cost <= kCheapPrologue && facts(*node).tangles == 0 && node->op != Op::Insert) return;
        if (facts(*node).leaves == 0 && facts(*node).cost <= kCheapRecompute) return;
        open_map(*node, "too dear for an operand of a contraction");
    }

    void place_special(const Node& node) {
        for (const NodeRef& source : node.sources)
            if (const int from = home(*source); from >= 0) groups_[from].has_dependents = true;
        if (node.op == Op::Scatter) {  // its base is copied and then written: it must be memory or a constant
            open(node, KernelGraph::Kind::Scatter, "a scatter");
        } else {
            open(node, KernelGraph::Kind::Scan, "a scan");
        }
        settle(groups_.back(), node);
    }

    void place_custom(const Node& node) {
        for (const NodeRef& source : node.sources) {
            if (source->op == Op::Param) continue;  // dense: capture sees to that
            const int from = home(*source);
            if (from < 0 || is_narrow(*source, facts(*source).full, groups_[from]))
                open_map(*source, "a custom function reads memory");
            Group& g = group(home(*source));
            g.stores_full |= facts(*source).full;  // no wider value may come after it
            g.has_dependents = true;
        }
        open(node, KernelGraph::Kind::Custom, "a custom function");
    }

    void open(const Node& node, KernelGraph::Kind kind, std::string reason) {
        adopt(node, new_group(node, kind, std::move(reason)));
    }

    Group new_group(const Node& node, KernelGraph::Kind kind, std::string reason) {
        int below = 0;
        for (const Node* source : operands(node)) below = std::max(below, level(*source));
        Group g;
        g.kind = kind;
        g.rows = squeezed(node.shape);
        g.row_count = numel(node.shape);
        g.level = below + 1;
        g.anchor = &node;
        g.nodes = facts(node).nodes;
        g.reason = std::move(reason);
        return g;
    }

    void adopt(const Node& node, Group g) {
        parent_.push_back(static_cast<int>(groups_.size()));
        const int uses = facts(node).uses;
        facts(node) = {.group = static_cast<int>(groups_.size()), .full = false, .level = g.level, .uses = uses};
        groups_.push_back(std::move(g));
    }

    // An elementwise kernel of its own for a free node, or one for each part of it.
    void open_map(const Node& node, std::string reason) {
        if (parts_.contains(&node) && cost_of_parts(node) <= kLaunch + numel(node.shape) + cost_of_selects(node))
            return open_parts(node);
        open(node, KernelGraph::Kind::Rows, std::move(reason));
        settle(groups_.back(), node);
    }

    // Free roots get kernels as if none of the others had one: a root that reads another one shares its level, and its leaves.
    void open_roots() {
        for (const NodeRef& root : roots_)
            if (facts(*root).group < 0 && facts(*root).uses == 0 && parts_.contains(root.get()))
                open_map(*root, "asked for");
        std::vector<std::pair<const Node*, Group>> fresh;
        for (const NodeRef& root : roots_) {
            if (facts(*root).group >= 0) continue;
            fresh.emplace_back(root.get(), new_group(*root, KernelGraph::Kind::Rows, "asked for"));
            add_leaves(fresh.back().second, *root);
        }
        for (auto& [node, g] : fresh) adopt(*node, std::move(g));
    }

    // What a new group reads. It is above all of that, also above values that got a kernel of their own after views of them were placed.
    void settle(Group& g, const Node& node) {
        add_leaves(g, node);
        for (const Node* leaf : g.leaves)
            if (const int from = home(*leaf); from >= 0) g.level = std::max(g.level, groups_[from].level + 1);
    }

    void add_leaves(Group& g, const Node& node) {
        const NodeRef root(&node);
        const auto enter = [&](const Node& n) { return &n == &node || home(n) < 0; };
        for (const Node* n : ir::topological_order(std::span(&root, 1), enter)) {
            if (n == &node) continue;
            const bool leaf = n->op == Op::Param || home(*n) >= 0;
            if (leaf) g.leaves.insert(n);
            if (const int from = home(*n); from >= 0) groups_[from].has_dependents = true;  // it stays below this group
            g.nodes += leaf || (!n->sources.empty() && is_expression(*n));
        }
    }

    // Would the kernel stay within its limits with this node's free operands inlined?
    bool admits(int id, const Node& node) {
        int nodes = groups_[id].nodes + 1, leaves = static_cast<int>(groups_[id].leaves.size());
        for (const NodeRef& source : node.sources) {
            const int from = home(*source);
            if (from == id) continue;
            nodes += from >= 0 ? 1 : facts(*source).nodes;
            leaves += from >= 0 ? 1 : facts(*source).leaves;
        }
        if (nodes > kMaxNodes || leaves > kMaxParams) return false;
        for (const NodeRef& source : node.sources)
            if (home(*source) < 0) add_leaves(groups_[id], *source);
        groups_[id].nodes = std::min(groups_[id].nodes + 1, nodes);
        return true;
    }

    // ---- arrays side by side -------------------------------------------------------------------------------------------

    // How a part gets to its place: what stores it does so there, or stores it once more, or it takes a kernel of its own.
    enum class Way : std::uint8_t { InPlace, Again, Copy };

    // The value that is in memory where a part of an array is.
    const Node& memory_of(const Node& part) {
        const Node* node = &part;
        while (node->op == Op::Reshape && !is_root_.contains(node) &&
               (home(*node) < 0 ||
                (home(node->source()) == home(*node) && facts(node->source()).full == facts(*node).full)) &&
               !node->source().sources.empty())
            node = &node->source();
        return *node;
    }

    Way way_of(const Part& part) {
        const Node& memory = memory_of(*part.value);
        const int id = home(memory);
        if (id < 0 || (groups_[id].kind == KernelGraph::Kind::Custom && !groups_[id].parts)) return Way::Copy;
        if (is_narrow(memory, facts(memory).full, groups_[id])) return Way::Copy;
        const bool has_place = is_root_.contains(&memory) || dense_.contains(&memory) || place_.contains(&memory) ||
                               written_.contains(&memory);  // in its leaf
        if (!has_place && squeezed(memory.shape) == squeezed(part.value->shape)) return Way::InPlace;
        return takes_epilogues(groups_[id]) && groups_[id].again < kMostAgain ? Way::Again : Way::Copy;
    }

    // Costs in elements copied: of finding out for each element in which part it lies, and of storing the parts.
    std::int64_t cost_of_selects(const Node& whole) {
        return (numel(whole.shape) + 7) / 8 * static_cast<std::int64_t>(parts_.at(&whole).size());
    }
    std::int64_t cost_of_parts(const Node& whole) {
        std::int64_t cost = 0;
        std::unordered_map<std::int64_t, std::size_t> copies;  // by size
        for (const Part& part : parts_.at(&whole)) {
            const std::int64_t size = numel(part.value->shape);
            const Way way = way_of(part);
            if (way != Way::InPlace) cost += size;
            if (way == Way::Copy && copies[size]++ % kMostCopies == 0) cost += kLaunch;
        }
        return cost;
    }

    // From now on the value is memory, which other groups write: it is there when the last of them is done.
    void open_parts(const Node& node) {
        std::vector<const Node*> stored;
        std::vector<std::pair<int, std::size_t>> copying;  // groups, and how many parts each copies
        for (const Part& part : parts_.at(&node)) {
            const Node* memory = &memory_of(*part.value);
            if (const Way way = way_of(part); way != Way::InPlace) {
                const int id = home(*memory);
                const bool full = facts(*memory).full;
                memory = &new_copy(*part.value);
                if (way == Way::Again) {
                    ++groups_[id].again;
                    facts(*memory) = {.group = id, .full = full, .level = groups_[id].level, .uses = 1};
                } else {
                    open_copy(*memory, copying);
                }
            }
            place_.emplace(memory, Place{&node, part.starts, part.value.get()});
            stored.push_back(memory);
        }
        Group g = new_group(node, KernelGraph::Kind::Custom, "");
        g.parts = true;
        g.level = 0;
        for (const Node* memory : stored) {
            Group& writer = groups_[home(*memory)];
            writer.has_dependents = true;
            writer.stores_full |= facts(*memory).full;
            g.level = std::max(g.level, writer.level);
        }
        adopt(node, std::move(g));
    }

    // Memory of which another group writes a box.
    void open_box(const Node& insert, const Node& value) {
        if (home(value) < 0) {
            if (value.op == Op::Contiguous) make_free(value);  // it may come later in the graph
            open_map(value, "written in place");
        }
        Group& writer = groups_[home(value)];
        writer.has_dependents = true;
        Group g = new_group(insert, KernelGraph::Kind::Custom, "");
        g.parts = true;
        g.level = writer.level;
        adopt(insert, std::move(g));
    }

    // A node that stands for one more copy of a value.
    const Node& new_copy(const Node& value) {
        NodeRef copy;
        for (int number = 0; !copy || slot_.contains(copy.get()); ++number)
            copy = ir::graph().make(Op::Contiguous, value.dtype, value.shape, {NodeRef(&value)}, ir::PartArg{number});
        slot_.emplace(copy.get(), facts_.size());
        facts_.push_back({.uses = 1});
        copies_.emplace(copy.get(), copy);
        return *copy;
    }

    void open_copy(const Node& copy, std::vector<std::pair<int, std::size_t>>& copying) {
        open(copy, KernelGraph::Kind::Rows, "a part of an array");
        settle(groups_.back(), copy);
        for (auto& [id, count] : copying)
            if (count < kMostCopies && merge(find(id), home(copy))) {
                ++count;
                return;
            }
        copying.emplace_back(home(copy), 1);
    }

    static bool takes_epilogues(const Group& g) {
        return g.kind == KernelGraph::Kind::Rows || g.kind == KernelGraph::Kind::Scan;
    }

    // Elementwise work on the result of a group joins that group, if nothing it also reads must come later.
    bool join(const Node& node) {
        int best = -1;
        for (const NodeRef& source : node.sources) {
            const int id = home(*source);
            if (id >= 0 && takes_epilogues(groups_[id]) && (best < 0 || groups_[id].level > groups_[best].level))
                best = id;
        }
        if (best < 0) return false;
        bool full = false;
        for (const NodeRef& source : node.sources) {
            const int id = home(*source);
            if (id >= 0 && id != best && merge(best, id)) best = find(best);
        }
        for (const NodeRef& source : node.sources)
            if (home(*source) == best) full |= facts(*source).full;
        int needed = 0;  // the group must be above everything else that the node reads
        for (const NodeRef& source : node.sources)
            if (home(*source) != best) needed = std::max(needed, level(*source));
        if (needed >= groups_[best].level) {
            if (groups_[best].has_dependents) return false;
            groups_[best].level = needed + 1;
        }
        if (!admits(best, node)) return false;
        for (const NodeRef& source : node.sources)
            if (const int id = home(*source); id >= 0 && id != best) groups_[id].has_dependents = true;
        return enter(node, best, full);
    }

    // Puts group b into group a, if they run over the same rows and neither has to come before the other.
    bool merge(int a, int b) {
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
            into.reason = from.reason;
        }
        into.leaves = std::move(leaves);
        into.nodes += from.nodes;
        into.reduces += from.reduces;
        into.again += from.again;
        into.contraction |= from.contraction;
        into.has_dependents |= from.has_dependents;
        into.stores_full |= from.stores_full;
        into.stored.insert(into.stored.end(), from.stored.begin(), from.stored.end());
        parent_[b] = a;
        return true;
    }

    // Horizontal fusion: elementwise outputs over the same elements, at the same level, that read something in common (or are
    // small) share a kernel: an Adam update writes p, m and v in one pass.
    void merge_maps() {
        std::unordered_map<std::uint64_t, std::vector<int>> alike;
        for (const NodeRef& root : roots_) {
            const int id = home(*root);
            Group& g = groups_[id];
            if (g.kind != KernelGraph::Kind::Rows || g.row_count == 0) continue;
            std::vector<int>& candidates = alike[static_cast<std::uint64_t>(g.row_count) * 1021 + g.level];
            bool merged = false;
            for (const int other : candidates) {
                const int into = find(other);
                if (into == id) merged = true;
                if (merged) break;
                if (groups_[into].level == g.level && groups_[into].row_count == g.row_count && related(into, id))
                    merged = merge(into, id);
            }
            if (!merged) candidates.push_back(id);
        }
    }

    bool related(int a, int b) {
        if (groups_[a].row_count <= 4096 && !groups_[a].reduces && !groups_[b].reduces) return true;
        for (const Node* leaf : groups_[a].leaves)
            if (groups_[b].leaves.contains(leaf)) return true;
        return false;
    }

    // ---- the backward pass --------------------------------------------------------------------------------------------

    void store(const Node& node) {
        Group& g = groups_[home(node)];
        if (std::find(g.stored.begin(), g.stored.end(), &node) == g.stored.end()) g.stored.push_back(&node);
    }

    // A reshape of what the same kernel computes is the same memory.
    const Node& stored_as(const Node& node) {
        const Node* memory = &node;
        while (memory->op == Op::Reshape && !is_root_.contains(memory) && home(memory->source()) == home(node) &&
               facts(memory->source()).full == facts(node).full)
            memory = &memory->source();
        return *memory;
    }

    // A whole comes later in the graph than its parts (their copies aside): it is laid out first.
    std::vector<PlacedValue> lay_out_parts() {
        std::vector<std::pair<const Node*, const Place*>> all;
        for (const auto& [value, place] : place_) all.emplace_back(value, &place);
        std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
            const std::size_t one = slot_.at(a.second->whole), other = slot_.at(b.second->whole);
            return one != other ? one > other : slot_.at(a.first) < slot_.at(b.first);
        });
        std::vector<PlacedValue> result;
        for (const auto& [value, place] : all) {
            store(*value);
            const Dims outer = strides_of(*place->whole);
            PlacedValue placed{
                .value = NodeRef(value), .whole = NodeRef(place->whole), .strides = row_major_strides(value->shape)};
            std::size_t axis = outer.size();  // of the part; axes of size 1 aside, they are those of the value
            for (std::size_t d = value->shape.size(); d-- > 0;) {
                if (d + 1 < value->shape.size()) placed.strides[d] = placed.strides[d + 1] * value->shape[d + 1];
                if (value->shape[d] == 1) continue;
                do --axis;
                while (place->part->shape[axis] == 1);
                placed.strides[d] = outer[axis];
            }
            for (std::size_t d = 0; d < outer.size(); ++d) placed.offset += place->starts[d] * outer[d];
            strides_.emplace(value, placed.strides);
            result.push_back(std::move(placed));
        }
        return result;
    }

    Dims strides_of(const Node& stored) {
        const auto found = strides_.find(&stored);
        return found == strides_.end() ? row_major_strides(stored.shape) : found->second;
    }

    std::vector<ScheduledKernel> emit() {
        std::vector<int> ids;
        for (int id = 0; id < static_cast<int>(groups_.size()); ++id)
            if (find(id) == id) ids.push_back(id);
        std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return groups_[a].level < groups_[b].level; });
        std::vector<ScheduledKernel> kernels;
        for (auto it = ids.rbegin(); it != ids.rend(); ++it)  // consumers first: they say what must be stored
            if (!groups_[*it].stored.empty() && !groups_[*it].parts && !computes_nothing(groups_[*it]))
                emit_group(*it, kernels);
        std::reverse(kernels.begin(), kernels.end());
        return kernels;
    }

    // Of an array without elements there is nothing to compute, and its rows have no index to compute it at.
    static bool computes_nothing(const Group& g) { return g.row_count == 0 && g.kind != KernelGraph::Kind::Custom; }

    void emit_group(int id, std::vector<ScheduledKernel>& kernels) {
        Group& g = groups_[id];
        std::sort(g.stored.begin(), g.stored.end(),
                  [&](const Node* a, const Node* b) { return slot_.at(a) < slot_.at(b); });
        if (g.kind == KernelGraph::Kind::Custom) kernels.push_back(emit_custom(g));
        else emit_rows(id, g.stored, kernels);
    }

    // How much of a group is stored is known only now: with too many buffers, each half of its outputs gets a kernel.
    void emit_rows(int id, std::span<const Node* const> stored, std::vector<ScheduledKernel>& kernels) {
        ScheduledKernel kernel = emit_kernel(id, stored);
        if (kernel.graph.params.size() <= kMaxBuffers || stored.size() == 1) {
            kernels.push_back(std::move(kernel));
            return;
        }
        emit_rows(id, stored.subspan(0, stored.size() / 2), kernels);
        emit_rows(id, stored.subspan(stored.size() / 2), kernels);
    }

    // Does a value along a row follow from one value of the row, without more memory (which element of a window is the largest)? Then
    // the row's value is stored, which is smaller, and who reads this one computes it.
    bool follows_from_row(const Node& node) {
        if (!facts(node).full || is_root_.contains(&node)) return false;
        const int id = home(node);
        const NodeRef root(&node);
        const Node* row = nullptr;
        int cost = 0;
        const auto enter = [&](const Node& n) { return home(n) < 0 || (home(n) == id && facts(n).full); };
        for (const Node* n : ir::topological_order(std::span(&root, 1), enter)) {
            if (enter(*n)) {
                if (n->op == Op::Param || n->op == Op::Check) return false;
                cost += ir::info(n->op).cost;
            } else if (row || home(*n) != id) return false;
            else row = n;
        }
        return row && cost <= kCheapPrologue && ir::bytes_of(*row) <= ir::bytes_of(node);
    }

    ScheduledKernel emit_kernel(int id, std::span<const Node* const> stored) {
        const Group& g = groups_[id];
        std::vector<NodeRef> outputs;
        for (const Node* node : stored) outputs.emplace_back(node);
        // A free value that got a kernel of its own only after this group had inlined it may come too late: it stays inlined.
        const auto foreign = [&](const Node& node) {
            const int from = home(node);
            if (ir::is_fused_product(node))
                return false;  // it is rounded with the sum that reads it: never stored in between
            const bool inlines = (is_free_kind(node) || ir::is_movement(node.op)) && !written_.contains(&node);
            if (from < 0 || from == id || node.sources.empty() || is_narrow(node, facts(node).full, groups_[from]))
                return false;
            if (inlines && follows_from_row(node)) return false;
            return groups_[from].level < g.level || !inlines;
        };
        const auto enter = [&](const Node& node) { return !foreign(node); };
        ScheduledKernel kernel;
        kernel.contraction = g.contraction;
        std::unordered_map<const Node*, NodeRef> local;
        const std::vector<const Node*> order = ir::topological_order(outputs, enter);
        std::unordered_set<const Node*> only_sliced;  // of what other kernels store
        for (const Node* node : order)
            if (node->op == Op::Shrink && numel(node->shape) > 0 && enter(*node) && foreign(node->source()) &&
                is_sliceable(node->source()) && uses_in(order, node->source(), enter) == 1)
                only_sliced.insert(&node->source());
        for (const Node* node : order) {
            if (only_sliced.contains(node)) continue;
            if (node->op == Op::Shrink && only_sliced.contains(&node->source())) {
                local.emplace(node, bind_slice(kernel, *node));
            } else if (foreign(*node)) {
                const Node& memory = stored_as(*node);
                store(memory);
                const Dims strides = strides_of(memory);
                const bool dense = strides == row_major_strides(memory.shape);
                const NodeRef param = dense ? bind(kernel, *node, row_major_strides(node->shape))
                                            : ir::reshape(bind(kernel, memory, strides), node->shape);
                local.emplace(node, param);
                kernel.values.back() = NodeRef(&memory);
            } else if (node->op == Op::Param) {
                local.emplace(node, bind(kernel, *node, node->as<ir::SlotArg>().strides));
            } else if (node->op == Op::ScalarParam) {
                local.emplace(node, bind_scalar(kernel, *node));
            } else if (copies_.contains(node)) {
                local.emplace(node, local.at(&node->source()));
            } else {
                kernel.checks |= node->op == Op::Check;
                ir::Sources sources;
                for (const NodeRef& source : node->sources) sources.push_back(local.at(source.get()));
                local.emplace(node, sources.empty() ? NodeRef(node) : ir::with_sources(*node, std::move(sources)));
            }
        }
        kernel.graph.kind = g.kind;
        kernel.graph.rows = g.rows;
        kernel.graph.inner = g.inner;
        kernel.graph.reasons.push_back(g.reason);
        for (const Node* node : stored) {
            const int param = static_cast<int>(kernel.values.size());
            const Dims strides = strides_of(*node);
            kernel.graph.params.push_back({node->dtype, reach(node->shape, strides), true});
            kernel.values.emplace_back(node);
            kernel.graph.outputs.push_back({local.at(node), param, facts(*node).full, strides});
        }
        return kernel;
    }

    ScheduledKernel emit_custom(Group& g) {
        ScheduledKernel step;
        step.custom = NodeRef(g.anchor);
        step.graph.kind = g.kind;
        step.graph.reasons.push_back(g.reason);
        for (const NodeRef& source : g.anchor->sources) {
            if (home(*source) >= 0) store(*source);
            step.values.push_back(source);
        }
        const int results = static_cast<int>(g.anchor->as<ir::CustomArg>().function->results.size());
        for (int r = 0; r < results; ++r) step.values.push_back(ir::part(step.custom, r));  // asked for or not
        return step;
    }

    NodeRef bind(ScheduledKernel& kernel, const Node& node, const Dims& strides) {
        const int slot = static_cast<int>(kernel.values.size());
        kernel.values.emplace_back(&node);
        kernel.graph.params.push_back({node.dtype, reach(node.shape, strides), false});
        return ir::graph().make(Op::Param, node.dtype, node.shape, {}, ir::SlotArg{slot, strides});
    }

    template <class Enter>
    static std::ptrdiff_t uses_in(std::span<const Node* const> order, const Node& value, const Enter& enter) {
        std::ptrdiff_t uses = 0;
        for (const Node* node : order)
            for (const NodeRef& source : node->sources) uses += source.get() == &value && enter(*node);
        return uses;
    }

    // Is the value stored as it is, in memory that this plan lays out?
    bool is_sliceable(const Node& value) {
        const Node& memory = stored_as(value);
        const bool in_leaf = written_.contains(&memory) || (strides_.contains(&memory) && !place_.contains(&memory));
        const bool dense = strides_of(memory) == row_major_strides(memory.shape);
        return !in_leaf && numel(value.shape) > 0 &&
               (memory.shape == value.shape || (dense && squeezed(memory.shape) == squeezed(value.shape)));
    }

    NodeRef bind_slice(ScheduledKernel& kernel, const Node& slice) {
        const Node& memory = stored_as(slice.source());
        store(memory);
        const Dims strides =
            memory.shape == slice.source().shape ? strides_of(memory) : row_major_strides(slice.source().shape);
        const NodeRef stand_in =
            ir::graph().make(Op::Contiguous, slice.dtype, slice.shape, {NodeRef(&slice)}, ir::PartArg{kSlice});
        const NodeRef param = bind(kernel, slice, strides);
        kernel.values.back() = stand_in;
        if (!is_slice_.insert(stand_in.get()).second) return param;  // another kernel reads it, too
        PlacedValue placed{.value = stand_in, .whole = NodeRef(&memory), .strides = strides};
        const Dims& starts = slice.as<ir::BoxArg>().starts;
        for (std::size_t d = 0; d < starts.size(); ++d) placed.offset += starts[d] * strides[d];
        slices_.push_back(std::move(placed));
        return param;
    }

    NodeRef bind_scalar(ScheduledKernel& kernel, const Node& node) {
        const int slot = static_cast<int>(kernel.scalar_slots.size());
        kernel.scalar_slots.push_back(node.as<ir::SlotArg>().slot);
        kernel.graph.scalars.push_back(node.dtype);
        return ir::graph().make(Op::ScalarParam, node.dtype, {}, {}, ir::SlotArg{slot, {}});
    }

    std::span<const NodeRef> roots_;
    std::vector<const Node*> order_;
    std::vector<Facts> facts_;
    std::unordered_set<const Node*> is_root_;
    std::unordered_set<const Node*> factor_;                    // expansions of factors of contractions
    std::unordered_map<const Node*, std::vector<Part>> parts_;  // of arrays side by side
    std::unordered_set<const Node*> within_;                    // Inserts that only such an array consists of
    std::unordered_set<const Node*> dense_;                     // what a custom function reads
    std::unordered_map<const Node*, Place> place_;
    std::unordered_map<const Node*, const Node*> written_;  // memory of which a root is a box
    std::unordered_map<const Node*, Dims> strides_;         // of these roots, and of what is placed
    std::unordered_map<const Node*, NodeRef> copies_;
    std::vector<PlacedValue> slices_;  // each once: their stand-ins
    std::unordered_set<const Node*> is_slice_;
    std::unordered_map<const Node*, std::size_t> slot_;
    std::vector<Group> groups_;
    std::vector<int> parent_;
};

}  // namespace

Schedule fuse(std::span<const NodeRef> roots, const RootBoxes& boxes) { return Fuser(roots, boxes).run(); }

}  // namespace weft::schedule
