// numerics/lu.cpp: factorisations into triangles, and what is solved with them. Blocked: a narrow panel is factored column by column
// (transposed, so that columns are contiguous), and the trailing matrix gets a product of matrices.
#include "core/interrupt.h"
#include "numerics/dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::dense {
namespace {

constexpr std::int64_t kBlock = 32, kLuPanel = 64, kFew = 8;

// A panel of columns as rows of `columns`, each contiguous. Factors them from row 0 on; pivots count from there.
std::int64_t factor_panel(const Matrix& columns, std::int64_t* pivots) {
    const std::int64_t wide = columns.rows, rows = columns.columns;
    std::int64_t info = 0;
    for (std::int64_t from = 0; from < wide; from += kFew) {
        const std::int64_t to = std::min(from + kFew, wide);
        for (std::int64_t j = from; j < to; ++j) {
            poll_interrupt();
            double* const column = columns[j];
            const std::int64_t p = pivots[j] = j + first_largest(column + j, rows - j);
            if (p != j)
                for (std::int64_t k = 0; k < wide; ++k) std::swap(columns[k][j], columns[k][p]);
            const double pivot = column[j];
            if (pivot == 0) {
                if (!info) info = j + 1;
                continue;
            }
            divide(column + j + 1, pivot, rows - j - 1);
            for (std::int64_t k = j + 1; k < to; ++k)
                add_scaled(columns[k] + j + 1, -columns[k][j], column + j + 1, rows - j - 1);
        }
        for (std::int64_t k = to; k < wide; ++k) {  // the other columns of the panel get all of these at once
            double* const column = columns[k];
            for (std::int64_t j = from; j < to; ++j)
                add_scaled(column + j + 1, -column[j], columns[j] + j + 1, to - j - 1);
            add_rows(column + to, -1, column + from, 1, columns.block(from, to, to - from, rows - to));
        }
    }
    return info;
}

}  // namespace

std::int64_t lu(const Team& team, const Matrix& a, std::int64_t* pivots) {
    const std::int64_t steps = std::min(a.rows, a.columns);
    std::int64_t info = 0;
    Owned columns(std::min(kLuPanel, steps), a.rows);
    for (std::int64_t from = 0; from < steps; from += kLuPanel) {
        const std::int64_t to = std::min(from + kLuPanel, steps), wide = to - from, rows = a.rows - from;
        const Matrix panel = columns.block(0, 0, wide, rows);
        copy(Strided(a.block(from, from, rows, wide)).t(), panel);
        const std::int64_t failed = factor_panel(panel, pivots + from);
        if (failed && !info) info = from + failed;
        for (std::int64_t j = from; j < to; ++j) {
            const std::int64_t p = pivots[j] += from;
            if (p == j) continue;
            std::swap_ranges(a[j], a[j] + from, a[p]);
            std::swap_ranges(a[j] + to, a[j] + a.columns, a[p] + to);
        }
        copy(Strided(panel).t(), a.block(from, from, rows, wide));
        const Matrix beside = a.block(from, to, wide, a.columns - to);
        solve_triangular(team, a.block(from, from, wide, wide), false, true, beside);
        add_product(team, a.block(to, to, a.rows - to, a.columns - to), -1, a.block(to, from, a.rows - to, wide),
                    beside);
    }
    return info;
}

std::vector<std::int64_t> rows_after(const std::int64_t* pivots, std::int64_t count, std::int64_t rows) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = 0; i < count; ++i) std::swap(order[i], order[pivots[i]]);
    return order;
}

std::int64_t cholesky(const Team& team, const Matrix& a) {
    const std::int64_t n = a.rows;
    Owned columns(kBlock, n);  // a block of columns, transposed: each lies in memory
    for (std::int64_t from = 0; from < n; from += kBlock) {
        const std::int64_t to = std::min(from + kBlock, n), wide = to - from, rows = n - from;
        const Matrix part = columns.block(0, 0, wide, rows);
        copy(Strided(a.block(from, from, rows, wide)).t(), part);
        poll_interrupt();
        for (std::int64_t j = 0; j < wide; ++j) {
            double* const column = part[j];
            for (std::int64_t p = 0; p < j; ++p) add_scaled(column + j, -part[p][j], part[p] + j, wide - j);
            if (!(column[j] > 0)) return from + j + 1;
            column[j] = std::sqrt(column[j]);
            divide(column + j + 1, column[j], wide - j - 1);
        }
        solve_triangular(team, Strided(part.block(0, 0, wide, wide)).t(), false, false,
                         part.block(0, wide, wide, rows - wide));
        copy(Strided(part).t(), a.block(from, from, rows, wide));
        for (std::int64_t j = to; j < n; j += 2 * kLuPanel) {  // the lower part of what is left
            const std::int64_t end = std::min(j + 2 * kLuPanel, n);
            add_product(team, a.block(j, j, n - j, end - j), -1, a.block(j, from, n - j, wide),
                        part.block(0, j - from, wide, end - j));
        }
    }
    for (std::int64_t i = 0; i < n; ++i) std::fill(a[i] + i + 1, a[i] + n, 0.0);
    return 0;
}

