// pipeline/pipeline.cpp: the pipeline: capture → look up → simplify → fuse → plan → lower → optimise → compile → launch. Each stage is a
// function of its input and the target. Whatever can fail for want of something (memory, a compiler) fails before the first kernel.
#include "pipeline/pipeline.h"

#include "core/config.h"
#include "core/unlocked.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "pipeline/counters.h"
#include "pipeline/launch.h"
#include "pipeline/observer.h"
#include "schedule/cost.h"
#include "schedule/stored_roots.h"

#include <weft/error.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <optional>

namespace weft::pipeline {
namespace {

using GraphLock = std::unique_lock<std::recursive_mutex>;
using schedule::Captured;
using schedule::StorageView;

Evaluator& replacement() {
    static Evaluator& instance = *new Evaluator;
    return instance;
}

StorageView root_memory(const Captured& captured, const schedule::RootValue& root, const CachedPlan* plan,
                        const Launch* launch) {
    StorageView view = root.view >= 0 ? captured.views[root.view] : launch->view(plan->plan.outputs[root.output]);
    for (const ir::NodeRef& movement : root.views)
        if (!ir::apply_view(*movement, view)) throw InternalError("a root's view does not fold");
    return view;
}

void compile_steps(CachedPlan& made, GraphLock& graph) {
    std::vector<const ir::KernelGraph*> graphs;
    for (const schedule::PlanStep& step : made.plan.steps)
        if (!step.kernel.custom) graphs.push_back(&step.kernel.graph);
    const auto compiled = compile(graphs, made.target, config().debug, graph);
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

}  // namespace

void replace_evaluator(Evaluator evaluator) { replacement() = std::move(evaluator); }

ir::NodeRef viewed_memory(const ir::NodeRef& node) {
    if (replacement()) return nullptr;
    const std::optional<schedule::StorageView> view = schedule::memory_of(node);
    return view ? schedule::buffer_of(*view) : nullptr;
}

schedule::Plan make_plan(const Captured& captured, std::vector<int> run_time_constants, const Target& target,
                         const schedule::PlanOptions& options) {
    const schedule::SimplifiedGraph graph = schedule::simplified(captured, std::move(run_time_constants), target);
    if (config().debug >= 3) std::clog << "-- graph, simplified\n" << ir::print_graph(graph.simple.roots);
    const schedule::StoredRoots roots = schedule::choose_stored_roots(captured, graph.canonical, graph.simple, options);
    schedule::Schedule kernels = schedule::fuse(roots.nodes, roots.boxes);
    schedule::Plan plan = schedule::plan_memory(captured, graph, roots, std::move(kernels), options);
    // Once donated memory is written, a run goes to its end. Where that may take long, an interrupt could not be heard: nothing is
    // donated.
    constexpr double kLongest = 0.1;
    if (!options.donate || schedule::seconds_after_donation(plan) <= kLongest) return plan;
    return make_plan(captured, graph.run_time_constants, target, {});
}

TargetRef target_of(std::uint8_t device) { return device::runtime_of(device).target(); }

std::shared_ptr<const CachedPlan> plan_for(const Captured& captured, TargetRef target, GraphLock& graph) {
    Found found = find_plan(captured, target);
    if (found.plan) return found.plan;
    const std::int64_t start = now();
    auto made = std::make_shared<CachedPlan>();
    made->target = target;
    schedule::PlanOptions options{.donate = target->donate};
    do {
        made->plan = make_plan(captured, found.run_time_constants, *target, options);
        compile_steps(*made, graph);  // lower, optimise, compile: pipeline/programs.cpp
    } while (refuse_unproven(*made, options.not_donated));
    made->key.assign(captured.key.begin(), captured.key.end());
    made->constants.assign(captured.constants.begin(), captured.constants.end());
    keep_plan(made);
    count(counter_cells().plans_made);
    const std::int64_t end = now();
    count(counter_cells().compile_nanoseconds, end - start);
    if (Observer* const watching = observer()) watching->planned(start, end);
    return made;
}

namespace {

// One plan on one device.
Result evaluate_on(std::uint8_t number, const Request& request, GraphLock& graph) {
    std::array<std::byte, 8192> space;  // enough for a small graph
    std::pmr::monotonic_buffer_resource memory(space.data(), space.size());
    static const schedule::Donatable none;
    device::DeviceRuntime& device = device::runtime_of(number);
    const TargetRef target = device.target();
    Observer* const watching = observer();
    const std::int64_t start = watching ? now() : 0;
    const Captured captured =
        schedule::capture(request.roots, target->donate ? request.donatable : none, request.keep, &memory);
    std::shared_ptr<const CachedPlan> plan;
    if (!captured.outputs.empty()) plan = plan_for(captured, target, graph);
    const int observed = watching && plan ? watching->captured(captured, plan) : -1;

    std::pmr::vector<BufferBinding> leaves(&memory);
    std::optional<Launch> launch;
    if (plan) {
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
        launch->run(request.wait);
        if (watching) watching->ran(observed, start, now());
    }
    Result result;
    result.values.reserve(captured.roots.size());
    for (const schedule::RootValue& root : captured.roots)
        result.values.push_back(
            schedule::buffer_of(root_memory(captured, root, plan.get(), launch ? &*launch : nullptr)));
    if (plan)
        for (const auto& [item, value] : plan->plan.kept) {
            const ir::NodeRef node(captured.items[item].node);
            StorageView view = launch->view(value);
            Dims strides;
            if (!ir::reshape_strides(view.shape, view.strides, node->shape, strides))
                throw InternalError("a kept value's view does not fold");
            view.shape = node->shape;
            view.strides = strides;
            result.kept.emplace_back(node, schedule::buffer_of(view));
        }
    return result;
}

std::uint8_t device_of(const ir::Node& node) { return node.device == kAnyDevice ? kCpu : node.device; }

// What is to be moved between devices below these roots, and is not yet.
std::vector<ir::NodeRef> pending_moves(std::span<const ir::NodeRef> roots) {
    std::vector<ir::NodeRef> moves;
    for (const ir::Node* node :
         ir::topological_order(roots, [](const ir::Node& n) { return !n.in_memory() && n.crosses; }))
        if (node->op == ir::Op::ToDevice && !node->realized) moves.emplace_back(node);
    return moves;
}

void remember(const ir::NodeRef& node, const ir::NodeRef& buffer) {
    node->realized = buffer;
    ir::graph().forget(*node);
}

// The part of a request that one device can answer.
Request part_for(std::uint8_t device, const Request& request) {
    Request part{.wait = request.wait};
    for (const ir::NodeRef& node : request.keep)
        if (device_of(*node) == device && !node->in_memory()) part.keep.push_back(node);
    return part;
}

// What was stored on the way is memory to the runs that follow.
void add_kept(Result& result, Result&& computed) {
    for (auto& [node, buffer] : computed.kept) {
        if (!ir::is_made_of_constants(*node)) node->realized = buffer;
        result.kept.emplace_back(std::move(node), std::move(buffer));
    }
}

// The first of them, sources before users, whose own sources wait for no other move: their sources are computed, and copied.
void move_first(std::span<const ir::NodeRef> moves, const Request& request, Result& result, GraphLock& graph) {
    const std::uint8_t from = device_of(moves[0]->source());
    Request part = part_for(from, request);
    std::vector<ir::NodeRef> moving;
    for (const ir::NodeRef& move : moves) {
        if (device_of(move->source()) != from || !pending_moves(std::span(&move->sources[0], 1)).empty()) continue;
        moving.push_back(move);
        part.roots.push_back(ir::contiguous(move->sources[0]));
    }
    Result computed = evaluate_on(from, part, graph);
    for (std::size_t i = 0; i < moving.size(); ++i) {
        remember(moving[i], moved(*computed.values[i], moving[i]->device, observer()));
        const ir::NodeRef& source = moving[i]->sources[0];
        if (!source->in_memory() && !ir::is_made_of_constants(*source)) source->realized = computed.values[i];
    }
    add_kept(result, std::move(computed));
}

// A plan has one device. What is to be moved is computed and copied first, and is memory to the runs that use it.
Result evaluate_across(const Request& request, GraphLock& graph) {
    Result result;
    for (;;) {
        const std::vector<ir::NodeRef> moves = pending_moves(request.roots);
        if (moves.empty()) break;
        move_first(moves, request, result, graph);
    }
    std::map<std::uint8_t, std::vector<std::size_t>> by_device;
    for (std::size_t i = 0; i < request.roots.size(); ++i) by_device[device_of(*request.roots[i])].push_back(i);
    result.values.resize(request.roots.size());
    for (const auto& [device, indices] : by_device) {
        Request part = part_for(device, request);
        for (const std::size_t i : indices) {
            part.roots.push_back(request.roots[i]);
            part.before.push_back(i < request.before.size() ? request.before[i] : nullptr);
        }
        if (by_device.size() == 1) part.donatable = request.donatable;  // else another of the runs may still read it
        Result computed = evaluate_on(device, part, graph);
        for (std::size_t i = 0; i < indices.size(); ++i) result.values[indices[i]] = std::move(computed.values[i]);
        add_kept(result, std::move(computed));
    }
    return result;
}

}  // namespace

ir::NodeRef moved(const ir::Node& buffer, std::uint8_t device, Observer* watching) {
    const auto& arg = buffer.as<ir::BufferArg>();
    const auto first = arg.offset * static_cast<std::int64_t>(size_of(buffer.dtype));
    const std::uint8_t from = arg.storage->device;
    if (watching && from != kCpu) {  // else the copy would seem to take as long as all kernels before it
        const std::int64_t start = now();
        device::runtime_of(from).synchronise();
        watching->waited(from, start, now());
    }
    const std::int64_t start = watching ? now() : 0;
    ir::StorageRef storage = device::runtime_of(device).allocate(ir::bytes_of(buffer));
    device::transfer(*arg.storage, first, *storage, static_cast<std::size_t>(ir::bytes_of(buffer)));
    if (watching) watching->copied(from, device, start, now());
    return ir::buffer(std::move(storage), buffer.dtype, buffer.shape, 0, row_major_strides(buffer.shape));
}

Result evaluate(const Request& request, GraphLock& graph) {
    if (replacement()) return replacement()(request);
    const std::uint8_t device = request.roots.empty() ? kCpu : device_of(*request.roots[0]);
    const bool one = std::all_of(request.roots.begin(), request.roots.end(),
                                 [&](const ir::NodeRef& root) { return device_of(*root) == device && !root->crosses; });
    return one ? evaluate_on(device, request, graph) : evaluate_across(request, graph);
}

}  // namespace weft::pipeline
