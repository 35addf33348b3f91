// tensor/elementwise_parts.cpp: what looks into floats: sign, exponent and fraction, neighbours, and what is no number.
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using nodes::grad_rule;

Tensor same_as(std::string_view name, const Tensor& x, double value) {
    const Checker check(name, {{"x", x}});
    if (!is_float(x.dtype())) return make_tensor(ir::constant(DType::Bool, Scalar(false), x.shape()));
    const NodeRef n = node_of(x);
    return make_tensor(ir::equal_to(n, nodes::number(n, value)));
}

}  // namespace

Tensor isposinf(const Tensor& x) { return same_as("isposinf", x, INFINITY); }
Tensor isneginf(const Tensor& x) { return same_as("isneginf", x, -INFINITY); }

Tensor isreal(const Tensor& x) {
    const Checker check("isreal", {{"x", x}});
    return make_tensor(ir::constant(DType::Bool, Scalar(true), x.shape()));
}

Tensor signbit(const Tensor& x) {
    const Checker check("signbit", {{"x", x}});
    if (is_bool(x.dtype()) || is_unsigned(x.dtype()))
        return make_tensor(ir::constant(DType::Bool, Scalar(false), x.shape()));
    const NodeRef n = is_float(x.dtype()) ? nodes::bits(node_of(x)) : node_of(x);
    return make_tensor(ir::less(n, nodes::number(n, 0)));
}

Tensor positive(const Tensor& x) {
    const Checker check("positive", {{"x", x}});
    check.dtype(!is_bool(x.dtype()), "bools have no sign");
    return make_tensor(node_of(x));
}

Tensor frac(const Tensor& x) {
    const Checker check("frac", {{"x", x}});
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    return float_composite("frac", x, [](const NodeRef& n) { return n - ir::unary(Op::Trunc, n); });
}

namespace {

double largest(DType t) {
    switch (t) {
        case DType::F16: return 65504;
        case DType::BF16: return 0x1.fep127;
        case DType::F32: return std::numeric_limits<float>::max();
        default: return std::numeric_limits<double>::max();
    }
}

}  // namespace

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
    const Checker check("nan_to_num", {{"x", x}});
    const NodeRef n = node_of(x);
    if (!is_float(x.dtype())) return make_tensor(n);
    const NodeRef above = ir::equal_to(n, nodes::number(n, INFINITY)),
                  below = ir::equal_to(n, nodes::number(n, -INFINITY));
    const NodeRef high = nodes::number(n, posinf.value_or(largest(x.dtype()))),
                  low = nodes::number(n, neginf.value_or(-largest(x.dtype())));
    const NodeRef finite = ir::where(above, high, ir::where(below, low, n));
    return make_tensor(ir::where(nodes::is_nan(n), nodes::number(n, nan), finite));
}

Tensor copysign(const Operand& magnitude, const Operand& sign) {
    static const auto rule = grad_rule("copysign", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &m = out->sources[1], zero = nodes::number(g, 0);
        const NodeRef turned =
            ir::less(ir::binary(Op::Xor, nodes::bits(m), nodes::bits(out)), nodes::number(nodes::bits(m), 0));
        return ir::Grads{ir::where(ir::equal_to(m, zero), zero, ir::where(turned, -g, g)), ir::like(g, 0)};
    });
    return float_composite("copysign", magnitude, sign, [](const NodeRef& m, const NodeRef& s) {
        return nodes::with_grads(nodes::copysign(m, s), {m, s}, rule);
    });
}

// Floats in the order of integers: the bits of positive ones, minus those of the magnitude for negative ones. So both zeros are 0,
// and the next float is the next integer; subnormals are ordinary numbers here, though they are 0 to arithmetic.
namespace {

NodeRef rank_of(const NodeRef& bits) {
    return ir::where(ir::less(bits, nodes::number(bits, 0)), nodes::number(bits, nodes::sign_bit(bits->dtype)) - bits,
                     bits);
}

}  // namespace

