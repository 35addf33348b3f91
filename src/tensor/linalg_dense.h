// tensor/linalg_dense.h: linear algebra on row-major matrices of doubles in memory: what the custom functions of weft/linalg.h run. Own code and
// no LAPACK: nothing to depend on at run time, and the same bits on every processor (sums have a fixed order, and no
// multiply-add is fused).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::dense {

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
        : Matrix{nullptr, rows, columns, columns}, memory_(static_cast<std::size_t>(rows * columns)) {
        data = memory_.data();
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

private:
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

// ---- loops over contiguous memory (linalg_lanes.cpp) -----------------------------------------------------------------

void add_scaled(double* y, double factor, const double* x, std::int64_t count);  // y += factor * x
double dot(const double* x, const double* y, std::int64_t count);
void rotate(double* x, double* y, double c, double s, std::int64_t count);  // (x, y) = (c x - s y, s x + c y)
void add_product(const Matrix& c, double factor, const Strided& a, const Strided& b);  // c += factor * a b

// sqrt(a² + b²) without overflow in between. Not std::hypot: its bits changed with glibc 2.35, which a wheel would then need.
inline double hypotenuse(double a, double b) {
    const double x = std::fabs(a), y = std::fabs(b), large = x > y ? x : y, small = x > y ? y : x;
    if (large == 0 || std::isinf(large)) return large;
    const double ratio = small / large;
    return large * std::sqrt(1 + ratio * ratio);
}

void copy(const Strided& from, const Matrix& to);
void set_identity(const Matrix& a);
double largest(const Strided& a);  // the largest magnitude; NaN if there is one
bool all_finite(const Strided& a);

// ---- factorisations --------------------------------------------------------------------------------------------------

// P A = L U in place: L (unit diagonal) below, U on and above the diagonal. Row i was exchanged with row pivots[i]. Gives 0, or
// 1 + the first place where U's diagonal is 0.
std::int64_t lu(const Matrix& a, std::int64_t* pivots);
std::vector<std::int64_t> rows_after(const std::int64_t* pivots, std::int64_t count,
                                     std::int64_t rows);  // (P A)[i] = A[result[i]]

// A = L Lᵀ in place, reading the lower triangle only; what lies above becomes 0. Gives 0, or the order of the leading minor that
// is not positive.
std::int64_t cholesky(const Matrix& a);

// b = T⁻¹ b. Only the named triangle of t is read; with `unit` its diagonal counts as ones.
void solve_triangular(const Strided& t, bool upper, bool unit, const Matrix& b);
void lu_solve(const Strided& factors, const std::int64_t* pivots, const Matrix& b, bool transposed = false);

// A = Q R in place, as LAPACK keeps it: R on and above the diagonal, below it the vectors of the reflections I - tau v vᵀ (v's first element is
// 1, and is not kept). R's diagonal has the opposite sign of what it was made from.
void qr(const Matrix& a, std::vector<double>& tau);
void pivoted_qr(const Matrix& a, std::vector<double>& tau,
                std::vector<std::int64_t>& order);  // column j is A's order[j]
void q_of(const Matrix& factors, std::span<const double> tau,
          const Matrix& q);  // the first columns of Q; q has A's rows

// A = V diag(values) Vᵀ of a symmetric matrix, reading the lower triangle only; ascending. The first of the largest elements of each vector
// is positive. False: no convergence. All elements must be finite.
bool eigh(const Strided& a, double* values, const Matrix& vectors);
bool eigh(const Strided& a, double* values);

// A = U diag(values) Vt; descending. u and vt have min(rows, columns) vectors or all of them. Signs as in eigh, by U. False:
// no convergence. All elements must be finite.
bool svd(const Strided& a, double* values, const Matrix& u, const Matrix& vt);
bool svd(const Strided& a, double* values);

void matrix_exp(const Matrix& a);  // in place

}  // namespace weft::dense
