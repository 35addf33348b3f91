// tensor/products_matmul.cpp: products of matrices and vectors. There is no such node: each is a sum of broadcast products, which
// the kernel layer recognises.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <atomic>

namespace weft {
namespace {

using ir::NodeRef;

std::atomic<bool> rounds_to_tf32{false};

DType product_type(const Checker& check, const Tensor& a, const Tensor& b) {
    const DType result = promote(a.dtype(), b.dtype());
    check.dtype(!is_bool(result), "bools have no products to sum; convert one of them");
    return result;
}

}  // namespace

void set_tf32_products(bool on) { rounds_to_tf32 = on; }
bool tf32_products() { return rounds_to_tf32.load(std::memory_order_relaxed); }

Tensor matmul(const Tensor& a, const Tensor& b) {
    const Checker check("matmul", {{"a", a}, {"b", b}});
    const Shape left = a.shape(), right = b.shape();
    check.that(!left.empty() && !right.empty(), "a scalar has no dimension to sum over; did you mean a * b?");
    const bool row = left.size() == 1, column = right.size() == 1;
    const std::int64_t inner = right[column ? 0 : right.size() - 2];
    check.that(left.back() == inner, "a's last size ", left.back(), " must equal b's ",
               column ? "last " : "second-last ", inner);
    if (!row && !column) check.broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
    const DType result = product_type(check, a, b), wide = accumulator_of(result);
    NodeRef x = ir::cast(node_of(a), wide), y = ir::cast(node_of(b), wide);
    if (row) x = nodes::add_axis(x, 0);
    if (column) y = nodes::add_axis(y, 1);
    NodeRef product = nodes::contraction(x, y);  // […, M, N]
    const int rank = product->rank();
    if (row && column) product = ir::reshape(product, {});
    else if (row || column) product = nodes::drop_axes(product, {row ? rank - 2 : rank - 1});
    return make_tensor(ir::cast(product, result));
}

Tensor dot(const Tensor& a, const Tensor& b) {
    const Checker check("dot", {{"a", a}, {"b", b}});
    check.that(a.rank() == 1 && b.rank() == 1, "both must have one axis; did you mean matmul?");
    check.that(a.size(0) == b.size(0), "the sizes ", a.size(0), " and ", b.size(0), " must be equal");
    const DType result = product_type(check, a, b), wide = accumulator_of(result);
    const NodeRef products = ir::product(ir::cast(node_of(a), wide), ir::cast(node_of(b), wide));
    return make_tensor(ir::cast(nodes::reduced(ir::Op::Add, products, {0}, false), result));
}

Tensor outer(const Tensor& a, const Tensor& b) {
    const Checker check("outer", {{"a", a}, {"b", b}});
    check.that(a.rank() == 1 && b.rank() == 1, "both must have one axis");
    const DType result = product_type(check, a, b);
    return make_tensor(nodes::add_axis(ir::cast(node_of(a), result), 1) * ir::cast(node_of(b), result));
}

namespace {

bool expands_to(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    for (std::size_t i = 1; i <= from.size(); ++i)
        if (from[from.size() - i] != 1 && from[from.size() - i] != to[to.size() - i]) return false;
    return true;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Checker check("linear", {{"x", x}, {"weight", weight}, {"bias", bias, kOptional}});
    check.that(x.rank() > 0, "x must have one axis at least");
    check.that(weight.rank() == 2, "weight must be [out, in]");
    check.that(x.size(-1) == weight.size(1), "x's last size ", x.size(-1), " must equal weight's second ",
               weight.size(1));
    Shape outputs = x.shape();
    outputs.back() = weight.size(0);
    check.that(!bias.defined() || expands_to(bias.shape(), outputs), "bias must have shape [", weight.size(0),
               "], or one that broadcasts to ", outputs);
    DType result = product_type(check, x, weight);
    if (bias.defined()) result = promote(result, bias.dtype());
    const DType wide = accumulator_of(result);
    NodeRef rows = ir::cast(node_of(x), wide);
    const bool vector = rows->rank() == 1;
    if (vector) rows = nodes::add_axis(rows, 0);
    NodeRef product = nodes::contraction(rows, ir::permute(ir::cast(node_of(weight), wide), {1, 0}));
    if (bias.defined()) product = product + ir::cast(node_of(bias), wide);
    if (vector) product = nodes::drop_axes(product, {0});
    return make_tensor(ir::cast(product, result));
}

Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias) {
    const Checker check("bilinear", {{"a", a}, {"b", b}, {"weight", weight}, {"bias", bias, kOptional}});
    check.that(a.rank() > 0 && a.rank() == b.rank(), "a and b must have the same number of axes, one at least");
    check.that(weight.rank() == 3, "weight must be [out, in1, in2]");
    const Shape left = a.shape(), right = b.shape(), sizes = weight.shape();
    check.that(std::equal(left.begin(), left.end() - 1, right.begin()), "a and b differ in front of their last axis");
    check.that(left.back() == sizes[1] && right.back() == sizes[2], "the last sizes ", left.back(), " and ",
               right.back(), " must equal weight's ", sizes[1], " and ", sizes[2]);
    check.that(!bias.defined() || bias.shape() == Shape{sizes[0]}, "bias must have shape [", sizes[0], "]");
    DType result = promote(product_type(check, a, b), weight.dtype());
    if (bias.defined()) result = promote(result, bias.dtype());
    const DType wide = accumulator_of(result);
    const std::int64_t rows = numel(Shape(left.begin(), left.end() - 1));
    const NodeRef x = ir::reshape(ir::cast(node_of(a), wide), {rows, sizes[1]});
    const NodeRef y = ir::reshape(ir::cast(node_of(b), wide), {rows, 1, sizes[2]});
    const NodeRef w =
        ir::reshape(ir::permute(ir::cast(node_of(weight), wide), {1, 0, 2}), {sizes[1], sizes[0] * sizes[2]});
    const NodeRef half = ir::reshape(nodes::contraction(x, w), {rows, sizes[0], sizes[2]});  // aᵀ W
    NodeRef product = nodes::reduced(ir::Op::Add, ir::product(half, y), {2}, false);
    if (bias.defined()) product = product + ir::cast(node_of(bias), wide);
    Shape shape = left;
    shape.back() = sizes[0];
    return make_tensor(ir::cast(ir::reshape(product, shape), result));
}

}  // namespace weft
