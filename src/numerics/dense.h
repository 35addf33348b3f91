// numerics/dense.h: linear algebra on row-major matrices of doubles in memory: what the custom functions of weft/linalg.h run. Own code and
// no LAPACK: nothing to depend on at run time, and the same bits on every processor (sums have a fixed order, and no
// multiply-add is fused).
#pragma once

#include "core/cpu.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace weft::dense {

inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// A matrix, or a block of one, in somebody else's memory: element (i, j) is data[i * stride + j].
struct Matrix {
    double* data = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;

    double* operator[](std::int64_t i) const { return data + i * stride; }
    Matrix block(std::int64_t row, std::int64_t column, std::int64_t count, std::int64_t width) const {
        return {data + row * stride + column, count, width, stride};
    }
};

// One with memory of its own, zeros at first.
class Owned : public Matrix {
public:
    Owned(std::int64_t rows, std::int64_t columns)
        : Matrix{nullptr, rows, columns, padded(columns)}, memory_(static_cast<std::size_t>(rows * stride)) {
        data = memory_.data();
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

private:
    // A column of rows that are a power of two apart would lie in few sets of the cache.
    static std::int64_t padded(std::int64_t columns) {
        return columns > 0 && columns % 64 == 0 ? columns + 8 : columns;
    }

    std::vector<double> memory_;
};

// What is only read, with any strides; t() is the transpose.
struct Strided {
    const double* data = nullptr;
    std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;

    Strided(const double* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
            std::int64_t column_stride)
        : data(data), rows(rows), columns(columns), row_stride(row_stride), column_stride(column_stride) {}
    Strided(const Matrix& m) : Strided(m.data, m.rows, m.columns, m.stride, 1) {}
    double operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * column_stride]; }
    Strided t() const { return {data, columns, rows, column_stride, row_stride}; }
    Strided block(std::int64_t row, std::int64_t column, std::int64_t count, std::int64_t width) const {
        return {data + row * row_stride + column * column_stride, count, width, row_stride, column_stride};
    }
};

// The threads that work on one matrix: without a function, the caller alone.
class Team {
public:
    using ForEach = std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& f)>;

    Team() = default;
    Team(const ForEach& for_each, CpuLevel level) : for_each_(&for_each), level_(level) {}
    bool is_alone() const { return !for_each_; }
    // f(begin, end) for ranges of at least about `grain` that make up 0 … count. It is for work whose bits do not depend on the ranges.
    void split(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f) const;

private:
    const ForEach* for_each_ = nullptr;
    CpuLevel level_ = machine_level();
};

// While it lives, loops on this thread use no more than this level's instructions. Results do not depend on it.
class LevelScope {
public:
    explicit LevelScope(CpuLevel level);
    ~LevelScope();
    LevelScope(const LevelScope&) = delete;
    LevelScope& operator=(const LevelScope&) = delete;

private:
    const void* const before_;
};

// ---- loops over contiguous memory (numerics/lanes.cpp) -----------------------------------------------------------------

void add_scaled(double* y, double factor, const double* x, std::int64_t count);  // y += factor * x
double dot(const double* x, const double* y, std::int64_t count);
void divide(double* x, double divisor, std::int64_t count);                 // x /= divisor
void rotate(double* x, double* y, double c, double s, std::int64_t count);  // (x, y) = (c x - s y, s x + c y)
std::int64_t first_largest(const double* x, std::int64_t count);            // by magnitude; NaN is the largest

// Rotations of the rows (first, first + 1), (first + 1, first + 2) … , or in the descending order; cosines and sines take turns.
struct Sweep {  // `first` is the lowest row in both orders
    std::int64_t first = 0, count = 0;
    bool descending = false;
};
void rotate_rows(const Matrix& rows, const Sweep& sweep, const double* cosines_and_sines);

// The sum of weights / (poles - x), and its derivative by x.
struct PoleSum {
    double sum = 0, slope = 0;
};
PoleSum sum_poles(const double* poles, const double* weights, double x, std::int64_t count);

// y += sign * the sum of factors[p * step] * a[p], row by row.
void add_rows(double* y, double sign, const double* factors, std::int64_t step, const Matrix& a);
void add_product(const Team& team, const Matrix& c, double factor, const Strided& a,
                 const Strided& b);                                                       // c += factor * a b
void multiply(const Team& team, const Matrix& a, const double* x, double* y);             // y = a x
void multiply_transposed(const Team& team, const Matrix& a, const double* x, double* y);  // y = aᵀ x

