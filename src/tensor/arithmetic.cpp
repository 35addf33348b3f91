// tensor/arithmetic.cpp: arithmetic, comparisons, logic and bits: check, promote, build the node. Computes nothing.
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

struct Operands {
    NodeRef a, b;
};

// Builds a node under one lock, which its parts would take one by one; and the tensor without it, since that may run the graph.
template <class Build>
Tensor built(Build build) {
    NodeRef node;
    {
        const std::lock_guard lock(ir::graph_lock());
        node = build();
    }
    return make_tensor(std::move(node));
}

// Both operands in one type; shapes that do not broadcast raise here, with the call in the message.
Operands meet(const Checker& check, const Operand& a, const Operand& b, DType dtype) {
    const std::lock_guard lock(ir::graph_lock());
    Operands both;
    for (const auto& [operand, node] : {std::pair(&a, &both.a), std::pair(&b, &both.b)})
        *node = operand->is_scalar() ? as_node(*operand, dtype, check) : node_under_lock(operand->tensor());
    check.broadcast(both.a->shape, both.b->shape);
    return {ir::cast(both.a, dtype), ir::cast(both.b, dtype)};
}

Tensor compare(std::string_view name, Op op, const Operand& a, const Operand& b, bool swap = false,
               bool negate = false) {
    const Checker check(name, {{"a", a}, {"b", b}});
    return built([&] {
        const Operands both = meet(check, a, b, promote({a, b}));
        NodeRef result = swap ? ir::binary(op, both.b, both.a) : ir::binary(op, both.a, both.b);
        return negate ? ir::logical_not(result) : result;
    });
}

Tensor bits(std::string_view name, Op op, const Operand& a, const Operand& b) {
    const Checker check(name, {{"a", a}, {"b", b}});
    const DType dtype = promote({a, b});
    check.dtype(!is_float(dtype), "bits of ", dtype, " are not defined; both operands must be integers or bools");
    const Operands both = meet(check, a, b, dtype);
    return make_tensor(ir::binary(op, both.a, both.b));
}

Tensor shift(std::string_view name, Op op, const Operand& a, const Operand& b) {
    const Checker check(name, {{"a", a}, {"b", b}});
    const DType dtype = promote({a, b});
    check.dtype(is_int(dtype), "both operands must be integers, not ", dtype);
    const Operands both = meet(check, a, b, dtype);
    return make_tensor(ir::binary(op, both.a, both.b));
}

Tensor logic(std::string_view name, Op op, const Operand& a, const Operand& b) {
    const Checker check(name, {{"a", a}, {"b", b}});
    check.broadcast(shape_of(a), shape_of(b));
    const auto as_bool = [&](const Operand& x) { return ir::cast(as_node(x, promote({x}), check), DType::Bool); };
    return make_tensor(ir::binary(op, as_bool(a), as_bool(b)));
}

}  // namespace

// ---- arithmetic ------------------------------------------------------------------------------------------------------

Tensor add(const Operand& a, const Operand& b) {
    const Checker check("add", {{"a", a}, {"b", b}});
    return built([&] {
        const DType dtype = promote({a, b});
        const Operands both = meet(check, a, b, dtype);
        return is_bool(dtype) ? nodes::either(both.a, both.b) : both.a + both.b;
    });
}

Tensor sub(const Operand& a, const Operand& b) {
    const Checker check("sub", {{"a", a}, {"b", b}});
    return built([&] {
        const DType dtype = promote({a, b});
        check.dtype(!is_bool(dtype), "bools cannot be subtracted; use ^ or logical_not");
        const Operands both = meet(check, a, b, dtype);
        return both.a - both.b;
    });
}

Tensor mul(const Operand& a, const Operand& b) {
    const Checker check("mul", {{"a", a}, {"b", b}});
    return built([&] {
        const DType dtype = promote({a, b});
        const Operands both = meet(check, a, b, dtype);
        return is_bool(dtype) ? nodes::both(both.a, both.b) : both.a * both.b;
    });
}

Tensor div(const Operand& a, const Operand& b) {
    const Checker check("div", {{"a", a}, {"b", b}});
    return built([&] {
        const Operands both = meet(check, a, b, float_type(promote({a, b})));
        return both.a / both.b;
    });
}

namespace {

// alpha b, in the type of the result.
Tensor times_alpha(std::string_view name, const Operand& a, const Operand& b, const Scalar& alpha) {
    const Checker check(name, {{"a", a}, {"b", b}, {"alpha", Operand(alpha)}});
    const DType dtype = promote({a, b});
    check.dtype(is_float(dtype) || alpha.kind() != Scalar::Kind::Float, "alpha must be an integer, as the result is ",
                dtype);
    check.dtype(is_bool(dtype) || alpha.kind() != Scalar::Kind::Bool, "alpha must be a number, as the result is ",
                dtype);
    const Tensor x = make_tensor(as_node(b, dtype, check));
    return is_bool(dtype) ? mul(x, alpha.as_int() != 0) : mul(x, alpha);
}

bool is_plain_one(const Scalar& alpha) { return alpha.kind() == Scalar::Kind::Int && alpha.as_int() == 1; }

}  // namespace

