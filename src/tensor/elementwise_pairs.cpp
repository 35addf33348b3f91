// tensor/elementwise_pairs.cpp: float and integer functions of two or three operands, and whether tensors are alike.
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>
#include <numbers>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using nodes::grad_rule;

NodeRef absolute(const NodeRef& x) { return ir::unary(Op::Abs, x); }
NodeRef or_one(const NodeRef& x) {
    return ir::where(ir::equal_to(x, nodes::number(x, 0)), nodes::number(x, 1), x);
}  // x, and 1 for 0

// The larger magnitude times sqrt(1 + ratio²). An infinity wins, even over NaN.
NodeRef hypotenuse(const NodeRef& a, const NodeRef& b) {
    const NodeRef m = absolute(a), n = absolute(b), infinity = nodes::number(a, INFINITY);
    const NodeRef large = ir::binary(Op::Max, m, n), ratio = ir::binary(Op::Min, m, n) / or_one(large);
    const NodeRef value = large * ir::unary(Op::Sqrt, ratio * ratio + nodes::number(a, 1));
    return ir::where(nodes::either(ir::equal_to(m, infinity), ir::equal_to(n, infinity)), infinity, value);
}

NodeRef hypot_of(const NodeRef& a, const NodeRef& b) {
    static const auto rule = grad_rule("hypot", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef share = g / or_one(out);
        return ir::Grads{out->sources[1] * share, out->sources[2] * share};
    });
    return nodes::with_grads(hypotenuse(a, b), {a, b}, rule);
}

// atan of the smaller magnitude over the larger, then by octant: pi/2 - that where y is the larger, pi - that for negative x.
NodeRef angle_of(const NodeRef& y, const NodeRef& x) {
    const NodeRef m = absolute(x), n = absolute(y), infinity = nodes::number(x, INFINITY);
    const NodeRef large = ir::binary(Op::Max, m, n), small = ir::binary(Op::Min, m, n);
    const NodeRef ratio = ir::where(ir::equal_to(small, infinity), nodes::number(x, 1), small / or_one(large));
    const NodeRef octant = ir::unary(Op::Atan, ratio);
    const NodeRef quadrant = ir::where(ir::less(m, n), nodes::number(x, std::numbers::pi / 2) - octant, octant);
    const NodeRef bits = nodes::bits(x);
    const NodeRef half =
        ir::where(ir::less(bits, nodes::number(bits, 0)), nodes::number(x, std::numbers::pi) - quadrant, quadrant);
    return nodes::copysign(half, y);
}

NodeRef atan2_of(const NodeRef& y, const NodeRef& x) {
    static const auto rule = grad_rule("atan2", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &a = out->sources[1], &b = out->sources[2];
        const NodeRef radius = or_one(hypot_of(a, b)), share = g / radius;  // divided twice: the square may not fit
        return ir::Grads{share * (b / radius), -(share * (a / radius))};
    });
    return nodes::with_grads(angle_of(y, x), {y, x}, rule);
}

// max + log(1 + base^-|a - b|); equal infinities have no difference.
NodeRef log_of_sum(const NodeRef& a, const NodeRef& b, bool binary) {
    const auto power = [](bool two, const NodeRef& n) { return ir::unary(two ? Op::Exp2 : Op::Exp, n); };
    const auto gap = [](const NodeRef& m, const NodeRef& n) {
        return ir::where(ir::equal_to(m, n), nodes::number(m, 0), m - n);
    };
    const auto shares = [=](bool two) {
        return [=](const NodeRef& out, const NodeRef& g) {
            const NodeRef distance = gap(out->sources[2], out->sources[1]), one = nodes::number(g, 1);
            return ir::Grads{g / (one + power(two, distance)), g / (one + power(two, -distance))};
        };
    };
    static const auto natural = grad_rule("logaddexp", shares(false)), dual = grad_rule("logaddexp2", shares(true));
    const NodeRef tail = ir::unary(Op::Log1p, power(binary, -absolute(gap(a, b))));
    const NodeRef value = ir::binary(Op::Max, a, b) + (binary ? tail * nodes::number(a, 1 / std::numbers::ln2) : tail);
    return nodes::with_grads(value, {a, b}, binary ? dual : natural);
}

