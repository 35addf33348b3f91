// inspect/explain.cpp: explain(): the stages of a graph as an object, made by running each stage and keeping what it prints.
#include "cells/companions.h"
#include "cells/state.h"
#include "core/str.h"
#include "inspect/code.h"
#include "inspect/limits.h"
#include "inspect/provenance.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "kernel/proven.h"
#include "pipeline/pipeline.h"
#include "pipeline/profile.h"

#include <weft/debug.h>
#include <weft/error.h>

#include <algorithm>
#include <cstdio>
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
                                   const pipeline::Compiled* compiled, const Target& target,
                                   std::span<const ir::OriginId> origins) {
    Explanation::Kernel result;
    result.name = inspect::name_of_step(step, origins);
    result.ops = inspect::ops_behind(origins);
    result.lines = inspect::lines_behind(origins);
    if (!compiled) return result;
    const ir::KernelGraph& graph = step.kernel.graph;
    const kernel::Kernel lowered = kernel::proven_kernel(graph, target).kernel;
    std::vector<ir::NodeRef> values;
    for (const ir::KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    const pipeline::Traffic traffic = pipeline::traffic_of(graph);
    result.function = compiled->name;
    result.measured = 1e-9 * static_cast<double>(compiled->best_time);
    result.reason = describe(graph.cut);
    result.compute = ir::print_graph(values);
    result.inside = inspect::places_of(plan, step);
    result.stored = inspect::reasons_to_store(plan, step);
    result.schedule = kernel::describe(lowered);
    for (const backend::LaunchSize& launch : compiled->program->launches())
        result.schedule.push_back(to_string(launch));
    result.loops = kernel::print(lowered);
    result.source = inspect::code_of(lowered, target).text;
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

    std::vector<bool> on_host;  // by kernel

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
        const TargetRef target = pipeline::target_of(device);
        result_.graph += ir::print_graph(schedule::simplified(captured, {}, *target).simple.roots);
        const auto plan = pipeline::plan_for(captured, target, lock_);
        const inspect::ItemOrigins origins = inspect::origins_of_items(captured);
        const inspect::PlanItems items = inspect::items_of(captured, *plan);
        for (std::size_t s = 0; s < plan->plan.steps.size(); ++s) {
            const ir::OriginIds calls = inspect::origins_of_step(items, captured, origins, s);
            result_.kernels.push_back(explain_kernel(plan->plan, plan->plan.steps[s], plan->kernels[s].get(),
                                                     *plan->target, {calls.data(), calls.size()}));
            on_host.push_back(plan->target->processor == Processor::Cpu);
        }
        result_.arena_bytes += static_cast<std::int64_t>(plan->plan.arena_bytes);
    }

    Explanation& result_;
    std::unique_lock<std::recursive_mutex>& lock_;
    std::unordered_map<const ir::Node*, ir::NodeRef> arrived_;  // what a move will have made
};

}  // namespace

Explanation explain(const Tensor& tensor) {
    Explanation result;
    std::vector<bool> on_host;
    {
        const std::lock_guard queue(cells::run_lock());
        std::unique_lock lock(ir::graph_lock());
        Explainer explainer(result, lock);
        explainer.run(roots_of(tensor));
        on_host = std::move(explainer.on_host);
    }
    const bool ran = std::any_of(result.kernels.begin(), result.kernels.end(),
                                 [](const Explanation::Kernel& kernel) { return kernel.measured > 0; });
    const inspect::MachineLimits limits = inspect::machine_limits(ran);
    for (std::size_t i = 0; i < on_host.size(); ++i) {  // the limits are those of the host
        Explanation::Kernel& kernel = result.kernels[i];
        if (on_host[i])
            kernel.estimate = inspect::seconds_at_least(kernel.reads + kernel.writes, kernel.multiply_adds, limits);
    }
    return result;
}

// ---- text ------------------------------------------------------------------------------------------------------------

