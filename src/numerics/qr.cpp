// numerics/qr.cpp: QR by Householder's reflections. Blocks of them are applied as products of matrices (I - V T Vᵀ).
#include "core/interrupt.h"
#include "numerics/dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weft::dense {
namespace {

constexpr std::int64_t kReflectionBlock = 32,
                       kApplied = 64;  // columns of a panel; reflections that are applied at once

// The norm of a column from row `first` on, without overflow.
double column_norm(const Matrix& a, std::int64_t column, std::int64_t first) {
    double scale = 0, sum = 0;
    for (std::int64_t i = first; i < a.rows; ++i)
        if (const double size = std::fabs(a[i][column]); !(size <= scale)) scale = size;
    if (scale == 0 || !std::isfinite(scale)) return scale;
    for (std::int64_t i = first; i < a.rows; ++i) {
        const double x = a[i][column] / scale;
        sum += x * x;
    }
    return scale * std::sqrt(sum);
}

// Turns a column into a multiple of its first unit vector: leaves v below the diagonal and gives tau.
double reflect_column(const Matrix& a, std::int64_t column, std::int64_t row) {
    const double below = column_norm(a, column, row + 1);
    if (below == 0) return 0;  // it is one already
    const double alpha = a[row][column], beta = -std::copysign(hypotenuse(alpha, below), alpha);
    for (std::int64_t i = row + 1; i < a.rows; ++i) a[i][column] /= alpha - beta;
    a[row][column] = beta;
    return (beta - alpha) / beta;
}

// Applies the reflection of a column to the columns from … to.
void apply_reflection(const Matrix& a, std::int64_t column, std::int64_t row, double tau, std::int64_t from,
                      std::int64_t to, std::vector<double>& sums) {
    const std::int64_t width = to - from;
    if (tau == 0 || width <= 0) return;
    sums.assign(a[row] + from, a[row] + to);
    for (std::int64_t i = row + 1; i < a.rows; ++i) add_scaled(sums.data(), a[i][column], a[i] + from, width);
    add_scaled(a[row] + from, -tau, sums.data(), width);
    for (std::int64_t i = row + 1; i < a.rows; ++i) add_scaled(a[i] + from, -tau * a[i][column], sums.data(), width);
}

// The vectors of a block of reflections as a matrix with ones and zeros in place, and T with H₁ H₂ … = I - V T Vᵀ.
struct Reflections {
    Owned v, t;

    Reflections(const Team& team, const Matrix& a, std::int64_t from, std::int64_t to, std::span<const double> tau)
        : v(a.rows - from, to - from), t(to - from, to - from) {
        for (std::int64_t i = 0; i < v.rows; ++i)
            for (std::int64_t j = 0; j < std::min(i, v.columns); ++j) v[i][j] = a[from + i][from + j];
        for (std::int64_t j = 0; j < v.columns; ++j) v[j][j] = 1;
        Owned products(v.columns, v.columns);
        add_product(team, products, 1, Strided(v).t(), v);
        for (std::int64_t j = 0; j < v.columns; ++j) {
            t[j][j] = tau[from + j];
            for (std::int64_t i = 0; i < j; ++i) {
                double sum = 0;
                for (std::int64_t k = i; k < j; ++k) sum += t[i][k] * products[k][j];
                t[i][j] = -t[j][j] * sum;
            }
        }
    }

    void apply(const Team& team, const Matrix& to, bool transposed) const {
        Owned products(v.columns, to.columns), turned(v.columns, to.columns);
        add_product(team, products, 1, Strided(v).t(), to);
        add_product(team, turned, 1, transposed ? Strided(t).t() : Strided(t), products);
        add_product(team, to, -1, v, turned);
    }
};

// A panel whose columns are the rows of `columns`.
void factor_panel(const Matrix& columns, double* tau) {
    const std::int64_t width = columns.rows;
    std::vector<double> products(static_cast<std::size_t>(width));
    for (std::int64_t j = 0; j < width; ++j) {
        poll_interrupt();
        const std::int64_t count = columns.columns - j, others = width - j - 1;
        double* const v = columns[j] + j;
        tau[j] = reflect(v, count);
        if (tau[j] == 0 || others == 0) continue;
        const double diagonal = std::exchange(v[0], 1.0);
        multiply({}, columns.block(j + 1, j, others, count), v, products.data());
        for (std::int64_t k = 0; k < others; ++k) add_scaled(columns[j + 1 + k] + j, -tau[j] * products[k], v, count);
        v[0] = diagonal;
    }
}

}  // namespace

