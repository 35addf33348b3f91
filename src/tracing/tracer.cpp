// tracing/tracer.cpp: one traced call: the function builds its graph on placeholders, its effects on cells are
// noted and undone, and the graph becomes a plan. Doing it for real is then a replay like any later one.
#include "tracing/tracer.h"

#include "cells/state.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/walk.h"
#include "pipeline/observer.h"
#include "pipeline/pipeline.h"

#include <weft/error.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace weft::tracing {

using schedule::StorageView;

namespace {

struct TracerScope {
    explicit TracerScope(ActiveTracer* now) : before(std::exchange(active_tracer, now)) {}
    ~TracerScope() { active_tracer = before; }
    TracerScope(const TracerScope&) = delete;
    TracerScope& operator=(const TracerScope&) = delete;
    ActiveTracer* const before;
};

// A value with a history outside: it needs a gradient, which cannot leave the traced function.
ir::NodeRef without_history(const ir::NodeRef& value) {
    static const auto& rule =
        *new std::shared_ptr<const ir::GradRuleObject>(std::make_shared<ir::GradRuleObject>(ir::GradRuleObject{
            "outside of jit", [](const auto&, const auto&) -> ir::Grads {
                throw GradError(
                    "backward(): jit: a gradient flows to a tensor that was computed outside of the traced function; "
                    "compute it inside, or detach() it");
            }}));
    const ir::NodeRef input[] = {ir::leaf(0, ir::constant(DType::F32, Scalar(0.0)))};  // no cell has the id 0
    return ir::with_grad(value, input, rule);
}

}  // namespace

Tracer::Tracer(std::span<const Tensor> inputs, std::span<const StorageView> memory, Signature signature)
    : ActiveTracer(ir::fresh_id()), memory_(memory.begin(), memory.end()), offsets_(inputs.size(), 0) {
    traced_->signature = std::move(signature);
    const std::lock_guard lock(ir::graph_lock());
    const TracerScope scope(this);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const int first = traced_->signature.same_as[i];
        if (first < static_cast<int>(i)) {
            inputs_.push_back(inputs_[first]);
            continue;
        }
        inputs_.emplace_back(std::make_shared<Cell>());
        inputs_.back().cell()->node = placeholder(static_cast<int>(i), traced_->signature.inputs[i], offsets_[i]);
    }
}

// ---- what the function sees -----------------------------------------------------------------------------------------

ir::NodeRef Tracer::placeholder(int slot, const Layout& layout, std::int64_t& offset) const {
    std::int64_t reach = numel(layout.shape) > 0 ? 1 : 0;
    offset = 0;
    for (std::size_t d = 0; d < layout.shape.size() && reach > 0; ++d) {
        const std::int64_t span = layout.strides[d] * (layout.shape[d] - 1);
        if (span < 0) offset -= span;
        reach += std::abs(span);
    }
    auto storage =
        std::make_shared<Placeholder>(slot, static_cast<std::size_t>(reach) * size_of(layout.dtype), layout.device);
    return ir::buffer(std::move(storage), layout.dtype, layout.shape, offset, layout.strides);
}

bool Tracer::is_written(const Cell& cell) const {
    const auto entry = cells::state().outbox().find(cell.outbox_slot);
    return entry != cells::state().outbox().end() && entry->second.thread == cells::this_thread();
}

int Tracer::input_of(const Cell& cell) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].cell().get() == &cell) return static_cast<int>(i);
    return -1;
}

Tracer::StandIn& Tracer::find(Cell& cell) {
    const int next = static_cast<int>(stand_ins_.size());
    const auto [found, is_new] = index_.try_emplace(&cell, next);
    if (!is_new) return stand_ins_[found->second];
    StandIn& made = stand_ins_.emplace_back();
    made.cell = cell.shared_from_this();
    made.before = cell.node;
    made.grad = cell.grad;
    made.requires_grad = cell.requires_grad;
    if (const auto leaf = gradients_of_.find(&cell); leaf != gradients_of_.end()) made.grad_of = leaf->second;
    if (cell.grad.defined() && !cell.grad.cell()->view) gradients_of_.emplace(cell.grad.cell().get(), next);
    if (cell.view) return made;
    // A value that is not computed yet will be, densely, before it is needed.
    if (const ir::NodeRef buffer = cells::stored_value(cell.node))
        made.layout = {buffer->device, buffer->dtype, buffer->shape, buffer->as<ir::BufferArg>().strides};
    else
        made.layout = {Device::of_number(cell.node->device).number(), cell.node->dtype, cell.node->shape,
                       row_major_strides(cell.node->shape)};
    made.node = placeholder(slot_of(next), made.layout, made.offset);
    if (cell.requires_grad) made.node = ir::leaf(cell.id, made.node);
    else if (cell.node->needs_grad) made.node = without_history(made.node);
    return made;
}

