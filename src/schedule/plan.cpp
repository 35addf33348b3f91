// schedule/plan.cpp: where every value lies: in memory of its own, in a donated leaf, in another value or in the arena.
#include "schedule/plan.h"

#include "core/str.h"
#include "ir/build.h"
#include "schedule/arena.h"
#include "schedule/donation.h"
#include "schedule/share_kernels.h"
#include "schedule/step_order.h"
#include "schedule/stored_roots.h"
#include "schedule/verify_plan.h"

#include <weft/error.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

// More than any machine addresses is refused here, so that sums of such numbers fit 63 bits.
std::int64_t stored_bytes(const Node& node) {
    const std::int64_t bytes = ir::bytes_of(node);
    if (bytes >> 48)
        throw MemoryError(
            str(ir::name_of(node.op), ": cannot allocate ", bytes, " bytes for the result ", node.dtype, node.shape));
    return bytes;
}

class Planner {
public:
    Planner(const Captured& captured, const SimplifiedGraph& graph, const StoredRoots& roots)
        : captured_(captured), graph_(graph), roots_(roots) {}

    Plan run(const Schedule& schedule, const PlanOptions& options) {
        for (const ScheduledKernel& kernel : schedule.kernels) add_step(kernel);
        for (const PlacedValue& placed : schedule.placed) place_inside(placed);
        for (const PlacedValue& slice : schedule.slices) place_slice(slice);
        share_kernels(plan_, static_cast<int>(captured_.scalars.size() + graph_.run_time_constants.size()));
        for (const StoredRoots::Output& output : roots_.outputs) plan_.outputs.push_back(place_output(output));
        keep_for_gradient();
        if (graph_.blocks) run_depth_first(plan_, nesting_);
        if (options.donate) {
            Donation(captured_, options).donate(plan_);
            write_donated_last(plan_, nesting_);
        }
        lay_out_arena(plan_);
        plan_.run_time_constants = graph_.run_time_constants;
        return std::move(plan_);
    }

private:
    // ---- values ---------------------------------------------------------------------------------------------------------

    int leaf_value(const Node& param) {
        const int slot = param.as<ir::SlotArg>().slot;
        const auto [found, fresh] = value_of_leaf_.try_emplace(slot, static_cast<int>(plan_.values.size()));
        if (fresh) {
            const StorageView& view = captured_.leaf(slot);
            plan_.values.push_back({.where = PlanValue::Where::Leaf,
                                    .dtype = view.dtype,
                                    .shape = view.shape,
                                    .strides = view.strides,
                                    .bytes = 0,
                                    .leaf = slot});
        }
        return found->second;
    }

    int stored_value(const Node& node) {
        const auto [found, fresh] = value_of_.try_emplace(&node, static_cast<int>(plan_.values.size()));
        if (fresh) {
            keep_alive_.emplace_back(&node);
            plan_.values.push_back({.dtype = node.dtype,
                                    .shape = node.shape,
                                    .strides = row_major_strides(node.shape),
                                    .bytes = stored_bytes(node)});
        }
        return found->second;
    }

    void add_step(const ScheduledKernel& kernel) {
        PlanStep step{.kernel = kernel, .values = {}};
        for (const NodeRef& value : kernel.values)
            step.values.push_back(value->op == Op::Param ? leaf_value(*value) : stored_value(*value));
        plan_.steps.push_back(std::move(step));
    }

    // Who reads it reads what the whole's writer has written.
    void place_slice(const PlacedValue& slice) {
        if (!value_of_.contains(slice.value.get())) return;  // its kernel was cut in two, and emitted again
        place(slice);
        nesting_.slice_of.emplace(stored_value(*slice.value), stored_value(*slice.whole));
    }

    void place_inside(const PlacedValue& placed) {
        nesting_.parts[stored_value(*placed.whole)].push_back(stored_value(*placed.value));
        place(placed);
    }

