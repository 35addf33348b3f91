// numerics/maths_gamma.cpp: incomplete gamma functions, their derivatives, and Hurwitz's zeta function.
//
// With D = x^a exp(-x) / gamma(a), the share below x is D S(a, x), S a power series, and the share above D C(a, x), C a continued
// fraction. Each is used where it is not the larger share, and takes about √a terms. Both are written for dual numbers, so that the
// same lines give their derivatives in a. From kLarge on the two shares are nearly those of a normal distribution.
#include "numerics/maths.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace weft::maths {
namespace {

constexpr double kLarge = 1e6, kStirling = 10;

// A value and its derivative in a.
struct Dual {
    double value = 0, slope = 0;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator+(Dual a, double b) { return {a.value + b, a.slope}; }
Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
Dual operator*(Dual a, double b) { return {a.value * b, a.slope * b}; }
Dual operator/(Dual a, Dual b) {
    const double quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
}
double size_of(double a) { return std::abs(a); }
double size_of(Dual a) { return std::abs(a.value) + std::abs(a.slope); }

// sum(n >= 0) x^n / (a (a+1) … (a+n))
template <class T>
T series(T a, double x) {
    T term = T{1} / a, sum = term;
    for (double n = 1; n < 1e7; ++n) {
        term = term * T{x} / (a + n);
        sum = sum + term;
        if (size_of(term) < 1e-17 * size_of(sum)) break;
    }
    return sum;
}

// 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …))), by Lentz's method.
template <class T>
T fraction(T a, double x) {
    T b = a * -1.0 + (x + 1), d = T{1} / b, c = T{0}, value = d;
    for (double n = 1; n < 1e7; ++n) {
        const T numerator = (a + -n) * n;
        b = b + 2;
        T lower = numerator * d + b;
        if (size_of(lower) == 0) lower = T{1e-300};
        d = T{1} / lower;
        c = n == 1 ? b : b + numerator / c;  // before the first step c is infinite
        const T factor = c * d, next = value * factor;
        const double change = size_of(next + value * -1.0);
        value = next;
        if (change < 1e-16 * size_of(value)) break;
    }
    return value;
}

// log(1 + m) - m, without cancellation
double log1p_minus(double m) {
    if (std::abs(m) > 0.5) return std::log1p(m) - m;
    const double r = m / (2 + m), square = r * r;
    double sum = 0;
    for (int k = 41; k >= 3; k -= 2) sum = sum * square + 1.0 / k;
    return 2 * r * square * sum - m * r;
}

// log(gamma(a) / (√(2π/a) (a/e)^a)) for a >= kStirling
double stirling_remainder(double a) {
    const double r = 1 / a, s = r * r;
    return r *
           (1.0 / 12 + s * (-1.0 / 360 +
                            s * (1.0 / 1260 + s * (-1.0 / 1680 + s * (1.0 / 1188 + s * (-691.0 / 360360 + s / 156))))));
}

// log(a) - digamma(a) for a >= kStirling
double log_minus_digamma(double a) {
    const double r = 1 / a, s = r * r;
    return r * 0.5 +
           s * (1.0 / 12 + s * (-1.0 / 120 +
                                s * (1.0 / 252 + s * (-1.0 / 240 + s * (1.0 / 132 + s * (-691.0 / 32760 + s / 12))))));
}

// x^a exp(-x) / gamma(a)
double scale_of(double a, double x) {
    if (a < kStirling) {
        if (x < 600) return std::pow(x, a) * std::exp(-x) / std::tgamma(a);
        return std::exp(a * std::log(x) - x - log_gamma(a));
    }
    return std::sqrt(a / (2 * std::numbers::pi)) * std::exp(a * log1p_minus((x - a) / a) - stirling_remainder(a));
}

// log(gamma(1 + a)) for 0 <= a < 1, accurate near 0
double lgamma_of_one_plus(double a) {
    if (a > 0.1) return log_gamma(1 + a);
    constexpr double kZeta[] = {1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.03692775514337,
                                1.0173430619844491, 1.0083492773819228, 1.0040773561979443, 1.0020083928260822,
                                1.0009945751278181, 1.0004941886041195, 1.000246086553308,  1.0001227133475785,
                                1.0000612481350587, 1.000030588236307,  1.0000152822594086};
    double sum = 0;
    for (int k = 16; k >= 2; --k) sum = (k % 2 ? -1 : 1) * kZeta[k - 2] / k + sum * a;
    return a * (a * sum - std::numbers::egamma);
}

// The share above x for x < 1, where 1 minus the share below may cancel: the leading terms of both are expm1.
double small_upper(double a, double x) {
    double sum = 0, term = 1;
    for (int n = 1; n < 40; ++n) {
        term *= -x / n;
        sum += term / (a + n);
        if (std::abs(term) < 1e-18) break;
    }
    const double log_power = a * std::log(x) - lgamma_of_one_plus(a);
    return -std::expm1(log_power) - std::exp(log_power) * a * sum;
}

// ---- a >= kLarge: N. Temme's uniform expansion, in eta with eta²/2 = x/a - 1 - log(x/a) --------------------------------

double eta_of(double a, double x) {
    const double m = (x - a) / a;
    return std::copysign(std::sqrt(-2 * log1p_minus(m)), m);
}

double large_upper(double a, double x) {
    const double eta = eta_of(a, x);
    const double c0 =
        -1.0 / 3 +
        eta * (1.0 / 12 +
               eta * (-2.0 / 135 + eta * (1.0 / 864 + eta * (1.0 / 2835 + eta * (-139.0 / 777600 + eta / 25515)))));
    const double c1 = -1.0 / 540 + eta * (-1.0 / 288 + eta * (1.0 / 378));
    const double root = std::sqrt(a), side = eta * root;
    const double rest = std::exp(-0.5 * side * side) / (std::sqrt(2 * std::numbers::pi) * root) * (c0 + c1 / a);
    return ndtr(-side) + rest;
}

// x = a λ(e0 + e1(e0)/a) where √a e0 is the normal quantile, which stays as a moves.
double large_sample_slope(double a, double x) {
    const auto shift = [](double e) { return -1.0 / 3 + e * (1.0 / 36 + e * (1.0 / 1620 - e * 7.0 / 6480)); };
    const auto shift_slope = [](double e) { return 1.0 / 36 + e * (2.0 / 1620 - e * 21.0 / 6480); };
    const double m = (x - a) / a, eta = eta_of(a, x), normal = eta - shift(eta) / a;
    const double eta_slope = -0.5 * normal / a * (1 + shift_slope(normal) / a) - shift(normal) / (a * a);
    const double log_slope = std::abs(m) < 1e-6 ? 1 - m / 3 : eta / m;  // d log(λ) / d eta = eta / (λ - 1)
    return 1 / a + log_slope * eta_slope;
}

bool near_the_centre(double a, double x) { return a > kLarge && std::abs(x - a) < 0.04 * a; }

// The shares for finite, positive a and x.
double lower_share(double a, double x);
double upper_share(double a, double x) {
    if (near_the_centre(a, x)) return large_upper(a, x);
    if (x < 1 && a < 1) return small_upper(a, x);
    return x > a && x >= 1 ? scale_of(a, x) * fraction(a, x) : 1 - lower_share(a, x);
}
double lower_share(double a, double x) {
    if (near_the_centre(a, x)) return 1 - large_upper(a, x);
    return x > a && x >= 1 ? 1 - upper_share(a, x) : scale_of(a, x) * series(a, x);
}

// log(x) - digamma(a): for large a both are nearly equal
double log_above_digamma(double a, double x, double log_x) {
    if (a < kStirling) return log_x - digamma(a);
    return (std::abs(x - a) < 0.5 * a ? std::log1p((x - a) / a) : log_x - std::log(a)) + log_minus_digamma(a);
}

// ---- zeta ------------------------------------------------------------------------------------------------------------

double inverse_power(double q, double s) { return std::pow(q, -s); }
Dual inverse_power(double q, Dual s) {
    const double value = std::pow(q, -s.value);
    return {value, -std::log(q) * value * s.slope};
}
double slope_of(Dual a) { return a.slope; }

// `order` is s without its derivative.
template <class T>
T zeta_of(T s, double order, double q) {
    if (std::isnan(order) || std::isnan(q) || order < 1) return T{kNaN};
    if (order == 1) return T{kInfinity};
    if (q <= 0) {
        if (q == std::floor(q)) return T{kInfinity};
        if (order != std::floor(order)) return T{kNaN};
    }
    if (std::isinf(q)) return T{0};
    // The first terms one by one, the others by Euler and Maclaurin's formula, which is good from about s on.
    T sum{0};
    for (; q < 10 + order; ++q) {
        const T term = inverse_power(q, s);
        sum = sum + term;
        if (q > 0 && size_of(term) < 1e-17 * size_of(sum)) return sum;
    }
    constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                     5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                     43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};
    const T last = inverse_power(q, s);
    sum = sum + last * q / (s + -1.0) + last * 0.5;
    T factor = last * s * (0.5 / q);  // s (s+1) … (s+2j-2) q^(1-s-2j) / (2j)!
    for (int j = 1; j <= 12; ++j) {
        sum = sum + factor * kBernoulli[j - 1];
        factor = factor * (s + (2.0 * j - 1)) * (s + 2.0 * j) * (1 / ((2.0 * j + 1) * (2.0 * j + 2) * q * q));
    }
    return sum;
}

}  // namespace