Tensor add(const Operand& a, const Operand& b, const Scalar& alpha) {
    return is_plain_one(alpha) ? add(a, b) : add(a, times_alpha("add", a, b, alpha));
}

Tensor sub(const Operand& a, const Operand& b, const Scalar& alpha) {
    return is_plain_one(alpha) ? sub(a, b) : sub(a, times_alpha("sub", a, b, alpha));
}

Tensor div(const Operand& a, const Operand& b, Rounding rounding) {
    if (rounding == Rounding::Floor) return floor_divide(a, b);
    const Checker check("div", {{"a", a}, {"b", b}});
    const DType dtype = promote({a, b});
    check.dtype(!is_bool(dtype), "a rounded quotient of bools is not defined");
    if (is_float(dtype))
        return float_composite("div", a, b,
                               [](const NodeRef& x, const NodeRef& y) { return ir::unary(Op::Trunc, x / y); });
    return floor_divide(sub(a, fmod(a, b)), b);
}

namespace {

// Integers have no magnitude of their lowest number, so the floored remainder is moved by b where its sign is not the dividend's.
NodeRef truncated_integer_remainder(const NodeRef& a, const NodeRef& b) {
    const NodeRef zero = nodes::number(a, 0), remainder = ir::binary(Op::Mod, a, b);
    const NodeRef signs_differ = ir::binary(Op::Xor, ir::less(remainder, zero), ir::less(a, zero));
    return ir::where(nodes::both(nodes::not_equal(remainder, zero), signs_differ), remainder - b, remainder);
}

// The remainder of truncated division is exact; Mod of the magnitudes is it, but for the sign. d/da is 1 and d/db -trunc(a / b).
NodeRef truncated_remainder(const NodeRef& a, const NodeRef& b) {
    if (!is_float(a->dtype)) return truncated_integer_remainder(a, b);
    const NodeRef remainder = ir::binary(Op::Mod, ir::unary(Op::Abs, a), ir::unary(Op::Abs, b));
    const NodeRef value = nodes::copysign(remainder, ir::expand(a, remainder->shape));
    static const auto rule = nodes::grad_rule("fmod", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g, -(g * ir::unary(Op::Trunc, out->sources[1] / out->sources[2]))};
    });
    const Shape shape = value->shape;
    const NodeRef inputs[] = {ir::expand(a, shape), ir::expand(b, shape)};
    return ir::with_grad(value, inputs, rule);
}

NodeRef floored_quotient(const NodeRef& a, const NodeRef& b) {
    if (!is_float(a->dtype)) return ir::binary(Op::IDiv, a, b);
    // a - remainder is a multiple of b up to rounding, so the quotient is next to a whole number: the nearer one is taken.
    const NodeRef zero = nodes::number(a, 0), one = nodes::number(a, 1), remainder = truncated_remainder(a, b);
    const NodeRef signs_differ = ir::binary(Op::Xor, ir::less(remainder, zero), ir::less(b, zero));
    const NodeRef exact = (a - remainder) / b;
    const NodeRef lowered = ir::where(nodes::both(nodes::not_equal(remainder, zero), signs_differ), exact - one, exact);
    const NodeRef whole = nodes::floor(lowered);
    const NodeRef nearest = ir::where(ir::less(nodes::number(a, 0.5), lowered - whole), whole + one, whole);
    const NodeRef quotient = a / b, signed_zero = nodes::copysign(ir::like(quotient, 0), quotient);
    const NodeRef whole_quotient = ir::where(ir::equal_to(nearest, zero), signed_zero, nearest);
    return nodes::flat(ir::detach(ir::where(ir::equal_to(b, zero), quotient, whole_quotient)), {a, b});
}

Tensor divide_whole(std::string_view name, NodeRef (*build)(const NodeRef&, const NodeRef&), const Operand& a,
                    const Operand& b) {
    const Checker check(name, {{"a", a}, {"b", b}});
    const DType dtype = promote({a, b});
    check.dtype(!is_bool(dtype), "not defined for bools");
    const Operands both = meet(check, a, b, dtype);
    if (!is_half(dtype)) return make_tensor(build(both.a, both.b));
    return make_tensor(ir::cast(build(ir::cast(both.a, DType::F32), ir::cast(both.b, DType::F32)), dtype));
}

}  // namespace

