// numerics/tridiagonal.cpp: implicit QL, and divide and conquer by Cuppen, Gu and Eisenstat.
#include "numerics/tridiagonal.h"

#include "core/interrupt.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::dense {
namespace {

constexpr int kMostSteps = 60;  // per eigenvalue; two or three are usual

}  // namespace

bool diagonalise(double* d, double* e, std::int64_t n, Rotations* vectors) {
    if (n > 0) e[n - 1] = 0;
    double size = 0;
    for (std::int64_t i = 0; i < n; ++i) size = std::max({size, std::fabs(d[i]), std::fabs(e[i])});
    // Of a matrix without rank what is left is noise, and noise of noise: rotations among larger elements make no less of it.
    const double nothing = 1e-3 * kEpsilon * size + 1e-300;
    for (std::int64_t l = 0; l < n; ++l) {
        for (int step = 0;; ++step) {
            std::int64_t m = l;
            while (m + 1 < n && std::fabs(e[m]) > kEpsilon * (std::fabs(d[m]) + std::fabs(d[m + 1])) + nothing) ++m;
            if (m == l) break;
            poll_interrupt();
            if (step == kMostSteps) return false;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypotenuse(g, 1.0);
            g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
            double s = 1, c = 1, p = 0;
            std::int64_t i = m;
            if (vectors) vectors->begin(m, true);
            while (i-- > l) {
                double f = s * e[i];
                const double b = c * e[i];
                e[i + 1] = r = fast_hypotenuse(f, g);
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
                if (vectors) vectors->add(c, s);
            }
            if (r == 0 && i >= l) continue;
            d[l] -= p, e[l] = g, e[m] = 0;
        }
    }
    if (vectors) vectors->apply();
    return true;
}

bool small_first(double* diagonal, double* off, std::int64_t n) {
    if (n < 2 || std::fabs(diagonal[0]) <= std::fabs(diagonal[n - 1])) return false;
    std::reverse(diagonal, diagonal + n);
    std::reverse(off, off + n - 1);
    return true;
}

// ---- by halves -------------------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kUndivided = 32;

// The matrix diag(poles) + rho z zᵀ, with ascending poles and no z of 0. Its eigenvalues lie between the poles, and after the last.
struct RankOne {
    std::vector<double> poles, z;
    double rho = 0;

    std::int64_t size() const { return static_cast<std::int64_t>(poles.size()); }
};

// The root between the poles j and j + 1 of 1 / rho + the sum of z² / (pole - x). `apart` gets the distances of all poles from it, which keep
// their digits: x is counted from the nearer pole.
double find_root(const RankOne& a, const std::vector<double>& squares, double total, std::int64_t j, double* apart) {
    const std::int64_t n = a.size(), left = j + 1;  // poles on the left of the root
    const bool last = left == n;
    const double width = last ? a.rho * total : a.poles[j + 1] - a.poles[j], one = 1 / a.rho;
    const auto from = [&](std::int64_t origin) {
        for (std::int64_t i = 0; i < n; ++i) apart[i] = a.poles[i] - a.poles[origin];
    };
    from(j);
    const bool near = one + sum_poles(apart, squares.data(), width / 2, n).sum >= 0;  // the nearer half
    const std::int64_t origin = near || last ? j : j + 1;
    double low = near ? 0 : last ? width / 2 : -width / 2, high = near ? width / 2 : last ? width : 0;
    if (origin != j) from(origin);
    double x = (low + high) / 2;
    for (int step = 0; step < 100; ++step) {
        const PoleSum below = sum_poles(apart, squares.data(), x, left),
                      above = sum_poles(apart + left, squares.data() + left, x, n - left);
        const double value = one + below.sum + above.sum;
        const double error = 8 * (above.sum - below.sum) + one + std::fabs(x) * (below.slope + above.slope);
        if (std::fabs(value) <= kEpsilon / 2 * error) break;
        (value < 0 ? low : high) = x;
        // Both sums as a constant and one pole each, with the right values and slopes here: a quadratic equation for the step.
        const double first = apart[j] - x, s = first * first * below.slope;
        double next;
        if (last) {
            next = x + first + s / (one + below.sum - first * below.slope);
        } else {
            const double second = apart[j + 1] - x, t = second * second * above.slope;
            const double c = value - first * below.slope - second * above.slope;
            const double b = c * (first + second) + s + t, product = first * second * value;
            const double root = std::sqrt(std::max(0.0, b * b - 4 * product * c));
            next = x + (b <= 0 ? (b - root) / (2 * c) : 2 * product / (b + root));
        }
        if (!(next > low && next < high)) next = (low + high) / 2;
        if (next == x) break;
        x = next;
    }
    for (std::int64_t i = 0; i < n; ++i) apart[i] -= x;
    return a.poles[origin] + x;
}

