// schedule/plan.cpp: simplify, fuse, then memory: which output takes over a dying input, and where temporaries lie in the arena.
#include "schedule/plan.h"

#include "core/str.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "schedule/box_leaves.h"
#include "schedule/cost.h"
#include "schedule/donation.h"
#include "schedule/share_kernels.h"
#include "schedule/simplify.h"
#include "schedule/verify_plan.h"

#include <weft/error.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {
namespace {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

constexpr std::int64_t kAlignment = 64;
// Neighbouring arena blocks start at different cache sets: 17 lines are coprime to every number of sets.
constexpr std::int64_t kStagger = 17 * 64;

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
    Planner(const Captured& captured, std::vector<int> holes, const PlanOptions& options)
        : captured_(captured), options_(options), donation_(captured, options) {
        plan_.holes = std::move(holes);
    }

    Plan run() {
        canonical_ = canonical_graph(captured_, plan_.holes);
        ir::verify_graph(canonical_.outputs, "capture");
        simple_ = simplify(canonical_.outputs);
        ir::verify_graph(simple_.roots, "simplify");
        if (options_.keep_text) plan_.graph_text = ir::print_graph(simple_.roots);
        if (options_.donate) box_leaves_.emplace(captured_, canonical_, simple_);
        std::vector<NodeRef> roots;
        for (const NodeRef& root : simple_.roots) add_root(root, roots);
        if (!roots.empty()) {
            RootBoxes boxes;
            for (const auto& [value, box] : boxes_)
                boxes.emplace(value, RootBox{box.first, row_major_strides(box.first->shape)});
            Schedule schedule = fuse(roots, boxes);
            for (ScheduledKernel& kernel : schedule.kernels) add_step(std::move(kernel));
            for (const PlacedValue& placed : schedule.placed) place_inside(placed);
            for (const PlacedValue& slice : schedule.slices) place_slice(slice);
            share_kernels(plan_, static_cast<int>(captured_.scalars.size() + plan_.holes.size()));
        }
        place_outputs();
        keep_for_gradient();
        if (options_.donate) {
            donation_.donate(plan_);
            write_donated_last();
        }
        lay_out_arena();
        verify_plan(plan_, captured_, simple_.roots);
        return std::move(plan_);
    }

private:
    // ---- roots ----------------------------------------------------------------------------------------------------------

    void add_root(const NodeRef& root, std::vector<NodeRef>& roots) {
        NodeRef computed = root;
        if (root->op == Op::Param) {  // simplified to memory that exists
            if (ir::is_dense(captured_.leaf(root->as<ir::SlotArg>().slot))) {
                plan_.outputs.push_back(leaf_value(*root));
                return;
            }
            computed = ir::contiguous(root);  // the caller reckons with a dense array: it may reshape it
        }
        const int box = box_leaves_ ? box_leaves_->leaf(root, donation_) : -1;
        if (box >= 0) {  // a kernel of its own stores what is memory, a constant, or a custom function's result
            const NodeRef& value = root->sources[1];
            const bool computes = !value->sources.empty() && value->op != Op::Custom && value->op != Op::Part;
            computed = computes ? value : ir::contiguous(value);
        }
        NodeRef& stored = stored_root_[root.get()];
        if (!stored) {
            stored = unclaimed(computed, box >= 0);
            if (box >= 0) boxes_.emplace(stored.get(), std::make_pair(root, box));
        }
        outputs_.push_back(stored);
        plan_.outputs.push_back(-static_cast<int>(outputs_.size()) - 1);  // resolved by place_outputs
        if (is_root_.insert(stored.get()).second) roots.push_back(stored);
    }

    // The node that a root is stored as. A box lies in memory of its own: where another root is this node too (one constant is written
    // into two arrays), one of them is a numbered copy of it.
    NodeRef unclaimed(const NodeRef& value, bool box) const {
        const auto taken = [&](const NodeRef& node) {
            return boxes_.contains(node.get()) || (box && is_root_.contains(node.get()));
        };
        NodeRef node = value;
        for (int number = 0; taken(node); ++number)
            node = ir::graph().make(Op::Contiguous, value->dtype, value->shape, {value}, ir::PartArg{number});
        return node;
    }

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

