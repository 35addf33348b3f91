// tensor/products.cpp: products with fixed ranks, along chosen axes, and with something added.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/contract.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <numeric>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

DType product_type(const Checker& check, std::initializer_list<DType> types) {
    DType result = *types.begin();
    for (const DType type : types) result = promote(result, type);
    check.dtype(!is_bool(result), "bools have no products to sum; convert one of them");
    return result;
}

NodeRef widened(const Tensor& x, DType result) { return ir::cast(node_of(x), accumulator_of(result)); }

void check_matrices(const Checker& check, const Tensor& a, const Tensor& b, int rank) {
    check.that(a.rank() == rank && b.rank() == rank, "both must have ", rank, " axes");
    check.that(rank == 2 || a.size(0) == b.size(0), "the batches ", a.size(0), " and ", b.size(0), " must be equal");
    check.that(a.size(-1) == b.size(-2), "the first's last size ", a.size(-1), " must equal the second's second-last ",
               b.size(-2));
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
    const Checker check("mm", {{"a", a}, {"b", b}});
    check_matrices(check, a, b, 2);
    return matmul(a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
    const Checker check("bmm", {{"a", a}, {"b", b}});
    check_matrices(check, a, b, 3);
    return matmul(a, b);
}

Tensor mv(const Tensor& a, const Tensor& x) {
    const Checker check("mv", {{"a", a}, {"x", x}});
    check.that(a.rank() == 2 && x.rank() == 1, "a must have two axes and x one");
    check.that(a.size(1) == x.size(0), "a's last size ", a.size(1), " must equal x's ", x.size(0));
    return matmul(a, x);
}

Tensor vdot(const Tensor& a, const Tensor& b) {
    const Checker check("vdot", {{"a", a}, {"b", b}});
    check.that(a.rank() == 1 && b.rank() == 1, "both must have one axis");
    check.that(a.size(0) == b.size(0), "the sizes ", a.size(0), " and ", b.size(0), " must be equal");
    return dot(a, b);
}

Tensor vecdot(const Tensor& a, const Tensor& b, int axis) {
    const Checker check("vecdot", {{"a", a}, {"b", b}, {"axis", axis}});
    const Shape shape = check.broadcast(a.shape(), b.shape());
    const DType result = product_type(check, {a.dtype(), b.dtype()});
    const int along = check.axis(axis, static_cast<int>(shape.size()));
    const NodeRef products = ir::product(ir::expand(widened(a, result), shape), ir::expand(widened(b, result), shape));
    return make_tensor(ir::cast(nodes::reduced(Op::Add, products, {along}, false), result));
}

namespace {

// The axes of both that are summed over, in pairs; the result has a's others and then b's.
Tensor summed_over(const Checker& check, const Tensor& a, const Tensor& b, const Dims& axes_a, const Dims& axes_b) {
    const DType result = product_type(check, {a.dtype(), b.dtype()});
    const int rank_a = a.rank(), rank_b = b.rank();
    check.that(rank_a + rank_b <= kMostLabels, "more than ", kMostLabels, " axes");
    Term left{widened(a, result), Labels(static_cast<std::size_t>(rank_a))};
    Term right{widened(b, result), Labels(static_cast<std::size_t>(rank_b))};
    std::iota(left.labels.begin(), left.labels.end(), 0);
    std::iota(right.labels.begin(), right.labels.end(), rank_a);
    for (std::size_t i = 0; i < axes_a.size(); ++i) right.labels[axes_b[i]] = static_cast<int>(axes_a[i]);
    Labels output;
    for (int d = 0; d < rank_a; ++d)
        if (std::find(axes_a.begin(), axes_a.end(), d) == axes_a.end()) output.push_back(d);
    for (int d = 0; d < rank_b; ++d)
        if (std::find(axes_b.begin(), axes_b.end(), d) == axes_b.end()) output.push_back(rank_a + d);
    return make_tensor(ir::cast(contract({std::move(left), std::move(right)}, output), result));
}

}  // namespace

Tensor inner(const Tensor& a, const Tensor& b) {
    const Checker check("inner", {{"a", a}, {"b", b}});
    if (a.rank() == 0 || b.rank() == 0) return mul(a, b);
    check.that(a.size(-1) == b.size(-1), "the last sizes ", a.size(-1), " and ", b.size(-1), " must be equal");
    return summed_over(check, a, b, {a.rank() - 1}, {b.rank() - 1});
}

Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes) {
    const Checker check("tensordot", {{"a", a}, {"b", b}, {"axes", axes}});
    check.that(axes >= 0, "the number of axes must not be negative");
    check.that(axes <= a.rank() && axes <= b.rank(), "not both have ", axes, " axes");
    Dims left, right;
    for (std::int64_t d = 0; d < axes; ++d) left.push_back(a.rank() - axes + d), right.push_back(d);
    return tensordot(a, b, left, right);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& axes_a, const Dims& axes_b) {
    const Checker check("tensordot", {{"a", a}, {"b", b}, {"axes_a", axes_a}, {"axes_b", axes_b}});
    check.that(axes_a.size() == axes_b.size(), "as many axes of a as of b are needed");
    Dims left, right;
    for (std::size_t i = 0; i < axes_a.size(); ++i) {
        const int d = check.axis(axes_a[i], a.rank()), e = check.axis(axes_b[i], b.rank());
        check.that(std::find(left.begin(), left.end(), d) == left.end(), "axis ", d, " of a is given twice");
        check.that(std::find(right.begin(), right.end(), e) == right.end(), "axis ", e, " of b is given twice");
        check.that(a.size(d) == b.size(e) || a.size(d) == 1 || b.size(e) == 1, "a's axis ", d, " has size ", a.size(d),
                   ", b's axis ", e, " size ", b.size(e));
        left.push_back(d), right.push_back(e);
    }
    return summed_over(check, a, b, left, right);
}