namespace {

std::string count_of(double count, std::string_view unit) {
    char text[48];
    const char* const prefix = count >= 1e9 ? "G" : count >= 1e6 ? "M" : count >= 1e3 ? "k" : "";
    const double scale = count >= 1e9 ? 1e-9 : count >= 1e6 ? 1e-6 : count >= 1e3 ? 1e-3 : 1;
    std::snprintf(text, sizeof text, "%.*f %s", *prefix ? 1 : 0, count * scale, prefix);
    return str(text, unit);
}

std::string time_of(double seconds) {
    char text[48];
    if (seconds < 1e-3) std::snprintf(text, sizeof text, "%.1f µs", seconds * 1e6);
    else std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
    return text;
}

// Characters, where most are one column wide.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}
std::string padded(std::string text, std::size_t width) {
    const std::size_t own = width_of(text);
    return own < width ? text.append(width - own, ' ') : text;
}
std::string right(std::string text, std::size_t width) {
    const std::size_t own = width_of(text);
    return own < width ? std::string(width - own, ' ') + text : text;
}

std::string lines_text(const Explanation::Kernel& kernel) {
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(kernel.lines.size(), kShown); ++i)
        text += str(i == 0 ? "" : " ", kernel.lines[i]);
    return kernel.lines.size() > kShown ? str(text, " …") : text;
}

std::string kernel_lines(const Explanation& plan) {
    std::size_t name = 6, lines = 0;
    for (const Explanation::Kernel& kernel : plan.kernels) {
        name = std::max(name, std::min<std::size_t>(width_of(kernel.name), 48));
        lines = std::max(lines, width_of(lines_text(kernel)));
    }
    std::string out = str(padded("kernel", name + 4), lines > 0 ? padded("  from", lines + 2) : "",
                          "       bytes       FLOP   at least   measured\n");
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
        const Explanation::Kernel& kernel = plan.kernels[i];
        out += str(right(std::to_string(i), 3), " ", padded(kernel.name, name));
        if (lines > 0) out += str("  ", padded(lines_text(kernel), lines));
        out += str("  ", right(count_of(static_cast<double>(kernel.reads + kernel.writes), "B"), 10), " ",
                   right(kernel.multiply_adds ? count_of(2.0 * static_cast<double>(kernel.multiply_adds), "") : "", 10),
                   " ", right(kernel.estimate > 0 ? time_of(kernel.estimate) : "", 10));
        if (kernel.measured > 0) {
            char percent[16];
            std::snprintf(percent, sizeof percent, "%.0f %%", 100 * kernel.estimate / kernel.measured);
            out += str(" ", right(time_of(kernel.measured), 10));
            if (kernel.estimate > kernel.measured) out += "  in the caches";
            else if (kernel.estimate > 0) out += str("  ", percent, " of the limit");
        }
        out += "\n";
    }
    return out;
}

std::string indented(std::string_view first, const std::string& text) {
    std::string out;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        out += str(at == 0 ? first : "            ", text.substr(at, end - at), "\n");
    }
    return out;
}

std::string details_of(const Explanation::Kernel& kernel) {
    std::string out = str("\nkernel ", kernel.name, "    cut here: ", kernel.reason, "\n");
    const auto list = [&](std::string_view title, const std::vector<std::string>& items) {
        for (std::size_t i = 0; i < items.size(); ++i) out += str(i == 0 ? title : "            ", items[i], "\n");
    };
    list("  lines     ", kernel.lines);
    out += indented("  compute   ", kernel.compute);
    list("  inside    ", kernel.inside);
    list("  stored    ", kernel.stored);
    list("  schedule  ", kernel.schedule);
    out += str("  traffic   reads ", megabytes(kernel.reads), ", writes ", megabytes(kernel.writes), ", scratch ",
               megabytes(kernel.scratch));
    if (kernel.multiply_adds) out += str(", ", kernel.multiply_adds, " multiply-adds");
    return out + "\n";
}

}  // namespace

std::string Explanation::text(std::string_view stage) const {
    if (stage == "graph") return graph;
    const bool is_stage = stage == "schedule" || stage == "loops" || stage == "source";
    if (!is_stage && stage != "kernels" && stage != "details")
        throw ValueError(str("explain: there is no stage \"", stage,
                             "\"; the stages are kernels, details, graph, schedule, loops, source"));
    if (kernels.empty())
        return "nothing to compute: the value is in memory, or is a view of it (a profile shows what has run)\n";
    std::string out;
    if (!is_stage)
        out = str(kernels.size(), kernels.size() == 1 ? " kernel" : " kernels", ", ", megabytes(arena_bytes),
                  " between them\n");
    if (stage == "kernels") return out + kernel_lines(*this);
    for (const Kernel& kernel : kernels) {
        if (stage == "details") out += details_of(kernel);
        if (!is_stage) continue;
        out += str(out.empty() ? "" : "\n", "kernel ", kernel.name, "\n");
        if (stage == "loops") out += kernel.loops;
        if (stage == "source") out += kernel.source;
        if (stage == "schedule")
            for (const std::string& line : kernel.schedule) out += str("  ", line, "\n");
    }
    return out;
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) { return out << explanation.text(); }

}  // namespace weft
