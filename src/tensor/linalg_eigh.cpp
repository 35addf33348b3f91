// tensor/linalg_eigh.cpp: eigenvalues and eigenvectors of symmetric matrices: Householder's reflections make three diagonals of the matrix, and
// implicit QL steps one of the three.
#include "core/interrupt.h"
#include "tensor/linalg_dense.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::dense {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 60;  // per eigenvalue; two or three are usual

// a (symmetric, whole) becomes diagonal and off[i] = a[i + 1][i]; row k of a keeps the reflection of step k from k + 1 on.
void tridiagonalise(const Matrix& a, double* diagonal, double* off, std::vector<double>& tau) {
    const std::int64_t n = a.rows;
    tau.assign(static_cast<std::size_t>(n), 0);
    std::vector<double> p(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k + 1 < n; ++k) {
        poll_interrupt();
        diagonal[k] = a[k][k];
        double* v = a[k] + k + 1;
        const std::int64_t count = n - k - 1;
        double below = std::sqrt(dot(v + 1, v + 1, count - 1));
        if (below == 0) {  // what underflowed is too small to matter: the matrix is scaled to 1
            off[k] = v[0];
            std::fill(v + 1, v + count, 0.0);
            continue;
        }
        const double alpha = v[0], beta = -std::copysign(hypotenuse(alpha, below), alpha);
        tau[k] = (beta - alpha) / beta;
        for (std::int64_t i = 1; i < count; ++i) v[i] /= alpha - beta;
        v[0] = 1, off[k] = beta;
        for (std::int64_t i = 0; i < count; ++i) p[i] = tau[k] * dot(a[k + 1 + i] + k + 1, v, count);
        add_scaled(p.data(), -tau[k] / 2 * dot(p.data(), v, count), v, count);
        for (std::int64_t i = 0; i < count; ++i) {
            double* row = a[k + 1 + i] + k + 1;
            add_scaled(row, -v[i], p.data(), count);
            add_scaled(row, -p[i], v, count);
        }
    }
    if (n > 0) diagonal[n - 1] = a[n - 1][n - 1];
}

// Rows of `vectors` become those of Qᵀ, with Q = H₀ H₁ …; applied from the last on, each to the part that is not identity yet.
void form_q(const Matrix& a, const std::vector<double>& tau, const Matrix& vectors) {
    const std::int64_t n = a.rows;
    set_identity(vectors);
    for (std::int64_t k = n - 1; k-- > 0;) {
        if (tau[k] == 0) continue;
        poll_interrupt();
        const double* v = a[k] + k + 1;
        const std::int64_t count = n - k - 1;
        for (std::int64_t i = k + 1; i < n; ++i) {  // a row of Qᵀ times H, from the right
            double* row = vectors[i] + k + 1;
            add_scaled(row, -tau[k] * dot(row, v, count), v, count);
        }
    }
}

// Implicit QL on three diagonals; each rotation turns two rows of `vectors`, if there are any.
bool diagonalise(double* d, double* e, std::int64_t n, const Matrix* vectors) {
    if (n > 0) e[n - 1] = 0;
    for (std::int64_t l = 0; l < n; ++l) {
        for (int step = 0;; ++step) {
            std::int64_t m = l;
            while (m + 1 < n && std::fabs(e[m]) > kEps * (std::fabs(d[m]) + std::fabs(d[m + 1])) + 1e-300) ++m;
            if (m == l) break;
            poll_interrupt();
            if (step == kMostSteps) return false;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypotenuse(g, 1.0);
            g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
            double s = 1, c = 1, p = 0;
            std::int64_t i = m;
            while (i-- > l) {
                double f = s * e[i];
                const double b = c * e[i];
                e[i + 1] = r = hypotenuse(f, g);
                if (r == 0) {  // it falls into two parts
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                s = f / r, c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                if (vectors) rotate((*vectors)[i], (*vectors)[i + 1], c, s, n);
            }
            if (r == 0 && i >= l) continue;
            d[l] -= p, e[l] = g, e[m] = 0;
        }
    }
    return true;
}

bool decompose(const Strided& a, double* values, const Matrix* vectors) {
    const std::int64_t n = a.rows;
    Owned whole(n, n), rows(vectors ? n : 0, n);
    double most = 0;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) most = std::max(most, std::fabs(a(i, j)));
    int exponent = 0;
    std::frexp(most, &exponent);  // a power of two: exact
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) whole[i][j] = whole[j][i] = std::ldexp(a(i, j), -exponent);
    std::vector<double> d(static_cast<std::size_t>(n)), e(static_cast<std::size_t>(n)), tau;
    tridiagonalise(whole, d.data(), e.data(), tau);
    if (vectors) form_q(whole, tau, rows);
    if (!diagonalise(d.data(), e.data(), n, vectors ? &rows : nullptr)) return false;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return d[i] < d[j]; });
    for (std::int64_t k = 0; k < n; ++k) {
        values[k] = std::ldexp(d[order[k]], exponent);
        if (!vectors) continue;
        const double* row = rows[order[k]];
        const double* top =
            std::max_element(row, row + n, [](double x, double y) { return std::fabs(x) < std::fabs(y); });
        for (std::int64_t i = 0; i < n; ++i) (*vectors)[i][k] = *top < 0 ? -row[i] : row[i];
    }
    return true;
}

}  // namespace

bool eigh(const Strided& a, double* values, const Matrix& vectors) { return decompose(a, values, &vectors); }
bool eigh(const Strided& a, double* values) { return decompose(a, values, nullptr); }

}  // namespace weft::dense