namespace {

// t is a block: all of its rows are solved for one strip of columns after the other, which stay in the cache.
void solve_block(const Strided& t, bool upper, bool unit, const Matrix& b) {
    constexpr std::int64_t kStrip = 64;
    const std::int64_t n = t.rows;
    for (std::int64_t j = 0; j < b.columns; j += kStrip) {
        const std::int64_t width = std::min(kStrip, b.columns - j);
        for (std::int64_t step = 0; step < n; ++step) {
            const std::int64_t i = upper ? n - 1 - step : step, first = upper ? i + 1 : 0;
            const double* const factors = t.data + i * t.row_stride + first * t.column_stride;
            add_rows(b[i] + j, -1, factors, t.column_stride, b.block(first, j, upper ? n - 1 - i : i, width));
            if (!unit) divide(b[i] + j, t(i, i), width);
        }
    }
}

void solve_columns(const Strided& t, bool upper, bool unit, const Matrix& b) {
    const std::int64_t n = t.rows, blocks = (n + kBlock - 1) / kBlock;
    for (std::int64_t step = 0; step < blocks; ++step) {
        poll_interrupt();
        const std::int64_t from = (upper ? blocks - 1 - step : step) * kBlock, to = std::min(from + kBlock, n),
                           wide = to - from;
        const Matrix part = b.block(from, 0, wide, b.columns);
        if (upper) add_product({}, part, -1, t.block(from, to, wide, n - to), b.block(to, 0, n - to, b.columns));
        else add_product({}, part, -1, t.block(from, 0, wide, from), b.block(0, 0, from, b.columns));
        solve_block(t.block(from, from, wide, wide), upper, unit, part);
    }
}

}  // namespace

void solve_triangular(const Team& team, const Strided& t, bool upper, bool unit, const Matrix& b) {
    const std::int64_t grain = std::max<std::int64_t>(96, (std::int64_t{1} << 18) / (t.rows * t.rows + 1));
    team.split(b.columns, grain, [&](std::int64_t from, std::int64_t to) {
        if (from < to) solve_columns(t, upper, unit, b.block(0, from, b.rows, to - from));
    });
}

void lu_solve(const Team& team, const Strided& factors, const std::int64_t* pivots, const Matrix& b, bool transposed) {
    const std::int64_t n = factors.rows;
    const auto exchange = [&](std::int64_t i) {
        if (pivots[i] != i) std::swap_ranges(b[i], b[i] + b.columns, b[pivots[i]]);
    };
    if (!transposed) {
        for (std::int64_t i = 0; i < n; ++i) exchange(i);
        solve_triangular(team, factors, false, true, b);
        solve_triangular(team, factors, true, false, b);
    } else {
        solve_triangular(team, factors.t(), false, false, b);
        solve_triangular(team, factors.t(), true, true, b);
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

void matrix_exp(const Team& team, const Matrix& a) {
    const std::int64_t n = a.rows;
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
    const std::int64_t count = n * x.stride;  // with the padding, which is zeros everywhere
    const double scale = std::ldexp(1.0, -halvings);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) x[i][j] = a[i][j] * scale;
    add_product(team, x2, 1, x, x);
    add_product(team, x4, 1, x2, x2);
    add_product(team, x6, 1, x4, x2);
    static const std::vector<double> c = pade_coefficients();
    // The sum of c[k] x^k for k = first, first + 2 … first + 12: of x, and of what is left when one x is taken out.
    const auto polynomial = [&](int first, const Matrix& result) {
        std::fill(product.data, product.data + count, 0.0);
        add_scaled(product.data, c[first + 12], x6.data, count);
        add_scaled(product.data, c[first + 10], x4.data, count);
        add_scaled(product.data, c[first + 8], x2.data, count);
        std::fill(result.data, result.data + count, 0.0);
        add_product(team, result, 1, x6, product);
        add_scaled(result.data, c[first + 6], x6.data, count);
        add_scaled(result.data, c[first + 4], x4.data, count);
        add_scaled(result.data, c[first + 2], x2.data, count);
        for (std::int64_t i = 0; i < n; ++i) result[i][i] += c[first];
    };
    polynomial(1, even);
    add_product(team, odd, 1, x, even);
    polynomial(0, even);
    Owned sum(n, n);
    copy(even, sum);
    add_scaled(sum.data, 1, odd.data, count);
    add_scaled(even.data, -1, odd.data, count);
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    lu(team, even, pivots.data());
    lu_solve(team, even, pivots.data(), sum);
    for (; halvings > 0; --halvings) {
        std::fill(product.data, product.data + count, 0.0);
        add_product(team, product, 1, sum, sum);
        copy(product, sum);
    }
    copy(sum, a);
}

}  // namespace weft::dense