NodeRef xlogy_of(const NodeRef& x, const NodeRef& y) {
    static const auto rule = grad_rule("xlogy", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &a = out->sources[1], &b = out->sources[2], zero = nodes::number(g, 0);
        const NodeRef flat = nodes::both(ir::equal_to(a, zero), ir::less_equal(b, zero));
        const NodeRef safe = ir::where(flat, nodes::number(b, 1), b);
        return ir::Grads{ir::where(flat, zero, g * ir::unary(Op::Log, safe)), g * a / b};
    });
    const NodeRef zero = nodes::both(ir::equal_to(x, nodes::number(x, 0)), ir::equal_to(y, y));
    const NodeRef value = ir::where(zero, nodes::number(x, 0), x * ir::unary(Op::Log, y));
    return nodes::with_grads(value, {x, y}, rule);
}

// One of two, by a comparison: `left(a, b)` says where a is taken.
template <class Left>
Tensor chosen(std::string_view name, const Operand& a, const Operand& b, Left left) {
    const Checker check(name, {{"a", a}, {"b", b}});
    check.broadcast(shape_of(a), shape_of(b));
    const DType dtype = promote({a, b});
    const NodeRef x = as_node(a, dtype, check), y = as_node(b, dtype, check);
    return make_tensor(ir::where(nodes::either(left(x, y), nodes::is_nan(y)), x, y));
}

}  // namespace

Tensor hypot(const Operand& a, const Operand& b) { return float_composite("hypot", a, b, hypot_of); }
Tensor atan2(const Operand& y, const Operand& x) { return float_composite("atan2", y, x, atan2_of); }

Tensor logaddexp(const Operand& a, const Operand& b) {
    return float_composite("logaddexp", a, b,
                           [](const NodeRef& m, const NodeRef& n) { return log_of_sum(m, n, false); });
}

Tensor logaddexp2(const Operand& a, const Operand& b) {
    return float_composite("logaddexp2", a, b,
                           [](const NodeRef& m, const NodeRef& n) { return log_of_sum(m, n, true); });
}

Tensor xlogy(const Operand& x, const Operand& y) { return float_composite("xlogy", x, y, xlogy_of); }

// By selection, so that the first of equal ones is taken, with the whole gradient.
Tensor fmax(const Operand& a, const Operand& b) {
    return chosen("fmax", a, b, [](const NodeRef& x, const NodeRef& y) { return ir::less_equal(y, x); });
}

Tensor fmin(const Operand& a, const Operand& b) {
    return chosen("fmin", a, b, [](const NodeRef& x, const NodeRef& y) { return ir::less_equal(x, y); });
}

Tensor heaviside(const Operand& x, const Operand& values) {
    const Checker check("heaviside", {{"x", x}, {"values", values}});
    check.broadcast(shape_of(x), shape_of(values));
    const DType dtype = promote({x, values});
    const NodeRef n = as_node(x, dtype, check), v = as_node(values, dtype, check), zero = nodes::number(n, 0);
    const NodeRef step = ir::where(ir::less(zero, n), nodes::number(n, 1), zero);
    return make_tensor(ir::where(ir::equal_to(n, zero), v, step));
}

Tensor float_power(const Operand& base, const Operand& exponent) {
    const Checker check("float_power", {{"base", base}, {"exponent", exponent}});
    const auto wide = [&](const Operand& x) { return make_tensor(as_node(x, DType::F64, check)); };
    if (exponent.is_scalar() && !base.is_scalar()) return pow(wide(base), Scalar(exponent.scalar().as_double()));
    return pow(wide(base), wide(exponent));
}

// ---- integers --------------------------------------------------------------------------------------------------------

namespace {

template <class Build>
Tensor of_integers(std::string_view name, const Operand& a, const Operand& b, Build build) {
    const Checker check(name, {{"a", a}, {"b", b}});
    const DType dtype = promote({a, b});
    check.dtype(is_int(dtype), "both operands must be integers, not ", dtype);
    check.broadcast(shape_of(a), shape_of(b));
    return make_tensor(build(as_node(a, dtype, check), as_node(b, dtype, check)));
}

}  // namespace

Tensor gcd(const Operand& a, const Operand& b) {
    return of_integers("gcd", a, b, [](const NodeRef& x, const NodeRef& y) { return ir::binary(Op::Gcd, x, y); });
}

