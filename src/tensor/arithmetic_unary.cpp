// tensor/arithmetic_unary.cpp: functions of one tensor, element by element.
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// A float function that is one op; integers are computed in f32.
Tensor float_function(std::string_view name, Op op, const Tensor& x) {
    const Checker check(name, {{"x", x}});
    return make_tensor(ir::unary(op, ir::cast(node_of(x), float_type(x.dtype()))));
}

// Defined for numbers, not for bools; the result has x's type.
template <class Build>
Tensor number_function(std::string_view name, const Tensor& x, Build build) {
    const Checker check(name, {{"x", x}});
    check.dtype(!is_bool(x.dtype()), "not defined for bools");
    const DType result = x.dtype();
    return make_tensor(ir::cast(build(ir::cast(node_of(x), accumulator_of(result))), result));
}

}  // namespace

// ---- any number ------------------------------------------------------------------------------------------------------

Tensor neg(const Tensor& x) {
    const Checker check("neg", {{"x", x}});
    check.dtype(!is_bool(x.dtype()), "bools have no sign; use logical_not or ~");
    return make_tensor(-node_of(x));
}

Tensor operator-(const Tensor& x) { return neg(x); }

Tensor abs(const Tensor& x) {
    return number_function("abs", x, [](const NodeRef& n) { return ir::unary(Op::Abs, n); });
}

Tensor sign(const Tensor& x) {
    const Checker check("sign", {{"x", x}});
    if (is_bool(x.dtype())) return make_tensor(node_of(x));
    const NodeRef n = node_of(x), zero = nodes::number(n, 0);
    const NodeRef negative = is_unsigned(x.dtype()) ? zero : ir::where(ir::less(n, zero), nodes::number(n, -1), zero);
    return make_tensor(nodes::flat(ir::where(ir::less(zero, n), nodes::number(n, 1), negative), {n}));
}

Tensor square(const Tensor& x) {
    return number_function("square", x, [](const NodeRef& n) { return n * n; });
}

Tensor trunc(const Tensor& x) {
    return number_function("trunc", x,
                           [](const NodeRef& n) { return is_float(n->dtype) ? ir::unary(Op::Trunc, n) : n; });
}

Tensor floor(const Tensor& x) { return number_function("floor", x, nodes::floor); }

Tensor ceil(const Tensor& x) {
    return number_function("ceil", x, [](const NodeRef& n) {
        if (!is_float(n->dtype)) return n;
        const NodeRef whole = ir::unary(Op::Trunc, n);
        return ir::where(ir::less(whole, n), whole + nodes::number(n, 1), whole);
    });
}

Tensor round(const Tensor& x) { return number_function("round", x, nodes::round); }

Tensor round(const Tensor& x, int decimals) {
    if (decimals == 0) return round(x);
    const Checker check("round", {{"x", x}, {"decimals", decimals}});
    check.dtype(is_float(x.dtype()), "decimals are defined for float tensors, not for ", x.dtype());
    return float_composite("round", x, [&](const NodeRef& n) {
        const NodeRef scale = nodes::number(n, std::pow(10.0, std::abs(decimals)));
        return decimals > 0 ? nodes::round(n * scale) / scale : nodes::round(n / scale) * scale;
    });
}

// ---- float functions -------------------------------------------------------------------------------------------------

Tensor sqrt(const Tensor& x) { return float_function("sqrt", Op::Sqrt, x); }
Tensor reciprocal(const Tensor& x) { return float_function("reciprocal", Op::Recip, x); }
Tensor exp(const Tensor& x) { return float_function("exp", Op::Exp, x); }
Tensor exp2(const Tensor& x) { return float_function("exp2", Op::Exp2, x); }
Tensor expm1(const Tensor& x) { return float_function("expm1", Op::Expm1, x); }
Tensor log(const Tensor& x) { return float_function("log", Op::Log, x); }
Tensor log2(const Tensor& x) { return float_function("log2", Op::Log2, x); }
Tensor log1p(const Tensor& x) { return float_function("log1p", Op::Log1p, x); }
Tensor sin(const Tensor& x) { return float_function("sin", Op::Sin, x); }
Tensor cos(const Tensor& x) { return float_function("cos", Op::Cos, x); }
Tensor tan(const Tensor& x) { return float_function("tan", Op::Tan, x); }
Tensor asin(const Tensor& x) { return float_function("asin", Op::Asin, x); }
Tensor acos(const Tensor& x) { return float_function("acos", Op::Acos, x); }
Tensor atan(const Tensor& x) { return float_function("atan", Op::Atan, x); }
Tensor sinh(const Tensor& x) { return float_function("sinh", Op::Sinh, x); }
Tensor cosh(const Tensor& x) { return float_function("cosh", Op::Cosh, x); }
Tensor tanh(const Tensor& x) { return float_function("tanh", Op::Tanh, x); }
Tensor erf(const Tensor& x) { return float_function("erf", Op::Erf, x); }

Tensor rsqrt(const Tensor& x) {
    return float_composite("rsqrt", x, [](const NodeRef& n) { return ir::unary(Op::Recip, ir::unary(Op::Sqrt, n)); });
}

Tensor log10(const Tensor& x) {
    constexpr double kLog10Of2 = 0.30102999566398119521;
    return float_composite("log10", x,
                           [](const NodeRef& n) { return ir::unary(Op::Log2, n) * nodes::number(n, kLog10Of2); });
}

}  // namespace weft
