// numerics/maths_normal.cpp: the scaled error function and what is made of it.
#include "numerics/maths.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace weft::maths {
namespace {

// exp(factor x²): what rounding x² leaves counts, as the exponent may be some hundreds.
double exp_of_square(double x, double factor) {
    const double square = x * x, low = std::fma(x, x, -square);
    return std::exp(square * factor) * (1 + low * factor);
}

// For large x, erfcx(x) = 1/√π / (x + r) with the continued fraction r = ½/(x + 1/(x + 3/2/(x + …))).
constexpr double kFraction = 10;
double erfcx_remainder(double x) {
    double fraction = x;
    for (int k = 24; k > 1; --k) fraction = x + 0.5 * k / fraction;
    return 0.5 / fraction;
}

double density(double x) { return exp_of_square(x, -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

// The root of ndtr(x) = tail, for a tail below ½. Halley's method on log(ndtr), which is nearly a parabola.
double lower_quantile(double tail) {
    const double log_tail = std::log(tail), t = std::sqrt(-2 * log_tail);
    double x = -(t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)));  // to three digits
    for (int step = 0; step < 3; ++step) {
        const double slope = log_ndtr_slope(x), newton = (log_ndtr(x) - log_tail) / slope;
        x -= newton / (1 + newton * 0.5 * (x + slope));  // the second derivative is -slope (x + slope)
    }
    return x;
}

// Near ½ the quantile is near 0: Newton's method on erf, which keeps its digits there.
double middle_quantile(double above_half) {
    double x = above_half * std::sqrt(2 * std::numbers::pi);
    for (int step = 0; step < 4; ++step) {
        const double error = 0.5 * std::erf(x * (std::numbers::sqrt2 / 2)) - above_half, newton = error / density(x);
        x -= newton / (1 + 0.5 * x * newton);
    }
    return x;
}

}  // namespace

double erfcx(double x) {
    if (x >= kFraction) return std::numbers::inv_sqrtpi / (x + erfcx_remainder(x));
    if (x < -27) return kInfinity;
    return exp_of_square(x, 1) * std::erfc(x);
}

double erfcx_slope(double x) {  // 2 x erfcx(x) - 2/√π, which cancels for large x
    if (x < kFraction) return 2 * (x * erfcx(x) - std::numbers::inv_sqrtpi);
    if (std::isinf(x)) return 0;
    const double remainder = erfcx_remainder(x);
    return -2 * std::numbers::inv_sqrtpi * remainder / (x + remainder);
}

double ndtr(double x) {
    if (x < -40) return 0;
    const double scaled = x * -(std::numbers::sqrt2 / 2);
    return x < -1 ? 0.5 * erfcx(scaled) * exp_of_square(x, -0.5) : 0.5 * std::erfc(scaled);
}

double log_ndtr(double x) {
    if (x < -1e10) return -0.5 * x * x;
    if (x < -1) return std::log(0.5 * erfcx(x * -(std::numbers::sqrt2 / 2))) - 0.5 * x * x;
    return std::log1p(-ndtr(-x));
}

double log_ndtr_slope(double x) {
    if (x < -1) return std::sqrt(2 / std::numbers::pi) / erfcx(x * -(std::numbers::sqrt2 / 2));
    return density(x) / ndtr(x);
}

double ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return kNaN;
    if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
    if (std::abs(p - 0.5) < 0.25) return middle_quantile(p - 0.5);
    return p < 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

}  // namespace weft::maths
