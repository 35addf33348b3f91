// schedule/cost.cpp: rates per element, counted over the nodes of each kernel.
#include "schedule/cost.h"

#include "ir/walk.h"

#include <cmath>

namespace weft::schedule {
namespace {

constexpr double kPerOp = 5e-11;      // of a vectorised op, a multiply-add among them
constexpr double kPerSerial = 2e-9;   // of a scan or a scatter, whose elements wait for each other
constexpr double kPerCustom = 1e-8;   // of a decomposition, times the power below
constexpr double kCustomPower = 1.5;  // n x n elements take n^3

double seconds_of(const PlanStep& step, const Plan& plan) {
    if (step.kernel.custom) {
        double elements = 0;
        for (const int value : step.values) elements += static_cast<double>(numel(plan.values[value].shape));
        return kPerCustom * std::pow(elements, kCustomPower);
    }
    const ir::KernelGraph& graph = step.kernel.graph;
    const bool serial = graph.kind == ir::KernelGraph::Kind::Scan || graph.kind == ir::KernelGraph::Kind::Scatter;
    std::vector<ir::NodeRef> values;
    for (const ir::KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    double elements = 0;
    for (const ir::Node* node : ir::topological_order(values)) elements += static_cast<double>(numel(node->shape));
    return elements * (serial ? kPerSerial : kPerOp);
}

}  // namespace

double seconds_after_donation(const Plan& plan) {
    bool writes = false;
    double seconds = 0;
    for (const PlanStep& step : plan.steps) {
        for (const int value : step.values) writes = writes || plan.values[value].where == PlanValue::Where::Donated;
        if (writes) seconds += seconds_of(step, plan);
    }
    return seconds;
}

}  // namespace weft::schedule
