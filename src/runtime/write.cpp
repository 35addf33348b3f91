// runtime/write.cpp: writes in place. A value is never changed: the cell gets a new node, and enters the outbox, so that the next
// run computes it. Writing through a view writes the view's base.
#include "core/str.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "runtime/state.h"
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
    runtime::Outgoing& entry = runtime::state().send(cell);
    if (!entry.last && cell.outbox_slot != 0) entry.last = cell.node;
    cell.node = std::move(node);
    ++cell.version;
    if (!cell.requires_grad) runtime::state().list(cell);
}

// Writes `value`, already of the target's type and shape.
void write(Cell& target, NodeRef value) {
    Cell& base = target.view ? *target.view->base : target;
    const NodeRef old = current_node(base);
    const bool silent = !grad_enabled() || (target.view && target.view->detached());
    if (base.requires_grad && !silent)
        throw GradError(str("a leaf that requires a gradient", target.view ? ", or a view of it," : "",
                            " is written in place; write it under no_grad, or write to its detach()"));
    if (silent && value->needs_grad) value = ir::detach(value);
    if (base.requires_grad) {
        const NodeRef inside = old->sources[0];
        rebind(base, ir::leaf(base.id, target.view ? target.view->write(inside, value) : value));
    } else if (silent && old->needs_grad) {
        const NodeRef plain = ir::detach(old);
        rebind(base, runtime::keeping_history(target.view ? target.view->write(plain, value) : value, old));
    } else {
        rebind(base, target.view ? target.view->write(old, value) : value);
    }
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
        const std::lock_guard lock(ir::graph_lock());
        const NodeRef self = current_node(*cell_);
        if (value.is_scalar()) write(*cell_, ir::like(self, value.scalar()));
        else write(*cell_, ir::expand(ir::cast(node_of(value.tensor()), self->dtype), self->shape));
    }
    relieve(*this);
    return *this;
}

Tensor& Tensor::add_(const Operand& other) { return store(*this, add(*this, other), other, "add_"); }
Tensor& Tensor::sub_(const Operand& other) { return store(*this, sub(*this, other), other, "sub_"); }
Tensor& Tensor::mul_(const Operand& other) { return store(*this, mul(*this, other), other, "mul_"); }
Tensor& Tensor::div_(const Operand& other) { return store(*this, div(*this, other), other, "div_"); }

}  // namespace weft
