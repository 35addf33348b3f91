// numerics/least_squares.cpp: least squares by QR where the rank is full beyond doubt, and else by singular values.
#include "numerics/dense.h"

#include <algorithm>
#include <cmath>

namespace weft::dense {
namespace {

// The upper triangle of `r`, and how small its smallest singular value is, compared to the largest. An estimate: a few steps of powers of
// RᵀR and of its inverse, each from the same vector.
double inverse_condition(const Matrix& r) {
    constexpr int kSteps = 8;
    const std::int64_t n = r.rows;
    for (std::int64_t i = 0; i < n; ++i)
        if (r[i][i] == 0) return 0;
    std::vector<double> x(static_cast<std::size_t>(n)), y(x);
    const auto normalise = [&](std::vector<double>& v) {
        const double length = std::sqrt(dot(v.data(), v.data(), n));
        divide(v.data(), length, n);
        return length;
    };
    const auto start = [&] {
        for (std::int64_t i = 0; i < n; ++i) x[i] = 1 + 0.5 * std::sin(1.0 + static_cast<double>(i));
        normalise(x);
    };
    double most = 0, inverse = 0;
    start();
    for (int step = 0; step < kSteps; ++step) {
        for (std::int64_t i = 0; i < n; ++i) y[i] = dot(r[i] + i, x.data() + i, n - i);
        most = normalise(y);
        std::fill(x.begin(), x.end(), 0.0);
        for (std::int64_t i = 0; i < n; ++i) add_scaled(x.data() + i, y[i], r[i] + i, n - i);
        normalise(x);
    }
    start();
    for (int step = 0; step < kSteps; ++step) {
        for (std::int64_t i = 0; i < n; ++i) {  // Rᵀ⁻¹
            x[i] /= r[i][i];
            add_scaled(x.data() + i + 1, -x[i], r[i] + i + 1, n - i - 1);
        }
        normalise(x);
        for (std::int64_t i = n; i-- > 0;) x[i] = (x[i] - dot(r[i] + i + 1, x.data() + i + 1, n - i - 1)) / r[i][i];
        inverse = normalise(x);
    }
    const double result = 1 / (inverse * most);
    return std::isfinite(result) ? result : 0;
}

std::int64_t by_singular_values(const Team& team, const Strided& a, const Strided& b, double tolerance,
                                const Matrix& x) {
    const std::int64_t k = std::min(a.rows, a.columns);
    Owned u(a.rows, k), vt(k, a.columns), scaled(k, b.columns);
    std::vector<double> values(static_cast<std::size_t>(k));
    if (!svd(team, a, values.data(), u, vt)) return -1;
    std::int64_t rank = 0;
    while (rank < k && values[rank] > tolerance * values[0]) ++rank;
    add_product(team, scaled, 1, Strided(u).t(), b);
    for (std::int64_t i = 0; i < rank; ++i) divide(scaled[i], values[i], b.columns);
    for (std::int64_t i = 0; i < x.rows; ++i) std::fill(x[i], x[i] + x.columns, 0.0);
    add_product(team, x, 1, Strided(vt.block(0, 0, rank, a.columns)).t(), scaled.block(0, 0, rank, b.columns));
    return rank;
}

}  // namespace

std::int64_t least_squares(const Team& team, const Strided& a, const Strided& b, double tolerance, const Matrix& x) {
    constexpr double kDoubt = 1.5;  // how far the estimate may be off
    const bool tall = a.rows >= a.columns;
    const Strided upright = tall ? a : a.t();
    const std::int64_t m = upright.rows, n = upright.columns;
    if (n == 0) {
        for (std::int64_t i = 0; i < x.rows; ++i) std::fill(x[i], x[i] + x.columns, 0.0);
        return 0;
    }
    Owned factors(m, n);
    std::vector<double> tau;
    copy(upright, factors);
    qr(team, factors, tau);
    const Matrix r = factors.block(0, 0, n, n);
    if (!(inverse_condition(r) > kDoubt * tolerance)) return by_singular_values(team, a, b, tolerance, x);
    Owned right(m, b.columns);
    copy(b, right.block(0, 0, b.rows, b.columns));
    if (tall) {
        multiply_q(team, factors, tau, right, true);
        solve_triangular(team, r, true, false, right.block(0, 0, n, b.columns));
        copy(right.block(0, 0, n, b.columns), x);
    } else {  // a = Rᵀ Qᵀ: of all solutions the one without a part outside of Q
        solve_triangular(team, Strided(r).t(), false, false, right.block(0, 0, n, b.columns));
        multiply_q(team, factors, tau, right);
        copy(right, x);
    }
    return n;
}

}  // namespace weft::dense
