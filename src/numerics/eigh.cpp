// numerics/eigh.cpp: eigenvalues and eigenvectors of symmetric matrices: Householder's reflections make three diagonals of the matrix (in
// panels, whose effect on the trailing matrix is a product); linalg_tridiagonal.h makes one of the three.
#include "core/interrupt.h"
#include "numerics/tridiagonal.h"

#include <algorithm>
#include <cmath>

namespace weft::dense {
namespace {

// A panel of the reduction to three diagonals: what its reflections change in the trailing part of a is kept as products, a - vᵀ w - wᵀ v. Row k of v and
// w belongs to step `from` + k, and counts columns as a does.
struct TridiagonalPanel {
    Owned v, w;
    std::int64_t steps = 0;

    TridiagonalPanel(std::int64_t n, std::int64_t width) : v(width, n), w(width, n) {}

    // x -= what the steps so far change of a's row `row`, from column `row` on.
    void update_row(std::int64_t row, double* x) const {
        const std::int64_t count = v.columns - row;
        for (std::int64_t p = 0; p < steps; ++p) {
            add_scaled(x, -v[p][row], w[p] + row, count);
            add_scaled(x, -w[p][row], v[p] + row, count);
        }
    }
    // y -= (vᵀ w + wᵀ v) x, all from column `first` on.
    void update_product(std::int64_t first, const double* x, double* y) const {
        const std::int64_t count = v.columns - first;
        for (std::int64_t p = 0; p < steps; ++p) {
            const double of_w = dot(w[p] + first, x, count), of_v = dot(v[p] + first, x, count);
            add_scaled(y, -of_w, v[p] + first, count);
            add_scaled(y, -of_v, w[p] + first, count);
        }
    }
};

// a (symmetric, whole) becomes diagonal and off[i], the element at (i + 1, i); row k of a keeps the reflection of step k from k + 1 on, with
// its 1. Every product with what is left of a takes the elements from memory once: that is the limit.
void tridiagonalise(const Team& team, const Matrix& a, double* diagonal, double* off, std::vector<double>& tau) {
    constexpr std::int64_t kPanel = 32;
    const std::int64_t n = a.rows;
    tau.assign(static_cast<std::size_t>(n), 0);
    for (std::int64_t from = 0; from < n; from += kPanel) {
        const std::int64_t to = std::min(from + kPanel, n);
        TridiagonalPanel panel(n, to - from);
        for (std::int64_t k = from; k < to; ++k) {
            poll_interrupt();
            panel.update_row(k, a[k] + k);
            diagonal[k] = a[k][k];
            const std::int64_t next = k + 1, count = n - next;
            if (count == 0) break;
            double *const v = panel.v[k - from] + next, *const w = panel.w[k - from] + next;
            std::copy(a[k] + next, a[k] + n, v);
            tau[k] = reflect(v, count);
            off[k] = v[0];
            v[0] = 1;
            std::copy(v, v + count, a[k] + next);
            multiply(team, a.block(next, next, count, count), v, w);
            panel.update_product(next, v, w);
            for (std::int64_t i = 0; i < count; ++i) w[i] *= tau[k];
            add_scaled(w, -tau[k] / 2 * dot(w, v, count), v, count);
            ++panel.steps;
        }
        const Matrix trailing = a.block(to, to, n - to, n - to), v = panel.v.block(0, to, to - from, n - to),
                     w = panel.w.block(0, to, to - from, n - to);
        add_product(team, trailing, -1, Strided(v).t(), w);
        add_product(team, trailing, -1, Strided(w).t(), v);
    }
}

// x = H₀ H₁ … x, the reflections of which leave the first element alone.
void multiply_reflections(const Team& team, const Matrix& a, const std::vector<double>& tau, const Matrix& x) {
    const std::int64_t n = a.rows;
    if (n < 2) return;
    Owned factors(n - 1, n - 1);
    copy(Strided(a.block(0, 1, n - 1, n - 1)).t(), factors);
    multiply_q(team, factors, std::span(tau).first(static_cast<std::size_t>(n - 1)), x.block(1, 0, n - 1, x.columns));
}

bool decompose(const Team& team, const Strided& a, double* values, const Matrix* vectors) {
    const std::int64_t n = a.rows;
    Owned whole(n, n);
    double most = 0;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) most = std::max(most, std::fabs(a(i, j)));
    int exponent = 0;
    std::frexp(most, &exponent);  // a power of two: exact
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) whole[i][j] = whole[j][i] = std::ldexp(a(i, j), -exponent);
    std::vector<double> d(static_cast<std::size_t>(n)), e(static_cast<std::size_t>(n)), tau;
    tridiagonalise(team, whole, d.data(), e.data(), tau);
    if (!vectors) {
        small_first(d.data(), e.data(), n);
        if (!diagonalise(d.data(), e.data(), n, nullptr)) return false;
        std::sort(d.begin(), d.end());
    } else {
        Owned z(n, n);
        if (!divide_and_conquer(team, d.data(), e.data(), z)) return false;
        multiply_reflections(team, whole, tau, z);
        choose_signs(z);
        copy(z, *vectors);
    }
    for (std::int64_t k = 0; k < n; ++k) values[k] = std::ldexp(d[k], exponent);
    return true;
}

}  // namespace

bool eigh(const Team& team, const Strided& a, double* values, const Matrix& vectors) {
    return decompose(team, a, values, &vectors);
}
bool eigh(const Team& team, const Strided& a, double* values) { return decompose(team, a, values, nullptr); }

}  // namespace weft::dense
