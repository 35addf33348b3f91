// tensor/statistics_running.cpp: running extremes, running sums of logarithms, differences and integrals along an axis.
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

NodeRef piece(const NodeRef& x, int axis, std::int64_t start, std::int64_t size) {
    Dims starts = Dims::filled(x->shape.size(), 0);
    Shape sizes = x->shape;
    starts[axis] = start;
    sizes[axis] = size;
    return ir::shrink(x, starts, sizes);
}

// ---- running extremes ------------------------------------------------------------------------------------------------

// The position is the last that has set the value: one that equals it, or a NaN.
ValuesAndIndices running_extreme(std::string_view name, Op op, const Tensor& x, int axis) {
    const Checker check(name, {{"x", x}, {"axis", axis}});
    const NodeRef n = node_of(x);
    if (x.rank() == 0) {
        check.axes({axis}, 0);
        return {make_tensor(n), make_tensor(ir::constant(DType::I64, 0))};
    }
    const int along = check.axis(axis, x.rank());
    const NodeRef values = ir::scan(op, n, along), now = ir::detach(n);
    const NodeRef sets = nodes::either(ir::equal_to(now, ir::detach(values)), nodes::is_nan(now));
    const NodeRef at = nodes::positions(n->size(along), along, n->rank());
    return {make_tensor(values), make_tensor(ir::scan(Op::Max, ir::where(sets, at, nodes::number(at, 0)), along))};
}

// ---- logcumsumexp ----------------------------------------------------------------------------------------------------

NodeRef log_of_sum(const NodeRef& a, const NodeRef& b) {
    const NodeRef gap =
        ir::where(ir::equal_to(a, b), nodes::number(a, 0), a - b);  // equal infinities have no difference
    return ir::binary(Op::Max, a, b) + ir::unary(Op::Log1p, ir::unary(Op::Exp, -ir::unary(Op::Abs, gap)));
}

// log2(n) rounds in which each element meets the one 1, 2, 4 … places before. No maximum is subtracted that another part of the
// row does not have, so that small values beside large ones keep their digits.
NodeRef log_sums(NodeRef y, int axis) {
    const std::int64_t size = y->size(axis);
    for (std::int64_t by = 1; by < size; by *= 2) {
        Dims starts = Dims::filled(y->shape.size(), 0);
        starts[axis] = by;
        y = log_of_sum(y, ir::insert(ir::like(y, -INFINITY), piece(y, axis, 0, size - by), starts));
    }
    return y;
}

// d/dx[j] = sum(i >= j) g[i] exp(x[j] - out[i]): running sums from the end, of logarithms again, of the positive and of the
// negative gradients.
NodeRef logcumsumexp_of(const NodeRef& x, int axis) {
    const auto rule = nodes::grad_rule("logcumsumexp", [axis](const NodeRef& out, const NodeRef& g) {
        const NodeRef &n = out->sources[1], zero = nodes::number(g, 0), none = nodes::number(g, -INFINITY);
        const auto from_the_end = [&](const NodeRef& part) {
            const NodeRef counts = ir::less(zero, part), safe = ir::where(counts, part, nodes::number(g, 1));
            const NodeRef logarithms = ir::where(counts, ir::unary(Op::Log, safe) - out, none);
            const NodeRef sums = ir::flip(log_sums(ir::flip(logarithms, {axis}), axis), {axis});
            return ir::unary(Op::Exp, sums + n);
        };
        return ir::Grads{from_the_end(g) - from_the_end(-g)};
    });
    return nodes::with_grad(log_sums(x, axis), x, rule);
}

// ---- integrals -------------------------------------------------------------------------------------------------------

