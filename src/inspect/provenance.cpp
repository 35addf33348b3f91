// inspect/provenance.cpp: items behind steps, and names that a person recognises.
#include "inspect/provenance.h"

#include "core/str.h"
#include "inspect/calls.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "pipeline/names.h"
#include "pipeline/pipeline.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace weft::inspect {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using schedule::PlanStep;

bool computes_nothing(const Node& node) {
    return node.op == Op::Const || node.op == Op::Param || node.op == Op::ScalarParam || node.op == Op::Iota ||
           ir::constant_value(NodeRef(&node));
}

// What a step stores: its last values, also where donation has bound an output to the parameter of an input.
std::vector<NodeRef> results_of(const PlanStep& step) {
    const std::vector<NodeRef>& values = step.kernel.values;
    const std::size_t first =
        step.kernel.custom ? step.kernel.custom->sources.size() : values.size() - step.kernel.graph.outputs.size();
    return {values.begin() + static_cast<std::ptrdiff_t>(first), values.end()};
}

// Which steps each item is part of. An item that left no trace in any (a rule has put it and its user into one) is where its users are.
void follow_users(const schedule::Captured& captured, std::vector<std::set<int>>& steps_of) {
    std::vector<std::set<int>> from_users(captured.items.size());
    for (std::size_t i = captured.items.size(); i-- > 0;) {
        if (steps_of[i].empty()) steps_of[i] = from_users[i];
        for (const int operand : captured.items[i].operands)
            from_users[operand].insert(steps_of[i].begin(), steps_of[i].end());
    }
}

}  // namespace

PlanItems items_of(const schedule::Captured& captured, const pipeline::CachedPlan& cached) {
    const schedule::Plan& plan = cached.plan;
    ir::Origins table;
    table.start();
    const schedule::CanonicalGraph canonical = schedule::canonical_graph(captured, plan.run_time_constants);
    for (std::size_t i = 0; i < canonical.values.size(); ++i) {
        const auto id = static_cast<ir::OriginId>(i) << 1;
        if (canonical.values[i] && !computes_nothing(*canonical.values[i]))
            table.add(*canonical.values[i], std::span(&id, 1));
    }
    {
        const ir::OriginScope scope(table, {}, true);
        pipeline::make_plan(captured, plan.run_time_constants, *cached.target, {.donate = cached.target->donate});
    }

    std::unordered_set<const Node*> stored;
    for (const PlanStep& step : plan.steps)
        for (const NodeRef& result : results_of(step)) stored.insert(result.get());
    std::vector<std::set<int>> steps_of(captured.items.size());
    PlanItems items;
    items.values.assign(plan.values.size(), -1);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        const PlanStep& step = plan.steps[s];
        std::unordered_set<const Node*> own;
        std::vector<NodeRef> results = results_of(step);
        for (const NodeRef& result : results) own.insert(result.get());
        for (std::size_t v = 0; v < step.kernel.values.size(); ++v) {
            const auto origins = table.of(*step.kernel.values[v]);
            if (!origins.empty() && own.contains(step.kernel.values[v].get()))
                items.values[step.values[v]] = static_cast<int>(origins.back() >> 1);
        }
        if (step.kernel.custom) results.push_back(step.kernel.custom);
        const auto enter = [&](const Node& node) { return own.contains(&node) || !stored.contains(&node); };
        for (const Node* node : ir::topological_order(results, enter)) {
            if (!enter(*node) || computes_nothing(*node)) continue;
            for (const ir::OriginId id : table.of(*node)) steps_of[id >> 1].insert(static_cast<int>(s));
        }
    }
    follow_users(captured, steps_of);
    items.steps.resize(plan.steps.size());
    for (std::size_t i = 0; i < steps_of.size(); ++i)
        for (const int s : steps_of[i]) items.steps[s].push_back(static_cast<int>(i));
    return items;
}

ItemOrigins origins_of_items(const schedule::Captured& captured) {
    ItemOrigins result(captured.items.size());
    const ir::CallLog* const calls = ir::call_log();
    if (!calls) return result;
    for (std::size_t i = 0; i < result.size(); ++i)
        if (captured.items[i].node) result[i] = ir::OriginIds(calls->origins.of(*captured.items[i].node));
    return result;
}

