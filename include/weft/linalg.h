// weft/linalg.h: linear algebra: solving, decompositions, norms. Matrices are the last two axes; all axes before them are batches. f32 is
// computed in f64 and rounded once; f16 and bf16 raise, except in norms and powers. A matrix that cannot be
// factored raises LinAlgError when the graph runs; the functions that end in _ex give `info` instead, which is 0 where
// all went well.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace WEFT_API weft {
namespace linalg {

// ---- solving ---------------------------------------------------------------------------------------------------------

Tensor det(const Tensor& a);  // its gradient is right for singular matrices too

struct SignAndLog {
    Tensor sign, logabsdet;  // 0 and -infinity for a singular matrix
};
SignAndLog slogdet(const Tensor& a);

Tensor inv(const Tensor& a);
struct InverseEx {
    Tensor inverse, info;
};
InverseEx inv_ex(const Tensor& a);

// x with a x = b, or x a = b if not `left`. b is […, n, k], or […, n] where a is […, n, n].
//
//     solve(a, b);
struct SolveOptions {
    bool left = true;
};
Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options = {});
struct SolveEx {
    Tensor result, info;
};
SolveEx solve_ex(const Tensor& a, const Tensor& b, const SolveOptions& options = {});

// The same with a triangular matrix, of which the other triangle is not read. A zero on the diagonal gives infinities.
struct TriangularOptions {
    bool upper = false, left = true, unitriangular = false;
};
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options);

// What minimises |a x - b|, the smallest one if there are several. Singular values below rcond times the largest count as zero (none given:
// the type's precision times the larger size of a).
struct LeastSquares {
    Tensor solution;         // […, n, k]
    Tensor residuals;        // |a x - b|² by column, where a has more rows than columns
    Tensor rank;             // i64
    Tensor singular_values;  // […, min(m, n)]
};
LeastSquares lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = {});

// ---- factorisations --------------------------------------------------------------------------------------------------

// a = l lᵀ (or uᵀ u) of a symmetric positive matrix; only the lower triangle is read.
Tensor cholesky(const Tensor& a, bool upper = false);
struct CholeskyEx {
    Tensor l, info;  // info: the order of the first leading minor that is not positive
};
CholeskyEx cholesky_ex(const Tensor& a, bool upper = false);
Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper = false);  // of l lᵀ x = b, or of lᵀ l x = b
Tensor cholesky_inverse(const Tensor& l, bool upper = false);

// P a = l u in one matrix: u on and above the diagonal, l below, whose diagonal is ones. Row i was exchanged with row pivots[i] - 1.
struct LuFactors {
    Tensor lu, pivots, info;  // info: the first place, counted from 1, where u's diagonal is 0
};
LuFactors lu_factor(const Tensor& a);
LuFactors lu_factor_ex(const Tensor& a);
struct Lu {
    Tensor p, l, u;  // a = p l u
};
Lu lu(const Tensor& a);  // of a singular matrix, too
Lu lu_unpack(const Tensor& lu, const Tensor& pivots);
struct LuSolveOptions {
    bool left = true, adjoint = false;
};
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, const LuSolveOptions& options = {});

// a = q r with orthogonal columns in q. Reduced: q is [m, k] and r [k, n] with k = min(m, n); Complete: [m, m] and [m, n]; R: no q. By
// Householder's reflections, so r's diagonal may be negative, as in LAPACK.
enum class QrMode : std::uint8_t { Reduced, Complete, R };
struct Qr {
    Tensor q, r;
};
Qr qr(const Tensor& a, QrMode mode = QrMode::Reduced);

// The first n columns of the product of k reflections I - tau[i] vᵢ vᵢᵀ, where vᵢ is column i of v […, m, n] below its diagonal, with 1 on the
// diagonal and 0 above; tau is […, k], and k <= n <= m. `multiply_q` multiplies `other` by the whole product (or its transpose), from the left or
// from the right.
struct MultiplyOptions {
    bool left = true, transposed = false;
};
Tensor householder_product(const Tensor& v, const Tensor& tau);
Tensor multiply_q(const Tensor& v, const Tensor& tau, const Tensor& other, const MultiplyOptions& options = {});

// a = u diag(s) vh, s descending. Of each column of u the element of largest magnitude is positive. u and vh are square, unless
// full_matrices is false.
struct Svd {
    Tensor u, s, vh;
};
Svd svd(const Tensor& a, bool full_matrices = true);
Tensor svdvals(const Tensor& a);

// a = v diag(w) vᵀ of a symmetric matrix, w ascending; only one triangle is read. Signs as in svd.
struct Eigh {
    Tensor eigenvalues, eigenvectors;
};
Eigh eigh(const Tensor& a, bool upper = false);
Tensor eigvalsh(const Tensor& a, bool upper = false);

// ---- functions of matrices -------------------------------------------------------------------------------------------

// Singular values up to max(atol, rtol times the largest) count as zero. Neither given: rtol is the type's precision times the larger size.
struct ToleranceOptions {
    std::optional<double> atol = {}, rtol = {};
    bool hermitian = false;  // a is symmetric: eigenvalues are cheaper
};
Tensor pinv(const Tensor& a, const ToleranceOptions& options = {});
Tensor matrix_rank(const Tensor& a, const ToleranceOptions& options = {});  // i64

Tensor matrix_power(const Tensor& a, std::int64_t exponent);  // a negative one is of the inverse
Tensor matrix_exp(const Tensor& a);

// The product of matrices in the order that needs the fewest multiplications. The first and the last may be vectors.
Tensor multi_dot(std::span<const Tensor> matrices);
inline Tensor multi_dot(std::initializer_list<Tensor> matrices) {
    return multi_dot(std::span<const Tensor>(matrices.begin(), matrices.size()));
}

// ---- norms -----------------------------------------------------------------------------------------------------------

// What measures a matrix: the root of the sum of squares, the sum of singular values, or by p: ±2 the largest or smallest singular value, ±1 of
// the sums of columns' magnitudes, ±infinity of rows'.
enum class MatrixNorm : std::uint8_t { Frobenius, Nuclear, P };
struct NormKind {
    NormKind(MatrixNorm kind) : kind(kind) {}
    NormKind(double p) : kind(MatrixNorm::P), p(p) {}
    MatrixNorm kind;
    double p = 2;
};
Tensor vector_norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false);
Tensor matrix_norm(const Tensor& a, const NormKind& kind = MatrixNorm::Frobenius, const Dims& axes = {-2, -1},
                   bool keepdim = false);
Tensor cond(const Tensor& a, const NormKind& kind = 2.0);  // |a| |a⁻¹|: infinity for a singular matrix

// ---- pieces ----------------------------------------------------------------------------------------------------------

// The elements a[i, i + offset] along the last axis.
Tensor diagonal(const Tensor& a, std::int64_t offset = 0, int axis1 = -2, int axis2 = -1);
Tensor matrix_transpose(const Tensor& a);
Tensor trace(const Tensor& a, std::int64_t offset = 0);  // of each matrix; integers give i64

// x with tensordot(a, x, x.rank()) = b, where these axes of a are moved to its end first; and the inverse of a as a linear map from its last
// axes to the first `count` ones.
Tensor tensorsolve(const Tensor& a, const Tensor& b, const Dims& axes = {});
Tensor tensorinv(const Tensor& a, int count = 2);

}  // namespace linalg
}  // namespace weft