// The areas of the trapezoids: (y[i] + y[i+1]) / 2 * (x[i+1] - x[i]).
Tensor areas(const Checker& check, const Tensor& y, const Tensor& x, double dx, int axis) {
    check.that(y.rank() > 0, "a scalar has no points to integrate over");
    const int along = check.axis(axis, y.rank());
    const auto halves = [](const Tensor& t, int d) {
        const std::int64_t steps = std::max<std::int64_t>(t.size(d) - 1, 0);
        return std::pair{t.narrow(d, t.size(d) - steps, steps), t.narrow(d, 0, steps)};
    };
    const auto [after, before] = halves(y, along);
    if (!x.defined()) return (after + before) * (dx / 2);
    Tensor points = x;
    if (x.rank() == 1) {
        check.that(x.size(0) == y.size(along), "y has ", y.size(along), " points along axis ", along, ", and x ",
                   x.size(0));
        Shape shape = Shape::filled(static_cast<std::size_t>(y.rank()), 1);
        shape[along] = x.size(0);
        points = x.reshape(shape);
    }
    check.that(points.rank() > 0, "x must be a row of points, or have y's axes");
    const int from_the_end = along - y.rank();
    check.axis(from_the_end, points.rank());
    const auto [right, left] = halves(points, points.rank() + from_the_end);
    check.broadcast(after.shape(), right.shape());
    return (after + before) * (right - left) / 2;
}

}  // namespace

ValuesAndIndices cummax(const Tensor& x, int axis) { return running_extreme("cummax", Op::Max, x, axis); }
ValuesAndIndices cummin(const Tensor& x, int axis) { return running_extreme("cummin", Op::Min, x, axis); }

Tensor logcumsumexp(const Tensor& x, int axis) {
    const Checker check("logcumsumexp", {{"x", x}, {"axis", axis}});
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(x.dtype()));
    if (x.rank() == 0) {
        check.axes({axis}, 0);
        return make_tensor(node_of(x));
    }
    return make_tensor(ir::cast(logcumsumexp_of(wide, check.axis(axis, x.rank())), x.dtype()));
}

Tensor diff(const Tensor& x, int n, int axis, const Tensor& prepend, const Tensor& append) {
    const Checker check(
        "diff", {{"x", x}, {"n", n}, {"axis", axis}, {"prepend", prepend, kOptional}, {"append", append, kOptional}});
    check.that(x.rank() > 0, "a scalar has no neighbours");
    check.value(n >= 0, "n must not be negative");
    const int along = check.axis(axis, x.rank());
    std::vector<Tensor> parts;
    for (const Tensor* part : {&prepend, &x, &append})
        if (part->defined()) parts.push_back(*part);
    Tensor result = parts.size() == 1 || n == 0 ? x : cat(parts, along);
    for (int i = 0; i < n && result.size(along) > 0; ++i) {
        const std::int64_t steps = result.size(along) - 1;
        const Tensor after = result.narrow(along, 1, steps), before = result.narrow(along, 0, steps);
        result = is_bool(result.dtype()) ? logical_xor(after, before) : after - before;
    }
    return n == 0 ? clone(x) : result;
}

Tensor trapezoid(const Tensor& y, double dx, int axis) {
    const Checker check("trapezoid", {{"y", y}, {"dx", dx}, {"axis", axis}});
    return areas(check, y, {}, dx, axis).sum(check.axis(axis, y.rank()));
}

Tensor trapezoid(const Tensor& y, const Tensor& x, int axis) {
    const Checker check("trapezoid", {{"y", y}, {"x", x}, {"axis", axis}});
    return areas(check, y, x, 1, axis).sum(axis < 0 ? axis : axis - y.rank());
}

Tensor cumulative_trapezoid(const Tensor& y, double dx, int axis) {
    const Checker check("cumulative_trapezoid", {{"y", y}, {"dx", dx}, {"axis", axis}});
    return cumsum(areas(check, y, {}, dx, axis), axis);
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int axis) {
    const Checker check("cumulative_trapezoid", {{"y", y}, {"x", x}, {"axis", axis}});
    return cumsum(areas(check, y, x, 1, axis), axis < 0 ? axis : axis - y.rank());
}

}  // namespace weft
