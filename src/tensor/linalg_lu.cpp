// tensor/linalg_lu.cpp: factorisations into triangles, and what is solved with them. Blocked: a narrow panel is factored row by row, and
// the rest gets a product of matrices.
#include "core/interrupt.h"
#include "tensor/linalg_dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::dense {
namespace {

constexpr std::int64_t kBlock = 32;

// The row, from `first`, with the largest magnitude in a column; a NaN counts as the largest, so that it spreads.
std::int64_t pivot_row(const Matrix& a, std::int64_t column, std::int64_t first) {
    std::int64_t best = first;
    double most = std::fabs(a[first][column]);
    for (std::int64_t i = first + 1; i < a.rows && !std::isnan(most); ++i)
        if (const double size = std::fabs(a[i][column]); !(size <= most)) best = i, most = size;
    return best;
}

// Columns from … to of all rows from the same place on; rows are exchanged as a whole.
std::int64_t factor_panel(const Matrix& a, std::int64_t from, std::int64_t to, std::int64_t* pivots) {
    std::int64_t info = 0;
    for (std::int64_t j = from; j < to; ++j) {
        poll_interrupt();
        const std::int64_t p = pivots[j] = pivot_row(a, j, j);
        if (p != j) std::swap_ranges(a[j], a[j] + a.columns, a[p]);
        const double pivot = a[j][j];
        if (pivot == 0) {
            if (!info) info = j + 1;
            continue;
        }
        for (std::int64_t i = j + 1; i < a.rows; ++i) {
            const double factor = a[i][j] /= pivot;
            add_scaled(a[i] + j + 1, -factor, a[j] + j + 1, to - j - 1);
        }
    }
    return info;
}

}  // namespace

std::int64_t lu(const Matrix& a, std::int64_t* pivots) {
    const std::int64_t steps = std::min(a.rows, a.columns);
    std::int64_t info = 0;
    for (std::int64_t from = 0; from < steps; from += kBlock) {
        const std::int64_t to = std::min(from + kBlock, steps), wide = to - from;
        const std::int64_t failed = factor_panel(a, from, to, pivots);
        if (!info) info = failed;
        const Matrix beside = a.block(from, to, wide, a.columns - to);
        solve_triangular(a.block(from, from, wide, wide), false, true, beside);
        add_product(a.block(to, to, a.rows - to, a.columns - to), -1, a.block(to, from, a.rows - to, wide), beside);
    }
    return info;
}

std::vector<std::int64_t> rows_after(const std::int64_t* pivots, std::int64_t count, std::int64_t rows) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = 0; i < count; ++i) std::swap(order[i], order[pivots[i]]);
    return order;
}

std::int64_t cholesky(const Matrix& a) {
    const std::int64_t n = a.rows;
    Owned turned(kBlock, kBlock);  // the block's factor, transposed: its columns lie in memory
    for (std::int64_t from = 0; from < n; from += kBlock) {
        const std::int64_t to = std::min(from + kBlock, n), wide = to - from;
        for (std::int64_t j = from; j < to; ++j) {
            const double square = a[j][j];
            if (!(square > 0)) return j + 1;
            const double root = a[j][j] = std::sqrt(square);
            for (std::int64_t i = j + 1; i < to; ++i) turned[j - from][i - from] = a[i][j] /= root;
            turned[j - from][j - from] = root;
            for (std::int64_t i = j + 1; i < to; ++i)
                add_scaled(a[i] + j + 1, -a[i][j], turned[j - from] + j + 1 - from, i - j);
        }
        poll_interrupt();
        for (std::int64_t i = to; i < n; ++i)  // a[i] = a[i] L⁻ᵀ
            for (std::int64_t j = 0; j < wide; ++j) {
                const double x = a[i][from + j] /= turned[j][j];
                add_scaled(a[i] + from + j + 1, -x, turned[j] + j + 1, wide - j - 1);
            }
        for (std::int64_t j = to; j < n; j += 2 * kBlock) {  // the lower part of what is left
            const std::int64_t end = std::min(j + 2 * kBlock, n);
            add_product(a.block(j, j, n - j, end - j), -1, a.block(j, from, n - j, wide),
                        Strided(a.block(j, from, end - j, wide)).t());
        }
    }
    for (std::int64_t i = 0; i < n; ++i) std::fill(a[i] + i + 1, a[i] + n, 0.0);
    return 0;
}

