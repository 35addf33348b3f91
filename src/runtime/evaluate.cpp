// runtime/evaluate.cpp: one run: capture the graph, find or make its plan, take all memory, then launch kernels.
// Whatever can fail for want of something (memory, a compiler) fails before the first kernel.
#include "runtime/evaluate.h"

#include "core/config.h"
#include "runtime/counters.h"
#include "runtime/launch.h"

#include <weft/error.h>

#include <mutex>
#include <optional>

namespace weft::runtime {
namespace {

using schedule::Captured;
using schedule::MemoryView;

MemoryView root_memory(const Captured& captured, const schedule::RootValue& root, const CachedPlan* plan,
                       const Launch* launch) {
    MemoryView view = root.leaf >= 0 ? captured.views[root.leaf] : launch->view(plan->plan.outputs[root.output]);
    for (const ir::NodeRef& movement : root.views)
        if (!schedule::apply_view(*movement, view)) throw InternalError("a root's view does not fold");
    return view;
}

}  // namespace

Result evaluate(const Request& request) {
    std::unique_lock graph(ir::graph_lock());
    const bool donate = config().donate && !config().switched_off("donate");
    const Captured captured = schedule::capture(request.roots, donate ? request.dies : nullptr);
    std::shared_ptr<const CachedPlan> plan;
    if (!captured.outputs.empty()) plan = find_plan(captured, request.keep);
    graph.unlock();

    std::vector<Bound> leaves;
    for (const MemoryView& leaf : captured.leaves) leaves.push_back({leaf.storage, leaf.offset});
    std::optional<Launch> launch;
    if (plan) {
        count(counter_cells().runs);
        launch.emplace(*plan, leaves, captured.constants, captured.scalars);
        launch->run();
    }
    graph.lock();
    Result result;
    for (const schedule::RootValue& root : captured.roots)
        result.values.push_back(
            schedule::buffer_of(root_memory(captured, root, plan.get(), launch ? &*launch : nullptr)));
    if (plan)
        for (const auto& [item, value] : plan->plan.kept) {
            const ir::NodeRef node(captured.items[item].node);
            MemoryView view = launch->view(value);
            if (!(view.shape == node->shape)) view.strides = row_major_strides(view.shape = node->shape);
            result.kept.emplace_back(node, schedule::buffer_of(view));
        }
    return result;
}

}  // namespace weft::runtime