double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

double digamma(double x) {
    double shift = 0;
    for (; x < kStirling; ++x) shift -= 1 / x;
    return shift + std::log(x) - log_minus_digamma(x);
}

double gammainc(double a, double x) {
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
    if (x == 0 || std::isinf(a)) return 0;
    if (a == 0 || std::isinf(x)) return 1;
    return lower_share(a, x);
}

double gammaincc(double a, double x) {
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
    if (x == 0 || std::isinf(a)) return 1;
    if (a == 0 || std::isinf(x)) return 0;
    return upper_share(a, x);
}

double gamma_sample_slope(double a, double log_x) {
    if (!(a > 0)) return kNaN;
    const double x = std::exp(log_x);
    if (a > kLarge) return large_sample_slope(a, x);
    const double rise = log_above_digamma(a, x, log_x);
    if (x > a && x >= 1) {
        const Dual above = fraction(Dual{a, 1}, x);
        return above.value * rise + above.slope;
    }
    const Dual below = series(Dual{a, 1}, x);
    return -(below.value * rise + below.slope);
}

double gamma_density(double a, double x) {
    if (!(a >= 0 && x >= 0)) return kNaN;
    if (x == 0) return a < 1 ? kInfinity : a == 1 ? 1 : 0;
    if (a == 0 || std::isinf(a) || std::isinf(x)) return 0;
    return scale_of(a, x) / x;
}

double gammainc_slope(double a, double x) {
    if (!(a > 0 && x >= 0)) return kNaN;
    if (x == 0 || std::isinf(x) || std::isinf(a)) return 0;
    return -scale_of(a, x) * gamma_sample_slope(a, std::log(x));
}

double zeta(double s, double q) { return zeta_of(s, s, q); }
double zeta_slope(double s, double q) {
    if (q <= 0 || s <= 1) return kNaN;  // below 0 there are values for whole s alone
    return slope_of(zeta_of(Dual{s, 1}, s, q));
}

}  // namespace weft::maths