Tensor nextafter(const Operand& x, const Operand& towards) {
    const Checker check("nextafter", {{"x", x}, {"towards", towards}});
    check.broadcast(shape_of(x), shape_of(towards));
    const DType result = promote({x, towards});
    check.dtype(is_float(result), "one of them must be a float tensor");
    static const auto rule = nodes::grad_rule("nextafter", [](const NodeRef&, const NodeRef& g) {
        return ir::Grads{g, ir::expand(nodes::number(g, 0), g->shape)};  // a step that does not change with x
    });
    const NodeRef sources[] = {as_node(x, result, check), as_node(towards, result, check)};
    const NodeRef a = ir::detach(sources[0]), b = ir::detach(sources[1]);
    const NodeRef from = rank_of(nodes::bits(a)), to = rank_of(nodes::bits(b)), one = nodes::number(from, 1);
    const NodeRef next = ir::where(ir::less(from, to), from + one, from - one);
    const NodeRef moved = ir::bitcast(rank_of(next), result);  // rank_of is its own inverse
    const NodeRef no_number = nodes::either(nodes::is_nan(a), nodes::is_nan(b));
    const NodeRef value = ir::where(no_number, nodes::number(a, NAN), ir::where(ir::equal_to(from, to), b, moved));
    return make_tensor(nodes::with_grads(value, {sources[0], sources[1]}, rule));
}

std::pair<Tensor, Tensor> frexp(const Tensor& x) {
    const Checker check("frexp", {{"x", x}});
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    const NodeRef n = ir::cast(node_of(x), accumulator_of(x.dtype())), zero = nodes::number(n, 0);
    const bool narrow = n->dtype == DType::F32;
    const int mantissa = narrow ? 23 : 52, bias = narrow ? 126 : 1022;
    const double lift = narrow ? 0x1p32 : 0x1p64, smallest = narrow ? 0x1p-126 : 0x1p-1022;
    // Subnormals have no exponent of their own: they are scaled up first.
    const NodeRef subnormal = ir::less(ir::unary(Op::Abs, n), nodes::number(n, smallest));
    const NodeRef normal = nodes::bits(ir::where(subnormal, n * nodes::number(n, lift), n));
    const NodeRef field = nodes::both(ir::binary(Op::Shr, normal, nodes::number(normal, mantissa)),
                                      nodes::number(normal, narrow ? 255 : 2047));
    const NodeRef plain =
        nodes::either(ir::equal_to(n, zero), logical_not(ir::less(ir::unary(Op::Abs, n), nodes::number(n, INFINITY))));
    const NodeRef shift =
        ir::where(subnormal, nodes::number(normal, bias + (narrow ? 32 : 64)), nodes::number(normal, bias));
    const NodeRef exponent = ir::where(plain, nodes::number(normal, 0), field - shift);
    const std::int64_t field_mask = (narrow ? std::int64_t{255} : std::int64_t{2047}) << mantissa;
    const NodeRef kept = nodes::both(normal, nodes::number(normal, ~field_mask));
    const NodeRef half = nodes::either(kept, nodes::number(normal, static_cast<std::int64_t>(bias) << mantissa));
    static const auto rule = grad_rule("frexp", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef value = ir::detach(out->sources[1]), same = ir::equal_to(ir::detach(out), value);  // exponent 0
        const NodeRef scale = ir::detach(out) / ir::where(same, nodes::number(value, 1), value);
        const NodeRef plain = nodes::either(same, nodes::is_nan(value));
        return ir::Grads{ir::where(plain, g, g * scale)};  // 2^-exponent, exactly
    });
    const NodeRef fraction = nodes::with_grad(ir::where(plain, n, ir::bitcast(half, n->dtype)), n, rule);
    return {make_tensor(ir::cast(fraction, x.dtype())), make_tensor(ir::cast(exponent, DType::I32))};
}

// In two factors, so that a power of two beyond the largest number still meets small ones.
Tensor ldexp(const Operand& x, const Operand& exponent) {
    return float_composite("ldexp", x, exponent, [](const NodeRef& n, const NodeRef& e) {
        const NodeRef limit = nodes::number(e, 1100);  // so that infinite exponents have a half
        const NodeRef near = ir::binary(Op::Min, ir::binary(Op::Max, e * nodes::number(e, 0.5), -limit), limit);
        const NodeRef half = ir::unary(Op::Trunc, near);
        return n * ir::unary(Op::Exp2, half) * ir::unary(Op::Exp2, e - half);
    });
}

}  // namespace weft
