// schedule/plan.cpp: simplify, fuse, then memory: which output takes over a dying input, and where temporaries lie in the arena.
#include "schedule/plan.h"

#include "core/config.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "schedule/cost.h"
#include "schedule/simplify.h"
#include "schedule/verify_plan.h"

#include <weft/error.h>

#include <algorithm>
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
    const std::int64_t bytes = numel(node.shape) * static_cast<std::int64_t>(size_of(node.dtype));
    if (bytes >> 48)
        throw MemoryError(
            str(ir::name_of(node.op), ": cannot allocate ", bytes, " bytes for the result ", node.dtype, node.shape));
    return bytes;
}

// Is the Param with this slot read only at the index that is stored, in every output? Elementwise ops and reshapes keep the index.
bool reads_in_place(const KernelGraph& graph, int slot) {
    std::unordered_set<const Node*> aligned, unaligned;
    std::vector<std::pair<const Node*, bool>> stack;
    const auto push = [&](const Node* node, bool in_place) {
        if ((in_place ? aligned : unaligned).insert(node).second) stack.emplace_back(node, in_place);
    };
    for (const KernelGraph::Output& output : graph.outputs) push(output.value.get(), true);
    while (!stack.empty()) {
        const auto [node, in_place] = stack.back();
        stack.pop_back();
        if (node->op == Op::Param && node->as<ir::SlotArg>().slot == slot && !in_place) return false;
        for (std::size_t i = 0; i < node->sources.size(); ++i) {
            const bool keeps = ir::is_elementwise(node->op) || node->op == Op::Reshape || node->op == Op::Contiguous ||
                               node->op == Op::Scan || (node->op == Op::Scatter && i == 0) ||
                               (node->op == Op::Insert && i == 0);
            push(node->sources[i].get(), in_place && keeps);
        }
    }
    return true;
}

class Planner {
public:
    Planner(const Captured& captured, std::vector<int> holes, const PlanOptions& options)
        : captured_(captured), options_(options) {
        plan_.holes = std::move(holes);
    }

    Plan run() {
        canonical_ = canonical_graph(captured_, plan_.holes);
        ir::verify_graph(canonical_.outputs, "capture");
        simple_ = simplify(canonical_.outputs);
        ir::verify_graph(simple_.roots, "simplify");
        if (config().debug >= 3) plan_.graph_text = ir::print_graph(simple_.roots);
        std::vector<NodeRef> roots;
        for (const NodeRef& root : simple_.roots) add_root(root, roots);
        if (!roots.empty()) {
            RootBoxes boxes;
            for (const auto& [value, box] : boxes_)
                boxes.emplace(value, RootBox{box.first, row_major_strides(box.first->shape)});
            Schedule schedule = fuse(roots, boxes);
            for (ScheduledKernel& kernel : schedule.kernels) add_step(std::move(kernel));
            for (const PlacedValue& placed : schedule.placed) place_inside(placed);
        }
        place_outputs();
        keep_for_gradient();
        if (options_.donate) {
            donate();
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
            if (is_dense(captured_.leaf(root->as<ir::SlotArg>().slot))) {
                plan_.outputs.push_back(leaf_value(*root));
                return;
            }
            computed = ir::contiguous(root);  // the caller reckons with a dense array: it may reshape it
        }
        const int box = box_leaf(root);
        if (box >= 0)
            computed = root->sources[1]->op == Op::Param || root->sources[1]->sources.empty()
                           ? ir::contiguous(root->sources[1])
                           : root->sources[1];
        NodeRef& stored = stored_root_[root.get()];
        if (!stored) {
            stored = unclaimed(computed, box >= 0, roots);
            if (box >= 0) boxes_.emplace(stored.get(), std::make_pair(root, box));
        }
        outputs_.push_back(stored);
        plan_.outputs.push_back(-static_cast<int>(outputs_.size()) - 1);  // resolved by place_outputs
        if (std::find(roots.begin(), roots.end(), stored) == roots.end()) roots.push_back(stored);
    }

