// pipeline/pipeline.cpp: the pipeline: capture → look up → simplify → fuse → plan → lower → optimise → compile → launch, in plan_for() and
// evaluate_on(). Each stage is a function of its input and the target. Lower, optimise and compile run kernel by kernel, on all threads
// (pipeline/programs.h). Whatever can fail for want of something (memory, a compiler) fails before the first kernel.
#include "pipeline/pipeline.h"

#include "core/config.h"
#include "core/unlocked.h"
#include "ir/build.h"
#include "ir/print.h"
#include "pipeline/across_devices.h"
#include "pipeline/counters.h"
#include "pipeline/launch.h"
#include "pipeline/observer.h"
#include "schedule/cost.h"
#include "schedule/stored_roots.h"

#include <weft/error.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>

namespace weft::pipeline {
namespace {

using GraphLock = std::unique_lock<std::recursive_mutex>;
using schedule::Captured;
using schedule::FusedGraph;
using schedule::PlanOptions;
using schedule::SimplifiedGraph;
using schedule::StorageView;

// ---- fuse, plan ------------------------------------------------------------------------------------------------------

// What may be donated decides where values lie. Kernels stay, but for boxes that are then no longer written in place.
schedule::Plan fuse_and_plan(const Captured& captured, const SimplifiedGraph& simple, FusedGraph& fused,
                             const PlanOptions& options) {
    fused = schedule::fused(captured, simple, options, std::move(fused));
    schedule::Plan plan = schedule::plan_memory(captured, simple, fused, options);
    // Once donated memory is written, a run goes to its end. Where that may take long, an interrupt could not be heard: nothing is
    // donated.
    constexpr double kLongest = 0.1;
    if (!options.donate || schedule::seconds_after_donation(plan) <= kLongest) return plan;
    return fuse_and_plan(captured, simple, fused, {});
}

// ---- lower, optimise, compile ----------------------------------------------------------------------------------------

void compile_steps(CachedPlan& made, int debug, GraphLock& graph) {
    std::vector<const ir::KernelGraph*> graphs;
    for (const schedule::PlanStep& step : made.plan.steps)
        if (!step.kernel.custom) graphs.push_back(&step.kernel.graph);
    const auto compiled = compile(graphs, made.target, debug, graph);
    made.kernels.clear();
    std::size_t next = 0;
    for (const schedule::PlanStep& step : made.plan.steps)
        made.kernels.push_back(step.kernel.custom ? nullptr : compiled[next++]);
    for (const auto& kernel : compiled) made.scratch_bytes = std::max(made.scratch_bytes, kernel->scratch_bytes);
}

// Leaves that a kernel reads and writes without a proof that it reads first: the plan must do without donating them.
bool refuse_unproven(const CachedPlan& made, std::vector<int>& refused) {
    const std::size_t before = refused.size();
    for (std::size_t s = 0; s < made.kernels.size(); ++s)
        if (made.kernels[s])
            for (const int param : made.kernels[s]->unordered)
                refused.push_back(made.plan.values[made.plan.steps[s].values[param]].leaf);
    count(counter_cells().donations_refused, static_cast<std::int64_t>(refused.size() - before));
    return refused.size() > before;
}

void count_made(std::int64_t start) {
    count(counter_cells().plans_made);
    const std::int64_t end = now();
    count(counter_cells().compile_nanoseconds, end - start);
    if (Observer* const watching = observer()) watching->planned(start, end);
}

// ---- launch ----------------------------------------------------------------------------------------------------------

StorageView root_memory(const Captured& captured, const schedule::RootValue& root, const CachedPlan* plan,
                        const Launch* launch) {
    StorageView view = root.view >= 0 ? captured.views[root.view] : launch->view(plan->plan.outputs[root.output]);
    for (const ir::NodeRef& movement : root.views)
        if (!ir::apply_view(*movement, view)) throw InternalError("a root's view does not fold");
    return view;
}

ir::NodeRef kept_value(const ir::Node& node, StorageView view) {
    Dims strides;
    if (!ir::reshape_strides(view.shape, view.strides, node.shape, strides))
        throw InternalError("a kept value's view does not fold");
    view.shape = node.shape;
    view.strides = strides;
    return schedule::buffer_of(view);
}

// Launch is null where everything is memory that was there.
Result result_of(const Captured& captured, const CachedPlan* plan, const Launch* launch) {
    Result result;
    result.values.reserve(captured.roots.size());
    for (const schedule::RootValue& root : captured.roots)
        result.values.push_back(schedule::buffer_of(root_memory(captured, root, plan, launch)));
    if (plan)
        for (const auto& [item, value] : plan->plan.kept) {
            const ir::NodeRef node(captured.items[item].node);
            result.kept.emplace_back(node, kept_value(*node, launch->view(value)));
        }
    return result;
}

Evaluator& replacement() {
    static Evaluator& instance = *new Evaluator;
    return instance;
}

}  // namespace

// ---- the stages ------------------------------------------------------------------------------------------------------

std::shared_ptr<const CachedPlan> plan_for(const Captured& captured, TargetRef target, GraphLock& graph) {
    Found found = find_plan(captured, target);  // look up
    if (found.plan) return std::move(found.plan);
    const std::int64_t start = now();
    const int debug = config().debug;
    const auto made = std::make_shared<CachedPlan>();
    made->target = target;
    const SimplifiedGraph simple = schedule::simplified(captured, found.run_time_constants, *target);  // simplify
    if (debug >= 3) std::clog << "-- graph, simplified\n" << ir::print_graph(simple.simple.roots);
    FusedGraph fused;
    PlanOptions options{.donate = target->donate};
    do {
        made->plan = fuse_and_plan(captured, simple, fused, options);  // fuse, plan
        compile_steps(*made, debug, graph);                            // lower, optimise, compile
    } while (refuse_unproven(*made, options.not_donated));
    made->key.assign(captured.key.begin(), captured.key.end());
    for (const Captured::Item& item : captured.items)
        if (item.node && item.node->op == ir::Op::Custom)
            made->functions.push_back(item.node->as<ir::CustomArg>().function);
    made->constants.assign(captured.constants.begin(), captured.constants.end());
    keep_plan(made);
    count_made(start);
    return made;
}

Result evaluate_on(std::uint8_t number, const Request& request, GraphLock& graph) {
    std::array<std::byte, 8192> space;  // enough for a small graph
    std::pmr::monotonic_buffer_resource memory(space.data(), space.size());
    static const schedule::Donatable none;
    device::DeviceRuntime& device = device::runtime_of(number);
    const TargetRef target = device.target();
    Observer* const watching = observer();
    const std::int64_t start = watching ? now() : 0;
    const Captured captured =  // capture
        schedule::capture(request.roots, target->donate ? request.donatable : none, request.keep, &memory);
    if (captured.outputs.empty()) return result_of(captured, nullptr, nullptr);
    const std::shared_ptr<const CachedPlan> plan = plan_for(captured, target, graph);  // look up … compile
    const int observed = watching ? watching->captured(captured, plan) : -1;

    std::pmr::vector<BufferBinding> leaves(&memory);
    std::optional<Launch> launch;
    {
        const Unlocked building_goes_on(graph);
        leaves.reserve(captured.leaves.size());
        for (const Captured::Leaf& leaf : captured.leaves)
            leaves.push_back({captured.views[leaf.view].storage, captured.views[leaf.view].offset});
        count(counter_cells().runs);
        launch.emplace(device, *plan, leaves, captured.constants, captured.scalars, observed);
        for (std::size_t i = 0; !device.is_host() && i < request.before.size(); ++i)
            if (request.before[i])
                launch->replace(root_memory(captured, captured.roots[i], plan.get(), &*launch),
                                schedule::view_of(*request.before[i]));
        launch->run(request.wait);  // launch
        if (watching) watching->ran(observed, start, now());
    }
    return result_of(captured, plan.get(), &*launch);
}

Result evaluate(const Request& request, GraphLock& graph) {
    if (replacement()) return replacement()(request);
    const std::uint8_t device = request.roots.empty() ? kCpu : device_of(*request.roots[0]);
    const bool one = std::all_of(request.roots.begin(), request.roots.end(),
                                 [&](const ir::NodeRef& root) { return device_of(*root) == device && !root->crosses; });
    return one ? evaluate_on(device, request, graph) : evaluate_across(request, graph);
}

schedule::Plan make_plan(const Captured& captured, std::vector<int> run_time_constants, const Target& target,
                         const PlanOptions& options) {
    const SimplifiedGraph simple = schedule::simplified(captured, std::move(run_time_constants), target);
    FusedGraph fused;
    return fuse_and_plan(captured, simple, fused, options);
}

TargetRef target_of(std::uint8_t device) { return device::runtime_of(device).target(); }

void replace_evaluator(Evaluator evaluator) { replacement() = std::move(evaluator); }

ir::NodeRef viewed_memory(const ir::NodeRef& node) {
    if (replacement()) return nullptr;
    const std::optional<schedule::StorageView> view = schedule::memory_of(node);
    return view ? schedule::buffer_of(*view) : nullptr;
}

}  // namespace weft::pipeline
