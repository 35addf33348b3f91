// kernel/math_gamma.cpp: log|gamma| and its derivative as kernel expressions; called through kernel/math.cpp.
//
// Both have series in 1/y for large y, whose coefficients are Bernoulli numbers, and go to large y by the recurrences
// gamma(x + 1) = x gamma(x) and digamma(x + 1) = digamma(x) + 1/x. Negative x are reflected. The zeros of lgamma on the
// negative side, and that of digamma at 1.46, are met with an absolute error of some ulp of 1, not a relative one.
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <limits>
#include <numbers>

namespace weft::kernel {
namespace {

constexpr double kPi = std::numbers::pi;

// B(2k) / (2k (2k - 1)) for k = 1, 2 …: log(gamma(y)) = (y - 1/2) log(y) - y + log(2 pi)/2 + sum of these / y^(2k - 1).
constexpr double kStirling[] = {1.0 / 12,        -1.0 / 360, 1.0 / 1260,       -1.0 / 1680,     1.0 / 1188,
                                -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400, 43867.0 / 244188};
// B(2k) / (2k): digamma(y) = log(y) - 1/(2y) - sum of these / y^(2k).
constexpr double kDigamma[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};

std::span<const double> terms(const Format& format, std::span<const double> all, std::size_t for_f32) {
    return format.narrow() ? all.first(for_f32) : all;
}

// How far a >= 0 is from the next whole number, 0 … 1/2, exactly.
Value distance_to_whole(const Value& a) {
    const Value part = a - trunc(a);
    return min(part, 1 - part);
}

// sin(pi m) and cos(pi m) for 0 <= m <= 1/2.
struct Circle {
    Value sine, cosine;
};
Circle circle(const Value& m) {
    const Value near = m < 0.25, r = where(near, m, 0.5 - m) * kPi;
    const Value s = sin_polynomial(r), c = cos_polynomial(r);
    return {where(near, s, c), where(near, c, s)};
}

// log(gamma(a)) for a >= 0. From 8 on by Stirling's series. Below, 2 + t = a ± whole steps with |t| <= 1/2, where
// log(gamma(2 + t)) = t P(t), and the steps' product p: log(gamma(a)) = t P(t) + log(p), with 1/p for steps up.
// Nothing cancels there: t P(t) and the logarithm differ in size or agree in sign, but for a around 1, where they are
// 0.42 t and t. One logarithm serves both.
Value log_gamma(const Value& a) {
    const Format& format = format_of(a);
    const Value large = a > 8;
    const Value up1 = a < 1.5, up2 = a < 0.5;
    Value t = where(up2, a, where(up1, a - 1, a - 2)), p = constant(a, 1);  // all these differences are exact
    for (int step = 1; step <= 6; ++step) {                                 // a from 2.5 to 8.5 goes down by 1 … 6
        const Value down = a > step + 1.5;
        t = where(down, t - 1, t);
        p = where(down, p * (a - step), p);
    }
    const Value near = t * polynomial(t, format.pick(kLgammaF32, kLgammaF64));
    p = where(up1, where(up2, a * (a + 1), a), p);
    const Value l = make_log(where(large, a, p));
    const Value small = near + where(up1, -l, l);
    const Value r = 1 / a;
    const Value series = r * polynomial(r * r, terms(format, kStirling, 3));
    const Value stirling = fma(a - 0.5, l - 1, series + (0.91893853320467274178 - 0.5));  // log(2 pi)/2
    return where(large, stirling, small);
}

}  // namespace

// log|gamma(-a)| = log(pi / (a |sin(pi a)|)) - log(gamma(a)); poles, at 0 and the negative whole numbers, are infinite. Close to
// 0, where the product underflows, both sides are -log(a).
Value make_lgamma(const Value& x) {
    const double tiny = format_of(x).pick(0x1p-30, 0x1p-60);
    const Value a = abs(x), direct = log_gamma(a);
    const Value sine = circle(distance_to_whole(a)).sine;
    const Value reflected = make_log(kPi / (a * sine)) - direct;
    const Value finite = a < kInfinity;
    return where(finite, where((x < 0) & (a > tiny), where(sine == 0, constant(x, kInfinity), reflected), direct), a);
}

// From kSteps on by the series. Below, digamma(a) = digamma(a + kSteps) - sum of 1/(a + k): the fractions are added as
// one, numerator and denominator, so that there is one division. digamma(-a) = digamma(a) + 1/a + pi cot(pi a); it is
// NaN at negative whole numbers, where it jumps from one infinity to the other.
Value make_digamma(const Value& x) {
    const Format& format = format_of(x);
    const int steps = format.narrow() ? 6 : 10;
    const Value a = abs(x), low = a < steps;
    Value numerator = constant(x, 1), denominator = a;
    for (int k = 1; k < steps; ++k) {
        const Value next = a + k;
        numerator = fma(numerator, next, denominator);
        denominator = denominator * next;
    }
    const Value y = where(low, a + steps, a), r = 1 / y, z = r * r;
    const Value series = make_log(y) - fma(z, polynomial(z, terms(format, kDigamma, 4)), r * 0.5);
    const Value direct = series - where(low, numerator / denominator, 0);
    const Value part = a - trunc(a);
    const Circle around = circle(distance_to_whole(a));
    const Value cotangent = with_sign_of(0.5 - part, around.cosine / around.sine);
    const Value reflected = direct + (1 / a + cotangent * kPi);
    const Value below = where(around.sine == 0, constant(x, kNaN), reflected);
    const Value at_zero = -with_sign_of(x, constant(x, kInfinity));
    const Value inside = where(x < 0, below, where(x == 0, at_zero, direct));
    return where(a < kInfinity, inside, where(x < 0, constant(x, kNaN), x));
}

}  // namespace weft::kernel