// Eigenvalues, and the eigenvectors as rows of `vectors`. They are those of a z that belongs exactly to the values found, and so orthogonal.
void solve(const Team& team, const RankOne& a, double* values, const Matrix& vectors) {
    const std::int64_t n = a.size();
    std::vector<double> squares(a.z);
    double total = 0;
    for (double& x : squares) total += x *= x;
    const std::int64_t grain = (std::int64_t{1} << 12) / n + 1;
    team.split(n, grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t j = from; j < to; ++j) values[j] = find_root(a, squares, total, j, vectors[j]);
        poll_interrupt();
    });
    std::vector<double> z(static_cast<std::size_t>(n), 1.0);
    for (std::int64_t j = 0; j < n; ++j) {
        const double *const apart = vectors[j], pole = a.poles[j];
        for (std::int64_t i = 0; i < j; ++i) z[i] *= apart[i] / (a.poles[i] - pole);
        z[j] *= apart[j];
        for (std::int64_t i = j + 1; i < n; ++i) z[i] *= apart[i] / (a.poles[i] - pole);
    }
    for (std::int64_t i = 0; i < n; ++i) z[i] = std::copysign(std::sqrt(std::fabs(z[i])), a.z[i]);
    team.split(n, grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t j = from; j < to; ++j) {
            double* const row = vectors[j];
            for (std::int64_t i = 0; i < n; ++i) row[i] = z[i] / row[i];
            divide(row, std::sqrt(dot(row, row, n)), n);
        }
    });
}

// Two halves become one. Columns that a rotation has mixed have elements in both halves, the others in one.
class Merge {
public:
    Merge(const Team& team, double* diagonal, double coupling, const Matrix& vectors, std::int64_t half)
        : team_(team),
          d_(diagonal),
          q_(vectors),
          half_(half),
          z_(static_cast<std::size_t>(vectors.rows)),
          upper_(z_.size(), false),
          lower_(z_.size(), false) {
        const std::int64_t n = q_.rows;
        const double sign = coupling < 0 ? -1 : 1, root = std::sqrt(0.5);
        one_.rho = 2 * std::fabs(coupling);
        for (std::int64_t i = 0; i < n; ++i) {
            z_[i] = root * (i < half ? q_[half - 1][i] : sign * q_[half][i]);
            (i < half ? upper_ : lower_)[i] = true;
        }
        order_ = ordered(n, [&](std::int64_t i, std::int64_t j) { return d_[i] < d_[j]; });
    }

    void run() {
        deflate();
        const std::int64_t n = q_.rows, k = static_cast<std::int64_t>(kept_.size());
        std::vector<double> values(static_cast<std::size_t>(n));
        Owned next(n, n);
        if (k > 0) {
            Owned rows(k, k);
            solve(team_, one_, values.data(), rows);
            multiply(rows, upper_, 0, half_, next);
            multiply(rows, lower_, half_, n - half_, next);
        }
        for (std::size_t j = 0; j < done_.size(); ++j) {  // behind the others
            values[static_cast<std::size_t>(k) + j] = d_[done_[j]];
            for (std::int64_t i = 0; i < n; ++i) next[i][k + static_cast<std::int64_t>(j)] = q_[i][done_[j]];
        }
        order_ = ordered(n, [&](std::int64_t i, std::int64_t j) { return values[i] < values[j]; });
        for (std::int64_t j = 0; j < n; ++j) d_[j] = values[order_[j]];
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) q_[i][j] = next[i][order_[j]];
    }

