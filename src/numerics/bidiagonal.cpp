// numerics/bidiagonal.cpp: Householder's reflections from both sides, in panels whose effect on the trailing matrix is a product; then QR steps on
// the two diagonals that are left, by Demmel and Kahan's rules: without a shift where a shift would cost small values their digits.
#include "numerics/bidiagonal.h"

#include "core/interrupt.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::dense {
namespace {

constexpr std::int64_t kBidiagonalPanel = 32;

// What the reflections of a panel change in a is kept as products: a - uᵀ y - xᵀ v, with a row for each step. Rows of u and x count a's rows,
// those of v and y its columns.
struct BidiagonalPanel {
    Owned u, v, x, y;

    BidiagonalPanel(std::int64_t n, std::int64_t width) : u(width, n), v(width, n), x(width, n), y(width, n) {}
};

// to -= the sum of factors(p) * rows[p], for the first `count` rows, from column `first` on.
template <class Factor>
void subtract_rows(double* to, std::int64_t count, const Matrix& rows, std::int64_t first, Factor factor) {
    for (std::int64_t p = 0; p < count; ++p) add_scaled(to, -factor(p), rows[p] + first, rows.columns - first);
}

// to -= rowsᵀ (others z): all vectors from column `first` on.
void subtract_product(double* to, std::int64_t count, const Matrix& rows, const Matrix& others, const double* z,
                      std::int64_t first) {
    subtract_rows(to, count, rows, first,
                  [&](std::int64_t p) { return dot(others[p] + first, z, others.columns - first); });
}

}  // namespace

Bidiagonal::Bidiagonal(const Team& team, const Strided& a)
    : diagonal(static_cast<std::size_t>(a.rows)),
      above(diagonal),
      left_tau(diagonal),
      right_tau(diagonal),
      left(a.rows, a.rows),
      right(a.rows, a.rows) {
    const std::int64_t n = a.rows;
    copy(a, left);
    std::vector<double> column(static_cast<std::size_t>(n));
    for (std::int64_t from = 0; from < n; from += kBidiagonalPanel) {
        const std::int64_t to = std::min(from + kBidiagonalPanel, n);
        BidiagonalPanel panel(n, to - from);
        for (std::int64_t k = from; k < to; ++k) {
            poll_interrupt();
            const std::int64_t p = k - from, next = k + 1, count = n - k;
            double* const u = panel.u[p] + k;
            for (std::int64_t i = 0; i < count; ++i) u[i] = left[k + i][k];
            subtract_rows(u, p, panel.u, k, [&](std::int64_t q) { return panel.y[q][k]; });
            subtract_rows(u, p, panel.x, k, [&](std::int64_t q) { return panel.v[q][k]; });
            left_tau[k] = reflect(u, count);
            diagonal[k] = u[0];
            u[0] = 1;
            for (std::int64_t i = 1; i < count; ++i) left[k + i][k] = u[i];
            if (next == n) break;

            double* const y = panel.y[p] + next;
            multiply_transposed(team, left.block(k, next, count, n - next), u, y);
            for (std::int64_t q = 0; q < p; ++q) {
                add_scaled(y, -dot(panel.u[q] + k, u, count), panel.y[q] + next, n - next);
                add_scaled(y, -dot(panel.x[q] + k, u, count), panel.v[q] + next, n - next);
            }
            for (std::int64_t j = 0; j < n - next; ++j) y[j] *= left_tau[k];

            double* const v = panel.v[p] + next;
            std::copy(left[k] + next, left[k] + n, v);
            subtract_rows(v, p + 1, panel.y, next, [&](std::int64_t q) { return panel.u[q][k]; });
            subtract_rows(v, p, panel.v, next, [&](std::int64_t q) { return panel.x[q][k]; });
            right_tau[k] = reflect(v, n - next);
            above[k] = v[0];
            v[0] = 1;
            for (std::int64_t j = 1; j < n - next; ++j) right[next + j][next] = v[j];

            double* const x = panel.x[p] + next;
            multiply(team, left.block(next, next, n - next, n - next), v, x);
            subtract_product(x, p + 1, panel.u, panel.y, v, next);
            subtract_product(x, p, panel.x, panel.v, v, next);
            for (std::int64_t i = 0; i < n - next; ++i) x[i] *= right_tau[k];
        }
        const std::int64_t trailing = n - to, steps = to - from;
        if (trailing == 0) break;
        const Matrix below = left.block(to, to, trailing, trailing);
        add_product(team, below, -1, Strided(panel.u.block(0, to, steps, trailing)).t(),
                    panel.y.block(0, to, steps, trailing));
        add_product(team, below, -1, Strided(panel.x.block(0, to, steps, trailing)).t(),
                    panel.v.block(0, to, steps, trailing));
    }
}

