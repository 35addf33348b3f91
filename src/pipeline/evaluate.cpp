// pipeline/evaluate.cpp: one run: capture the graph, find or make its plan, take all memory, then launch kernels.
// Whatever can fail for want of something (memory, a compiler) fails before the first kernel.
#include "pipeline/evaluate.h"

#include "core/unlocked.h"
#include "pipeline/counters.h"
#include "pipeline/launch.h"

#include <weft/error.h>

#include <array>
#include <optional>

namespace weft::pipeline {
namespace {

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

}  // namespace

void replace_evaluator(Evaluator evaluator) { replacement() = std::move(evaluator); }

Result evaluate(const Request& request, std::unique_lock<std::recursive_mutex>& graph) {
    if (replacement()) return replacement()(request);
    std::array<std::byte, 8192> room;  // enough for a small graph
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    static const schedule::Dies none;
    const TargetRef target = current_target();
    const Captured captured =
        schedule::capture(request.roots, target->donate ? request.dies : none, request.keep, &memory);
    std::shared_ptr<const CachedPlan> plan;
    if (!captured.outputs.empty()) plan = find_plan(captured, target, graph);

    std::pmr::vector<Bound> leaves(&memory);
    std::optional<Launch> launch;
    if (plan) {
        const Unlocked building_goes_on(graph);
        leaves.reserve(captured.leaves.size());
        for (const Captured::Leaf& leaf : captured.leaves)
            leaves.push_back({captured.views[leaf.view].storage, captured.views[leaf.view].offset});
        count(counter_cells().runs);
        launch.emplace(*plan, leaves, captured.constants, captured.scalars);
        launch->run();
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

}  // namespace weft::pipeline