double reflect(double* x, std::int64_t count) {
    const double largest = count > 1 ? std::fabs(x[1 + first_largest(x + 1, count - 1)]) : 0;
    if (largest == 0) return 0;  // it is one already
    double below;
    if (largest > 1e-140 && largest < 1e140) {
        below = std::sqrt(dot(x + 1, x + 1, count - 1));
    } else {
        double sum = 0;
        for (std::int64_t i = 1; i < count; ++i) sum += x[i] / largest * (x[i] / largest);
        below = std::isfinite(largest) ? largest * std::sqrt(sum) : largest;
    }
    const double alpha = x[0], beta = -std::copysign(hypotenuse(alpha, below), alpha);
    divide(x + 1, alpha - beta, count - 1);
    x[0] = beta;
    return (beta - alpha) / beta;
}

void qr(const Team& team, const Matrix& a, std::vector<double>& tau) {
    const std::int64_t steps = std::min(a.rows, a.columns);
    tau.assign(static_cast<std::size_t>(steps), 0);
    Owned columns(std::min(kReflectionBlock, steps), a.rows);
    for (std::int64_t from = 0; from < steps; from += kReflectionBlock) {
        const std::int64_t to = std::min(from + kReflectionBlock, steps), wide = to - from, rows = a.rows - from;
        const Matrix panel = columns.block(0, 0, wide, rows);
        copy(Strided(a.block(from, from, rows, wide)).t(), panel);
        factor_panel(panel, tau.data() + from);
        copy(Strided(panel).t(), a.block(from, from, rows, wide));
        if (to < a.columns)
            Reflections(team, a, from, to, tau).apply(team, a.block(from, to, rows, a.columns - to), true);
    }
}

void pivoted_qr(const Matrix& a, std::vector<double>& tau, std::vector<std::int64_t>& order) {
    const std::int64_t steps = std::min(a.rows, a.columns);
    tau.assign(static_cast<std::size_t>(steps), 0);
    order.resize(static_cast<std::size_t>(a.columns));
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> sums, squares(static_cast<std::size_t>(a.columns)), fresh;
    const auto measure = [&](std::int64_t row) {
        std::fill(squares.begin(), squares.end(), 0.0);
        for (std::int64_t i = row; i < a.rows; ++i)
            for (std::int64_t j = row; j < a.columns; ++j) squares[j] += a[i][j] * a[i][j];
        fresh = squares;
    };
    measure(0);
    for (std::int64_t j = 0; j < steps; ++j) {
        poll_interrupt();
        std::int64_t p = j;
        for (std::int64_t k = j + 1; k < a.columns; ++k)
            if (squares[k] > squares[p]) p = k;
        // What is left of a norm after many subtractions is not worth much: count again.
        if (squares[p] < 1e-8 * fresh[p]) {
            measure(j);
            p = std::max_element(squares.begin() + j, squares.end()) - squares.begin();
        }
        if (p != j) {
            for (std::int64_t i = 0; i < a.rows; ++i) std::swap(a[i][j], a[i][p]);
            std::swap(order[j], order[p]);
            std::swap(squares[j], squares[p]);
            std::swap(fresh[j], fresh[p]);
        }
        tau[j] = reflect_column(a, j, j);
        apply_reflection(a, j, j, tau[j], j + 1, a.columns, sums);
        for (std::int64_t k = j + 1; k < a.columns; ++k) squares[k] = std::max(0.0, squares[k] - a[j][k] * a[j][k]);
    }
}

namespace {

// x = Q x or Qᵀ x. Of an identity, a block of reflections changes nothing on the left of its first column.
void apply_blocks(const Team& team, const Matrix& factors, std::span<const double> tau, const Matrix& x,
                  bool transposed, bool identity) {
    const std::int64_t steps = static_cast<std::int64_t>(tau.size()), blocks = (steps + kApplied - 1) / kApplied;
    for (std::int64_t step = 0; step < blocks; ++step) {
        const std::int64_t from = (transposed ? step : blocks - 1 - step) * kApplied,
                           to = std::min(from + kApplied, steps), left = identity ? from : 0;
        if (left >= x.columns) continue;
        Reflections(team, factors, from, to, tau)
            .apply(team, x.block(from, left, x.rows - from, x.columns - left), transposed);
    }
}

}  // namespace

void q_of(const Team& team, const Matrix& factors, std::span<const double> tau, const Matrix& q) {
    set_identity(q);
    apply_blocks(team, factors, tau, q, false, true);
}

void multiply_q(const Team& team, const Matrix& factors, std::span<const double> tau, const Matrix& x,
                bool transposed) {
    apply_blocks(team, factors, tau, x, transposed, false);
}

}  // namespace weft::dense