Tensor cross(const Tensor& a, const Tensor& b, std::optional<int> axis) {
    const Checker check("cross", {{"a", a}, {"b", b}});
    const Shape shape = check.broadcast(a.shape(), b.shape());
    int along = -1;
    if (axis) along = check.axis(*axis, static_cast<int>(shape.size()));
    else
        for (std::size_t d = shape.size(); d-- > 0;)
            if (shape[d] == 3) along = static_cast<int>(d);
    check.that(along >= 0, "no axis has size 3");
    const DType result = product_type(check, {a.dtype(), b.dtype()});
    check.that(shape[along] == 3, "axis ", along, " has size ", shape[along], ", not 3");
    const DType wide = accumulator_of(result);
    const Tensor x = broadcast_to(a.to(wide), shape), y = broadcast_to(b.to(wide), shape);
    const auto turned = [&](const Tensor& v, int by) { return roll(v, {-by}, along); };  // by 1: (v1, v2, v0)
    return (turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1)).to(result);
}

Tensor trace(const Tensor& x) {
    const Checker check("trace", {{"x", x}});
    check.that(x.rank() == 2, "x must be a matrix");
    const DType result = is_float(x.dtype()) ? x.dtype() : DType::I64;
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(result));
    const std::int64_t size = std::min(x.size(0), x.size(1));
    const NodeRef square = ir::shrink(wide, {0, 0}, {size, size});
    return make_tensor(ir::cast(contract({{square, {0, 0}}}, {}), result));
}

// ---- with something added --------------------------------------------------------------------------------------------

namespace {

Tensor added(const Checker& check, const Tensor& x, const NodeRef& product, DType result, const ScaleOptions& options) {
    const bool whole = !is_float(result);
    check.dtype(!whole || (!is_float(options.beta.dtype()) && !is_float(options.alpha.dtype())),
                "beta and alpha must be integers, as the result is");
    const Shape reached = check.broadcast(x.shape(), product->shape);
    check.that(reached == product->shape, "x does not broadcast to ", product->shape);
    const auto is = [](const Scalar& value, double number) { return value.as_double() == number; };
    NodeRef sum = is(options.alpha, 1) ? product : product * nodes::number(product, options.alpha);
    const NodeRef wide = widened(x, result);
    if (is(options.beta, 0)) sum = ir::with_unused(sum, wide);  // what x holds does not matter, be it NaN
    else sum = (is(options.beta, 1) ? wide : wide * nodes::number(wide, options.beta)) + sum;
    return make_tensor(ir::cast(sum, result));
}

}  // namespace

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const ScaleOptions& options) {
    const Checker check("addmm", {{"x", x}, {"a", a}, {"b", b}});
    check_matrices(check, a, b, 2);
    const DType result = product_type(check, {x.dtype(), a.dtype(), b.dtype()});
    return added(check, x, nodes::contraction(widened(a, result), widened(b, result)), result, options);
}

Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& v, const ScaleOptions& options) {
    const Checker check("addmv", {{"x", x}, {"a", a}, {"v", v}});
    check.that(a.rank() == 2 && v.rank() == 1, "a must have two axes and v one");
    check.that(a.size(1) == v.size(0), "a's last size ", a.size(1), " must equal v's ", v.size(0));
    const DType result = product_type(check, {x.dtype(), a.dtype(), v.dtype()});
    const NodeRef product = nodes::contraction(widened(a, result), nodes::add_axis(widened(v, result), 1));
    return added(check, x, nodes::drop_axes(product, {1}), result, options);
}

Tensor addr(const Tensor& x, const Tensor& u, const Tensor& v, const ScaleOptions& options) {
    const Checker check("addr", {{"x", x}, {"u", u}, {"v", v}});
    check.that(u.rank() == 1 && v.rank() == 1, "u and v must have one axis");
    const DType result = product_type(check, {x.dtype(), u.dtype(), v.dtype()});
    return added(check, x, nodes::add_axis(widened(u, result), 1) * nodes::add_axis(widened(v, result), 0), result,
                 options);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const ScaleOptions& options) {
    const Checker check("baddbmm", {{"x", x}, {"a", a}, {"b", b}});
    check_matrices(check, a, b, 3);
    const DType result = product_type(check, {x.dtype(), a.dtype(), b.dtype()});
    return added(check, x, nodes::contraction(widened(a, result), widened(b, result)), result, options);
}

Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, const ScaleOptions& options) {
    const Checker check("addbmm", {{"x", x}, {"a", a}, {"b", b}});
    check_matrices(check, a, b, 3);
    const DType result = product_type(check, {x.dtype(), a.dtype(), b.dtype()});
    const Term left{widened(a, result), {0, 1, 2}}, right{widened(b, result), {0, 2, 3}};
    return added(check, x, contract({left, right}, {1, 3}), result, options);
}

}  // namespace weft