// sqrt(a² + b²) without overflow in between. Not std::hypot: its bits changed with glibc 2.35, which a wheel would then need.
inline double hypotenuse(double a, double b) {
    const double x = std::fabs(a), y = std::fabs(b), large = x > y ? x : y, small = x > y ? y : x;
    if (large == 0 || std::isinf(large)) return large;
    const double ratio = small / large;
    return large * std::sqrt(1 + ratio * ratio);
}

// The same where no overflow can be: the squares of what stands in a matrix that was scaled to 1.
inline double fast_hypotenuse(double a, double b) {
    const double square = a * a + b * b;
    return square > 1e-280 && square < 1e280 ? std::sqrt(square) : hypotenuse(a, b);
}

void copy(const Strided& from, const Matrix& to);
void set_identity(const Matrix& a);
double largest(const Strided& a);  // the largest magnitude; NaN if there is one
bool all_finite(const Strided& a);

// The first of the largest elements of each column becomes positive; a row of `rows` is negated with its column.
void choose_signs(const Matrix& columns, const Matrix& rows = {});

// 0 … count - 1, so that `before(i, j)` holds along it; equal ones stay as they are.
template <class Before>
std::vector<std::int64_t> ordered(std::int64_t count, Before before) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), before);
    return order;
}

// ---- factorisations --------------------------------------------------------------------------------------------------

// P A = L U in place: L (unit diagonal) below, U on and above the diagonal. Row i was exchanged with row pivots[i]. Gives 0, or
// 1 + the first place where U's diagonal is 0.
std::int64_t lu(const Team& team, const Matrix& a, std::int64_t* pivots);
std::vector<std::int64_t> rows_after(const std::int64_t* pivots, std::int64_t count,
                                     std::int64_t rows);  // (P A)[i] = A[result[i]]

// A = L Lᵀ in place, reading the lower triangle only; what lies above becomes 0. Gives 0, or the order of the leading minor that
// is not positive.
std::int64_t cholesky(const Team& team, const Matrix& a);

// b = T⁻¹ b. Only the named triangle of t is read; with `unit` its diagonal counts as ones.
void solve_triangular(const Team& team, const Strided& t, bool upper, bool unit, const Matrix& b);
void lu_solve(const Team& team, const Strided& factors, const std::int64_t* pivots, const Matrix& b,
              bool transposed = false);

// Turns x into a multiple of the first unit vector, x[0], by I - tau v vᵀ: leaves v behind it (its first element is 1) and gives tau.
double reflect(double* x, std::int64_t count);

// A = Q R in place, as LAPACK keeps it: R on and above the diagonal, below it the vectors of the reflections I - tau v vᵀ (v's first element is
// 1, and is not kept). R's diagonal has the opposite sign of what it was made from.
void qr(const Team& team, const Matrix& a, std::vector<double>& tau);
void pivoted_qr(const Matrix& a, std::vector<double>& tau,
                std::vector<std::int64_t>& order);  // column j is A's order[j]
void q_of(const Team& team, const Matrix& factors, std::span<const double> tau,
          const Matrix& q);  // the first columns of Q; q has A's rows
void multiply_q(const Team& team, const Matrix& factors, std::span<const double> tau, const Matrix& x,
                bool transposed = false);  // x = Q x, or Qᵀ x

// A = V diag(values) Vᵀ of a symmetric matrix, reading the lower triangle only; ascending. The first of the largest elements of each vector
// is positive. False: no convergence. All elements must be finite.
bool eigh(const Team& team, const Strided& a, double* values, const Matrix& vectors);
bool eigh(const Team& team, const Strided& a, double* values);

// A = U diag(values) Vt; descending. u and vt have min(rows, columns) vectors or all of them. Signs as in eigh, by U. False:
// no convergence. All elements must be finite.
bool svd(const Team& team, const Strided& a, double* values, const Matrix& u, const Matrix& vt);
bool svd(const Team& team, const Strided& a, double* values);

// x = what minimises |a x - b|, the smallest one of several; gives the rank, or -1: no convergence. Singular values up to `tolerance` times the
// largest count as 0. All elements of a must be finite.
std::int64_t least_squares(const Team& team, const Strided& a, const Strided& b, double tolerance, const Matrix& x);

void matrix_exp(const Team& team, const Matrix& a);  // in place

}  // namespace weft::dense
