// tensor/special.cpp: the functions of weft/special.h as ops: numerics/maths.h computes the elements in f64, and derivatives are
// functions of the same kind, so that those of any order are right.
#include "numerics/maths.h"
#include "tensor/composite.h"
#include "tensor/mapped.h"
#include "tensor/nodes.h"

#include <weft/ops.h>
#include <weft/special.h>

#include <array>
#include <cmath>
#include <numbers>

namespace weft::special {
namespace {

using ir::NodeRef;
using ir::Op;
using nodes::grad_rule;
using nodes::mapped;

const NodeRef& input(const NodeRef& with_grad, int i = 0) { return with_grad->sources[1 + i]; }

template <class Build>
Tensor in_f64(std::string_view name, const Tensor& x, Build build) {
    const Checker check(name, {{"x", x}});
    return make_tensor(ir::cast(build(ir::cast(node_of(x), DType::F64)), float_type(x.dtype())));
}

template <class Build>
Tensor in_f64(std::string_view name, const Operand& a, const Operand& b, Build build) {
    const Checker check(name, {{"a", a}, {"b", b}});
    check.broadcast(shape_of(a), shape_of(b));
    const DType result = float_type(promote({a, b}));
    const auto operand = [&](const Operand& x) {  // a number keeps its digits
        return x.is_scalar() ? as_node(x, DType::F64, check) : ir::cast(as_node(x, result, check), DType::F64);
    };
    return make_tensor(ir::cast(build(operand(a), operand(b)), result));
}

// A function of one element with its rule. The value is no part of what is differentiated.
NodeRef ruled(const std::string& name, const NodeRef& x, double (*f)(double),
              const std::shared_ptr<const ir::GradRuleObject>& rule) {
    return nodes::with_grad(mapped(name, ir::detach(x), f), x, rule);
}

// ---- around the normal distribution ----------------------------------------------------------------------------------

NodeRef erfcx_of(const NodeRef& x);
NodeRef erfcx_slope_of(const NodeRef& x) {
    static const auto rule = grad_rule("erfcx", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g * (erfcx_of(input(out)) + input(out) * out) * nodes::number(g, 2)};
    });
    return ruled("erfcx_slope", x, maths::erfcx_slope, rule);
}
NodeRef erfcx_of(const NodeRef& x) {
    static const auto rule = grad_rule(
        "erfcx", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * erfcx_slope_of(input(out))}; });
    return ruled("erfcx", x, maths::erfcx, rule);
}

NodeRef ndtr_of(const NodeRef& x) {
    static const auto rule = grad_rule("ndtr", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef& n = input(out);
        return ir::Grads{g * ir::unary(Op::Exp, n * n * nodes::number(n, -0.5)) *
                         nodes::number(n, 1 / std::sqrt(2 * std::numbers::pi))};
    });
    return ruled("ndtr", x, maths::ndtr, rule);
}

NodeRef log_ndtr_slope_of(const NodeRef& x) {
    static const auto rule = grad_rule(
        "log_ndtr", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{-g * out * (input(out) + out)}; });
    return ruled("log_ndtr_slope", x, maths::log_ndtr_slope, rule);
}
NodeRef log_ndtr_of(const NodeRef& x) {
    static const auto rule = grad_rule(
        "log_ndtr", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * log_ndtr_slope_of(input(out))}; });
    return ruled("log_ndtr", x, maths::log_ndtr, rule);
}

NodeRef ndtri_of(const NodeRef& p) {
    static const auto rule = grad_rule("ndtri", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g * ir::unary(Op::Exp, out * out * nodes::number(out, 0.5)) *
                         nodes::number(out, std::sqrt(2 * std::numbers::pi))};
    });
    return ruled("ndtri", p, maths::ndtri, rule);
}

// ---- around the gamma function ---------------------------------------------------------------------------------------

NodeRef digamma_of(const NodeRef& a) { return node_of(digamma(make_tensor(a))); }

NodeRef gamma_density_of(const NodeRef& a, const NodeRef& x) {
    static const auto rule = grad_rule("gammainc", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &shape = input(out, 0), &n = input(out, 1), one = nodes::number(n, 1);
        return ir::Grads{g * out * (ir::unary(Op::Log, n) - digamma_of(shape)), g * out * ((shape - one) / n - one)};
    });
    return nodes::with_grads(mapped("gamma_density", ir::detach(a), ir::detach(x), maths::gamma_density), {a, x}, rule);
}