void Bidiagonal::form_u_transposed(const Team& team, const Matrix& ut) const {
    Owned q(left.rows, left.rows);
    q_of(team, left, left_tau, q);
    copy(Strided(q).t(), ut);
}

void Bidiagonal::form_v_transposed(const Team& team, const Matrix& vt) const {
    const std::int64_t n = left.rows;
    set_identity(vt);
    if (n < 2) return;
    Owned q(n - 1, n - 1);
    q_of(team, right.block(1, 1, n - 1, n - 1), std::span(right_tau).first(static_cast<std::size_t>(n - 1)), q);
    copy(Strided(q).t(), vt.block(1, 1, n - 1, n - 1));
}

// ---- QR steps --------------------------------------------------------------------------------------------------------

namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2, kTolerance = 90 * kUnitRoundoff;

struct Rotation {
    double c, s, r;  // c f + s g = r, c g - s f = 0
};
Rotation rotation(double f, double g) {
    if (g == 0) return {1, 0, f};
    if (f == 0) return {0, 1, g};
    const double r = fast_hypotenuse(f, g);
    return {f / r, g / r, r};
}

// The smaller singular value of [[f, g], [0, h]].
double smaller_value(double f, double g, double h) {
    const double a = std::fabs(f), b = std::fabs(g), c = std::fabs(h), low = std::min(a, c), high = std::max(a, c);
    if (low == 0) return 0;
    const double sum = 1 + low / high, difference = (high - low) / high;
    if (b < high) {
        const double square = b / high * (b / high);
        return low * 2 / (std::sqrt(sum * sum + square) + std::sqrt(difference * difference + square));
    }
    const double ratio = high / b;
    if (ratio == 0) return low * high / b;
    const double x = sum * ratio, y = difference * ratio;
    return 2 * (low / (std::sqrt(1 + x * x) + std::sqrt(1 + y * y))) * ratio;
}

// A block of B from `low` to `high`, read from its larger end: from the other side the same matrix is its transpose with both orders
// reversed, so that U and V exchange their parts.
class Block {
public:
    Block(std::vector<double>& d, std::vector<double>& e, std::int64_t low, std::int64_t high, Rotations* ut,
          Rotations* vt)
        : d_(d),
          e_(e),
          low_(low),
          high_(high),
          reversed_(std::fabs(d[low]) < std::fabs(d[high])),
          left_(reversed_ ? vt : ut),
          right_(reversed_ ? ut : vt) {}

    std::int64_t last() const { return high_ - low_; }
    double& d(std::int64_t k) const { return d_[reversed_ ? high_ - k : low_ + k]; }
    double& e(std::int64_t k) const { return e_[reversed_ ? high_ - 1 - k : low_ + k]; }

    // Sets an element above the diagonal to 0 that does not count, and says whether there was one. Else gives a lower bound of the singular values.
    bool splits(double& smallest) const {
        const std::int64_t n = last();
        if (std::fabs(e(n - 1)) <= kTolerance * std::fabs(d(n))) {
            e(n - 1) = 0;
            return true;
        }
        double bound = smallest = std::fabs(d(0));
        for (std::int64_t k = 0; k < n; ++k) {
            if (std::fabs(e(k)) <= kTolerance * bound) {
                e(k) = 0;
                return true;
            }
            bound = std::fabs(d(k + 1)) * (bound / (bound + std::fabs(e(k))));
            smallest = std::min(smallest, bound);
        }
        return false;
    }

