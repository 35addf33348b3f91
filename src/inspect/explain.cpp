// inspect/explain.cpp: explain(): the stages of a graph as an object, made by running each stage and keeping what it prints.
#include "cells/companions.h"
#include "cells/state.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "kernel/proven.h"
#include "pipeline/pipeline.h"
#include "pipeline/profile.h"
#include "schedule/simplify.h"

#include <weft/debug.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <ostream>
#include <unordered_map>

namespace weft {
namespace {

std::string megabytes(std::int64_t bytes) {
    if (bytes < 10'000) return str(bytes, " B");
    if (bytes < 10'000'000) return str(bytes / 1000, ".", bytes / 100 % 10, " kB");
    return str(bytes / 1'000'000, ".", bytes / 100'000 % 10, " MB");
}

// "result 0 in f32[64, 32, 512] at [3, 0, 128]", for each result that lies in a larger array.
std::vector<std::string> places_of(const schedule::Plan& plan, const schedule::PlanStep& step) {
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
std::vector<std::string> reasons_to_store(const schedule::Plan& plan, const schedule::PlanStep& step) {
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

// What is computed when this is read: also what tensors that are alive need of it. A run of its own before or after it is shown as part of it.
std::vector<ir::NodeRef> roots_of(const Tensor& tensor) {
    std::vector<ir::NodeRef> roots{cells::stripped(node_of(tensor))};
    const std::uint64_t run = ir::next_epoch();
    tensor.cell()->run = run;
    const cells::Companions found = cells::find_companions(roots, {}, run);
    const auto add = [&](const ir::NodeRef& node) {
        if (std::find(roots.begin(), roots.end(), node) == roots.end()) roots.push_back(node);
    };
    for (const auto* cells : {&found.first, &found.cells})
        for (const std::shared_ptr<Cell>& cell : *cells) add(cells::stripped(cell->node));
    for (const ir::NodeRef& value : found.values) add(value);
    return roots;
}

Explanation::Kernel explain_kernel(const schedule::Plan& plan, const schedule::PlanStep& step,
                                   const pipeline::Compiled* compiled, const Target& target) {
    Explanation::Kernel result;
    if (!compiled) {
        result.name = str("custom ", ir::to_string(step.kernel.custom->arg, step.kernel.custom->dtype));
        return result;
    }
    const ir::KernelGraph& graph = step.kernel.graph;
    const kernel::Kernel lowered = kernel::proven_kernel(graph, target).kernel;
    std::vector<ir::NodeRef> values;
    for (const ir::KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    const pipeline::Traffic traffic = pipeline::traffic_of(graph);
    result.name = compiled->name;
    result.reason = graph.reasons.empty() ? "" : graph.reasons[0];
    result.compute = ir::print_graph(values);
    result.inside = places_of(plan, step);
    result.stored = reasons_to_store(plan, step);
    result.schedule = kernel::describe(lowered);
    result.loops = kernel::print(lowered);
    result.source = compiled->program->source();
    result.reads = traffic.reads;
    result.writes = traffic.writes;
    result.multiply_adds = traffic.multiply_adds;
    result.scratch = static_cast<std::int64_t>(lowered.scratch_bytes);
    return result;
}

// Memory that a move between devices will have filled.
struct Arrived final : ir::Storage {
    Arrived(std::uint8_t number, std::int64_t size) {
        device = number;
        placeholder = true;
        bytes = static_cast<std::size_t>(size);
    }
};

// The kernels of one device, and before them those of the devices that it waits for.
class Explainer {
public:
    Explainer(Explanation& result, std::unique_lock<std::recursive_mutex>& lock) : result_(result), lock_(lock) {}

    void run(const std::vector<ir::NodeRef>& roots) {
        std::map<std::uint8_t, std::vector<ir::NodeRef>> by_device;
        for (const ir::NodeRef& root : after_moves(roots))
            by_device[Device::of_number(root->device).number()].push_back(root);
        for (const auto& [device, own] : by_device) run_on(device, own);
    }

private:
    std::vector<ir::NodeRef> after_moves(const std::vector<ir::NodeRef>& roots) {
        if (std::ranges::none_of(roots, [](const ir::NodeRef& root) { return root->crosses; })) return roots;
        for (const ir::Node* node : ir::topological_order(roots)) {  // the moves that others wait for come first
            if (node->op != ir::Op::ToDevice || node->realized || arrived_.contains(node)) continue;
            run({node->sources[0]});
            arrived_.emplace(node, ir::buffer(std::make_shared<Arrived>(node->device, ir::bytes_of(*node)), node->dtype,
                                              node->shape, 0, row_major_strides(node->shape)));
        }
        return ir::rebuild(roots, [&](const ir::Node& node, const ir::Sources& sources) -> ir::NodeRef {
            if (const auto found = arrived_.find(&node); found != arrived_.end()) return found->second;
            if (node.realized) return ir::NodeRef(node.realized);
            return sources == node.sources ? ir::NodeRef(&node)
                                           : ir::graph().make(node.op, node.dtype, node.shape, sources, node.arg);
        });
    }

    void run_on(std::uint8_t device, const std::vector<ir::NodeRef>& roots) {
        const schedule::Captured captured = schedule::capture(roots, nullptr);
        if (captured.outputs.empty()) return;
        const schedule::CanonicalGraph canonical = schedule::canonical_graph(captured, {});
        result_.graph += ir::print_graph(schedule::simplify(canonical.outputs).roots);
        const auto plan = pipeline::plan_for(captured, pipeline::target_of(device), lock_);
        for (std::size_t s = 0; s < plan->plan.steps.size(); ++s)
            result_.kernels.push_back(
                explain_kernel(plan->plan, plan->plan.steps[s], plan->kernels[s].get(), *plan->target));
        result_.arena_bytes += static_cast<std::int64_t>(plan->plan.arena_bytes);
    }

    Explanation& result_;
    std::unique_lock<std::recursive_mutex>& lock_;
    std::unordered_map<const ir::Node*, ir::NodeRef> arrived_;  // what a move will have made
};

}  // namespace

Explanation explain(const Tensor& tensor) {
    const std::lock_guard queue(cells::run_lock());
    std::unique_lock lock(ir::graph_lock());
    Explanation result;
    Explainer(result, lock).run(roots_of(tensor));
    return result;
}

std::string Explanation::text() const {
    if (kernels.empty()) return "nothing to compute: the value is in memory, or is a view of it\n";
    std::string out = str(kernels.size(), kernels.size() == 1 ? " kernel" : " kernels", ", ", megabytes(arena_bytes),
                          " between them\n");
    for (const Kernel& kernel : kernels) {
        out += str("\nkernel ", kernel.name, "    cut here: ", kernel.reason, "\n");
        for (std::size_t at = 0, end; at < kernel.compute.size(); at = end + 1) {
            end = kernel.compute.find('\n', at);
            out += str(at == 0 ? "  compute   " : "            ", kernel.compute.substr(at, end - at), "\n");
        }
        for (std::size_t i = 0; i < kernel.inside.size(); ++i)
            out += str(i == 0 ? "  inside    " : "            ", kernel.inside[i], "\n");
        for (std::size_t i = 0; i < kernel.stored.size(); ++i)
            out += str(i == 0 ? "  stored    " : "            ", kernel.stored[i], "\n");
        for (std::size_t i = 0; i < kernel.schedule.size(); ++i)
            out += str(i == 0 ? "  schedule  " : "            ", kernel.schedule[i], "\n");
        out += str("  traffic   reads ", megabytes(kernel.reads), ", writes ", megabytes(kernel.writes), ", scratch ",
                   megabytes(kernel.scratch));
        if (kernel.multiply_adds) out += str(", ", kernel.multiply_adds, " multiply-adds");
        out += "\n";
    }
    return out;
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) { return out << explanation.text(); }

}  // namespace weft
