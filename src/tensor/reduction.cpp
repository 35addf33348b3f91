// tensor/reduction.cpp: sums, extremes, statistics and running sums along axes. f16 and bf16 are computed in f32 and
// rounded once.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <array>
#include <cmath>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

DType sum_type(DType t) { return is_float(t) ? t : DType::I64; }

Tensor reduce_sum(std::string_view name, Op op, const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check(name, {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    const DType result = sum_type(x.dtype());
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(result));
    return make_tensor(ir::cast(nodes::reduced(op, wide, reduced, keepdim), result));
}

Tensor reduce_extreme(std::string_view name, Op op, const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check(name, {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef node = node_of(x);
    check.value(nodes::count_of(node, reduced) > 0, "the ", name, " of no elements is not defined");
    return make_tensor(nodes::reduced(op, node, reduced, keepdim));
}

Tensor reduce_bool(std::string_view name, Op op, const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check(name, {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    return make_tensor(nodes::reduced(op, ir::cast(node_of(x), DType::Bool), reduced, keepdim));
}

// Two reductions: the extreme, then the first position that has it. If the extreme is NaN, only the NaNs have it.
NodeRef position_of(Op op, const NodeRef& x, int axis) {
    const NodeRef extreme = ir::reduce(op, x, {axis});
    const NodeRef at = nodes::positions(x->size(axis), axis, x->rank());
    const NodeRef hit =
        is_float(x->dtype) ? nodes::either(ir::equal_to(x, extreme), nodes::is_nan(x)) : ir::equal_to(x, extreme);
    return ir::reduce(Op::Min, ir::where(hit, at, nodes::number(at, x->size(axis))), {axis});
}

Tensor reduce_position(std::string_view name, Op op, const Tensor& x, std::optional<int> axis, bool keepdim) {
    const Checker check = axis ? Checker(name, {{"x", x}, {"axis", *axis}}) : Checker(name, {{"x", x}});
    NodeRef node = ir::detach(node_of(x));
    const int rank = x.rank();
    if (!axis || rank == 0) {
        if (axis) check.axes({*axis}, rank);
        check.value(x.numel() > 0, "the ", name, " of no elements is not defined");
        const NodeRef result = position_of(op, ir::reshape(node, {x.numel()}), 0);
        return make_tensor(ir::reshape(result, keepdim ? Shape::filled(static_cast<std::size_t>(rank), 1) : Shape()));
    }
    const int d = check.axis(*axis, rank);
    check.value(node->size(d) > 0, "the ", name, " of no elements is not defined");
    const NodeRef result = position_of(op, node, d);
    return make_tensor(keepdim ? result : nodes::drop_axes(result, {d}));
}

Tensor scanned(std::string_view name, Op op, const Tensor& x, int axis) {
    const Checker check(name, {{"x", x}, {"axis", axis}});
    const DType result = sum_type(x.dtype());
    // One running sum has no lanes that would keep its error small: of f32 it is kept in f64, as a million terms need.
    const NodeRef wide = ir::cast(node_of(x), result == DType::F32 ? DType::F64 : accumulator_of(result));
    if (x.rank() == 0) {
        check.axes({axis}, 0);
        return make_tensor(ir::cast(wide, result));
    }
    return make_tensor(ir::cast(ir::scan(op, wide, check.axis(axis, x.rank())), result));
}

void check_float(const Checker& check, const Tensor& x) {
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype(), "; convert it with x.to(f32)");
}

NodeRef finished(const NodeRef& wide, const Dims& axes, bool keepdim, DType result) {
    return ir::cast(keepdim ? wide : nodes::drop_axes(wide, axes), result);
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_sum("sum", Op::Add, x, axes, keepdim); }
Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_sum("prod", Op::Mul, x, axes, keepdim); }
Tensor max(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_extreme("max", Op::Max, x, axes, keepdim); }
Tensor min(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_extreme("min", Op::Min, x, axes, keepdim); }
Tensor any(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_bool("any", Op::Max, x, axes, keepdim); }
Tensor all(const Tensor& x, const Axes& axes, bool keepdim) { return reduce_bool("all", Op::Min, x, axes, keepdim); }

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdim) {
    return reduce_position("argmax", Op::Max, x, axis, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdim) {
    return reduce_position("argmin", Op::Min, x, axis, keepdim);
}

Tensor cumsum(const Tensor& x, int axis) { return scanned("cumsum", Op::Add, x, axis); }
Tensor cumprod(const Tensor& x, int axis) { return scanned("cumprod", Op::Mul, x, axis); }

// ---- statistics ------------------------------------------------------------------------------------------------------

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("mean", {{"x", x}, {"axes", axes}});
    check_float(check, x);
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(x.dtype()));
    return make_tensor(finished(nodes::mean(wide, reduced), reduced, keepdim, x.dtype()));
}

namespace {

NodeRef variance_of(const Checker& check, const Tensor& x, const Dims& reduced, double correction) {
    check_float(check, x);
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(x.dtype()));
    return nodes::variance(wide, nodes::mean(wide, reduced), reduced, correction);
}

}  // namespace

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
    const Checker check("var", {{"x", x}, {"axes", axes}, {"correction", correction}});
    const Dims reduced = check.axes(axes, x.rank());
    return make_tensor(finished(variance_of(check, x, reduced, correction), reduced, keepdim, x.dtype()));
}

