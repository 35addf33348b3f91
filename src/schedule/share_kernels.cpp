// schedule/share_kernels.cpp: kernels are grouped by a hash of everything but their constants. Where a group was put together wrongly,
// nothing is lost but the constants that became scalars.
#include "schedule/share_kernels.h"

#include "ir/build.h"
#include "ir/walk.h"

#include <algorithm>
#include <unordered_map>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using ir::Node;
using ir::NodeRef;
using ir::Op;

constexpr std::size_t kFewest = 3;  // of a kind: a pair may well be two layers of one network

// Integers stay: they may be indices, which are proven to be in range.
bool is_number(const Node& node) { return node.op == Op::Const && is_float(node.dtype); }

std::vector<NodeRef> values_of(const KernelGraph& graph) {
    std::vector<NodeRef> values;
    for (const KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    return values;
}

struct Form {
    std::uint64_t hash = 0;
    std::vector<const Node*> numbers;  // in the order of the walk, which the graph alone decides
};

Form form_of(const KernelGraph& graph) {
    Form form;
    const auto mix = [&](std::uint64_t word) {
        form.hash = (form.hash ^ word) * 0x9e3779b97f4a7c15;
        form.hash ^= form.hash >> 29;
    };
    for (const Node* node : ir::topological_order(values_of(graph))) {
        mix(static_cast<std::uint64_t>(node->op) << 8 | static_cast<std::uint64_t>(node->dtype));
        for (const std::int64_t size : node->shape) mix(static_cast<std::uint64_t>(size));
        for (const NodeRef& source : node->sources) mix(source->slot);  // its place in the walk
        if (is_number(*node)) form.numbers.push_back(node);
        else mix(ir::hash_of(node->arg));
    }
    return form;
}

Word value_of(const Node& number) { return number.as<ir::ConstArg>().value; }

class Sharing {
public:
    Sharing(Plan& plan, int scalars) : plan_(plan), scalars_(scalars) {}

    void run() {
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike;
        forms_.resize(plan_.steps.size());
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            if (plan_.steps[s].kernel.custom) continue;
            forms_[s] = form_of(plan_.steps[s].kernel.graph);
            if (!forms_[s].numbers.empty()) alike[forms_[s].hash].push_back(s);
        }
        for (std::size_t s = 0; s < plan_.steps.size();
             ++s)  // in run order: the literals' order is the same in each process
            if (const auto group = alike.find(forms_[s].hash); group != alike.end() && group->second.front() == s)
                if (group->second.size() >= kFewest) share(group->second);
    }

private:
    void share(const std::vector<std::size_t>& steps) {
        const std::vector<const Node*>& first = forms_[steps[0]].numbers;
        for (std::size_t i = 0; i < first.size(); ++i) {
            const auto differs = [&](std::size_t s) {
                const std::vector<const Node*>& numbers = forms_[s].numbers;
                return i < numbers.size() && value_of(*numbers[i]) != value_of(*first[i]);
            };
            if (std::none_of(steps.begin(), steps.end(), differs)) continue;
            for (const std::size_t s : steps)
                if (i < forms_[s].numbers.size()) replaced_[s].push_back(forms_[s].numbers[i]);
        }
        for (const std::size_t s : steps)
            if (const auto found = replaced_.find(s); found != replaced_.end())
                take_as_scalars(plan_.steps[s].kernel, found->second);
    }

    void take_as_scalars(ScheduledKernel& kernel, const std::vector<const Node*>& numbers) {
        std::unordered_map<const Node*, NodeRef> scalar_of;
        for (const Node* number : numbers) {
            const int slot = static_cast<int>(kernel.scalar_slots.size());
            kernel.scalar_slots.push_back(scalars_ + static_cast<int>(plan_.literals.size()));
            kernel.graph.scalars.push_back(number->dtype);
            plan_.literals.push_back(value_of(*number));
            scalar_of.emplace(number, ir::graph().make(Op::ScalarParam, number->dtype, {}, {}, ir::SlotArg{slot, {}}));
        }
        const auto replace = [&](const Node& node, const ir::Sources& sources) {
            if (const auto found = scalar_of.find(&node); found != scalar_of.end()) return found->second;
            return sources.empty() ? NodeRef(&node) : ir::with_sources(node, sources);
        };
        const std::vector<NodeRef> values = ir::rebuild(values_of(kernel.graph), replace);
        for (std::size_t i = 0; i < values.size(); ++i) kernel.graph.outputs[i].value = values[i];
    }

    Plan& plan_;
    const int scalars_;
    std::vector<Form> forms_;
    std::unordered_map<std::size_t, std::vector<const Node*>>
        replaced_;  // of a step: the constants that others have otherwise
};

}  // namespace

void share_kernels(Plan& plan, int scalars) { Sharing(plan, scalars).run(); }

}  // namespace weft::schedule
