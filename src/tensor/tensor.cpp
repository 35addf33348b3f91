// tensor/tensor.cpp: a tensor's facts, and those of its methods that forward to the op functions.
#include "ir/build.h"
#include "ir/strided.h"
#include "tensor/cell.h"
#include "tensor/check.h"

#include <weft/ops.h>

namespace weft {
namespace {

template <class Read>
auto read_fact(const Tensor& tensor, Read read) {
    const std::lock_guard lock(ir::graph_lock());
    return read(facts_of(tensor));
}

}  // namespace

Tensor::Tensor(Scalar value) : Tensor(tensor(value)) {}

Shape Tensor::shape() const {
    return read_fact(*this, [](const ir::Node& node) { return node.shape; });
}

DType Tensor::dtype() const {
    return read_fact(*this, [](const ir::Node& node) { return node.dtype; });
}

Device Tensor::device() const {
    return read_fact(*this, [](const ir::Node& node) { return Device::of_number(node.device); });
}

std::int64_t Tensor::numel() const {
    return read_fact(*this, [](const ir::Node& node) { return weft::numel(node.shape); });
}

std::int64_t Tensor::size(int axis) const {
    const Checker check("size", {{"x", *this}, {"axis", axis}});
    const Shape sizes = shape();
    return sizes[check.axis(axis, static_cast<int>(sizes.size()))];
}

Tensor& Tensor::fill_(Scalar value) { return assign(value); }

Tensor Tensor::to(DType dtype) const { return weft::cast(*this, dtype); }

Tensor Tensor::to(Device device) const {
    if (this->device() == device) return *this;
    check_available(device);
    return make_tensor(ir::to_device(node_of(*this), device.number()));
}
Tensor Tensor::contiguous() const { return weft::contiguous(*this); }
Tensor Tensor::clone() const { return weft::clone(*this); }
Tensor Tensor::sum(const Axes& axes, bool keepdim) const { return weft::sum(*this, axes, keepdim); }
Tensor Tensor::mean(const Axes& axes, bool keepdim) const { return weft::mean(*this, axes, keepdim); }
Tensor Tensor::max(const Axes& axes, bool keepdim) const { return weft::max(*this, axes, keepdim); }
Tensor Tensor::min(const Axes& axes, bool keepdim) const { return weft::min(*this, axes, keepdim); }
Tensor Tensor::argmax(std::optional<int> axis, bool keepdim) const { return weft::argmax(*this, axis, keepdim); }
Tensor Tensor::exp() const { return weft::exp(*this); }
Tensor Tensor::log() const { return weft::log(*this); }
Tensor Tensor::sqrt() const { return weft::sqrt(*this); }
Tensor Tensor::tanh() const { return weft::tanh(*this); }
Tensor Tensor::sigmoid() const { return weft::sigmoid(*this); }
Tensor Tensor::relu() const { return weft::relu(*this); }
Tensor Tensor::abs() const { return weft::abs(*this); }
Tensor Tensor::pow(const Operand& exponent) const { return weft::pow(*this, exponent); }
Tensor Tensor::matmul(const Tensor& other) const { return weft::matmul(*this, other); }
Tensor Tensor::softmax(int axis) const { return weft::softmax(*this, axis); }

// ---- types and memory ------------------------------------------------------------------------------------------------

Tensor cast(const Tensor& x, DType dtype) {
    const Checker check("cast", {{"x", x}, {"dtype", dtype}});
    return x.dtype() == dtype ? x : make_tensor(ir::cast(node_of(x), dtype));
}

// The copy matters for foreign memory, whose owner may write to it before the graph runs.
Tensor clone(const Tensor& x) {
    const Checker check("clone", {{"x", x}});
    return make_tensor(ir::contiguous(node_of(x)));
}

Tensor contiguous(const Tensor& x) {
    const Checker check("contiguous", {{"x", x}});
    const std::optional<Dims> strides = strides_in_base(x);
    return strides && ir::is_dense({x.shape(), 0, *strides}) ? x : clone(x);
}

}  // namespace weft