    void add_step(ScheduledKernel kernel) {
        PlanStep step;
        for (const NodeRef& value : kernel.values)
            step.values.push_back(value->op == Op::Param ? leaf_value(*value) : stored_value(*value));
        step.kernel = std::move(kernel);
        plan_.steps.push_back(std::move(step));
    }

    // Who reads it reads what the whole's writer has written.
    void place_slice(const PlacedValue& slice) {
        if (!value_of_.contains(slice.value.get())) return;  // its kernel was cut in two, and emitted again
        place(slice);
        slice_of_.emplace(stored_value(*slice.value), stored_value(*slice.whole));
    }

    void place_inside(const PlacedValue& placed) {
        parts_[stored_value(*placed.whole)].push_back(stored_value(*placed.value));
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

    void place_outputs() {
        for (int& output : plan_.outputs) {
            if (output >= 0) continue;
            const Node& node = *outputs_[-output - 2];
            output = stored_value(node);
            PlanValue& value = plan_.values[output];
            if (const auto box = boxes_.find(&node); box != boxes_.end())
                place_box(output, *box->second.first, box->second.second);
            else if (value.where == PlanValue::Where::Arena) value.where = PlanValue::Where::Output;
        }
    }

    void place_box(int index, const Node& insert, int leaf) {
        if (const auto read = value_of_.find(&insert);
            read != value_of_.end()) {  // the leaf's memory, once the box is written
            plan_.values[read->second].where = PlanValue::Where::Donated;
            plan_.values[read->second].leaf = leaf;
            parts_[read->second] = {index};
        }
        PlanValue& value = plan_.values[index];
        value.where = PlanValue::Where::Donated;
        value.leaf = leaf;
        value.first_constant = box_leaves_->start_constant(insert);
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
            const auto became = simple_.became.find(canonical_.values[i].get());
            if (became == simple_.became.end() || !captured_.items[i].keep || !is_float(captured_.items[i].node->dtype))
                continue;
            const auto found = stored.find(became->second.get());
            if (found == stored.end() || slice_of_.contains(found->second) ||
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

    // ---- order ----------------------------------------------------------------------------------------------------------

    // Of a value that others write: what they write.
    template <class Function>
    void for_each_part(int whole, const Function& function) const {
        std::vector<int> stack{whole};
        while (!stack.empty()) {
            const int value = stack.back();
            stack.pop_back();
            if (const auto found = parts_.find(value); found != parts_.end())
                stack.insert(stack.end(), found->second.begin(), found->second.end());
            else function(value);
        }
    }

    // A run can be interrupted until it first writes donated memory: those steps come as late as their readers allow. They overtake no
    // other step, so whoever reads what they overwrite still comes before them.
    void write_donated_last() {
        const int count = static_cast<int>(plan_.steps.size());
        std::vector<bool> donated(count, false);
        std::vector<int> waits(count, 0);  // for how many steps each one waits
        std::vector<std::vector<int>> then(count);
        std::unordered_map<int, int> writer;  // of a value
        const auto after = [&](int first, int second) {
            then[first].push_back(second);
            ++waits[second];
        };
        for (int s = 0; s < count; ++s) {
            for (const int used : plan_.steps[s].values) {
                const auto slice = slice_of_.find(used);
                const int v = slice == slice_of_.end() ? used : slice->second;
                if (plan_.values[v].where == PlanValue::Where::Leaf) continue;
                if (parts_.contains(v)) {
                    for_each_part(v, [&](int part) { after(writer.at(part), s); });
                } else if (const auto [found, first] = writer.try_emplace(v, s); !first) {
                    // A value without elements has no writer: a kernel that reads it twice must not wait for itself.
                    if (found->second != s) after(found->second, s);
                } else {
                    donated[s] = donated[s] || plan_.values[v].where == PlanValue::Where::Donated;
                }
            }
        }
        std::set<std::pair<bool, int>> ready;  // the others first, each kind in its old order
        for (int s = 0; s < count; ++s)
            if (waits[s] == 0) ready.emplace(donated[s], s);
        std::vector<PlanStep> ordered;
        ordered.reserve(count);
        while (!ready.empty()) {
            const int s = ready.begin()->second;
            ready.erase(ready.begin());
            ordered.push_back(std::move(plan_.steps[s]));
            for (const int t : then[s])
                if (--waits[t] == 0) ready.emplace(donated[t], t);
        }
        if (static_cast<int>(ordered.size()) != count) throw InternalError("plan: steps wait for each other");
        plan_.steps = std::move(ordered);
    }

    // ---- the arena ------------------------------------------------------------------------------------------------------

    // Greedy: each temporary goes to the lowest place that is free from its first use to its last.
    void lay_out_arena() {
        struct Life {
            int value, first, last;
        };
        std::vector<Life> lives;
        std::unordered_map<int, std::size_t> life_of;
        for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
            for (const int used : plan_.steps[s].values) {
                const int v = plan_.values[used].where == PlanValue::Where::Inside ? plan_.values[used].whole : used;
                if (plan_.values[v].where != PlanValue::Where::Arena) continue;
                const auto [found, fresh] = life_of.try_emplace(v, lives.size());
                if (fresh) lives.push_back({v, s, s});
                lives[found->second].last = s;
            }
        struct Placed {
            std::int64_t begin, end;
            int last;
        };
        std::vector<Placed> placed;
        for (const Life& life : lives) {
            std::erase_if(placed,
                          [&](const Placed& p) { return p.last < life.first; });  // they stay in order of `begin`
            const std::int64_t need = (plan_.values[life.value].bytes + kAlignment - 1) / kAlignment * kAlignment;
            std::int64_t at = 0;
            auto before = placed.begin();
            for (; before != placed.end() && at + need > before->begin; ++before)
                at = std::max(at, before->end + (need > 4096 ? kStagger : 0));
            plan_.values[life.value].arena_offset = at;
            placed.insert(before, {at, at + need, life.last});
            plan_.arena_bytes = std::max(plan_.arena_bytes, static_cast<std::size_t>(at + need));
        }
    }

    const Captured& captured_;
    const PlanOptions& options_;
    Donation donation_;
    std::optional<BoxLeaves> box_leaves_;  // if anything may be donated
    Plan plan_;
    CanonicalGraph canonical_;
    ir::Rewritten simple_;
    std::vector<NodeRef> outputs_, keep_alive_;
    std::unordered_map<const Node*, int> value_of_;
    std::unordered_map<int, int> value_of_leaf_;
    std::unordered_map<int, std::vector<int>> parts_;       // of a value that has no kernel of its own
    std::unordered_map<int, int> slice_of_;                 // of a slice: the value that it reads
    std::unordered_map<const Node*, NodeRef> stored_root_;  // what a root is stored as …
    std::unordered_set<const Node*> is_root_;               // … and those nodes
    std::unordered_map<const Node*, std::pair<NodeRef, int>> boxes_;
};

}  // namespace

Plan make_plan(const Captured& captured, std::vector<int> holes, const PlanOptions& options) {
    // Once donated memory is written, a run goes to its end. Where that may take long, an interrupt could not be heard: nothing is
    // donated.
    constexpr double kLongest = 0.1;
    if (options.donate)
        if (Plan plan = Planner(captured, holes, options).run(); seconds_after_donation(plan) <= kLongest) return plan;
    PlanOptions nothing_donated = options;
    nothing_donated.donate = false;
    return Planner(captured, std::move(holes), nothing_donated).run();
}

}  // namespace weft::schedule