const Dims* Tracer::strides_of(const Cell& cell) const {
    const int input = input_of(cell);
    return input < 0 ? nullptr : &traced_->signature.in_base[static_cast<std::size_t>(input)];
}

const ir::NodeRef* Tracer::stand_in(Cell& cell) {
    if (is_inside(cell)) return nullptr;
    StandIn& found = find(cell);
    if (cell.view) {
        found.node = cell.view->read(current_node(*cell.view->base));
        if (const ViewStep* step = cell.view->detached(); step && step->history)
            found.node = without_history(ir::detach(found.node));
        return &found.node;
    }
    if (is_written(cell) || cell.requires_grad != found.requires_grad) return nullptr;
    return &found.node;
}

// ---- what the function did ------------------------------------------------------------------------------------------

std::shared_ptr<TracedCall> Tracer::trace(const Jit::Function& function) {
    try {
        {
            const TracerScope scope(this);
            std::vector<Tensor> outputs = function(inputs_);
            const std::lock_guard lock(ir::graph_lock());
            collect(outputs);
        }
        {
            const std::lock_guard queue(cells::run_lock());  // a compiler may be started, as in a run
            const cells::InsideRun inside;
            std::unique_lock lock(ir::graph_lock());
            plan_it(lock);
        }
        compute_pending();
    } catch (...) {
        thaw();
        throw;
    }
    return traced_;
}

void Tracer::collect(std::vector<Tensor>& outputs) {
    std::unordered_map<const Cell*, int> seen;
    for (const Tensor& output : outputs) traced_->outputs.push_back(collect_output(output, seen));
    collect_writes();
    collect_gradients();
    outputs.clear();  // what is still alive then, the function has kept
    undo();
    collect_kept();
}

int Tracer::add_root(Cell& cell) {
    roots_.push_back(cells::stripped(current_node(cell)));
    return static_cast<int>(roots_.size()) - 1;
}

TracedCall::Output Tracer::collect_output(const Tensor& output, std::unordered_map<const Cell*, int>& seen) {
    using Kind = TracedCall::Output::Kind;
    if (!output.defined()) return {Kind::Undefined, 0};
    Cell& cell = *output.cell();
    if (const int input = input_of(cell); input >= 0) return {Kind::Input, input};
    if (!is_inside(cell)) {
        find(cell);
        return {Kind::Cell, index_.at(&cell)};
    }
    const auto [found, is_new] = seen.try_emplace(&cell, static_cast<int>(traced_->outputs.size()));
    return is_new ? TracedCall::Output{Kind::Fresh, add_root(cell)} : TracedCall::Output{Kind::Same, found->second};
}

void Tracer::collect_writes() {
    for (const auto& [slot, entry] : cells::state().outbox()) {
        if (entry.thread != cells::this_thread()) continue;
        Cell& cell = *entry.cell;
        if (const int input = input_of(cell); input >= 0) traced_->writes.push_back({input, add_root(cell)});
        else if (!is_inside(cell)) traced_->writes.push_back({slot_of(index_.at(&cell)), add_root(cell)});
    }
}

void Tracer::collect_gradients() {
    for (std::size_t i = 0; i < stand_ins_.size(); ++i) {
        const Tensor now = stand_ins_[i].cell->grad;
        if (now.cell() == stand_ins_[i].grad.cell()) continue;
        TracedCall::Gradient gradient{.leaf = static_cast<int>(i), .root = -1, .cell = {}};
        if (now.defined() && is_inside(*now.cell())) gradient.root = add_root(*now.cell());
        else if (now.defined()) gradient.cell = now.cell();
        traced_->gradients.push_back(gradient);
    }
}