namespace {

// The root of a variance. Its gradient at 0 is 0, as in PyTorch, where the formula says 0 / 0: equal elements are common.
NodeRef root_of_variance(const NodeRef& variance) {
    static const auto rule = nodes::grad_rule("stddev", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef zero = nodes::number(out, 0), flat = ir::equal_to(out, zero);
        const NodeRef safe = ir::where(flat, nodes::number(out, 1), out);
        return ir::Grads{ir::where(flat, zero, g / (safe + safe))};
    });
    return nodes::with_grad(ir::unary(Op::Sqrt, variance), variance, rule);
}

}  // namespace

Tensor stddev(const Tensor& x, const Axes& axes, double correction, bool keepdim) {
    const Checker check("stddev", {{"x", x}, {"axes", axes}, {"correction", correction}});
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef root = root_of_variance(variance_of(check, x, reduced, correction));
    return make_tensor(finished(root, reduced, keepdim, x.dtype()));
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim) {
    const Checker check("logsumexp", {{"x", x}, {"axes", axes}});
    const Dims reduced = check.axes(axes, x.rank());
    const DType result = float_type(x.dtype());
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(result));
    // An infinite maximum is not subtracted (infinity - infinity is NaN): exp() and log() then give the right infinity.
    const NodeRef top = ir::detach(ir::reduce(Op::Max, wide, reduced)), zero = nodes::number(top, 0);
    const NodeRef infinite = ir::equal_to(ir::unary(Op::Abs, top), nodes::number(top, INFINITY));
    const NodeRef offset = ir::where(infinite, zero, top);
    const NodeRef total = ir::reduce(Op::Add, ir::unary(Op::Exp, wide - offset), reduced);
    return make_tensor(finished(ir::unary(Op::Log, total) + offset, reduced, keepdim, result));
}

namespace {

// The gradient at 0 is 0, as in PyTorch, where the formula says 0 / 0.
NodeRef euclidean(const NodeRef& x, const Dims& axes) {
    static const auto rule = nodes::grad_rule("norm", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef zero = nodes::number(out, 0),
                      safe = ir::where(ir::equal_to(out, zero), nodes::number(out, 1), out);
        return ir::Grads{out->sources[1] * (g / safe)};
    });
    return nodes::with_grad(ir::unary(Op::Sqrt, ir::reduce(Op::Add, x * x, axes)), x, rule);
}

}  // namespace

Tensor norm(const Tensor& x, double p, const Axes& axes, bool keepdim) {
    const Checker check("norm", {{"x", x}, {"p", p}, {"axes", axes}});
    check_float(check, x);
    const Dims reduced = check.axes(axes, x.rank());
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(x.dtype())), size = ir::unary(Op::Abs, wide);
    NodeRef result;
    if (p != 0 && nodes::count_of(wide, reduced) == 1)  // no square or power that could overflow
        result = ir::reduce(Op::Max, size, reduced);
    else if (p == 2) result = euclidean(wide, reduced);
    else if (p == 1) result = ir::reduce(Op::Add, size, reduced);
    else if (p == 0)
        result = nodes::flat(ir::reduce(Op::Add, ir::cast(ir::cast(wide, DType::Bool), wide->dtype), reduced), {wide});
    else if (std::isinf(p)) {
        check.value(nodes::count_of(wide, reduced) > 0, "the norm of no elements is not defined for an infinite p");
        result = ir::reduce(p > 0 ? Op::Max : Op::Min, size, reduced);
    } else {
        const NodeRef total = ir::reduce(Op::Add, ir::binary(Op::Pow, size, nodes::number(size, p)), reduced);
        const NodeRef zero = nodes::number(total, 0), root = nodes::number(total, 1 / p);
        // The root of 0 is not taken: its slope is infinite, and the norm's gradient at 0 is 0.
        const NodeRef none = p > 0 ? ir::equal_to(total, zero) : ir::constant(DType::Bool, Scalar(false), total->shape);
        const NodeRef safe = p > 0 ? ir::where(none, nodes::number(total, 1), total) : total;
        result = ir::where(none, zero, ir::binary(Op::Pow, safe, root));
    }
    return make_tensor(finished(result, reduced, keepdim, x.dtype()));
}

}  // namespace weft