// The share below x (sign 1) or above (-1). A second derivative in `a` raises: the slope is a plain function.
NodeRef gamma_share(const NodeRef& a, const NodeRef& x, double sign) {
    const auto make = [](double factor) {
        return grad_rule(factor > 0 ? "gammainc" : "gammaincc", [factor](const NodeRef& out, const NodeRef& g) {
            const NodeRef &shape = input(out, 0), &n = input(out, 1), scaled = g * nodes::number(g, factor);
            return ir::Grads{scaled * mapped("the derivative of gammainc in a", shape, n, maths::gammainc_slope),
                             scaled * gamma_density_of(shape, n)};
        });
    };
    static const auto below = make(1), above = make(-1);
    const NodeRef value = sign > 0 ? mapped("gammainc", ir::detach(a), ir::detach(x), maths::gammainc)
                                   : mapped("gammaincc", ir::detach(a), ir::detach(x), maths::gammaincc);
    return nodes::with_grads(value, {a, x}, sign > 0 ? below : above);
}

NodeRef zeta_of(const NodeRef& s, const NodeRef& q) {
    static const auto rule = grad_rule("zeta", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &order = input(out, 0), &n = input(out, 1);
        return ir::Grads{g * mapped("the derivative of zeta in its order", order, n, maths::zeta_slope),
                         -g * order * zeta_of(order + nodes::number(order, 1), n)};
    });
    return nodes::with_grads(mapped("zeta", ir::detach(s), ir::detach(q), maths::zeta), {s, q}, rule);
}

// ---- Bessel functions: the derivative of order n is made of those of orders n - 1 and n + 1 -----------------------------

struct Bessel {
    const char* name;
    double (*value)(int order, double x);
    double below, above;  // the factors of the neighbours
    double scaled;        // of the function itself: exp(-|x|) adds -sign(x), exp(x) adds 1
};
constexpr std::array<Bessel, 6> kBessel = {{{"bessel_j", maths::bessel_j, 0.5, -0.5, 0},
                                            {"bessel_y", maths::bessel_y, 0.5, -0.5, 0},
                                            {"bessel_i", maths::bessel_i, 0.5, 0.5, 0},
                                            {"bessel_ie", maths::bessel_ie, 0.5, 0.5, -1},
                                            {"bessel_k", maths::bessel_k, -0.5, -0.5, 0},
                                            {"bessel_ke", maths::bessel_ke, -0.5, -0.5, 1}}};
enum BesselKind : std::uint8_t { J, Y, I, Ie, K, Ke };

NodeRef bessel_of(BesselKind kind, const NodeRef& x, int order) {
    const auto& [name, value, below, above, scaled] = kBessel[kind];
    const auto rule = grad_rule(name, [kind, order](const NodeRef& out, const NodeRef& g) {
        const Bessel& row = kBessel[kind];
        const NodeRef& n = input(out);
        // Order -1 is order 1, with J's and Y's sign turned.
        const NodeRef after = bessel_of(kind, n, order + 1) * nodes::number(n, row.above);
        const NodeRef before = order ? bessel_of(kind, n, order - 1) * nodes::number(n, row.below) : after;
        NodeRef slope = before + after;
        if (row.scaled > 0) slope = slope + out;
        if (row.scaled < 0) slope = slope - node_of(sign(make_tensor(ir::detach(n)))) * out;
        return ir::Grads{g * slope};
    });
    const auto f = [value = value, order](double element) { return value(order, element); };
    return nodes::with_grad(mapped(name, ir::detach(x), f, std::to_string(order)), x, rule);
}

Tensor bessel(BesselKind kind, const Tensor& x, int order) {
    const Checker check(kBessel[kind].name, {{"x", x}, {"order", std::int64_t{order}}});
    check.value(order >= 0, "the order must not be negative");
    return in_f64(kBessel[kind].name, x, [&](const NodeRef& n) { return bessel_of(kind, n, order); });
}

NodeRef spherical_of(const NodeRef& x) {
    static const auto rule = grad_rule("spherical_bessel_j0", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g * mapped("the derivative of spherical_bessel_j0", input(out), maths::spherical_j0_slope)};
    });
    return ruled("spherical_bessel_j0", x, maths::spherical_j0, rule);
}