// The cells that were there before hold what they held before.
void Tracer::undo() {
    const TracerScope none(nullptr);
    undone_ = true;
    for (StandIn& stand_in : stand_ins_) {
        Cell& cell = *stand_in.cell;
        cell.grad = stand_in.grad;
        const bool marked = cell.requires_grad != stand_in.requires_grad;  // as a leaf, or no longer: that stays
        if (cell.view || !(is_written(cell) || marked)) continue;
        cells::state().take_back(cell);
        cell.node = stand_in.before;
        if (marked) {
            const ir::NodeRef value = cells::stripped(stand_in.before);
            cell.node = cell.requires_grad ? ir::leaf(cell.id, value) : value;
        }
        mark_written(cell);
        if (!cell.requires_grad && !cells::stored_value(cell.node)) cells::state().list(cell);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        Cell& cell = *inputs_[i].cell();
        if (traced_->signature.same_as[i] != static_cast<int>(i)) continue;
        cells::state().take_back(cell);
        cells::state().unlist(cell);
        cell.grad = Tensor();
        cell.node = schedule::buffer_of(memory_[i]);  // for views of it that the function has kept
        mark_written(cell);
    }
}

// Tensors made inside that outlive the call: an optimiser's state, a loss that is kept for later. Each call gives them
// a new value.
void Tracer::collect_kept() {
    std::vector<Cell*> cells;  // in the order that they were made, so that equal calls make equal plans
    for (Cell* cell = cells::state().first_pending(); cell; cell = cell->next) cells.push_back(cell);
    for (Cell* cell = cells::state().first_view(); cell; cell = cell->next) cells.push_back(cell);
    for (const auto& [slot, entry] : cells::state().outbox()) cells.push_back(entry.cell);
    for (const auto& [leaf, cell] : std::map(cells::state().leaves.begin(), cells::state().leaves.end()))
        cells.push_back(cell);
    std::unordered_set<const Cell*> seen;
    std::erase_if(cells, [&](const Cell* cell) {
        return !is_inside(*cell) || input_of(*cell) >= 0 || !seen.insert(cell).second;
    });
    for (Cell* at : cells) {
        const std::shared_ptr<Cell> cell = at->weak_from_this().lock();
        if (!cell) continue;
        // State that the function sets up in its first call and goes on from in the second: only the second tells what
        // it does.
        const auto entry = cells::state().outbox().find(cell->outbox_slot);
        if (entry != cells::state().outbox().end() && entry->second.base()) traced_->settled = false;
        cells::state().take_back(*cell);
        if (cell->view) cell->node = nullptr;  // it follows its base
        else traced_->kept.push_back({cell, add_root(*cell)});
    }
}

void Tracer::thaw() {
    const std::lock_guard lock(ir::graph_lock());
    if (!undone_) {  // the function threw: nothing is collected yet
        undo();
        collect_kept();
    }
    const auto real = [&](const ir::Node& node, const ir::Sources& sources) {
        if (node.op == ir::Op::Buffer)
            if (const auto* at = dynamic_cast<const Placeholder*>(node.as<ir::BufferArg>().storage.get())) {
                const int slot = at->slot - static_cast<int>(inputs_.size());
                return slot < 0 ? schedule::buffer_of(memory_[at->slot]) : cells::stripped(stand_ins_[slot].before);
            }
        return sources.empty() ? ir::NodeRef(&node) : ir::with_sources(node, sources);
    };
    for (const TracedCall::Kept& kept : traced_->kept)
        if (const std::shared_ptr<Cell> cell = kept.cell.lock()) {
            cell->node = ir::rebuild(std::span(&cell->node, 1), real).front();
            mark_written(*cell);
        }
}

// ---- from cells to memory -------------------------------------------------------------------------------------------

TracedCall::MemoryRef Tracer::place_of(const ir::StorageRef& storage, std::int64_t offset,
                                       std::vector<bool>& used) const {
    const auto* at = dynamic_cast<const Placeholder*>(storage.get());
    if (!at) return {-1, offset, storage};
    const int index = at->slot - static_cast<int>(inputs_.size());
    if (index >= 0) used[index] = true;
    return {at->slot, offset - (index < 0 ? offsets_[at->slot] : stand_ins_[index].offset), nullptr};
}

