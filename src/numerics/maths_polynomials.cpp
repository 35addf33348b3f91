// numerics/maths_polynomials.cpp: orthogonal polynomials by their three-term recurrences; Chebyshev's of high degree by cosines.
#include "numerics/maths.h"

#include <cmath>

namespace weft::maths {
namespace {

// Degrees are whole: what they have after the point does not count. From this one on Chebyshev's are cosines.
constexpr double kHigh = 64;

// p(k + 1) = next(k, p(k), p(k - 1)), from degree 0 and 1. What is no longer finite stays so.
template <class Next>
double recurrence(double degree, double p0, double p1, Next next) {
    const double n = std::trunc(degree);
    if (!(n >= 0)) return std::isnan(degree) ? degree : 0;
    if (n == 0) return p0;
    double before = p0, here = p1;
    for (double k = 1; k < n && std::isfinite(here); ++k) {
        const double after = next(k, here, before);
        before = here, here = after;
    }
    return here;
}

double chebyshev(double x, double n, double p1) {
    return recurrence(n, 1, p1, [x](double, double here, double before) { return 2 * x * here - before; });
}

// (-1)^n for a whole n
double parity(double n) { return std::fmod(n, 2) == 0 ? 1 : -1; }

// The angle t with cos(t) = x, and half of it: 1 - x and 1 + x are exact near the ends, where acos loses digits.
double half_angle(double x) { return std::atan2(std::sqrt(1 - x), std::sqrt(1 + x)); }

}  // namespace

double chebyshev_t(double x, double n) {
    const double degree = std::trunc(n);
    if (!(degree > kHigh) || std::isnan(x)) return chebyshev(x, n, x);
    if (std::abs(x) <= 1) return std::cos(2 * degree * half_angle(x));
    return std::cosh(degree * std::acosh(std::abs(x))) * (x < 0 ? parity(degree) : 1);
}

double chebyshev_u(double x, double n) {
    const double degree = std::trunc(n);
    if (!(degree > kHigh) || std::isnan(x)) return chebyshev(x, n, 2 * x);
    if (std::abs(x) == 1) return (degree + 1) * (x < 0 ? parity(degree) : 1);
    if (std::abs(x) < 1) {
        const double angle = 2 * half_angle(x);
        return std::sin((degree + 1) * angle) / std::sin(angle);
    }
    const double angle = std::acosh(std::abs(x));
    return std::sinh((degree + 1) * angle) / std::sinh(angle) * (x < 0 ? parity(degree) : 1);
}

double chebyshev_v(double x, double n) {
    const double degree = std::trunc(n);
    if (!(degree > kHigh) || std::isnan(x)) return chebyshev(x, n, 2 * x - 1);
    if (x == 1) return 1;
    if (x == -1) return (2 * degree + 1) * parity(degree);
    if (std::abs(x) < 1) {
        const double half = half_angle(x);
        return std::cos((2 * degree + 1) * half) / std::cos(half);
    }
    const double half = 0.5 * std::acosh(std::abs(x)), twice = (2 * degree + 1) * half;
    return x > 0 ? std::cosh(twice) / std::cosh(half) : std::sinh(twice) / std::sinh(half) * parity(degree);
}

double chebyshev_w(double x, double n) {  // V at -x, with the sign of the degree
    const double degree = std::trunc(n);
    if (!(degree > kHigh) || std::isnan(x)) return chebyshev(x, n, 2 * x + 1);
    return chebyshev_v(-x, n) * parity(degree);
}

double shifted_chebyshev_t(double x, double n) { return chebyshev_t(2 * x - 1, n); }
double shifted_chebyshev_u(double x, double n) { return chebyshev_u(2 * x - 1, n); }
double shifted_chebyshev_v(double x, double n) { return chebyshev_v(2 * x - 1, n); }
double shifted_chebyshev_w(double x, double n) { return chebyshev_w(2 * x - 1, n); }

double hermite_h(double x, double n) {
    return recurrence(n, 1, 2 * x, [x](double k, double here, double before) { return 2 * (x * here - k * before); });
}
double hermite_he(double x, double n) {
    return recurrence(n, 1, x, [x](double k, double here, double before) { return x * here - k * before; });
}
double laguerre_l(double x, double n) {
    return recurrence(n, 1, 1 - x, [x](double k, double here, double before) {
        return here + (k * (here - before) - x * here) / (k + 1);
    });
}
double legendre_p(double x, double n) {
    return recurrence(
        n, 1, x, [x](double k, double here, double before) { return x * here + k * (x * here - before) / (k + 1); });
}

}  // namespace weft::maths
