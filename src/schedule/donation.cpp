// schedule/donation.cpp: an output may lie where a leaf lay, if no step reads the leaf after the step that writes it, and that step reads
// only the elements that it stores. Steps up to the last one that may raise write nothing in place: what they read must still be there.
#include "schedule/donation.h"

#include "ir/walk.h"

#include <algorithm>

namespace weft::schedule {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

namespace {

// Is the Param with this slot read only at the index that is stored, in every output? Elementwise ops and reshapes keep the index.
bool reads_in_place(const KernelGraph& graph, int slot) {
    std::unordered_set<const Node*> aligned, unaligned;
    std::vector<std::pair<const Node*, bool>> stack;
    const auto push = [&](const Node* node, bool in_place) {
        if ((in_place ? aligned : unaligned).insert(node).second) stack.emplace_back(node, in_place);
    };
    for (const KernelGraph::Output& output : graph.outputs) push(output.value.get(), true);
    while (!stack.empty()) {
        const auto [node, in_place] = stack.back();
        stack.pop_back();
        if (node->op == Op::Param && node->as<ir::SlotArg>().slot == slot && !in_place) return false;
        for (std::size_t i = 0; i < node->sources.size(); ++i) {
            const bool keeps = ir::is_elementwise(node->op) || node->op == Op::Reshape || node->op == Op::Contiguous ||
                               node->op == Op::Scan || (node->op == Op::Scatter && i == 0) ||
                               (node->op == Op::Insert && i == 0);
            push(node->sources[i].get(), in_place && keeps);
        }
    }
    return true;
}

int last_that_may_raise(const Plan& plan) {
    int last = -1;
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        if (plan.steps[s].kernel.checks || plan.steps[s].kernel.custom) last = s;
    return last;
}

}  // namespace

Donation::Donation(const Captured& captured, const PlanOptions& options) : captured_(captured), options_(options) {
    for (const Captured::Leaf& leaf : captured_.leaves) ++views_of_[captured_.views[leaf.view].storage.get()];
}

bool Donation::is_donatable(int leaf) const {
    const std::vector<int>& refused = options_.not_donated;
    const bool shared = views_of_.at(captured_.leaf(leaf).storage.get()) > 1;
    return captured_.leaves[leaf].donatable && ir::is_dense(captured_.leaf(leaf)) && !shared &&
           std::find(refused.begin(), refused.end(), leaf) == refused.end();
}

Donation::Size Donation::size_of_leaf(int leaf) const {
    const StorageView& view = captured_.leaf(leaf);
    return {size_of(view.dtype), numel(view.shape)};
}

void Donation::find_readers(const Plan& plan) {
    readers_.assign(captured_.leaves.size(), {});
    for (int v = 0; v < static_cast<int>(plan.values.size()); ++v) {
        const PlanValue& value = plan.values[v];
        if (value.where == PlanValue::Where::Donated) taken_.insert(value.leaf);  // by a box
        if (value.where == PlanValue::Where::Inside) has_parts_.insert(value.whole);
        if (value.where != PlanValue::Where::Leaf) continue;
        readers_[value.leaf].value = v;
        leaf_of_.emplace(v, value.leaf);
    }
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        for (const int v : plan.steps[s].values)
            if (const auto leaf = leaf_of_.find(v); leaf != leaf_of_.end()) readers_[leaf->second].last_step = s;
    for (const int output : plan.outputs)
        if (const auto leaf = leaf_of_.find(output); leaf != leaf_of_.end()) readers_[leaf->second].is_output = true;
}

void Donation::donate(Plan& plan) {
    find_readers(plan);
    const int first = last_that_may_raise(plan) + 1, count = static_cast<int>(plan.steps.size());
    const auto each_output = [&](int s, const auto& function) {
        PlanStep& step = plan.steps[s];
        for (KernelGraph::Output& output : step.kernel.graph.outputs) {
            const int v = step.values[output.param];
            PlanValue& value = plan.values[v];
            if (value.where == PlanValue::Where::Output && value.bytes != 0 && !has_parts_.contains(v))
                function(step, output, value);
        }
    };
    const auto take_first = [&](int s, const std::set<int>& leaves, PlanStep& step, KernelGraph::Output& output,
                                PlanValue& value) {
        for (const int leaf : leaves)
            if (!taken_.contains(leaf) && may_take(plan, s, value, leaf)) return take(step, output, value, leaf);
    };
    // First the outputs that replace what they read (a parameter, a running mean): their memory stays theirs from step to step.
    for (int s = first; s < count; ++s)
        each_output(s, [&](PlanStep& step, KernelGraph::Output& output, PlanValue& value) {
            take_first(s, operands(step, output), step, output, value);
        });
    // Then whatever is free: what this step reads last, too.
    std::map<Size, std::set<int>> free;
    std::vector<std::vector<int>> read_last(static_cast<std::size_t>(count) + 1);
    for (int leaf = 0; leaf < static_cast<int>(readers_.size()); ++leaf)
        if (!taken_.contains(leaf) && is_donatable(leaf))
            read_last[static_cast<std::size_t>(std::max(readers_[leaf].last_step, 0))].push_back(leaf);
    for (int s = 0; s < count; ++s) {
        for (const int leaf : read_last[static_cast<std::size_t>(s)]) free[size_of_leaf(leaf)].insert(leaf);
        if (s < first) continue;
        each_output(s, [&](PlanStep& step, KernelGraph::Output& output, PlanValue& value) {
            std::set<int>& leaves = free[{size_of(value.dtype), numel(value.shape)}];
            take_first(s, leaves, step, output, value);
            if (value.where == PlanValue::Where::Donated) leaves.erase(value.leaf);
        });
    }
}

// The leaves that this output reads, element by element.
std::set<int> Donation::operands(const PlanStep& step, const KernelGraph::Output& output) const {
    std::set<int> leaves;
    const auto enter = [](const Node& node) { return ir::is_elementwise(node.op) || node.op == Op::Reshape; };
    for (const Node* node : ir::topological_order(std::span(&output.value, 1), enter)) {
        if (node->op != Op::Param) continue;
        const auto leaf = leaf_of_.find(step.values[node->as<ir::SlotArg>().slot]);
        if (leaf != leaf_of_.end()) leaves.insert(leaf->second);
    }
    return leaves;
}

// Of a leaf with as many elements, as large: what the output reads element by element, or what was looked up by its size.
bool Donation::may_take(const Plan& plan, int s, const PlanValue& value, int leaf) const {
    const StorageView& view = captured_.leaf(leaf);
    if (!is_donatable(leaf)) return false;
    const Reader& reader = readers_[leaf];
    if (reader.is_output || reader.last_step > s) return false;
    const PlanStep& step = plan.steps[s];
    for (std::size_t p = 0; p < step.values.size(); ++p)
        if (step.values[p] == reader.value &&
            (view.dtype != value.dtype || !reads_in_place(step.kernel.graph, static_cast<int>(p))))
            return false;
    return true;
}

// The output is stored where the input lies; if the kernel reads that input, both are one parameter.
void Donation::take(PlanStep& step, KernelGraph::Output& output, PlanValue& value, int leaf) {
    taken_.insert(leaf);
    value.where = PlanValue::Where::Donated;
    value.leaf = leaf;
    for (std::size_t p = 0; p < step.values.size(); ++p)
        if (step.values[p] == readers_[leaf].value) {
            output.param = static_cast<int>(p);
            step.kernel.graph.params[p].output = true;
            return;
        }
}

}  // namespace weft::schedule
