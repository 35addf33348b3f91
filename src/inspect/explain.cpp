// inspect/explain.cpp: explain(): the stages of a graph as an object, made by running each stage and keeping what it prints.
#include "cells/companions.h"
#include "cells/state.h"
#include "core/str.h"
#include "ir/print.h"
#include "kernel/proven.h"
#include "pipeline/pipeline.h"
#include "pipeline/profile.h"
#include "schedule/simplify.h"

#include <weft/debug.h>

#include <algorithm>
#include <mutex>
#include <ostream>

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

}  // namespace

Explanation explain(const Tensor& tensor) {
    const std::lock_guard queue(cells::run_lock());
    std::unique_lock lock(ir::graph_lock());
    const std::vector<ir::NodeRef> roots = roots_of(tensor);
    const schedule::Captured captured = schedule::capture(roots, nullptr);
    Explanation result;
    if (captured.outputs.empty()) return result;
    const schedule::CanonicalGraph canonical = schedule::canonical_graph(captured, {});
    result.graph = ir::print_graph(schedule::simplify(canonical.outputs).roots);
    const auto plan = pipeline::plan_for(captured, device::current_target(), lock);
    for (std::size_t s = 0; s < plan->plan.steps.size(); ++s)
        result.kernels.push_back(
            explain_kernel(plan->plan, plan->plan.steps[s], plan->kernels[s].get(), *plan->target));
    result.arena_bytes = static_cast<std::int64_t>(plan->plan.arena_bytes);
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