struct PolynomialRow {
    const char* name;
    double (*value)(double x, double degree);
};
constexpr PolynomialRow kPolynomials[] = {
    {"chebyshev_polynomial_t", maths::chebyshev_t},
    {"chebyshev_polynomial_u", maths::chebyshev_u},
    {"chebyshev_polynomial_v", maths::chebyshev_v},
    {"chebyshev_polynomial_w", maths::chebyshev_w},
    {"shifted_chebyshev_polynomial_t", maths::shifted_chebyshev_t},
    {"shifted_chebyshev_polynomial_u", maths::shifted_chebyshev_u},
    {"shifted_chebyshev_polynomial_v", maths::shifted_chebyshev_v},
    {"shifted_chebyshev_polynomial_w", maths::shifted_chebyshev_w},
    {"hermite_polynomial_h", maths::hermite_h},
    {"hermite_polynomial_he", maths::hermite_he},
    {"laguerre_polynomial_l", maths::laguerre_l},
    {"legendre_polynomial_p", maths::legendre_p},
};

}  // namespace

Tensor erfcx(const Tensor& x) { return in_f64("erfcx", x, erfcx_of); }
Tensor ndtr(const Tensor& x) { return in_f64("ndtr", x, ndtr_of); }
Tensor log_ndtr(const Tensor& x) { return in_f64("log_ndtr", x, log_ndtr_of); }
Tensor ndtri(const Tensor& p) { return in_f64("ndtri", p, ndtri_of); }

Tensor gammainc(const Operand& a, const Operand& x) {
    return in_f64("gammainc", a, x, [](const NodeRef& m, const NodeRef& n) { return gamma_share(m, n, 1); });
}
Tensor gammaincc(const Operand& a, const Operand& x) {
    return in_f64("gammaincc", a, x, [](const NodeRef& m, const NodeRef& n) { return gamma_share(m, n, -1); });
}

Tensor igamma(const Operand& a, const Operand& x) {
    return in_f64("igamma", a, x, [](const NodeRef& m, const NodeRef& n) { return gamma_share(m, n, 1); });
}
Tensor igammac(const Operand& a, const Operand& x) {
    return in_f64("igammac", a, x, [](const NodeRef& m, const NodeRef& n) { return gamma_share(m, n, -1); });
}

Tensor mvlgamma(const Tensor& x, std::int64_t p) {
    const Checker check("mvlgamma", {{"x", x}, {"p", p}});
    check.value(p >= 1, "the dimension p must be at least 1");
    const DType result = float_type(x.dtype());
    const Tensor halves = arange(p, f64) * -0.5;
    const auto dimension = static_cast<double>(p);
    const double constant = dimension * (dimension - 1) / 4 * std::log(std::numbers::pi);
    return (sum(lgamma(x.to(f64).unsqueeze(-1) + halves), -1) + constant).to(result);
}

Tensor zeta(const Operand& s, const Operand& q) { return in_f64("zeta", s, q, zeta_of); }

Tensor bessel_j(const Tensor& x, int order) { return bessel(J, x, order); }
Tensor bessel_y(const Tensor& x, int order) { return bessel(Y, x, order); }
Tensor bessel_i(const Tensor& x, int order) { return bessel(I, x, order); }
Tensor bessel_ie(const Tensor& x, int order) { return bessel(Ie, x, order); }
Tensor bessel_k(const Tensor& x, int order) { return bessel(K, x, order); }
Tensor bessel_ke(const Tensor& x, int order) { return bessel(Ke, x, order); }
Tensor spherical_bessel_j0(const Tensor& x) { return in_f64("spherical_bessel_j0", x, spherical_of); }
Tensor airy_ai(const Tensor& x) {
    return in_f64("airy_ai", x, [](const NodeRef& n) { return mapped("airy_ai", n, maths::airy_ai); });
}

Tensor polynomial(Polynomial kind, const Operand& x, const Operand& degree) {
    const PolynomialRow& row = kPolynomials[static_cast<std::size_t>(kind)];
    return in_f64(row.name, x, degree,
                  [&](const NodeRef& m, const NodeRef& n) { return mapped(row.name, m, n, row.value); });
}

}  // namespace weft::special
