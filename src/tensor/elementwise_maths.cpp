// tensor/elementwise_maths.cpp: functions of one float that are made of several nodes and have derivatives of their own: inverse hyperbolic
// functions, roots, and those around the gamma and the error function.
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using nodes::grad_rule;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

NodeRef log(const NodeRef& x) { return ir::unary(Op::Log, x); }
NodeRef log1p(const NodeRef& x) { return ir::unary(Op::Log1p, x); }
NodeRef sqrt(const NodeRef& x) { return ir::unary(Op::Sqrt, x); }
NodeRef abs(const NodeRef& x) { return ir::unary(Op::Abs, x); }
const NodeRef& input(const NodeRef& with_grad) { return with_grad->sources[1]; }

// From here on asinh and acosh are log(2x) up to rounding, and x² might overflow.
constexpr double kLarge = 0x1p28;
NodeRef log_of_twice(const NodeRef& x) { return log(x) + nodes::number(x, std::numbers::ln2); }

// log(a + sqrt(a² + 1)) = log1p(a + a² / (1 + sqrt(a² + 1))) of the magnitude: nothing cancels near 0.
NodeRef asinh_of(const NodeRef& x) {
    static const auto rule = grad_rule("asinh", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef& n = input(out);
        return ir::Grads{g / sqrt(n * n + nodes::number(n, 1))};
    });
    const NodeRef a = abs(x), one = nodes::number(x, 1), large = ir::less(nodes::number(x, kLarge), a);
    const NodeRef small = ir::where(large, one, a), square = small * small;
    const NodeRef magnitude = ir::where(large, log_of_twice(a), log1p(small + square / (one + sqrt(square + one))));
    return nodes::with_grad(nodes::copysign(magnitude, x), x, rule);
}

// log1p(t + sqrt(t (t + 2))) with t = x - 1, which is exact near 1.
NodeRef acosh_of(const NodeRef& x) {
    static const auto rule = grad_rule("acosh", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &n = input(out), one = nodes::number(n, 1);
        return ir::Grads{g / (sqrt(n - one) * sqrt(n + one))};  // two roots: NaN below 1, and no overflow
    });
    const NodeRef one = nodes::number(x, 1), large = ir::less(nodes::number(x, kLarge), x);
    const NodeRef t = ir::where(large, one, x) - one;
    const NodeRef value = ir::where(large, log_of_twice(x), log1p(t + sqrt(t * (t + nodes::number(x, 2)))));
    return nodes::with_grad(ir::where(ir::less(x, one), nodes::number(x, kNaN), value), x, rule);
}

NodeRef atanh_of(const NodeRef& x) {
    static const auto rule = grad_rule("atanh", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &n = input(out), one = nodes::number(n, 1);
        return ir::Grads{g / ((one - n) * (one + n))};
    });
    const NodeRef a = abs(x), one = nodes::number(x, 1);
    const NodeRef magnitude = log1p((a + a) / (one - a)) * nodes::number(x, 0.5);
    return nodes::with_grad(nodes::copysign(magnitude, x), x, rule);
}

// Pow knows 1/3 only to its precision, which the logarithm multiplies: one step of Newton's method makes up for it.
NodeRef cbrt_of(const NodeRef& x) {
    static const auto rule = grad_rule("cbrt", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g / (out * out * nodes::number(out, 3))};
    });
    const NodeRef a = abs(x), third = nodes::number(x, 1.0 / 3);
    const NodeRef guess = ir::binary(Op::Pow, a, third);
    const NodeRef better = guess - (guess - a / (guess * guess)) * third;
    const NodeRef plain =
        nodes::either(ir::equal_to(a, nodes::number(x, 0)), ir::equal_to(a, nodes::number(x, INFINITY)));
    return nodes::with_grad(nodes::copysign(ir::where(plain, a, better), x), x, rule);
}

// ---- sinc ------------------------------------------------------------------------------------------------------------

