// cells/write.cpp: writes in place. A value is never changed: the cell gets a new node, and enters the outbox, so that the next
// run computes it. Writing through a view writes the view's base.
#include "cells/state.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "tensor/check.h"

#include <weft/error.h>
#include <weft/ops.h>

namespace weft {
namespace {

using ir::NodeRef;

std::string described(const Tensor& t) { return t.defined() ? str(t.dtype(), t.shape()) : "undefined"; }

std::string call(std::string_view name, const Tensor& self, const Operand& other) {
    const std::string second = other.is_scalar() ? str(other.scalar().as_double()) : described(other.tensor());
    return str(name, "(self: ", described(self), ", other: ", second, "): ");
}

bool fits(const Shape& value, const Shape& target) {
    if (value.size() > target.size()) return false;
    for (std::size_t i = 1; i <= value.size(); ++i)
        if (value[value.size() - i] != 1 && value[value.size() - i] != target[target.size() - i]) return false;
    return true;
}

void rebind(Cell& cell, NodeRef node) {
    cells::state().note_write(cell, cell.node);
    cell.node = std::move(node);
    mark_written(cell);
    if (!cell.requires_grad) cells::state().list(cell);
}

// Whether a detached tensor may have a history of its own from now on.
void check_history(const Cell& target) {
    if (active_tracer && target.made_in != active_tracer->id)
        throw ValueError(
            "jit: a detached tensor that was there before is written in place with a value that needs a gradient; "
            "detach it inside of the traced function");
}

// What was written, with its history. If all was written over, what stood there gets a gradient of 0, and still requires one. A view reads what was
// written through it from its base again: it is no part of the base's history, even where a reshape of a reshape is the first value, and a
// derivative of the base by the view is 0, whether a run came in between or not.
NodeRef as_written(const Cell& target, const NodeRef& old, const NodeRef& whole) {
    if (!whole->needs_grad) return old->needs_grad ? ir::with_unused(whole, old) : whole;
    return target.view ? keeping_history(whole, whole) : whole;
}

// Writes `value`, already of the target's type and shape.
void write(Cell& target, NodeRef value) {
    Cell& base = target.view ? *target.view->base : target;
    const NodeRef old = current_node(base);
    const ViewStep* const detached = target.view ? target.view->detached() : nullptr;
    const bool silent = !grad_enabled() || detached;
    if (base.requires_grad && !silent)
        throw GradError(str("a leaf that requires a gradient", target.view ? ", or a view of it," : "",
                            " is written in place; write it under no_grad, or write to its detach()"));
    if (!grad_enabled() && value->needs_grad) value = ir::detach(value);
    const bool grows = detached && !detached->no_grad && grad_enabled();
    if (grows && value->needs_grad) check_history(target);
    NodeRef own;  // the value of the detached tensor, with its history
    const auto written_into = [&](const NodeRef& whole) {
        if (!target.view) return value;
        ViewOf::Written written = target.view->write(whole, value);
        own = std::move(written.detached);
        return written.base;
    };
    if (base.requires_grad) rebind(base, ir::leaf(base.id, written_into(old->sources[0])));
    else if (silent && old->needs_grad) rebind(base, keeping_history(written_into(ir::detach(old)), old));
    else rebind(base, as_written(target, old, written_into(old)));
    if (grows) detached->history = own->needs_grad ? own : nullptr;
}

// The owner of shared memory sees a write when the call returns; an optimiser's step computes all of its writes at its end.
bool writes_shared(const Cell& cell) {
    const std::lock_guard lock(ir::graph_lock());
    return (cell.view ? *cell.view->base : cell).shared && !active_tracer && !current_write_group() &&
           !cells::running();
}

// Whether the value is simply stored in shared memory: it has no history, and neither has what is there.
bool goes_to_memory(Cell& cell, const ir::Node& value) {
    const Cell& base = cell.view ? *cell.view->base : cell;
    if (!base.shared || !writes_shared(cell) || !reads_shared(cell)) return false;
    if (grad_enabled() && (value.needs_grad || (base.node->needs_grad && !(cell.view && cell.view->detached()))))
        return false;
    return cells::can_write_memory(cell);
}

Tensor& store(Tensor& self, const Tensor& result, const Operand& other, std::string_view name) {
    if (result.shape() != self.shape())
        throw ShapeError(str(call(name, self, other), "the result has the shape ", result.shape(),
                             ", which does not fit into self"));
    const auto kind = [](DType t) { return is_float(t) ? 2 : is_int(t) ? 1 : 0; };
    if (kind(result.dtype()) > kind(self.dtype()))
        throw DTypeError(str(call(name, self, other), "the result is ", result.dtype(), ", which cannot be stored in ",
                             self.dtype()));
    return self.assign(result);
}

}  // namespace

Tensor& Tensor::assign(const Operand& value) {
    if (!defined() || (!value.is_scalar() && !value.tensor().defined()))
        throw ValueError(str(call("assign", *this, value), "an operand is undefined"));
    if (value.is_scalar() && !fits(value.scalar(), dtype()))
        throw ValueError(str(call("assign", *this, value), "the value does not fit ", dtype()));
    if (!value.is_scalar() && !fits(value.tensor().shape(), shape()))
        throw ShapeError(str(call("assign", *this, value), "the value does not broadcast to self's shape"));
    {
        std::unique_lock lock(ir::graph_lock());
        const NodeRef self = current_node(*cell_);
        NodeRef node = value.is_scalar() ? ir::like(self, value.scalar())
                                         : ir::expand(ir::cast(node_of(value.tensor()), self->dtype), self->shape);
        if (other_devices()) node = ir::to_device(ir::made_on(node, self->device), self->device);
        if (goes_to_memory(*cell_, *node)) {
            lock.unlock();
            cells::write_memory(*this, node);
            return *this;
        }
        write(*cell_, node);
    }
    if (writes_shared(*cell_)) cells::run(std::span<const Tensor>(this, 1));
    else relieve(*this);
    return *this;
}

void Tensor::set_data(const Tensor& value) {
    if (!defined() || !value.defined()) throw ValueError("set_data(): a tensor is undefined");
    if (shape() == value.shape() && dtype() == value.dtype() && device() == value.device()) {
        detach().assign(value);
        return;
    }
    const std::lock_guard lock(ir::graph_lock());
    if (cell_->requires_grad && !is_float(value.dtype()))
        throw DTypeError(str("set_data(): self requires a gradient, and only floats have one, not ", value.dtype()));
    NodeRef node = node_of(value);
    if (node->needs_grad) node = ir::detach(node);
    if (cell_->view) {  // of these elements it is not
        cells::state().unlist(*cell_);
        cell_->view = nullptr;
    }
    cell_->shared = nullptr;
    rebind(*cell_, cell_->requires_grad ? ir::leaf(cell_->id, node) : node);
}

Tensor& Tensor::add_(const Operand& other) { return store(*this, add(*this, other), other, "add_"); }
Tensor& Tensor::sub_(const Operand& other) { return store(*this, sub(*this, other), other, "sub_"); }
Tensor& Tensor::mul_(const Operand& other) { return store(*this, mul(*this, other), other, "mul_"); }
Tensor& Tensor::div_(const Operand& other) { return store(*this, div(*this, other), other, "div_"); }

}  // namespace weft
