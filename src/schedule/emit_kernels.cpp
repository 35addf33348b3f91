// schedule/emit_kernels.cpp: makes the KernelGraphs. Groups are visited from the highest level down: what a kernel reads of lower groups is
// stored by them, so that is known before they are emitted.
#include "schedule/emit_kernels.h"

#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/custom.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

constexpr std::size_t kMaxBuffers = 32;  // of a kernel, read and stored
constexpr int kSlice = -1;               // the number of a stand-in for a slice, among copies of a node

// Elements of memory from the first to the last one of an array.
std::int64_t reach(const Shape& shape, const Dims& strides) {
    std::int64_t size = numel(shape) ? 1 : 0;
    for (std::size_t d = 0; d < strides.size() && size; ++d) size += std::abs(strides[d]) * (shape[d] - 1);
    return size;
}

// Of an array without elements there is nothing to compute, and its rows have no index to compute it at.
bool computes_nothing(const Group& g) { return g.row_count == 0 && g.kind != KernelGraph::Kind::Custom; }

NodeRef bind(ScheduledKernel& kernel, const Node& node, const Dims& strides) {
    const int slot = static_cast<int>(kernel.values.size());
    kernel.values.emplace_back(&node);
    kernel.graph.params.push_back({node.dtype, reach(node.shape, strides), false});
    return ir::graph().make(Op::Param, node.dtype, node.shape, {}, ir::SlotArg{slot, strides});
}

NodeRef bind_scalar(ScheduledKernel& kernel, const Node& node) {
    const int slot = static_cast<int>(kernel.scalar_slots.size());
    kernel.scalar_slots.push_back(node.as<ir::SlotArg>().slot);
    kernel.graph.scalars.push_back(node.dtype);
    return ir::graph().make(Op::ScalarParam, node.dtype, {}, {}, ir::SlotArg{slot, {}});
}

template <class Enter>
std::ptrdiff_t uses_in(std::span<const Node* const> order, const Node& value, const Enter& enter) {
    std::ptrdiff_t uses = 0;
    for (const Node* node : order)
        for (const NodeRef& source : node->sources) uses += source.get() == &value && enter(*node);
    return uses;
}

class KernelEmission {
public:
    KernelEmission(const FusionGraph& graph, const Grouping& grouping)
        : graph_(graph),
          grouping_(grouping),
          groups_(grouping.groups),
          stored_(groups_.size()),
          strides_(graph.box_strides) {}

    Schedule run() {
        for (const NodeRef& root : graph_.roots) store(*root);
        Schedule schedule;
        schedule.placed = lay_out(grouping_.subviews, groups_, graph_);
        for (const PlacedValue& placed : schedule.placed) {
            store(*placed.value);
            strides_.emplace(placed.value.get(), placed.strides);
        }
        schedule.kernels = emit();
        schedule.slices = std::move(slices_);
        return schedule;
    }

private:
    void store(const Node& node) {
        std::vector<const Node*>& stored = stored_[groups_.home(node)];
        if (std::find(stored.begin(), stored.end(), &node) == stored.end()) stored.push_back(&node);
    }

    // A reshape of what the same kernel computes is the same memory.
    const Node& stored_as(const Node& node) const {
        const Node* memory = &node;
        while (memory->op == Op::Reshape && !graph_.is_root.contains(memory) &&
               groups_.home(memory->source()) == groups_.home(node) &&
               groups_.state(memory->source()).full == groups_.state(node).full)
            memory = &memory->source();
        return *memory;
    }

    Dims strides_of(const Node& stored) const {
        const auto found = strides_.find(&stored);
        return found == strides_.end() ? row_major_strides(stored.shape) : found->second;
    }