NodeRef polynomial(const NodeRef& x, std::span<const double> coefficients) {
    NodeRef sum = nodes::number(x, coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + nodes::number(x, coefficients[i]);
    return sum;
}

// pi x less what is a multiple of 2 pi; exact up to the product.
NodeRef angle_of(const NodeRef& x) {
    const NodeRef half = x * nodes::number(x, 0.5);
    return (x - (ir::unary(Op::Trunc, half) * nodes::number(x, 2))) * nodes::number(x, std::numbers::pi);
}

// (cos(pi x) - sinc(x)) / x. Up to 1/2, where that cancels, pi times the series of d/dz sin(z)/z, z = pi x.
NodeRef sinc_slope(const NodeRef& x, const NodeRef& sinc) {
    constexpr double kSeries[] = {-1.0 / 3,       1.0 / 30,        -1.0 / 840,         1.0 / 45360,
                                  -1.0 / 3991680, 1.0 / 518918400, -1.0 / 93405312000, 1.0 / 22230464256000};
    const NodeRef near = ir::less(abs(x), nodes::number(x, 0.5)), one = nodes::number(x, 1),
                  pi = nodes::number(x, std::numbers::pi);
    const NodeRef small = ir::where(near, x, one), far = ir::where(near, one, x), z = small * pi;
    const NodeRef series = pi * z * polynomial(z * z, kSeries);
    return ir::where(near, series, (ir::unary(Op::Cos, angle_of(far)) - sinc) / far);
}

NodeRef sinc_of(const NodeRef& x) {
    static const auto rule = grad_rule(
        "sinc", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * sinc_slope(input(out), out)}; });
    const NodeRef zero = ir::equal_to(x, nodes::number(x, 0)), one = nodes::number(x, 1),
                  safe = ir::where(zero, one, x);
    const NodeRef value = ir::unary(Op::Sin, angle_of(safe)) / (safe * nodes::number(x, std::numbers::pi));
    return nodes::with_grad(ir::where(zero, one, value), x, rule);
}

// ---- polygamma -------------------------------------------------------------------------------------------------------

// sum(k >= 0) (x + k)^-s for x > 0 and a whole s > 1: the first terms one by one, the others by Euler and Maclaurin's formula,
// whose corrections are B(2j)/(2j)! s (s+1) … (s+2j-2) y^(1-s-2j), y = x + kTerms.
NodeRef zeta_of(const NodeRef& x, std::int64_t s) {
    constexpr int kTerms = 10;
    constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
    const auto inverse_power = [&](const NodeRef& y, std::int64_t p) {
        return nodes::power(ir::unary(Op::Recip, y), p);
    };
    NodeRef sum = inverse_power(x, s);
    for (int k = 1; k < kTerms; ++k) sum = sum + inverse_power(x + nodes::number(x, k), s);
    const NodeRef y = x + nodes::number(x, kTerms), last = inverse_power(y, s);
    const auto order = static_cast<double>(s);
    std::array<double, std::size(kBernoulli)> corrections{};
    double factor = order / 2;  // s (s+1) … (s+2j-2) / (2j)!
    for (std::size_t j = 0; j < std::size(kBernoulli); ++j) {
        corrections[j] = kBernoulli[j] * factor;
        const auto two_j = static_cast<double>(2 * (j + 1));
        factor *= (order + two_j - 1) * (order + two_j) / ((two_j + 1) * (two_j + 2));
    }
    const NodeRef r = ir::unary(Op::Recip, y);
    const NodeRef tail = inverse_power(y, s - 1) * nodes::number(x, 1 / (order - 1));
    return sum + tail + last * (nodes::number(x, 0.5) + r * polynomial(r * r, corrections));
}

// The polynomial P with d^n/dt^n cot(t) = P(cot(t)), lowest power first: each derivative is -(1 + c²) dP/dc.
std::vector<double> cotangent_derivative(std::int64_t n) {
    std::vector<double> p = {0, 1};
    for (; n > 0; --n) {
        std::vector<double> next(p.size() + 1, 0);
        for (std::size_t k = 1; k < p.size(); ++k) {
            next[k - 1] -= static_cast<double>(k) * p[k];
            next[k + 1] -= static_cast<double>(k) * p[k];
        }
        p = std::move(next);
    }
    return p;
}

// (-1)^(n+1) n! zeta(n + 1, x) for x >= 0. Below, by reflection: (-1)^n polygamma(n, 1 - x) - pi d^n/dx^n cot(pi x).
NodeRef polygamma_of(const NodeRef& x, std::int64_t n) {
    const NodeRef one = nodes::number(x, 1), negative = ir::less(x, nodes::number(x, 0)),
                  pi = nodes::number(x, std::numbers::pi);
    const double sign = n % 2 ? 1 : -1, factorial = std::tgamma(static_cast<double>(n) + 1);
    const NodeRef direct = zeta_of(ir::where(negative, one - x, x), n + 1) * nodes::number(x, sign * factorial);
    const NodeRef angle = ir::where(negative, x - nodes::round(x), nodes::number(x, 0.25)) * pi;
    const NodeRef cotangent = ir::unary(Op::Cos, angle) / ir::unary(Op::Sin, angle);
    const double scale = std::pow(std::numbers::pi, static_cast<double>(n) + 1);
    const NodeRef slope = polynomial(cotangent, cotangent_derivative(n)) * nodes::number(x, scale);
    return ir::where(negative, direct * nodes::number(x, -sign) - slope, direct);
}

}  // namespace