std::uint8_t Tracer::common_device() const {
    std::uint8_t device = kAnyDevice;
    for (const ir::NodeRef& root : roots_) {
        if (root->crosses)
            throw ValueError("jit: the function moves a tensor from one device to another; move it before the call");
        if (root->device == kAnyDevice || root->device == device) continue;
        if (device != kAnyDevice)
            throw ValueError(str("jit: the function computes on ", Device::of_number(device).name(), " and on ",
                                 Device::of_number(root->device).name(), "; let each have a function of its own"));
        device = root->device;
    }
    return device == kAnyDevice ? kCpu : device;
}

void Tracer::plan_it(std::unique_lock<std::recursive_mutex>& graph) {
    TracedCall& call = *traced_;
    call.device = common_device();
    const schedule::Captured captured = schedule::capture(roots_, nullptr);
    const TargetRef target = call.signature.target = pipeline::target_of(call.device);
    if (!captured.outputs.empty()) call.plan = pipeline::plan_for(captured, target, graph);
    if (pipeline::Observer* const watching = pipeline::observer(); watching && call.plan)
        call.observed = watching->captured(captured, call.plan);
    std::vector<bool> used(stand_ins_.size(), false);
    for (const schedule::Captured::Leaf& leaf : captured.leaves) {
        const StorageView& view = captured.views[leaf.view];
        call.leaves.push_back(place_of(view.storage, view.offset, used));
    }
    call.constants.assign(captured.constants.begin(), captured.constants.end());
    call.scalars.assign(captured.scalars.begin(), captured.scalars.end());
    for (std::size_t s = 0; s < captured.scalar_nodes.size(); ++s) {
        const auto& var = captured.scalar_nodes[s]->as<ir::VarArg>();
        if (var.redraw) call.redraws.push_back({var.id, static_cast<int>(s), var.redraw});
    }
    std::sort(call.redraws.begin(), call.redraws.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    for (const schedule::RootValue& from : captured.roots) {
        TracedCall::Root& root = call.roots.emplace_back();
        StorageView view;
        if (from.view >= 0) {
            view = captured.views[from.view];
            root.place = place_of(view.storage, view.offset, used);
            view.offset = root.place.offset;
        } else {
            root.value = call.plan->plan.outputs[from.output];
            const schedule::PlanValue& value = call.plan->plan.values[root.value];
            view = {{value.shape, 0, value.strides}, nullptr, value.dtype};
        }
        for (const ir::NodeRef& movement : from.views)
            if (!ir::apply_view(*movement, view)) throw InternalError("a root's view does not fold");
        root.place.offset = view.offset;
        root.layout = layout_of(view);
    }
    roots_.clear();
    note_watched(used);
}

void Tracer::note_watched(const std::vector<bool>& used) {
    for (std::size_t i = 0; i < stand_ins_.size(); ++i) {
        const StandIn& from = stand_ins_[i];
        Watched& watched = traced_->watched.emplace_back();
        watched.cell = from.cell;
        watched.grad_of = from.grad_of;
        watched.requires_grad = from.cell->requires_grad;
        watched.has_grad = from.grad.defined();
        if (from.grad.defined() && from.grad.cell()->view) watched.grad_view = from.grad.cell();
        watched.used = used[i];
        watched.layout = from.layout;
    }
}

void Tracer::compute_pending() {
    std::vector<const StandIn*> pending;
    std::vector<ir::NodeRef> values;
    {
        const std::lock_guard lock(ir::graph_lock());
        for (std::size_t i = 0; i < stand_ins_.size(); ++i) {
            const ir::NodeRef& before = stand_ins_[i].before;
            if (!traced_->watched[i].used || cells::stored_value(before)) continue;
            pending.push_back(&stand_ins_[i]);
            values.push_back(ir::detach(ir::contiguous(cells::stripped(before))));
        }
    }
    if (values.empty()) return;
    std::vector<Tensor> asked;
    for (const ir::NodeRef& value : values) asked.push_back(make_tensor(value));
    const cells::Buffers buffers = cells::run(asked);
    const std::lock_guard lock(ir::graph_lock());
    for (std::size_t i = 0; i < pending.size(); ++i) {
        cells::remember(cells::stripped(pending[i]->before), buffers[i]);
        if (pending[i]->cell->node == pending[i]->before) cells::bind(*pending[i]->cell, buffers[i]);
    }
}

}  // namespace weft::tracing