    // The node that a root is stored as. A box lies in memory of its own: where another root is this node too (one constant is written
    // into two arrays), one of them is a numbered copy of it.
    NodeRef unclaimed(const NodeRef& value, bool box, const std::vector<NodeRef>& roots) const {
        const auto taken = [&](const NodeRef& node) {
            return boxes_.contains(node.get()) || (box && std::find(roots.begin(), roots.end(), node) != roots.end());
        };
        NodeRef node = value;
        for (int number = 0; taken(node); ++number)
            node = ir::graph().make(Op::Contiguous, value->dtype, value->shape, {value}, ir::PartArg{number});
        return node;
    }

    // Insert into memory that dies with this run and that nothing else reads: only the box is written.
    int box_leaf(const NodeRef& root) {
        if (!options_.donate || root->op != Op::Insert || root->source(0).op != Op::Param) return -1;
        const int leaf = root->source(0).as<ir::SlotArg>().slot;
        if (!is_donatable(leaf)) return -1;
        if (numel(root->source(1).shape) == 0 || start_constant(*root) < 0) return -1;
        int readers = 0;
        for (const Node* node : ir::topological_order(canonical_.outputs)) {
            if (node->op == Op::Check) return -1;
            for (const NodeRef& source : node->sources)
                readers += source->op == Op::Param && source->as<ir::SlotArg>().slot == leaf;
        }
        for (const NodeRef& output : simple_.roots) readers += output == root->sources[1];
        return readers == 1 && !feeds_custom(*root->sources[1]) ? leaf : -1;
    }

    // A custom function reads dense memory. It may raise, too: nothing that it depends on may be written in place before.
    bool feeds_custom(const Node& value) const {
        std::unordered_set<const Node*> depends{&value};
        for (const Node* node : ir::topological_order(simple_.roots)) {
            const auto is_one = [&](const NodeRef& source) { return depends.contains(source.get()); };
            if (std::none_of(node->sources.begin(), node->sources.end(), is_one)) continue;
            if (node->op == Op::Custom) return true;
            depends.insert(node);
        }
        return false;
    }

    // The first of the constants that say where this Insert starts: those of the Insert that it was before it was simplified. -1: none
    // starts there.
    int start_constant(const Node& insert) const {
        for (std::size_t i = 0; i < captured_.items.size(); ++i) {
            const Node* before = canonical_.values[i].get();
            if (!before || before->op != Op::Insert ||
                !(before->as<ir::BoxArg>().starts == insert.as<ir::BoxArg>().starts))
                continue;
            const auto became = simple_.became.find(before);
            if (became != simple_.became.end() && became->second.get() == &insert) return captured_.items[i].constant;
        }
        return -1;
    }

    bool is_donatable(int leaf) const {
        const std::vector<int>& refused = options_.not_donated;
        return captured_.leaves[leaf].dies && is_dense(captured_.leaf(leaf)) && !shares_storage(leaf) &&
               std::find(refused.begin(), refused.end(), leaf) == refused.end();
    }

    bool shares_storage(int leaf) const {
        int count = 0;
        for (const Captured::Leaf& other : captured_.leaves)
            count += captured_.views[other.view].storage == captured_.leaf(leaf).storage;
        return count > 1;
    }

    // ---- values ---------------------------------------------------------------------------------------------------------