Tensor asinh(const Tensor& x) { return float_composite("asinh", x, asinh_of); }
Tensor acosh(const Tensor& x) { return float_composite("acosh", x, acosh_of); }
Tensor atanh(const Tensor& x) { return float_composite("atanh", x, atanh_of); }
Tensor cbrt(const Tensor& x) { return float_composite("cbrt", x, cbrt_of); }
Tensor sinc(const Tensor& x) { return float_composite("sinc", x, sinc_of); }

Tensor erfc(const Tensor& x) {
    return float_composite("erfc", x, [](const NodeRef& n) { return ir::unary(Op::Erfc, n); });
}

Tensor erfinv(const Tensor& x) {
    return float_composite("erfinv", x, [](const NodeRef& n) { return ir::unary(Op::Erfinv, n); });
}

namespace {

NodeRef digamma_of(const NodeRef& x) {
    static const auto rule = grad_rule(
        "digamma", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * polygamma_of(input(out), 1)}; });
    return nodes::with_grad(ir::unary(Op::Digamma, x), x, rule);
}

}  // namespace

Tensor digamma(const Tensor& x) { return float_composite("digamma", x, digamma_of); }

Tensor lgamma(const Tensor& x) {
    static const auto rule =
        grad_rule("lgamma", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * digamma_of(input(out))}; });
    return float_composite("lgamma", x,
                           [](const NodeRef& n) { return nodes::with_grad(ir::unary(Op::Lgamma, n), n, rule); });
}

Tensor polygamma(std::int64_t n, const Tensor& x) {
    const Checker check("polygamma", {{"n", n}, {"x", x}});
    constexpr std::int64_t kLargest = 30;  // beyond, the powers leave f32's range at almost every x
    check.value(n >= 0, "n must not be negative");
    check.value(n <= kLargest, "n must be at most ", kLargest);
    return float_composite("polygamma", x, [&](const NodeRef& node) {
        if (n == 0) return digamma_of(node);
        return polygamma_of(node, n);
    });
}

Tensor entr(const Tensor& x) {
    return float_composite("entr", x, [](const NodeRef& n) {
        const NodeRef zero = nodes::number(n, 0), none = ir::equal_to(n, zero), below = ir::less(n, zero);
        const NodeRef safe = ir::where(nodes::either(none, below), nodes::number(n, 1), n);
        static const auto rule = grad_rule("entr", [](const NodeRef& out, const NodeRef& g) {
            return ir::Grads{g * (-log(input(out)) - nodes::number(g, 1))};
        });
        const NodeRef value = ir::where(below, nodes::number(n, -INFINITY), ir::where(none, zero, -safe * log(safe)));
        return nodes::with_grad(value, n, rule);
    });
}

Tensor logit(const Tensor& x, std::optional<double> eps) {
    static const auto rule = grad_rule("logit", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &n = input(out),
                      outside = nodes::either(ir::less(n, nodes::number(n, 0)), ir::less(nodes::number(n, 1), n));
        return ir::Grads{ir::where(outside, nodes::number(n, kNaN), g / (n * (nodes::number(n, 1) - n)))};
    });
    return float_composite("logit", x, [&](NodeRef n) {
        if (eps) {
            const NodeRef low = nodes::number(n, *eps), high = nodes::number(n, 1 - *eps);
            n = ir::where(ir::less(n, low), low, n);
            n = ir::where(ir::less(high, n), high, n);
        }
        return nodes::with_grad(log(n / (nodes::number(n, 1) - n)), n, rule);
    });
}

Tensor deg2rad(const Tensor& x) {
    return float_composite("deg2rad", x, [](const NodeRef& n) { return n * nodes::number(n, std::numbers::pi / 180); });
}

Tensor rad2deg(const Tensor& x) {
    return float_composite("rad2deg", x, [](const NodeRef& n) { return n * nodes::number(n, 180 / std::numbers::pi); });
}

}  // namespace weft
