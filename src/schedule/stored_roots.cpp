// schedule/stored_roots.cpp: an output is stored as itself, or as a box of memory whose last use this is.
#include "schedule/stored_roots.h"

#include "ir/build.h"

#include <optional>
#include <unordered_set>

namespace weft::schedule {
namespace {

using ir::Node;
using ir::Op;

class Chooser {
public:
    Chooser(const Captured& captured, const SimplifiedGraph& graph, const PlanOptions& options)
        : captured_(captured), donation_(captured, options) {
        if (options.donate) box_leaves_.emplace(captured, graph.canonical, graph.simple);
    }

    StoredRoots run(std::span<const NodeRef> roots) {
        for (const NodeRef& root : roots) result_.outputs.push_back(output_of(root));
        return std::move(result_);
    }

private:
    StoredRoots::Output output_of(const NodeRef& root) {
        NodeRef computed = root;
        if (root->op == Op::Param) {  // simplified to memory that exists
            if (ir::is_dense(captured_.leaf(root->as<ir::SlotArg>().slot))) return {.node = root};
            computed = ir::contiguous(root);  // the caller reckons with a dense array: it may reshape it
        }
        const int box = box_leaves_ ? box_leaves_->leaf(root, donation_) : -1;
        if (box >= 0) {  // a kernel of its own stores what is memory, a constant, or a custom function's result
            const NodeRef& value = root->sources[1];
            const bool computes = !value->sources.empty() && value->op != Op::Custom && value->op != Op::Part;
            computed = computes ? value : ir::contiguous(value);
        }
        NodeRef& stored = stored_[root.get()];
        if (!stored) {
            stored = unclaimed(computed, box >= 0);
            if (box >= 0) result_.boxes.emplace(stored.get(), RootBox{root, row_major_strides(root->shape)});
        }
        if (is_root_.insert(stored.get()).second) result_.nodes.push_back(stored);
        if (box < 0) return {.node = stored};
        return {.node = stored, .leaf = box, .insert = root, .first_constant = box_leaves_->start_constant(*root)};
    }

    // The node that a root is stored as. A box lies in memory of its own: where another root is this node too (one constant is written
    // into two arrays), one of them is a numbered copy of it.
    NodeRef unclaimed(const NodeRef& value, bool box) const {
        const auto taken = [&](const NodeRef& node) {
            return result_.boxes.contains(node.get()) || (box && is_root_.contains(node.get()));
        };
        NodeRef node = value;
        for (int number = 0; taken(node); ++number)
            node = ir::graph().make(Op::Contiguous, value->dtype, value->shape, {value}, ir::PartArg{number});
        return node;
    }

    const Captured& captured_;
    const Donation donation_;
    std::optional<BoxLeaves> box_leaves_;  // if anything may be donated
    StoredRoots result_;
    std::unordered_map<const Node*, NodeRef> stored_;  // what a root is stored as …
    std::unordered_set<const Node*> is_root_;          // … and those nodes
};

}  // namespace

StoredRoots choose_stored_roots(const Captured& captured, const SimplifiedGraph& graph, const PlanOptions& options) {
    return Chooser(captured, graph, options).run(graph.simple.roots);
}

FusedGraph fused(const Captured& captured, const SimplifiedGraph& graph, const PlanOptions& options,
                 FusedGraph before) {
    StoredRoots roots = choose_stored_roots(captured, graph, options);
    const bool same = roots.nodes == before.roots.nodes && roots.boxes == before.roots.boxes;
    Schedule kernels = same ? std::move(before.kernels) : fuse(roots.nodes, roots.boxes);
    return {std::move(roots), std::move(kernels)};
}

}  // namespace weft::schedule
