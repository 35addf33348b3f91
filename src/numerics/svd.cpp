// numerics/svd.cpp: singular values. Of small matrices by one-sided Jacobi rotations, after a QR with pivoting that makes them few: small
// singular values come out as exactly as large ones. Of others from two diagonals (linalg_bidiagonal.h), which takes a tenth of the time.
#include "core/interrupt.h"
#include "numerics/bidiagonal.h"
#include "numerics/dense.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::dense {
namespace {

constexpr double kSmallestSquare = 1e-280;       // of the norm of a row that counts; the matrix is scaled to 1
constexpr int kMostSweeps = 60;                  // five to ten are usual
constexpr std::int64_t kMostJacobiColumns = 24;  // columns up to which Jacobi rotations serve

// Rotates the rows of x until all are orthogonal, and the rows of w (if there is one) with them; gives the rows' norms.
bool orthogonalise(const Matrix& x, const Matrix* w, std::vector<double>& norms) {
    const std::int64_t n = x.rows;
    std::vector<double> squares(static_cast<std::size_t>(n));
    bool rotated = true;
    for (int sweep = 0; rotated; ++sweep) {
        if (sweep == kMostSweeps) return false;
        rotated = false;
        for (std::int64_t i = 0; i < n; ++i) {
            squares[i] = dot(x[i], x[i], x.columns);
            if (squares[i] >= kSmallestSquare) continue;
            squares[i] = 0;  // its angles to other rows cannot be computed any more
            std::fill(x[i], x[i] + x.columns, 0.0);
        }
        for (std::int64_t i = 0; i < n; ++i) {
            poll_interrupt();
            for (std::int64_t j = i + 1; j < n; ++j) {
                const double both = dot(x[i], x[j], x.columns);
                if (!(std::fabs(both) > kEpsilon * std::sqrt(squares[i]) * std::sqrt(squares[j]))) continue;
                rotated = true;
                const double zeta = (squares[j] - squares[i]) / (2 * both);
                const double t = std::copysign(1 / (std::fabs(zeta) + hypotenuse(1.0, zeta)), zeta);
                const double c = 1 / std::sqrt(1 + t * t), s = c * t;
                rotate(x[i], x[j], c, s, x.columns);
                if (w) rotate((*w)[i], (*w)[j], c, s, w->columns);
                squares[i] = std::max(0.0, squares[i] - t * both);
                squares[j] += t * both;
            }
        }
    }
    norms.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        norms[i] = std::sqrt(dot(x[i], x[i], x.columns));
        if (!w) continue;  // thousands of rotations have a drift that shows: back to length 1
        double* row = (*w)[i];
        const double length = std::sqrt(dot(row, row, w->columns));
        for (std::int64_t j = 0; j < w->columns; ++j) row[j] /= length;
    }
    return true;
}

// Rows of x that are zero (from `first` on) become unit vectors, orthogonal to the rows before them and to each other.
void complete(const Matrix& x, std::int64_t first) {
    if (first == x.rows) return;
    Owned factors(x.columns, first), q(x.columns, x.columns);
    copy(Strided(x.block(0, 0, first, x.columns)).t(), factors);
    std::vector<double> tau;
    qr({}, factors, tau);
    q_of({}, factors, tau, q);
    for (std::int64_t i = first; i < x.rows; ++i)
        for (std::int64_t j = 0; j < x.columns; ++j) x[i][j] = q[j][i];
}

// What both forms share: A P = Q R and R = wᵀ x with orthogonal rows in x, for rows >= columns > 0.
struct Reduced {
    Owned factors, x, w;
    std::vector<double> tau, norms;
    std::vector<std::int64_t> columns, order;  // A's columns in R; rows of x, the longest first

    Reduced(const Strided& a, bool vectors)
        : factors(a.rows, a.columns), x(a.columns, a.columns), w(vectors ? a.columns : 0, a.columns) {}

    bool run(const Strided& a, bool vectors, double* values) {
        const std::int64_t n = a.columns;
        int exponent = 0;
        std::frexp(largest(a), &exponent);  // a power of two: exact
        for (std::int64_t i = 0; i < a.rows; ++i)
            for (std::int64_t j = 0; j < n; ++j) factors[i][j] = std::ldexp(a(i, j), -exponent);
        pivoted_qr(factors, tau, columns);
        for (std::int64_t i = 0; i < n; ++i) std::copy(factors[i] + i, factors[i] + n, x[i] + i);
        set_identity(w);
        if (!orthogonalise(x, vectors ? &w : nullptr, norms)) return false;
        order = ordered(n, [&](std::int64_t i, std::int64_t j) { return norms[i] > norms[j]; });
        for (std::int64_t k = 0; k < n; ++k) values[k] = std::ldexp(norms[order[k]], exponent);
        return true;
    }
};

