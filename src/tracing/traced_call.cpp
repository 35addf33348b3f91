// tracing/traced_call.cpp: a later call of a traced function: find the memory of its cells and inputs, draw its
// scalars, launch the plan, bind the results. No graph is built, hashed or looked up.
#include "tracing/traced_call.h"

#include "cells/state.h"
#include "core/str.h"
#include "ir/build.h"
#include "pipeline/counters.h"
#include "pipeline/observer.h"

#include <weft/error.h>

#include <mutex>

namespace weft::tracing {

using schedule::StorageView;

// ---- fit ------------------------------------------------------------------------------------------------------------

namespace {

Fit fit_value(const Watched& watched, Cell& cell, pipeline::BufferBinding& bound) {
    const ir::NodeRef buffer = cells::stored_value(current_node(cell));
    if (!buffer) return Fit::Pending;
    const auto& arg = buffer->as<ir::BufferArg>();
    if (!(buffer->dtype == watched.layout.dtype && buffer->shape == watched.layout.shape &&
          arg.strides == watched.layout.strides))
        return Fit::Other;
    bound = {arg.storage, arg.offset};
    return Fit::Ready;
}

Fit fit_watched(const Watched& watched, std::size_t inputs, Binding& binding) {
    std::shared_ptr<Cell> cell =
        watched.grad_of < 0 ? watched.cell.lock() : binding.cells[inputs + watched.grad_of]->grad.cell();
    if (!cell) return watched.grad_of < 0 ? Fit::Dead : Fit::Other;
    if (cell->requires_grad != watched.requires_grad || cell->grad.defined() != watched.has_grad) return Fit::Other;
    if (const std::shared_ptr<Cell> view = watched.grad_view.lock(); view && view != cell->grad.cell())
        return Fit::Other;
    pipeline::BufferBinding bound;
    const Fit result = watched.used ? fit_value(watched, *cell, bound) : Fit::Ready;
    if (result == Fit::Other) return result;
    if (result == Fit::Pending) binding.pending.push_back(cell);
    binding.cells.push_back(std::move(cell));
    binding.slots.push_back(std::move(bound));
    return result;
}

const Cell& base_of(const Cell& cell) { return cell.view ? *cell.view->base : cell; }

// An input is taken as it is at the start of the call. That is not what the function would see if it also wrote the
// same tensor behind the input's back, or read it behind the back of a write to the input.
void check_writes(const TracedCall& call, std::span<const Tensor> inputs, const Binding& binding) {
    for (const TracedCall::Write& write : call.writes) {
        const Cell& target = *binding.cells[write.slot];
        const int input = write.slot < static_cast<int>(inputs.size()) ? write.slot : -1;
        if (input >= 0 && target.view)
            throw ValueError(str("jit: the function writes its input ", input,
                                 ", which is a view of another tensor here; pass "
                                 "that tensor, or write a clone()"));
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (static_cast<int>(i) != input && &base_of(*binding.cells[i]) == &target &&
                inputs[i].cell().get() != &target)
                throw ValueError(
                    str("jit: the function writes a tensor that its input ", i, " is a view of; pass a clone()"));
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (input < 0 && inputs[i].cell().get() == &target)
                throw ValueError(
                    str("jit: the function writes its input ", i, " by another handle; use one of the two"));
        for (std::size_t w = inputs.size(); input >= 0 && w < binding.cells.size(); ++w)
            if (binding.cells[w].get() == &target)
                throw ValueError(str("jit: the function writes its input ", input,
                                     " and uses another handle of it; use one of the two"));
    }
}

}  // namespace

Fit fit(const TracedCall& call, std::span<const Tensor> inputs, std::span<const StorageView> memory, Binding& binding) {
    binding = {};
    binding.cells.reserve(inputs.size() + call.watched.size());
    binding.slots.reserve(inputs.size() + call.watched.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        binding.cells.push_back(inputs[i].cell());
        binding.slots.push_back({memory[i].storage, memory[i].offset});
    }
    for (const Watched& watched : call.watched)
        if (const Fit result = fit_watched(watched, inputs.size(), binding);
            result == Fit::Other || result == Fit::Dead)
            return result;
    if (!binding.pending.empty()) return Fit::Pending;
    check_writes(call, inputs, binding);
    return Fit::Ready;
}

// ---- replay ---------------------------------------------------------------------------------------------------------

namespace {

pipeline::BufferBinding bound_at(const TracedCall::MemoryRef& place, const Binding& binding) {
    if (place.slot < 0) return {place.constant, place.offset};
    const pipeline::BufferBinding& slot = binding.slots[place.slot];
    return {slot.storage, slot.offset + place.offset};
}

ir::NodeRef root_buffer(const TracedCall::Root& root, const Binding& binding,
                        const std::optional<pipeline::Launch>& launch) {
    pipeline::BufferBinding bound = root.value < 0 ? bound_at(root.place, binding) : launch->bound(root.value);
    if (root.value >= 0) bound.offset += root.place.offset;
    return ir::buffer(std::move(bound.storage), root.layout.dtype, root.layout.shape, bound.offset,
                      root.layout.strides);
}

// A history ends here: what the function wrote is a plain value afterwards.
void set_value(Cell& cell, const ir::NodeRef& buffer) {
    if (cell.outbox_slot != 0) {
        // Written meanwhile, by another thread: this is what it goes back to if that write fails.
        if (cells::Outgoing& entry = *cells::state().entry_of(cell); entry.base()) entry.writes[0].before = buffer;
        return;
    }
    const ir::NodeRef kept = cells::kept_in_place(cell, buffer);
    cell.node = cell.requires_grad ? ir::leaf(cell.id, kept) : kept;
    mark_written(cell);
    ++cell.binding;
    if (!cell.view) cells::state().unlist(cell);
}

Tensor fresh(const ir::NodeRef& buffer) {
    Tensor result(std::make_shared<Cell>());
    result.cell()->node = buffer;
    return result;
}

class Results {
public:
    Results(const TracedCall& call, std::span<const Tensor> inputs, const Binding& binding,
            const std::optional<pipeline::Launch>& launch)
        : traced_(call), inputs_(inputs), binding_(binding) {
        for (const TracedCall::Root& root : call.roots) buffers_.push_back(root_buffer(root, binding, launch));
        for (const TracedCall::Gradient& gradient : call.gradients)
            gradients_.push_back(gradient.root >= 0 ? fresh(buffers_[gradient.root]) : Tensor(gradient.cell.lock()));
        for (const TracedCall::Output& output : call.outputs) outputs_.push_back(output_of(output));
    }

