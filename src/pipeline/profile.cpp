// pipeline/profile.cpp: what a kernel moved and computed, and how fast.
#include "pipeline/profile.h"

#include "core/config.h"
#include "core/str.h"
#include "ir/walk.h"
#include "pipeline/names.h"

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

KernelTimer::KernelTimer(device::DeviceRuntime& device, const schedule::PlanStep& step, std::int64_t chunks)
    : device_(device), step_(step), chunks_(chunks), level_(config().debug) {
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
        char text[160];
        std::snprintf(text, sizeof text, "  %10.1f us  %8.2f GFLOP/s  %7.2f GB/s  %lld chunks", seconds * 1e6,
                      2e-9 * static_cast<double>(traffic.multiply_adds) / seconds,
                      1e-9 * static_cast<double>(traffic.reads + traffic.writes) / seconds,
                      static_cast<long long>(chunks_));
        line += text;
    }
    std::clog << line << "\n";
}

}  // namespace weft::pipeline
