// numerics/maths_bessel.cpp: Bessel functions and Airy's. J and Y are the C library's.
#include "numerics/maths.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace weft::maths {
namespace {

constexpr double kAsymptotic = 20;  // from here on the expansion for large x has all digits before its terms grow

// (x/2)^order / order!
double leading_term(double x, int order) {
    double value = 1;
    for (int k = 1; k <= order; ++k) value *= 0.5 * x / k;
    return value;
}

// I(x) for x >= 0, as sum(k) (x/2)^(2k + order) / (k! (k + order)!): all terms are positive, so nothing cancels.
double power_series(double x, int order) {
    const double square = 0.25 * x * x;
    double sum = 1, term = 1;
    for (int k = 1; term > sum * 1e-17; ++k) {
        term *= square / (static_cast<double>(k) * (k + order));
        sum += term;
    }
    return sum * leading_term(x, order);
}

// The expansion for large x, without its factor: sum(k) sign^k prod(j <= k) (4 order² - (2j - 1)²) / (8 j x). I: -1, K: 1.
double large_series(double x, double order, double sign) {
    double sum = 1, term = 1;
    for (int k = 1; k < 60; ++k) {
        const double next = term * sign * (4 * order * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * k * x);
        if (std::abs(next) > std::abs(term)) break;
        term = next;
        sum += term;
        if (std::abs(term) < 1e-17 * std::abs(sum)) break;
    }
    return sum;
}

double with_parity(double value, double x, int order) { return order % 2 && x < 0 ? -value : value; }

// exp(x) K(x) = integral(t >= 0) exp(-x (cosh(t) - 1)) cosh(order t): the trapezoidal rule converges like exp(x - π² / step), and all
// terms are positive.
constexpr double kStep = 0.125;
constexpr int kSteps = 60;
struct Nodes {
    std::array<double, kSteps> decay, weight;  // cosh(t) - 1 and cosh(order t)
};
Nodes nodes_of(double order) {
    Nodes nodes{};
    for (int k = 1; k < kSteps; ++k) {
        const double t = k * kStep, half = std::sinh(0.5 * t);
        nodes.decay[k] = 2 * half * half;
        nodes.weight[k] = std::cosh(order * t);
    }
    return nodes;
}

double scaled_k_by_integral(double x, const Nodes& nodes) {
    double sum = 0.5;
    for (int k = 1; k < kSteps; ++k) {
        const double term = std::exp(-x * nodes.decay[k]) * nodes.weight[k];
        sum += term;
        if (term < 1e-18 * sum) break;
    }
    return sum * kStep;
}

// K for x up to 1: -log(x/2) I(x) and a series with the harmonic numbers H: sum (H(k) - γ) (x²/4)^k / k!².
double small_k0(double x) {
    const double square = 0.25 * x * x, from = -std::log(0.5 * x) - std::numbers::egamma;
    double sum = from, term = 1, harmonic = 0;
    for (int k = 1; k < 30; ++k) {
        term *= square / (static_cast<double>(k) * k);
        harmonic += 1.0 / k;
        sum += term * (from + harmonic);
    }
    return sum;
}

// 1/x - x/2 sum (-log(x/2) - γ + (H(k) + H(k + 1)) / 2) (x²/4)^k / (k! (k+1)!)
double small_k1(double x) {
    const double square = 0.25 * x * x, from = -std::log(0.5 * x) - std::numbers::egamma;
    double sum = from + 0.5, term = 1, harmonic = 0;
    for (int k = 1; k < 30; ++k) {
        term *= square / (static_cast<double>(k) * (k + 1));
        harmonic += 1.0 / k;
        sum += term * (from + harmonic + 0.5 / (k + 1));
    }
    return 1 / x - 0.5 * x * sum;
}

double scaled_k(double x, double order, const Nodes& nodes) {
    if (std::isinf(x)) return 0;
    if (x < kAsymptotic) return scaled_k_by_integral(x, nodes);
    return large_series(x, order, 1) * std::sqrt(0.5 * std::numbers::pi / x);
}

double scaled_k_of_order(double x, int order) {
    static const Nodes zero = nodes_of(0), one = nodes_of(1);
    if (x > 1) return scaled_k(x, order, order ? one : zero);
    return (order ? small_k1(x) : small_k0(x)) * std::exp(x);
}

// ---- Airy ------------------------------------------------------------------------------------------------------------

struct AiryPoint {
    long double value, slope;
};

// Ai and its derivative at x + step, given both at x, by the Taylor series that y'' = x y gives.
AiryPoint airy_step(const AiryPoint& from, long double x, long double step) {
    long double before = 0, here = from.value, next = from.slope;  // coefficients k - 1, k, k + 1
    long double power = 1, value = from.value, slope = from.slope;
    for (int k = 0; k < 60; ++k) {
        const long double after =
            (x * here + before) / (static_cast<long double>(k + 1) * (k + 2));  // coefficient k + 2
        value += next * power * step;
        slope += (k + 2) * after * power * step;
        power *= step;
        before = here, here = next, next = after;
    }
    return {value, slope};
}

constexpr int kAirySteps = 24;  // of ½, from 0 down to -12

std::array<AiryPoint, kAirySteps + 1> airy_points() {
    std::array<AiryPoint, kAirySteps + 1> points{};
    points[0] = {0.355028053887817239260L, -0.258819403792806798405L};
    for (int k = 0; k < kAirySteps; ++k) points[k + 1] = airy_step(points[k], -0.5L * k, -0.5L);
    return points;
}

// sum(k) of the terms u(k) / zeta^k, with the signs that a cosine and a sine of the phase need.
double airy_far_below(double x) {
    const double root = std::sqrt(-x), zeta = -x * root * (2.0 / 3), phase = zeta - std::numbers::pi / 4;
    double even = 0, odd = 0, term = 1;
    for (int k = 0; k < 30; ++k) {
        (k % 2 ? odd : even) += k % 4 < 2 ? term : -term;
        const double next = term * (6.0 * k + 1) * (6.0 * k + 5) / (72.0 * (k + 1) * zeta);
        if (next < 1e-18 || next > term) break;
        term = next;
    }
    return (std::cos(phase) * even + std::sin(phase) * odd) / (std::sqrt(std::numbers::pi) * std::sqrt(root));
}

double airy_above(double x) {  // √(x/3) K⅓(zeta) / π
    static const Nodes third = nodes_of(1.0 / 3);
    const double root = std::sqrt(x), zeta = x * root * (2.0 / 3);
    return std::sqrt(x / 3) * std::numbers::inv_pi * scaled_k(zeta, 1.0 / 3, third) * std::exp(-zeta);
}

}  // namespace