Tensor floor_divide(const Operand& a, const Operand& b) { return divide_whole("floor_divide", floored_quotient, a, b); }

Tensor remainder(const Operand& a, const Operand& b) {
    const auto build = [](const NodeRef& x, const NodeRef& y) { return ir::binary(Op::Mod, x, y); };
    return divide_whole("remainder", build, a, b);
}

Tensor fmod(const Operand& a, const Operand& b) { return divide_whole("fmod", truncated_remainder, a, b); }

namespace {

constexpr std::int64_t kLargestMultipliedPower = 8;  // three multiplications; beyond, Pow is not much more expensive

// x to a number that multiplications and roots can compute; null otherwise.
NodeRef simple_power(const NodeRef& x, double exponent) {
    const double magnitude = std::fabs(exponent);
    NodeRef result;
    if (magnitude == 0) return nodes::flat(ir::like(x, 1), {x});
    if (magnitude == 0.5 && is_float(x->dtype)) result = ir::unary(Op::Sqrt, x);
    else if (magnitude == std::floor(magnitude) && magnitude <= kLargestMultipliedPower)
        result = nodes::power(x, static_cast<std::int64_t>(magnitude));
    else return nullptr;
    return exponent < 0 ? ir::unary(Op::Recip, result) : result;
}

}  // namespace

Tensor pow(const Operand& base, const Operand& exponent) {
    const Checker check("pow", {{"base", base}, {"exponent", exponent}});
    const DType dtype = promote({base, exponent}), wide = accumulator_of(dtype);
    check.dtype(!is_bool(dtype), "not defined for bools");
    if (!exponent.is_scalar() || base.is_scalar()) {
        const Operands both = meet(check, base, exponent, dtype);
        return make_tensor(ir::binary(Op::Pow, both.a, both.b));
    }
    const double value = exponent.scalar().as_double();
    check.value(is_float(dtype) || value >= 0,
                "an integer to a negative power is no integer; convert the base to a float");
    const NodeRef x = ir::cast(as_node(base, dtype, check), wide);
    const NodeRef simple = simple_power(x, value);
    return make_tensor(ir::cast(simple ? simple : ir::binary(Op::Pow, x, as_node(exponent, wide, check)), dtype));
}

Tensor maximum(const Operand& a, const Operand& b) {
    const Checker check("maximum", {{"a", a}, {"b", b}});
    const Operands both = meet(check, a, b, promote({a, b}));
    return make_tensor(ir::binary(Op::Max, both.a, both.b));
}

Tensor minimum(const Operand& a, const Operand& b) {
    const Checker check("minimum", {{"a", a}, {"b", b}});
    const Operands both = meet(check, a, b, promote({a, b}));
    return make_tensor(ir::binary(Op::Min, both.a, both.b));
}

// By selection and not by Max and Min: at a limit the gradient is x's, whole; and NaN is not below anything, so it passes.
namespace {

bool may_be_nan(const Operand& limit) { return !limit.is_scalar() || std::isnan(limit.scalar().as_double()); }

// x, or the limit where x is beyond it or the limit is NaN.
NodeRef limited(const NodeRef& x, const NodeRef& limit, NodeRef beyond, bool may_be_nan) {
    if (may_be_nan && is_float(x->dtype)) beyond = nodes::either(beyond, nodes::is_nan(limit));
    return ir::where(beyond, limit, x);
}
NodeRef at_least(const NodeRef& x, const NodeRef& low, bool may_be_nan) {
    return limited(x, low, ir::less(x, low), may_be_nan);
}
NodeRef at_most(const NodeRef& x, const NodeRef& high, bool may_be_nan) {
    return limited(x, high, ir::less(high, x), may_be_nan);
}

}  // namespace

Tensor clamp(const Tensor& x, const Operand& low, const Operand& high) {
    const Checker check("clamp", {{"x", x}, {"low", low}, {"high", high}});
    const DType dtype = promote({x, low, high});
    check.dtype(!is_bool(dtype), "not defined for bools");
    check.broadcast(check.broadcast(x.shape(), shape_of(low)), shape_of(high));
    const NodeRef raised = at_least(as_node(x, dtype, check), as_node(low, dtype, check), may_be_nan(low));
    return make_tensor(at_most(raised, as_node(high, dtype, check), may_be_nan(high)));
}

Tensor clamp_min(const Tensor& x, const Operand& low) {
    const Checker check("clamp_min", {{"x", x}, {"low", low}});
    const Operands both = meet(check, x, low, promote({x, low}));
    return make_tensor(at_least(both.a, both.b, may_be_nan(low)));
}