private:
    // Leaves out what is an eigenvector already: where z is nearly 0, or can be made so because two poles are nearly one.
    void deflate() {
        double most = 0;
        for (std::int64_t i = 0; i < q_.rows; ++i) most = std::max({most, std::fabs(d_[i]), std::fabs(z_[i])});
        const double tolerance = 4 * kEpsilon * most;
        std::int64_t before = -1;
        for (const std::int64_t i : order_) {
            if (one_.rho * std::fabs(z_[i]) <= tolerance) {
                done_.push_back(i);
                continue;
            }
            if (before >= 0) {
                const double r = hypotenuse(z_[i], z_[before]), c = z_[i] / r, s = -z_[before] / r;
                if (std::fabs((d_[i] - d_[before]) * c * s) <= tolerance) {
                    rotate_columns(before, i, c, s);
                    z_[i] = r, z_[before] = 0;
                    const double low = d_[before], high = d_[i];
                    d_[before] = low * c * c + high * s * s;
                    d_[i] = low * s * s + high * c * c;
                    done_.push_back(before);
                } else {
                    keep(before);
                }
            }
            before = i;
        }
        if (before >= 0) keep(before);
    }

    void keep(std::int64_t i) {
        kept_.push_back(i);
        one_.poles.push_back(d_[i]);
        one_.z.push_back(z_[i]);
    }

    void rotate_columns(std::int64_t a, std::int64_t b, double c, double s) {
        for (std::int64_t i = 0; i < q_.rows; ++i) {
            const double x = q_[i][a], y = q_[i][b];
            q_[i][a] = c * x + s * y;
            q_[i][b] = c * y - s * x;
        }
        upper_[a] = upper_[b] = upper_[a] || upper_[b];
        lower_[a] = lower_[b] = lower_[a] || lower_[b];
    }

    // A half of the kept columns times the eigenvectors: only columns with elements there count.
    void multiply(const Matrix& rows, const std::vector<bool>& there, std::int64_t first, std::int64_t count,
                  const Matrix& result) const {
        std::vector<std::int64_t> used;
        for (std::size_t j = 0; j < kept_.size(); ++j)
            if (there[kept_[j]]) used.push_back(static_cast<std::int64_t>(j));
        const std::int64_t k = static_cast<std::int64_t>(used.size());
        Owned left(count, k), right(rows.rows, k);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t j = 0; j < k; ++j) left[i][j] = q_[first + i][kept_[used[j]]];
        for (std::int64_t i = 0; i < rows.rows; ++i)
            for (std::int64_t j = 0; j < k; ++j) right[i][j] = rows[i][used[j]];
        add_product(team_, result.block(first, 0, count, rows.rows), 1, left, Strided(right).t());
    }

    const Team& team_;
    double* const d_;
    const Matrix q_;
    const std::int64_t half_;
    std::vector<std::int64_t> order_, kept_, done_;
    std::vector<double> z_;
    std::vector<bool> upper_, lower_;
    RankOne one_;
};

bool solve_small(double* diagonal, double* off, const Matrix& vectors) {
    const std::int64_t n = vectors.rows;
    const bool reversed = small_first(diagonal, off, n);
    Owned rows(n, n);
    set_identity(rows);
    const Team alone;
    Rotations rotations(alone, rows);
    std::vector<double> d(diagonal, diagonal + n), e(off, off + n);
    if (!diagonalise(d.data(), e.data(), n, &rotations)) return false;
    const std::vector<std::int64_t> order = ordered(n, [&](std::int64_t i, std::int64_t j) { return d[i] < d[j]; });
    for (std::int64_t k = 0; k < n; ++k) {
        diagonal[k] = d[order[k]];
        for (std::int64_t i = 0; i < n; ++i) vectors[i][k] = rows[order[k]][reversed ? n - 1 - i : i];
    }
    return true;
}

}  // namespace

bool divide_and_conquer(const Team& team, double* diagonal, double* off, const Matrix& vectors) {
    const std::int64_t n = vectors.rows, half = n / 2;
    if (n <= kUndivided) return solve_small(diagonal, off, vectors);
    const double coupling = off[half - 1], size = std::fabs(coupling);
    diagonal[half - 1] -= size;
    diagonal[half] -= size;
    if (!divide_and_conquer(team, diagonal, off, vectors.block(0, 0, half, half)) ||
        !divide_and_conquer(team, diagonal + half, off + half, vectors.block(half, half, n - half, n - half)))
        return false;
    Merge(team, diagonal, coupling, vectors, half).run();
    return true;
}

}  // namespace weft::dense