double bessel_j(int order, double x) { return std::isinf(x) ? 0 : ::jn(order, x); }
double bessel_y(int order, double x) {
    if (x <= 0) return x == 0 ? -kInfinity : kNaN;
    return std::isinf(x) ? 0 : ::yn(order, x);
}

double bessel_ie(int order, double x) {
    const double a = std::abs(x);
    if (std::isinf(a)) return 0;
    const double value = a < kAsymptotic ? std::exp(-a) * power_series(a, order)
                                         : large_series(a, order, -1) / std::sqrt(2 * std::numbers::pi * a);
    return with_parity(value, x, order);
}

double bessel_i(int order, double x) {
    const double a = std::abs(x);
    if (std::isinf(a)) return with_parity(kInfinity, x, order);
    if (a < kAsymptotic) return with_parity(power_series(a, order), x, order);
    const double half = std::exp(0.5 * a);  // exp(a) may overflow where the product does not
    return bessel_ie(order, x) * half * half;
}

double bessel_ke(int order, double x) {
    if (std::isnan(x) || x < 0) return kNaN;
    if (x == 0) return kInfinity;
    if (order < 2) return scaled_k_of_order(x, order);
    double before = scaled_k_of_order(x, 0), here = scaled_k_of_order(x, 1);
    for (int k = 1; k < order; ++k) {  // upwards the recurrence is stable: all is positive
        const double after = before + 2 * k / x * here;
        before = here, here = after;
    }
    return here;
}

double bessel_k(int order, double x) { return std::isinf(x) && x > 0 ? 0 : bessel_ke(order, x) * std::exp(-x); }

double spherical_j0(double x) {
    if (std::isinf(x)) return 0;
    return std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

double spherical_j0_slope(double x) {
    if (std::isinf(x)) return 0;
    if (std::abs(x) > 0.5) return (std::cos(x) - std::sin(x) / x) / x;
    double sum = 0,
           term = -x / 3;  // -x/3 + x³/30 - …: the terms are -2k (-1)^k x^(2k-1) / (2k + 1)!, without the signs
    for (int k = 1; k < 12; ++k) {
        sum += term;
        term *= -x * x * (k + 1) / (k * (2.0 * k + 2) * (2.0 * k + 3));
    }
    return sum;
}

double airy_ai(double x) {
    if (std::isnan(x)) return x;
    if (std::isinf(x)) return 0;
    if (x > 1) return airy_above(x);
    if (x < -0.5 * kAirySteps) return airy_far_below(x);
    static const auto points = airy_points();
    const auto nearest = static_cast<int>(std::lround(x > 0 ? 0 : -2 * x));
    const long double from = -0.5L * nearest;
    return static_cast<double>(airy_step(points[nearest], from, x - from).value);
}

}  // namespace weft::maths