    int leaf_value(const Node& param) {
        const int slot = param.as<ir::SlotArg>().slot;
        const auto [found, fresh] = value_of_leaf_.try_emplace(slot, static_cast<int>(plan_.values.size()));
        if (fresh) {
            const MemoryView& view = captured_.leaf(slot);
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

    void place_inside(const PlacedValue& placed) {
        const int index = stored_value(*placed.value), whole = stored_value(*placed.whole);
        parts_[whole].push_back(index);
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
        value.first_constant = start_constant(insert);
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
            if (found == stored.end() ||
                numel(plan_.values[found->second].shape) != numel(captured_.items[i].node->shape))
                continue;
            PlanValue& value = plan_.values[found->second];
            if (value.where == PlanValue::Where::Output && !kept.contains(found->second))
                continue;  // a root: the caller knows
            if (value.where == PlanValue::Where::Donated) continue;
            if (value.where == PlanValue::Where::Inside) {  // the whole is kept, and seen through a view
                Dims strides;
                if (!reshape_strides(value.shape, value.strides, captured_.items[i].node->shape, strides)) continue;
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

    // ---- donation -------------------------------------------------------------------------------------------------------

    void donate() {
        int last_check = -1;
        for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
            if (plan_.steps[s].kernel.checks || plan_.steps[s].kernel.custom) last_check = s;
        std::unordered_set<int> taken;
        for (const PlanValue& value : plan_.values)
            if (value.where == PlanValue::Where::Donated) taken.insert(value.leaf);
        // First the outputs that replace what they read (a parameter, a running mean): their memory stays theirs from step to step.
        for (const bool own : {true, false})
            for (int s = last_check + 1; s < static_cast<int>(plan_.steps.size()); ++s) {
                PlanStep& step = plan_.steps[s];
                for (KernelGraph::Output& output : step.kernel.graph.outputs) {
                    PlanValue& value = plan_.values[step.values[output.param]];
                    if (value.where != PlanValue::Where::Output || value.bytes == 0) continue;
                    for (int leaf = 0; leaf < static_cast<int>(captured_.leaves.size()); ++leaf)
                        if (!taken.contains(leaf) && (!own || reads_itself(step, output, leaf)) &&
                            may_take(s, value, leaf)) {
                            taken.insert(leaf);
                            take(step, output, value, leaf);
                            break;
                        }
                }
            }
    }

    // Is the leaf an operand, element by element, of this very output?
    bool reads_itself(const PlanStep& step, const KernelGraph::Output& output, int leaf) const {
        const auto found = value_of_leaf_.find(leaf);
        if (found == value_of_leaf_.end()) return false;
        const auto enter = [](const Node& node) { return ir::is_elementwise(node.op) || node.op == Op::Reshape; };
        for (const Node* node : ir::topological_order(std::span(&output.value, 1), enter))
            if (node->op == Op::Param && step.values[node->as<ir::SlotArg>().slot] == found->second) return true;
        return false;
    }

    bool may_take(int s, const PlanValue& value, int leaf) {
        const MemoryView& view = captured_.leaf(leaf);
        if (!is_donatable(leaf) || size_of(view.dtype) != size_of(value.dtype) ||
            numel(view.shape) != numel(value.shape))
            return false;
        const auto found = value_of_leaf_.find(leaf);
        if (found == value_of_leaf_.end()) return true;
        for (const int output : plan_.outputs)
            if (output == found->second) return false;
        for (int t = s; t < static_cast<int>(plan_.steps.size()); ++t) {
            const PlanStep& step = plan_.steps[t];
            for (std::size_t p = 0; p < step.values.size(); ++p)
                if (step.values[p] == found->second &&
                    (t > s || view.dtype != value.dtype || !reads_in_place(step.kernel.graph, static_cast<int>(p))))
                    return false;
        }
        return true;
    }

    // The output is stored where the input lies; if the kernel reads that input, both are one parameter.
    void take(PlanStep& step, KernelGraph::Output& output, PlanValue& value, int leaf) {
        value.where = PlanValue::Where::Donated;
        value.leaf = leaf;
        const auto found = value_of_leaf_.find(leaf);
        if (found == value_of_leaf_.end()) return;
        for (std::size_t p = 0; p < step.values.size(); ++p)
            if (step.values[p] == found->second) {
                output.param = static_cast<int>(p);
                step.kernel.graph.params[p].output = true;
                return;
            }
    }

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
            for (const int v : plan_.steps[s].values) {
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
    Plan plan_;
    CanonicalGraph canonical_;
    ir::Rewritten simple_;
    std::vector<NodeRef> outputs_, keep_alive_;
    std::unordered_map<const Node*, int> value_of_;
    std::unordered_map<int, int> value_of_leaf_;
    std::unordered_map<int, std::vector<int>> parts_;       // of a value that has no kernel of its own
    std::unordered_map<const Node*, NodeRef> stored_root_;  // what a root is stored as
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
