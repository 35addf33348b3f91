// tensor/statistics.cpp: reductions that are made of others: pairs of them, those that leave NaN out, and distances.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

void check_statistics_dtype(const Checker& check, const Tensor& x) {
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype(), "; convert it with x.to(f32)");
}

// The extreme of the numbers; where there are none but NaN, NaN.
Tensor extreme_of_numbers(std::string_view name, Op op, const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check(name, {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef n = node_of(x);
    check.value(nodes::count_of(n, reduced) > 0, "the ", name, " of no elements is not defined");
    if (!is_float(x.dtype())) return make_tensor(nodes::reduced(op, n, reduced, keepdim));
    const NodeRef missing = nodes::is_nan(n);
    const NodeRef numbers = ir::where(missing, nodes::number(n, op == Op::Max ? -INFINITY : INFINITY), n);
    const NodeRef all_missing = nodes::reduced(Op::Min, missing, reduced, keepdim);
    return make_tensor(ir::where(all_missing, nodes::number(n, NAN), nodes::reduced(op, numbers, reduced, keepdim)));
}

}  // namespace

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
    return {var(x, axes, correction, keepdim), mean(x, axes, keepdim)};
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
    return {stddev(x, axes, correction, keepdim), mean(x, axes, keepdim)};
}

std::pair<Tensor, Tensor> aminmax(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("aminmax", {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    check.value(nodes::count_of(node_of(x), reduced) > 0, "the extremes of no elements are not defined");
    return {min(x, axes, keepdim), max(x, axes, keepdim)};
}

Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("count_nonzero", {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef flags = ir::cast(ir::cast(node_of(x), DType::Bool), DType::I64);
    return make_tensor(nodes::reduced(Op::Add, flags, reduced, keepdim));
}

Tensor nansum(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("nansum", {{"x", x}, {"axes", axes}});
    if (!is_float(x.dtype())) return sum(x, axes, keepdim);
    const NodeRef n = node_of(x);
    return sum(make_tensor(ir::where(nodes::is_nan(n), nodes::number(n, 0), n)), axes, keepdim);
}

Tensor nanmean(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("nanmean", {{"x", x}, {"axes", axes}});
    check_statistics_dtype(check, x);
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef n = ir::cast(node_of(x), accumulator_of(x.dtype())), missing = nodes::is_nan(n);
    const NodeRef total = nodes::reduced(Op::Add, ir::where(missing, nodes::number(n, 0), n), reduced, keepdim);
    const NodeRef present = ir::cast(ir::logical_not(missing), n->dtype);
    const NodeRef count = nodes::reduced(Op::Add, present, reduced, keepdim);
    return make_tensor(ir::cast(total / count, x.dtype()));
}

Tensor nanmax(const Tensor& x, const Axes& axes, bool keepdim) {
    return extreme_of_numbers("nanmax", Op::Max, x, axes, keepdim);
}
Tensor nanmin(const Tensor& x, const Axes& axes, bool keepdim) {
    return extreme_of_numbers("nanmin", Op::Min, x, axes, keepdim);
}

// ---- distances -------------------------------------------------------------------------------------------------------

Tensor dist(const Tensor& a, const Tensor& b, double p) {
    const Checker check("dist", {{"a", a}, {"b", b}, {"p", p}});
    check.broadcast(a.shape(), b.shape());
    const DType result = promote({a, b}), wide = accumulator_of(result);
    check.dtype(is_float(result), "one of them must be a float tensor");
    return norm(a.to(wide) - b.to(wide), p).to(result);
}

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
    const Checker check("cdist", {{"a", a}, {"b", b}, {"p", p}});
    check.that(a.rank() >= 2 && b.rank() >= 2, "both must have rows: two axes at least");
    check.that(a.size(-1) == b.size(-1), "a's rows of ", a.size(-1), " and b's rows of ", b.size(-1),
               " elements have no distance");
    check.value(p >= 0, "p must not be negative");
    const DType result = promote({a, b}), wide = accumulator_of(result);
    check.dtype(is_float(result), "one of them must be a float tensor");
    const Tensor left = a.to(wide).unsqueeze(-2), right = b.to(wide).unsqueeze(-3);  // […, n, 1, d] and […, 1, m, d]
    check.broadcast(left.shape(), right.shape());
    if (a.size(-1) == 0) return (left - right).sum(-1).to(result);
    return norm(left - right, p, -1).to(result);
}

Tensor normalize(const Tensor& x, double p, const Axes& axes, double eps) {
    const Checker check("normalize", {{"x", x}, {"axes", axes}});
    check_statistics_dtype(check, x);
    const Tensor wide = x.to(accumulator_of(x.dtype()));
    return (wide / clamp_min(norm(wide, p, axes, true), eps)).to(x.dtype());
}

Tensor renorm(const Tensor& x, double p, int axis, double limit) {
    const Checker check("renorm", {{"x", x}, {"p", p}, {"axis", axis}, {"limit", limit}});
    check_statistics_dtype(check, x);
    check.that(x.rank() >= 2, "x must have two axes at least");
    check.value(p > 0, "p must be positive");
    check.value(limit >= 0, "the limit must not be negative");
    const int kept = check.axis(axis, x.rank());
    Dims others;
    for (int d = 0; d < x.rank(); ++d)
        if (d != kept) others.push_back(d);
    constexpr double kTiny = 1e-7;  // as PyTorch has it: the result stays below the limit
    const Tensor wide = x.to(accumulator_of(x.dtype())), length = norm(wide, p, others, true);
    return (wide * where(length > limit, limit / (length + kTiny), 1)).to(x.dtype());
}

}  // namespace weft