    double shift(double smallest, double largest, std::int64_t n) const {
        if (static_cast<double>(n) * kTolerance * (smallest / largest) <= std::max(kUnitRoundoff, 0.01 * kTolerance))
            return 0;
        const std::int64_t k = last();
        const double first = std::fabs(d(0)), value = smaller_value(d(k - 1), e(k - 1), d(k));
        const double ratio = first > 0 ? value / first : 0;
        return ratio * ratio < kUnitRoundoff ? 0 : value;
    }

    void step(double shift) const {
        begin(left_), begin(right_);
        if (shift == 0) step_without_shift();
        else step_with(shift);
    }

private:
    void begin(Rotations* rows) const {
        if (rows) rows->begin(reversed_ ? high_ : low_, reversed_);
    }
    void add(Rotations* rows, const Rotation& turn) const {
        if (rows) rows->add(turn.c, reversed_ ? turn.s : -turn.s);
    }

    void step_without_shift() const {
        const std::int64_t n = last();
        double c = 1, old_c = 1, old_s = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            const Rotation right = rotation(d(k) * c, e(k));
            if (k > 0) e(k - 1) = old_s * right.r;
            const Rotation left = rotation(old_c * right.r, d(k + 1) * right.s);
            c = right.c, old_c = left.c, old_s = left.s;
            d(k) = left.r;
            add(right_, right), add(left_, left);
        }
        const double last_value = d(n) * c;
        d(n) = last_value * old_c;
        e(n - 1) = last_value * old_s;
    }

    void step_with(double shift) const {
        const std::int64_t n = last();
        double f = (std::fabs(d(0)) - shift) * (std::copysign(1.0, d(0)) + shift / d(0)), g = e(0);
        for (std::int64_t k = 0; k < n; ++k) {
            const Rotation right = rotation(f, g);
            if (k > 0) e(k - 1) = right.r;
            f = right.c * d(k) + right.s * e(k);
            e(k) = right.c * e(k) - right.s * d(k);
            g = right.s * d(k + 1);
            d(k + 1) = right.c * d(k + 1);
            const Rotation left = rotation(f, g);
            d(k) = left.r;
            f = left.c * e(k) + left.s * d(k + 1);
            d(k + 1) = left.c * d(k + 1) - left.s * e(k);
            if (k + 1 < n) {
                g = left.s * e(k + 1);
                e(k + 1) = left.c * e(k + 1);
            }
            add(right_, right), add(left_, left);
        }
        e(n - 1) = f;
    }

    std::vector<double>&d_, &e_;
    const std::int64_t low_, high_;
    const bool reversed_;
    Rotations *const left_, *const right_;
};

// An element above the diagonal of this size or less changes no singular value by more than their smallest one's last bits.
double negligible(const std::vector<double>& d, const std::vector<double>& e) {
    double bound = std::fabs(d[0]), smallest = bound;
    for (std::size_t k = 1; k < d.size() && smallest > 0; ++k) {
        bound = std::fabs(d[k]) * (bound / (bound + std::fabs(e[k - 1])));
        smallest = std::min(smallest, bound);
    }
    return std::max(kTolerance * smallest / std::sqrt(static_cast<double>(d.size())), 1e-290);
}

}  // namespace

bool diagonalise(std::vector<double>& diagonal, std::vector<double>& above, Rotations* ut, Rotations* vt) {
    const std::int64_t n = static_cast<std::int64_t>(diagonal.size());
    if (n == 0) return true;
    const double threshold = negligible(diagonal, above);
    std::int64_t steps_left = 60 * (n + 10);  // two for each value are usual
    for (std::int64_t high = n - 1; high > 0;) {
        std::int64_t low = high;
        double largest = std::fabs(diagonal[high]);
        for (; low > 0; --low) {
            if (std::fabs(above[low - 1]) <= threshold) {
                above[low - 1] = 0;
                break;
            }
            largest = std::max({largest, std::fabs(diagonal[low - 1]), std::fabs(above[low - 1])});
        }
        if (low == high) {
            --high;
            continue;
        }
        const Block block(diagonal, above, low, high, ut, vt);
        double smallest = 0;
        if (block.splits(smallest)) continue;
        if (--steps_left < 0) return false;
        poll_interrupt();
        block.step(block.shift(smallest, largest, n));
    }
    if (ut) ut->apply();
    if (vt) vt->apply();
    return true;
}

}  // namespace weft::dense