    void place(const PlacedValue& placed) {
        const int index = stored_value(*placed.value), whole = stored_value(*placed.whole);
        const PlanValue& outer = plan_.values[whole];
        PlanValue& value = plan_.values[index];
        value.where = PlanValue::Where::Inside;
        value.whole = outer.where == PlanValue::Where::Inside ? outer.whole : whole;
        value.offset = outer.offset + placed.offset;
        value.strides = placed.strides;
    }

    int place_output(const StoredRoots::Output& output) {
        if (output.node->op == Op::Param) return leaf_value(*output.node);
        const int index = stored_value(*output.node);
        PlanValue& value = plan_.values[index];
        if (output.leaf >= 0) place_box(index, output);
        else if (value.where == PlanValue::Where::Arena) value.where = PlanValue::Where::Output;
        return index;
    }

    void place_box(int index, const StoredRoots::Output& box) {
        const Node& insert = *box.insert;
        if (const auto read = value_of_.find(&insert);
            read != value_of_.end()) {  // the leaf's memory, once the box is written
            plan_.values[read->second].where = PlanValue::Where::Donated;
            plan_.values[read->second].leaf = box.leaf;
            nesting_.parts[read->second] = {index};
        }
        PlanValue& value = plan_.values[index];
        value.where = PlanValue::Where::Donated;
        value.leaf = box.leaf;
        value.first_constant = box.first_constant;
        value.shape = insert.shape;  // what the caller gets is the whole array
        value.strides = row_major_strides(insert.shape);
        for (std::size_t d = 0; d < insert.shape.size(); ++d)
            plan_.free_constants.push_back(value.first_constant + static_cast<int>(d));
    }

    void keep_for_gradient() {
        const auto is_kept = [](const Captured::Item& item) { return item.keep; };
        if (std::none_of(captured_.items.begin(), captured_.items.end(), is_kept)) return;
        // Stored is often a reshape of the value that a gradient asks for: the same elements in the same order.
        std::unordered_map<const Node*, int> stored = value_of_;
        for (const auto& [node, value] : value_of_)
            for (const Node* n = node; n->op == Op::Reshape; n = &n->source()) stored.try_emplace(&n->source(), value);
        std::unordered_set<int> kept;
        for (std::size_t i = 0; i < captured_.items.size(); ++i) {
            const auto became = graph_.simple.became.find(graph_.canonical.values[i].get());
            if (became == graph_.simple.became.end() || !captured_.items[i].keep ||
                !is_float(captured_.items[i].node->dtype))
                continue;
            const auto found = stored.find(became->second.get());
            if (found == stored.end() || nesting_.slice_of.contains(found->second) ||
                numel(plan_.values[found->second].shape) != numel(captured_.items[i].node->shape))
                continue;
            PlanValue& value = plan_.values[found->second];
            if (value.where == PlanValue::Where::Output && !kept.contains(found->second))
                continue;  // a root: the caller knows
            if (value.where == PlanValue::Where::Donated) continue;
            if (value.where == PlanValue::Where::Inside) {  // the whole is kept, and seen through a view
                Dims strides;
                if (!ir::reshape_strides(value.shape, value.strides, captured_.items[i].node->shape, strides)) continue;
                if (PlanValue& whole = plan_.values[value.whole]; whole.where == PlanValue::Where::Arena) {
                    whole.where = PlanValue::Where::Output;
                    kept.insert(value.whole);
                }
            } else {
                value.where = PlanValue::Where::Output;
            }
            kept.insert(found->second);
            plan_.kept.emplace_back(static_cast<int>(i), found->second);
        }
    }

    const Captured& captured_;
    const SimplifiedGraph& graph_;
    const StoredRoots& roots_;
    Plan plan_;
    std::vector<NodeRef> keep_alive_;
    std::unordered_map<const Node*, int> value_of_;
    std::unordered_map<int, int> value_of_leaf_;
    Nesting nesting_;
};

}  // namespace

Plan plan_memory(const Captured& captured, const SimplifiedGraph& graph, const FusedGraph& fused,
                 const PlanOptions& options) {
    Plan plan = Planner(captured, graph, fused.roots).run(fused.kernels, options);
    verify_plan(plan, captured, graph.simple.roots);
    return plan;
}

}  // namespace weft::schedule
