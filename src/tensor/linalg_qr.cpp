// tensor/linalg_qr.cpp: QR by Householder's reflections. Blocks of them are applied as products of matrices (I - V T Vᵀ).
#include "core/interrupt.h"
#include "tensor/linalg_dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::dense {
namespace {

constexpr std::int64_t kBlock = 32;

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

    Reflections(const Matrix& a, std::int64_t from, std::int64_t to, std::span<const double> tau)
        : v(a.rows - from, to - from), t(to - from, to - from) {
        for (std::int64_t i = 0; i < v.rows; ++i)
            for (std::int64_t j = 0; j < std::min(i, v.columns); ++j) v[i][j] = a[from + i][from + j];
        for (std::int64_t j = 0; j < v.columns; ++j) v[j][j] = 1;
        Owned products(v.columns, v.columns);
        add_product(products, 1, Strided(v).t(), v);
        for (std::int64_t j = 0; j < v.columns; ++j) {
            t[j][j] = tau[from + j];
            for (std::int64_t i = 0; i < j; ++i) {
                double sum = 0;
                for (std::int64_t k = i; k < j; ++k) sum += t[i][k] * products[k][j];
                t[i][j] = -t[j][j] * sum;
            }
        }
    }

    void apply(const Matrix& to, bool transposed) const {
        Owned products(v.columns, to.columns), turned(v.columns, to.columns);
        add_product(products, 1, Strided(v).t(), to);
        add_product(turned, 1, transposed ? Strided(t).t() : Strided(t), products);
        add_product(to, -1, v, turned);
    }
};

}  // namespace

void qr(const Matrix& a, std::vector<double>& tau) {
    const std::int64_t steps = std::min(a.rows, a.columns);
    tau.assign(static_cast<std::size_t>(steps), 0);
    std::vector<double> sums;
    for (std::int64_t from = 0; from < steps; from += kBlock) {
        const std::int64_t to = std::min(from + kBlock, steps);
        for (std::int64_t j = from; j < to; ++j) {
            poll_interrupt();
            tau[j] = reflect_column(a, j, j);
            apply_reflection(a, j, j, tau[j], j + 1, to, sums);
        }
        if (to < a.columns) Reflections(a, from, to, tau).apply(a.block(from, to, a.rows - from, a.columns - to), true);
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

void q_of(const Matrix& factors, std::span<const double> tau, const Matrix& q) {
    set_identity(q);
    const std::int64_t steps = static_cast<std::int64_t>(tau.size()), blocks = (steps + kBlock - 1) / kBlock;
    for (std::int64_t block = blocks; block-- > 0;) {
        const std::int64_t from = block * kBlock, to = std::min(from + kBlock, steps);
        if (from >= q.columns) continue;
        Reflections(factors, from, to, tau).apply(q.block(from, from, q.rows - from, q.columns - from), false);
    }
}

}  // namespace weft::dense