    std::vector<Tensor> bind() {
        const std::size_t inputs = inputs_.size();
        for (const TracedCall::Write& write : traced_.writes)
            set_value(*binding_.cells[write.slot], buffers_[write.root]);
        for (std::size_t i = 0; i < gradients_.size(); ++i)
            std::swap(binding_.cells[inputs + traced_.gradients[i].leaf]->grad, gradients_[i]);
        for (const TracedCall::Kept& kept : traced_.kept)
            if (const std::shared_ptr<Cell> cell = kept.cell.lock()) set_value(*cell, buffers_[kept.root]);
        if (!traced_.writes.empty() || !traced_.kept.empty()) cells::drop_stale_views();
        return std::move(outputs_);
    }

private:
    Tensor output_of(const TracedCall::Output& output) const {
        switch (output.kind) {
            case TracedCall::Output::Kind::Undefined: return {};
            case TracedCall::Output::Kind::Fresh: return fresh_output(output.index);
            case TracedCall::Output::Kind::Input: return inputs_[output.index];
            case TracedCall::Output::Kind::Cell: return Tensor(binding_.cells[inputs_.size() + output.index]);
            case TracedCall::Output::Kind::Same: return outputs_[output.index];
        }
        __builtin_unreachable();
    }

    // A view of shared memory is shared, too.
    Tensor fresh_output(int root) const {
        Tensor result = fresh(buffers_[root]);
        const TracedCall::Root& from = traced_.roots[root];
        if (from.value < 0 && from.place.slot >= 0 && reads_shared(*binding_.cells[from.place.slot]))
            result.cell()->shared = buffers_[root];
        return result;
    }

    const TracedCall& traced_;
    const std::span<const Tensor> inputs_;
    const Binding& binding_;
    std::vector<ir::NodeRef> buffers_;  // by root
    std::vector<Tensor> gradients_;     // the new ones; after bind() the old ones, which are let go with this
    std::vector<Tensor> outputs_;
};

}  // namespace

namespace {

// Tells the run what the function's writes take the place of; false: of something that is not there any more.
bool replaces_known(const TracedCall& call, const Binding& binding, std::optional<pipeline::Launch>& launch) {
    if (call.device == kCpu) return true;
    const std::lock_guard lock(ir::graph_lock());
    for (const TracedCall::Write& write : call.writes) {
        const ir::NodeRef before = cells::stored_value(binding.cells[write.slot]->node);
        if (!before) return false;
        launch->replace(schedule::view_of(*root_buffer(call.roots[write.root], binding, launch)),
                        schedule::view_of(*before));
    }
    return true;
}

}  // namespace

std::vector<Tensor> replay(const TracedCall& call, std::span<const Tensor> inputs, const Binding& binding,
                           bool redraw) {
    std::vector<Word> scalars = call.scalars;
    if (redraw)
        for (const TracedCall::Redraw& again : call.redraws) scalars[again.slot] = (*again.draw)();
    std::vector<pipeline::BufferBinding> leaves;
    leaves.reserve(call.leaves.size());
    for (const TracedCall::MemoryRef& place : call.leaves) leaves.push_back(bound_at(place, binding));
    std::optional<pipeline::Launch> launch;
    if (call.plan) {
        pipeline::count(pipeline::counter_cells().runs);
        pipeline::Observer* const watching = pipeline::observer();
        const std::int64_t start = watching ? pipeline::now() : 0;
        const int observed = watching && call.observed < 0 ? watching->traced_before(call.plan) : call.observed;
        launch.emplace(device::runtime_of(call.device), *call.plan, leaves, call.constants, scalars, observed);
        launch->run(!replaces_known(call, binding, launch));
        if (watching) watching->ran(observed, start, pipeline::now());
    }
    const std::lock_guard lock(ir::graph_lock());
    return Results(call, inputs, binding, launch).bind();
}

}  // namespace weft::tracing