ir::OriginIds origins_of_step(const PlanItems& items, const schedule::Captured& captured, const ItemOrigins& origins,
                              std::size_t step) {
    const auto is_view = [](const Node& node) {
        return ir::is_movement(node.op) || node.op == Op::Var || computes_nothing(node);
    };
    ir::OriginIds ids;
    for (const int i : items.steps[step]) {
        const Node* const node = captured.items[i].node;
        if (!node || is_view(*node)) continue;
        for (const ir::OriginId id : origins[i])
            if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    if (!ids.empty()) return ids;
    // A copy of a view, or of a constant. The constants of a kernel that was made before anybody recorded are others', too.
    for (auto i = items.steps[step].rbegin(); i != items.steps[step].rend(); ++i) {
        if (!origins[*i].empty()) return origins[*i];
        if (const Node* const node = captured.items[*i].node; node && !is_view(*node)) break;
    }
    return ids;
}

// "result 0 in f32[64, 32, 512] at [3, 0, 128]", for each result that lies in a larger array.
std::vector<std::string> places_of(const schedule::Plan& plan, const PlanStep& step) {
    std::vector<std::string> places;
    for (std::size_t i = 0; i < step.kernel.graph.outputs.size(); ++i) {
        const schedule::PlanValue& value = plan.values[step.values[step.kernel.graph.outputs[i].param]];
        if (value.where != schedule::PlanValue::Where::Inside) continue;
        const schedule::PlanValue& whole = plan.values[value.whole];
        Shape at;
        for (std::size_t d = 0; d < whole.shape.size(); ++d)
            at.push_back(value.offset / whole.strides[d] % whole.shape[d]);
        places.push_back(str("result ", i, " in ", name_of(whole.dtype), whole.shape, " at ", at));
    }
    return places;
}

// "result 0: asked for", for each result. The plan's first output is what was asked for; the others are for tensors that are alive.
std::vector<std::string> reasons_to_store(const schedule::Plan& plan, const PlanStep& step) {
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < step.kernel.graph.outputs.size(); ++i) {
        const int value = step.values[step.kernel.graph.outputs[i].param];
        const auto output = std::find(plan.outputs.begin(), plan.outputs.end(), value);
        const std::string_view why = output == plan.outputs.begin() ? "asked for"
                                     : output != plan.outputs.end()
                                         ? "a tensor that is alive needs it: it is computed once"
                                         : "other kernels read it";
        reasons.push_back(str("result ", i, ": ", why));
    }
    return reasons;
}

std::vector<std::string> ops_behind(std::span<const ir::OriginId> origins) {
    std::vector<std::string> ops;
    const auto add = [&](std::string op) {
        if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(std::move(op));
    };
    for (const ir::OriginId id : origins) add(str(is_backward(id) ? "grad " : "", calls().site(site_of(id)).op));
    return ops;
}

std::vector<std::string> lines_behind(std::span<const ir::OriginId> origins) {
    std::vector<std::string> lines;
    for (const ir::OriginId id : origins) {
        const SourceLine line = calls().line(calls().site(site_of(id)).line);
        if (line.file.empty()) continue;
        std::string text = str(line.file.substr(line.file.rfind('/') + 1), ":", line.line);
        if (std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(std::move(text));
    }
    return lines;
}

std::string name_of_step(const PlanStep& step, std::span<const ir::OriginId> origins) {
    std::vector<std::string> ops = ops_behind(origins);
    if (ops.empty()) return pipeline::name_of_step(step);
    // "grad linear+gelu" instead of "grad linear+grad gelu".
    constexpr std::string_view kGrad = "grad ";
    if (std::all_of(ops.begin(), ops.end(), [&](const std::string& op) { return op.starts_with(kGrad); }))
        for (std::size_t i = 1; i < ops.size(); ++i) ops[i].erase(0, kGrad.size());
    return pipeline::joined_name(ops, pipeline::size_of_step(step));
}

}  // namespace weft::inspect