    std::vector<ScheduledKernel> emit() {
        std::vector<int> ids;
        for (int id = 0; id < groups_.size(); ++id)
            if (groups_.find(id) == id) ids.push_back(id);
        std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return groups_[a].level < groups_[b].level; });
        std::vector<ScheduledKernel> kernels;
        for (auto it = ids.rbegin(); it != ids.rend(); ++it)  // consumers first: they say what must be stored
            if (!stored_[*it].empty() && !groups_[*it].parts && !computes_nothing(groups_[*it]))
                emit_group(*it, kernels);
        std::reverse(kernels.begin(), kernels.end());
        return kernels;
    }

    void emit_group(int id, std::vector<ScheduledKernel>& kernels) {
        std::vector<const Node*>& stored = stored_[id];
        std::sort(stored.begin(), stored.end(),
                  [&](const Node* a, const Node* b) { return groups_.position(*a) < groups_.position(*b); });
        if (groups_[id].kind == KernelGraph::Kind::Custom) kernels.push_back(emit_custom(groups_[id]));
        else emit_rows(id, stored, kernels);
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
    bool follows_from_row(const Node& node) const {
        if (!groups_.state(node).full || graph_.is_root.contains(&node)) return false;
        const int id = groups_.home(node);
        const NodeRef root(&node);
        const Node* row = nullptr;
        int cost = 0;
        const auto enter = [&](const Node& n) {
            return groups_.home(n) < 0 || (groups_.home(n) == id && groups_.state(n).full);
        };
        for (const Node* n : ir::topological_order(std::span(&root, 1), enter)) {
            if (enter(*n)) {
                if (n->op == Op::Param || n->op == Op::Check) return false;
                cost += ir::info(n->op).cost;
            } else if (row || groups_.home(*n) != id) return false;
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
            const int from = groups_.home(node);
            if (ir::is_fused_product(node))
                return false;  // it is rounded with the sum that reads it: never stored in between
            const bool inlines = (is_free_kind(node) || ir::is_movement(node.op)) && !graph_.written.contains(&node);
            if (from < 0 || from == id || node.sources.empty() ||
                is_narrow(node, groups_.state(node).full, groups_[from]))
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
            } else if (grouping_.copies.contains(node)) {
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
        kernel.graph.cut = g.cut;
        for (const Node* node : stored) {
            const int param = static_cast<int>(kernel.values.size());
            const Dims strides = strides_of(*node);
            kernel.graph.params.push_back({node->dtype, reach(node->shape, strides), true});
            kernel.values.emplace_back(node);
            kernel.graph.outputs.push_back({local.at(node), param, groups_.state(*node).full, strides});
        }
        return kernel;
    }

    ScheduledKernel emit_custom(const Group& g) {
        ScheduledKernel step;
        step.custom = NodeRef(g.anchor);
        step.graph.kind = g.kind;
        step.graph.cut = g.cut;
        for (const NodeRef& source : g.anchor->sources) {
            if (groups_.home(*source) >= 0) store(*source);
            step.values.push_back(source);
        }
        const int results = static_cast<int>(g.anchor->as<ir::CustomArg>().function->results.size());
        for (int r = 0; r < results; ++r) step.values.push_back(ir::part(step.custom, r));  // asked for or not
        return step;
    }

    // Is the value stored as it is, in memory that this plan lays out?
    bool is_sliceable(const Node& value) const {
        const Node& memory = stored_as(value);
        const bool in_leaf =
            graph_.written.contains(&memory) || (strides_.contains(&memory) && !grouping_.subviews.contains(&memory));
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

    const FusionGraph& graph_;
    const Grouping& grouping_;
    const Groups& groups_;
    std::vector<std::vector<const Node*>> stored_;   // per group
    std::unordered_map<const Node*, Dims> strides_;  // of what is not stored densely
    std::vector<PlacedValue> slices_;                // each once: their stand-ins
    std::unordered_set<const Node*> is_slice_;
};

}  // namespace

Schedule emit_kernels(const FusionGraph& graph, const Grouping& grouping) {
    return KernelEmission(graph, grouping).run();
}

}  // namespace weft::schedule