Tensor clamp_max(const Tensor& x, const Operand& high) {
    const Checker check("clamp_max", {{"x", x}, {"high", high}});
    const Operands both = meet(check, x, high, promote({x, high}));
    return make_tensor(at_most(both.a, both.b, may_be_nan(high)));
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
    const Checker check("where", {{"condition", condition}, {"a", a}, {"b", b}});
    check.dtype(is_bool(condition.dtype()), "the condition must be bool, not ", condition.dtype(),
                "; did you mean condition != 0?");
    check.broadcast(condition.shape(), check.broadcast(shape_of(a), shape_of(b)));
    const Operands both = meet(check, a, b, promote({a, b}));
    return make_tensor(ir::where(node_of(condition), both.a, both.b));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
    const Checker check("masked_fill", {{"x", x}, {"mask", mask}, {"value", value}});
    check.dtype(is_bool(mask.dtype()), "the mask must be bool, not ", mask.dtype(), "; did you mean mask != 0?");
    check.that(shape_of(value).empty(), "the value must be one number");
    check.dtype(is_bool(x.dtype()) || promote({x, value}) == x.dtype(), "the value does not fit x's type ", x.dtype());
    check.broadcast(x.shape(), mask.shape());
    const bool as_bool = is_bool(x.dtype()) && value.is_scalar();  // any number is one
    const NodeRef filler =
        as_bool ? ir::constant(DType::Bool, Scalar(value.scalar().as_double() != 0)) : as_node(value, x.dtype(), check);
    return make_tensor(ir::where(node_of(mask), filler, node_of(x)));
}

// ---- comparisons, logic, bits ----------------------------------------------------------------------------------------

Tensor eq(const Operand& a, const Operand& b) { return compare("eq", Op::CmpEq, a, b); }
Tensor ne(const Operand& a, const Operand& b) { return compare("ne", Op::CmpEq, a, b, false, true); }
Tensor lt(const Operand& a, const Operand& b) { return compare("lt", Op::CmpLt, a, b); }
Tensor le(const Operand& a, const Operand& b) { return compare("le", Op::CmpLe, a, b); }
Tensor gt(const Operand& a, const Operand& b) { return compare("gt", Op::CmpLt, a, b, true); }
Tensor ge(const Operand& a, const Operand& b) { return compare("ge", Op::CmpLe, a, b, true); }

Tensor isnan(const Tensor& x) {
    const Checker check("isnan", {{"x", x}});
    return make_tensor(nodes::is_nan(node_of(x)));
}

Tensor isinf(const Tensor& x) {
    const Checker check("isinf", {{"x", x}});
    if (!is_float(x.dtype())) return make_tensor(ir::constant(DType::Bool, Scalar(false), x.shape()));
    const NodeRef magnitude = ir::unary(Op::Abs, node_of(x));
    return make_tensor(ir::equal_to(magnitude, nodes::number(magnitude, INFINITY)));
}

Tensor isfinite(const Tensor& x) {
    const Checker check("isfinite", {{"x", x}});
    if (!is_float(x.dtype())) return make_tensor(ir::constant(DType::Bool, Scalar(true), x.shape()));
    const NodeRef magnitude = ir::unary(Op::Abs, node_of(x));
    return make_tensor(ir::less(magnitude, nodes::number(magnitude, INFINITY)));
}

Tensor logical_and(const Operand& a, const Operand& b) { return logic("logical_and", Op::And, a, b); }
Tensor logical_or(const Operand& a, const Operand& b) { return logic("logical_or", Op::Or, a, b); }
Tensor logical_xor(const Operand& a, const Operand& b) { return logic("logical_xor", Op::Xor, a, b); }
Tensor logical_not(const Tensor& x) {
    const Checker check("logical_not", {{"x", x}});
    return make_tensor(ir::logical_not(ir::cast(node_of(x), DType::Bool)));
}

Tensor bitwise_and(const Operand& a, const Operand& b) { return bits("bitwise_and", Op::And, a, b); }
Tensor bitwise_or(const Operand& a, const Operand& b) { return bits("bitwise_or", Op::Or, a, b); }
Tensor bitwise_xor(const Operand& a, const Operand& b) { return bits("bitwise_xor", Op::Xor, a, b); }
Tensor bitwise_not(const Tensor& x) {
    const Checker check("bitwise_not", {{"x", x}});
    check.dtype(!is_float(x.dtype()), "bits of ", x.dtype(), " are not defined");
    const NodeRef node = node_of(x);
    if (is_bool(x.dtype())) return make_tensor(ir::logical_not(node));
    return make_tensor(ir::binary(Op::Xor, node, nodes::number(node, -1)));
}
Tensor shift_left(const Operand& a, const Operand& b) { return shift("shift_left", Op::Shl, a, b); }
Tensor shift_right(const Operand& a, const Operand& b) { return shift("shift_right", Op::Shr, a, b); }

}  // namespace weft