void solve_triangular(const Strided& t, bool upper, bool unit, const Matrix& b) {
    const std::int64_t n = t.rows, blocks = (n + kBlock - 1) / kBlock;
    for (std::int64_t step = 0; step < blocks; ++step) {
        const std::int64_t from = (upper ? blocks - 1 - step : step) * kBlock, to = std::min(from + kBlock, n);
        const Matrix part = b.block(from, 0, to - from, b.columns);
        if (upper) add_product(part, -1, t.block(from, to, to - from, n - to), b.block(to, 0, n - to, b.columns));
        else add_product(part, -1, t.block(from, 0, to - from, from), b.block(0, 0, from, b.columns));
        for (std::int64_t s = 0; s < to - from; ++s) {
            poll_interrupt();
            const std::int64_t i = upper ? to - 1 - s : from + s;
            for (std::int64_t p = upper ? i + 1 : from; p < (upper ? to : i); ++p)
                add_scaled(b[i], -t(i, p), b[p], b.columns);
            if (unit) continue;
            const double divisor = t(i, i);
            for (std::int64_t j = 0; j < b.columns; ++j) b[i][j] /= divisor;
        }
    }
}

void lu_solve(const Strided& factors, const std::int64_t* pivots, const Matrix& b, bool transposed) {
    const std::int64_t n = factors.rows;
    const auto exchange = [&](std::int64_t i) {
        if (pivots[i] != i) std::swap_ranges(b[i], b[i] + b.columns, b[pivots[i]]);
    };
    if (!transposed) {
        for (std::int64_t i = 0; i < n; ++i) exchange(i);
        solve_triangular(factors, false, true, b);
        solve_triangular(factors, true, false, b);
    } else {
        solve_triangular(factors.t(), false, false, b);
        solve_triangular(factors.t(), true, true, b);
        for (std::int64_t i = n; i-- > 0;) exchange(i);
    }
}

// ---- the exponential -------------------------------------------------------------------------------------------------

namespace {

// The numerator's coefficients of the Padé approximant of degree 13 / 13 to exp; the denominator's have alternating signs.
std::vector<double> pade_coefficients() {
    std::vector<double> result = {1};
    for (int k = 1; k <= 13; ++k) result.push_back(result.back() * (14 - k) / (k * (27 - k)));
    return result;
}

constexpr double kMostNorm = 5.3;  // where that approximant is exact to the last bit

}  // namespace

void matrix_exp(const Matrix& a) {
    const std::int64_t n = a.rows, count = n * n;
    double norm = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += std::fabs(a[i][j]);
        if (!(sum <= norm)) norm = sum;
    }
    if (!std::isfinite(norm)) {
        for (std::int64_t i = 0; i < n; ++i) std::fill(a[i], a[i] + n, std::nan(""));
        return;
    }
    int halvings = 0;
    for (; norm > kMostNorm; norm /= 2) ++halvings;
    Owned x(n, n), x2(n, n), x4(n, n), x6(n, n), odd(n, n), even(n, n), product(n, n);
    const double scale = std::ldexp(1.0, -halvings);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) x[i][j] = a[i][j] * scale;
    add_product(x2, 1, x, x);
    add_product(x4, 1, x2, x2);
    add_product(x6, 1, x4, x2);
    static const std::vector<double> c = pade_coefficients();
    // The sum of c[k] x^k for k = first, first + 2 … first + 12: of x, and of what is left when one x is taken out.
    const auto polynomial = [&](int first, const Matrix& result) {
        std::fill(product.data, product.data + count, 0.0);
        add_scaled(product.data, c[first + 12], x6.data, count);
        add_scaled(product.data, c[first + 10], x4.data, count);
        add_scaled(product.data, c[first + 8], x2.data, count);
        std::fill(result.data, result.data + count, 0.0);
        add_product(result, 1, x6, product);
        add_scaled(result.data, c[first + 6], x6.data, count);
        add_scaled(result.data, c[first + 4], x4.data, count);
        add_scaled(result.data, c[first + 2], x2.data, count);
        for (std::int64_t i = 0; i < n; ++i) result[i][i] += c[first];
    };
    polynomial(1, even);
    add_product(odd, 1, x, even);
    polynomial(0, even);
    Owned sum(n, n);
    copy(even, sum);
    add_scaled(sum.data, 1, odd.data, count);
    add_scaled(even.data, -1, odd.data, count);
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    lu(even, pivots.data());
    lu_solve(even, pivots.data(), sum);
    for (; halvings > 0; --halvings) {
        std::fill(product.data, product.data + count, 0.0);
        add_product(product, 1, sum, sum);
        copy(product, sum);
    }
    copy(sum, a);
}

}  // namespace weft::dense