Tensor lcm(const Operand& a, const Operand& b) {
    return of_integers("lcm", a, b, [](const NodeRef& x, const NodeRef& y) {
        return absolute(ir::binary(Op::IDiv, x, ir::binary(Op::Gcd, x, y)) * y);  // x // 0 is 0
    });
}

// ---- three operands --------------------------------------------------------------------------------------------------

// From the nearer end, so that both are met exactly.
Tensor lerp(const Operand& start, const Operand& end, const Operand& weight) {
    const Checker check("lerp", {{"start", start}, {"end", end}, {"weight", weight}});
    check.broadcast(check.broadcast(shape_of(start), shape_of(end)), shape_of(weight));
    const DType result = promote({start, end, weight}), wide = accumulator_of(result);
    check.dtype(is_float(result), "one of them must be a float tensor");
    const auto operand = [&](const Operand& x) {  // a number keeps its digits
        return x.is_scalar() ? as_node(x, wide, check) : ir::cast(as_node(x, result, check), wide);
    };
    const NodeRef a = operand(start), b = operand(end), w = operand(weight), distance = b - a;
    const NodeRef near = ir::less(absolute(w), nodes::number(w, 0.5));
    static const auto rule = grad_rule("lerp", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef& by = out->sources[3];
        return ir::Grads{g * (nodes::number(g, 1) - by), g * by, g * (out->sources[2] - out->sources[1])};
    });
    const NodeRef value = ir::where(near, a + w * distance, b - distance * (nodes::number(w, 1) - w));
    return make_tensor(ir::cast(nodes::with_grads(value, {a, b, w}, rule), result));
}

namespace {

template <class Build>
Tensor added(std::string_view name, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value,
             bool divides, Build build) {
    const Checker check(name, {{"x", x}, {"a", a}, {"b", b}});
    check.broadcast(check.broadcast(a.shape(), b.shape()), x.shape());
    const DType result = promote({x, a, b}), wide = accumulator_of(result);
    check.dtype(!is_bool(result), "not defined for bools");
    check.dtype(!divides || is_float(promote({a, b})), "the quotient of integers is no integer; convert one of them");
    check.dtype(is_float(result) || value.kind() != Scalar::Kind::Float, "the value must be an integer for ", result);
    const auto operand = [&](const Tensor& t) { return ir::cast(as_node(t, result, check), wide); };
    const NodeRef n = operand(x), term = build(operand(a), operand(b));
    return make_tensor(ir::cast(n + (value.as_double() == 1 ? term : nodes::number(n, value) * term), result));
}

}  // namespace

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
    return added("addcmul", x, a, b, value, false, [](const NodeRef& m, const NodeRef& n) { return m * n; });
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
    return added("addcdiv", x, a, b, value, true, [](const NodeRef& m, const NodeRef& n) { return m / n; });
}

// ---- alike -----------------------------------------------------------------------------------------------------------

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    const Checker check("isclose", {{"a", a}, {"b", b}, {"rtol", rtol}, {"atol", atol}});
    check.value(rtol >= 0 && atol >= 0, "the tolerances must not be negative");
    check.broadcast(a.shape(), b.shape());
    const DType dtype = promote({a, b}), wide = is_float(dtype) ? accumulator_of(dtype) : DType::F64;
    const NodeRef exact_a = as_node(a, dtype, check), exact_b = as_node(b, dtype, check);
    const NodeRef x = ir::cast(exact_a, wide), y = ir::cast(exact_b, wide), distance = absolute(x - y);
    const NodeRef allowed = nodes::number(x, atol) + nodes::number(x, rtol) * absolute(y);
    // An infinite distance is never small, however large the allowed one.
    const NodeRef near = nodes::both(ir::less(distance, nodes::number(x, INFINITY)), ir::less_equal(distance, allowed));
    const NodeRef close = nodes::either(ir::equal_to(exact_a, exact_b), near);
    return make_tensor(equal_nan ? nodes::either(close, nodes::both(nodes::is_nan(x), nodes::is_nan(y))) : close);
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}

bool equal(const Tensor& a, const Tensor& b) {
    const Checker check("equal", {{"a", a}, {"b", b}});
    return a.shape() == b.shape() && all(eq(a, b)).item<bool>();
}

}  // namespace weft