bool svd_small(const Strided& a, double* values, const Matrix& u, const Matrix& vt) {
    const std::int64_t m = a.rows, n = a.columns;
    Reduced reduced(a, true);
    if (!reduced.run(a, true, values)) return false;
    const auto& [factors, x, w, tau, norms, columns, order] = reduced;
    std::int64_t rank = 0;
    for (; rank < n && norms[order[rank]] > 0; ++rank)
        for (std::int64_t j = 0; j < n; ++j) vt[rank][columns[j]] = x[order[rank]][j] / norms[order[rank]];
    complete(vt, rank);
    Owned mixed(u.columns, u.columns), q(m, u.columns);  // beyond the first n columns Q's own are taken
    set_identity(mixed);
    for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t i = 0; i < n; ++i) mixed[i][k] = w[order[k]][i];
    q_of({}, factors, tau, q);
    for (std::int64_t i = 0; i < m; ++i) std::fill(u[i], u[i] + u.columns, 0.0);
    add_product({}, u, 1, q, mixed);
    return true;
}

// ---- larger matrices -------------------------------------------------------------------------------------------------

// A scaled by a power of two, and with more rows than columns as Q R: R's singular values are A's.
struct Square {
    Owned factors;
    std::vector<double> tau;  // of Q; empty: there is none
    int exponent = 0;

    Square(const Team& team, const Strided& a) : factors(a.rows, a.columns) {
        std::frexp(largest(a), &exponent);
        const double scale = std::ldexp(1.0, -exponent / 2), again = std::ldexp(1.0, -exponent + exponent / 2);
        for (std::int64_t i = 0; i < a.rows; ++i)
            for (std::int64_t j = 0; j < a.columns; ++j) factors[i][j] = a(i, j) * scale * again;
        if (a.rows > a.columns) qr(team, factors, tau);
    }
    Bidiagonal reduced(const Team& team) const {
        const std::int64_t n = factors.columns;
        if (tau.empty()) return Bidiagonal(team, factors);
        Owned r(n, n);
        for (std::int64_t i = 0; i < n; ++i) std::copy(factors[i] + i, factors[i] + n, r[i] + i);
        return Bidiagonal(team, r);
    }
};

bool svd_tall(const Team& team, const Strided& a, double* values, const Matrix& u, const Matrix& vt) {
    if (a.columns <= kMostJacobiColumns) return svd_small(a, values, u, vt);
    const std::int64_t n = a.columns;
    const Square square(team, a);
    Bidiagonal b = square.reduced(team);
    Owned left(n, n), right(n, n);
    b.form_u_transposed(team, left);
    b.form_v_transposed(team, right);
    Rotations of_left(team, left), of_right(team, right);
    if (!diagonalise(b.diagonal, b.above, &of_left, &of_right)) return false;
    const std::vector<std::int64_t> order =
        ordered(n, [&](std::int64_t i, std::int64_t j) { return std::fabs(b.diagonal[i]) > std::fabs(b.diagonal[j]); });
    set_identity(u);  // beyond the first n columns Q's own are taken
    for (std::int64_t k = 0; k < n; ++k) {
        const double value = b.diagonal[order[k]], sign = std::signbit(value) ? -1 : 1;
        values[k] = std::ldexp(std::fabs(value), square.exponent);
        for (std::int64_t j = 0; j < n; ++j) vt[k][j] = sign * right[order[k]][j];
    }
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < n; ++k) u[i][k] = left[order[k]][i];
    if (!square.tau.empty()) multiply_q(team, square.factors, square.tau, u);
    return true;
}

}  // namespace

bool svd(const Team& team, const Strided& a, double* values, const Matrix& u, const Matrix& vt) {
    if (a.rows == 0 || a.columns == 0) {
        set_identity(u), set_identity(vt);
        return true;
    }
    if (a.rows >= a.columns) {
        if (!svd_tall(team, a, values, u, vt)) return false;
    } else {  // Aᵀ = V diag Uᵀ
        Owned v(vt.columns, vt.rows), ut(u.columns, u.rows);
        if (!svd_tall(team, a.t(), values, v, ut)) return false;
        copy(Strided(ut).t(), u);
        copy(Strided(v).t(), vt);
    }
    choose_signs(u, vt.block(0, 0, std::min(a.rows, a.columns), vt.columns));  // vectors beyond those are no pairs
    return true;
}

bool svd(const Team& team, const Strided& a, double* values) {
    if (a.rows == 0 || a.columns == 0) return true;
    if (a.rows < a.columns) return svd(team, a.t(), values);
    if (a.columns <= kMostJacobiColumns) return Reduced(a, false).run(a, false, values);
    const Square square(team, a);
    Bidiagonal b = square.reduced(team);
    if (!diagonalise(b.diagonal, b.above, nullptr, nullptr)) return false;
    for (std::int64_t k = 0; k < a.columns; ++k) values[k] = std::ldexp(std::fabs(b.diagonal[k]), square.exponent);
    std::sort(values, values + a.columns, std::greater<>());
    return true;
}

}  // namespace weft::dense
