// pipeline/profile.cpp: what a kernel moved and computed, and how fast.
#include "pipeline/profile.h"

#include "core/config.h"
#include "core/str.h"
#include "ir/walk.h"
#include "pipeline/names.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <mutex>

namespace weft::pipeline {

Traffic traffic_of(const ir::KernelGraph& graph) {
    const std::lock_guard lock(ir::graph_lock());  // a walk marks nodes
    Traffic traffic;
    for (const ir::KernelGraph::Param& param : graph.params)
        if (!param.output) traffic.reads += param.size * static_cast<std::int64_t>(size_of(param.dtype));
    std::vector<ir::NodeRef> values;
    for (const ir::KernelGraph::Output& output : graph.outputs) {
        traffic.writes += numel(output.value->shape) * static_cast<std::int64_t>(size_of(output.value->dtype));
        values.push_back(output.value);
    }
    for (const ir::Node* node : ir::topological_order(values))
        if (node->op == ir::Op::Reduce && node->source().op == ir::Op::Mul)
            traffic.multiply_adds += numel(node->source().shape);
    return traffic;
}

namespace {

std::string rate(double per_second, std::string_view unit) {
    constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P"};
    std::size_t prefix = 0;
    for (; per_second >= 1000 && prefix + 1 < kPrefixes.size(); ++prefix) per_second /= 1000;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %s", per_second, kPrefixes[prefix]);
    return str(text, unit);
}

}  // namespace

std::string rates_of(const Traffic& traffic, double seconds) {
    std::string text;
    if (traffic.multiply_adds > 0) text = rate(2 * static_cast<double>(traffic.multiply_adds) / seconds, "FLOP/s");
    if (const std::int64_t bytes = traffic.reads + traffic.writes; bytes > 0)
        text += str(text.empty() ? "" : ", ", rate(static_cast<double>(bytes) / seconds, "B/s"));
    return text;
}

KernelTimer::KernelTimer(device::DeviceRuntime& device, const schedule::PlanStep& step, const Compiled* kernel)
    : device_(device), step_(step), kernel_(kernel), level_(config().debug) {
    if (level_ >= 2) start_ = device_.mark();
}

KernelTimer::~KernelTimer() {
    if (level_ < 1) return;
    std::string line;
    {
        const std::lock_guard lock(ir::graph_lock());  // a walk marks nodes
        line = str("kernel ", name_of_step(step_));
    }
    if (level_ >= 2) {
        const std::unique_ptr<device::Moment> end = device_.mark();
        const double seconds = 1e-9 * static_cast<double>(end->time() - start_->time());
        const Traffic traffic = traffic_of(step_.kernel.graph);
        const std::vector<backend::LaunchSize> launches =
            kernel_ ? kernel_->program->launches() : std::vector<backend::LaunchSize>();
        char text[160];
        std::snprintf(text, sizeof text, "  %10.1f us  %8.2f GFLOP/s  %7.2f GB/s", seconds * 1e6,
                      2e-9 * static_cast<double>(traffic.multiply_adds) / seconds,
                      1e-9 * static_cast<double>(traffic.reads + traffic.writes) / seconds);
        line += text;
        if (launches.empty()) line += str("  ", kernel_ ? kernel_->chunks : 1, " chunks");
        for (const backend::LaunchSize& launch : launches) line += str("  ", to_string(launch));
    }
    std::clog << line << "\n";
}

}  // namespace weft::pipeline
