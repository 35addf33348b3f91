// python/src/linalg.cpp: weft.linalg. What gives several tensors starts with an underscore here: python/weft/linalg.py makes named tuples of them.
#include "arguments.h"
#include "topics.h"

#include <weft/linalg.h>
#include <weft/ops.h>

#include <cmath>

namespace weft::python {

namespace {

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

// 'fro', 'nuc' or a number.
linalg::NormKind norm_kind(nb::handle order, const Site& site) {
    if (!PyUnicode_Check(order.ptr())) return to_double(order.ptr(), site);
    const std::string_view name = to_text(order.ptr(), site);
    if (name == "fro") return linalg::MatrixNorm::Frobenius;
    if (name == "nuc") return linalg::MatrixNorm::Nuclear;
    throw ValueError(std::string(site.function) + "(): argument '" + site.parameter +
                     "' must be a number, 'fro' or 'nuc', not '" + std::string(name) + "'");
}

bool is_upper(std::string_view uplo, const char* function) {
    if (uplo == "L" || uplo == "l") return false;
    if (uplo == "U" || uplo == "u") return true;
    throw ValueError(std::string(function) + "(): argument 'UPLO' must be 'L' or 'U', not '" + std::string(uplo) + "'");
}

linalg::QrMode qr_mode(std::string_view mode) {
    if (mode == "reduced") return linalg::QrMode::Reduced;
    if (mode == "complete") return linalg::QrMode::Complete;
    if (mode == "r") return linalg::QrMode::R;
    throw ValueError("linalg.qr(): argument 'mode' must be 'reduced', 'complete' or 'r', not '" + std::string(mode) +
                     "'");
}

// norm(A, ord, dim): of a vector or of a matrix, by what is given.
Tensor norm_of(const Tensor& x, nb::handle order, std::optional<Dims> dim, bool keepdim) {
    const Site site{"linalg.norm", "ord"};
    if (order.is_none()) return linalg::vector_norm(x, 2, dim ? Axes(*dim) : Axes(), keepdim);
    const bool named = PyUnicode_Check(order.ptr());
    if (dim ? dim->size() == 2 : named || x.rank() == 2) {
        if (!dim && x.rank() != 2) throw ShapeError("linalg.norm(): without 'dim' the tensor must be a matrix");
        return linalg::matrix_norm(x, norm_kind(order, site), dim ? *dim : Dims{0, 1}, keepdim);
    }
    if (named) throw ValueError("linalg.norm(): 'fro' and 'nuc' are norms of matrices: 'dim' must have two axes");
    if (!dim && x.rank() > 2)
        throw ShapeError("linalg.norm(): with 'ord' and without 'dim' the tensor must be a vector or a matrix");
    return linalg::vector_norm(x, to_double(order.ptr(), site), dim ? Axes(*dim) : Axes(), keepdim);
}

void bind_solving(nb::module_& l) {
    function(l, "det", "A", "The determinant.", [](const Tensor& a) { return linalg::det(a); });
    function(l, "_slogdet", "A", "(sign, logabsdet).", [](const Tensor& a) {
        const linalg::SignAndLog result = linalg::slogdet(a);
        return std::vector<Tensor>{result.sign, result.logabsdet};
    });
    function(l, "inv", "A", "The inverse; LinAlgError when it runs, if there is none.",
             [](const Tensor& a) { return linalg::inv(a); });
    function(l, "_inv_ex", "A", "(inverse, info).", [](const Tensor& a) {
        const linalg::InverseEx result = linalg::inv_ex(a);
        return std::vector<Tensor>{result.inverse, result.info};
    });
    function(l, "solve", "A, B, *, left=True", "X with A X = B, or X A = B if not `left`.",
             [](const Tensor& a, const Tensor& b, bool left) { return linalg::solve(a, b, {.left = left}); });
    function(l, "_solve_ex", "A, B, left", "(result, info).", [](const Tensor& a, const Tensor& b, bool left) {
        const linalg::SolveEx result = linalg::solve_ex(a, b, {.left = left});
        return std::vector<Tensor>{result.result, result.info};
    });
    function(l, "solve_triangular", "A, B, *, upper, left=True, unitriangular=False",
             "X with A X = B (or X A = B) for a triangular A, of which the other triangle is not read.",
             [](const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
                 return linalg::solve_triangular(a, b, {.upper = upper, .left = left, .unitriangular = unit});
             });
    function(l, "householder_product", "A, tau",
             "The first columns of a product of reflections, of which `A` has the vectors below its diagonal.",
             [](const Tensor& a, const Tensor& tau) { return linalg::householder_product(a, tau); });
    function(l, "_lstsq", "A, B, rcond", "(solution, residuals, rank, singular values).",
             [](const Tensor& a, const Tensor& b, std::optional<double> rcond) {
                 const linalg::LeastSquares result = linalg::lstsq(a, b, rcond);
                 return std::vector<Tensor>{result.solution, result.residuals, result.rank, result.singular_values};
             });
    function(l, "_tensorsolve", "A, B, dims", "X with tensordot(A, X, X.ndim) = B.",
             [](const Tensor& a, const Tensor& b, const Dims& dims) { return linalg::tensorsolve(a, b, dims); });
    function(l, "tensorinv", "A, ind=2", "The inverse of A as a linear map, whose first `ind` axes are its result's.",
             [](const Tensor& a, int ind) { return linalg::tensorinv(a, ind); });
}

void bind_factors(nb::module_& l) {
    function(l, "cholesky", "A, *, upper=False",
             "L with A = L Lᵀ, or U with A = Uᵀ U; only the lower triangle is read.",
             [](const Tensor& a, bool upper) { return linalg::cholesky(a, upper); });
    function(l, "_cholesky_ex", "A, upper", "(L, info).", [](const Tensor& a, bool upper) {
        const linalg::CholeskyEx result = linalg::cholesky_ex(a, upper);
        return std::vector<Tensor>{result.l, result.info};
    });
    function(l, "_lu_factor", "A", "(LU, pivots).", [](const Tensor& a) {
        const linalg::LuFactors result = linalg::lu_factor(a);
        return std::vector<Tensor>{result.lu, result.pivots};
    });
    function(l, "_lu_factor_ex", "A", "(LU, pivots, info).", [](const Tensor& a) {
        const linalg::LuFactors result = linalg::lu_factor_ex(a);
        return std::vector<Tensor>{result.lu, result.pivots, result.info};
    });
    function(l, "_lu", "A", "(P, L, U).", [](const Tensor& a) {
        const linalg::Lu result = linalg::lu(a);
        return std::vector<Tensor>{result.p, result.l, result.u};
    });
    function(l, "_lu_unpack", "LU_data, LU_pivots", "(P, L, U).", [](const Tensor& lu, const Tensor& pivots) {
        const linalg::Lu result = linalg::lu_unpack(lu, pivots);
        return std::vector<Tensor>{result.p, result.l, result.u};
    });
    function(l, "lu_solve", "LU, pivots, B, *, left=True, adjoint=False", "X with A X = B, from lu_factor(A).",
             [](const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
                 return linalg::lu_solve(lu, pivots, b, {.left = left, .adjoint = adjoint});
             });
    function(l, "_qr", "A, mode", "(Q, R).", [](const Tensor& a, std::string_view mode) {
        const linalg::Qr result = linalg::qr(a, qr_mode(mode));
        return std::vector<Tensor>{result.q, result.r};
    });
    function(l, "_svd", "A, full_matrices", "(U, S, Vh).", [](const Tensor& a, bool full) {
        const linalg::Svd result = linalg::svd(a, full);
        return std::vector<Tensor>{result.u, result.s, result.vh};
    });
    function(l, "svdvals", "A", "The singular values, descending.", [](const Tensor& a) { return linalg::svdvals(a); });
    function(l, "_eigh", "A, UPLO", "(eigenvalues, eigenvectors).", [](const Tensor& a, std::string_view uplo) {
        const linalg::Eigh result = linalg::eigh(a, is_upper(uplo, "linalg.eigh"));
        return std::vector<Tensor>{result.eigenvalues, result.eigenvectors};
    });
    function(
        l, "eigvalsh", "A, UPLO='L'", "The eigenvalues of a symmetric matrix, ascending; only one triangle is read.",
        [](const Tensor& a, std::string_view uplo) { return linalg::eigvalsh(a, is_upper(uplo, "linalg.eigvalsh")); });
}

void bind_functions(nb::module_& l) {
    function(l, "pinv", "A, rcond=None, hermitian=False, *, atol=None, rtol=None",
             "The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as zero.",
             [](const Tensor& a, std::optional<double> rcond, bool hermitian, std::optional<double> atol,
                std::optional<double> rtol) {
                 return linalg::pinv(a, {.atol = atol, .rtol = rtol ? rtol : rcond, .hermitian = hermitian});
             });
    function(l, "matrix_rank", "A, tol=None, hermitian=False, *, atol=None, rtol=None",
             "How many singular values are above max(atol, rtol * the largest).",
             [](const Tensor& a, std::optional<double> tol, bool hermitian, std::optional<double> atol,
                std::optional<double> rtol) {
                 if (tol) atol = tol, rtol = 0.0;
                 return linalg::matrix_rank(a, {.atol = atol, .rtol = rtol, .hermitian = hermitian});
             });
    function(l, "matrix_power", "A, n", "The product of `n` times the matrix; of its inverse for a negative `n`.",
             [](const Tensor& a, std::int64_t n) { return linalg::matrix_power(a, n); });
    function(l, "matrix_exp", "A", "The exponential of a matrix.",
             [](const Tensor& a) { return linalg::matrix_exp(a); });
    function(l, "multi_dot", "tensors", "The product of several matrices, in the order that needs least.",
             [](const std::vector<Tensor>& tensors) { return linalg::multi_dot(tensors); });
    function(l, "vector_norm", "x, ord=2, dim=None, keepdim=False, *, dtype=None", "(sum of |x|^ord)^(1/ord).",
             [](const Tensor& x, double order, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
                 return linalg::vector_norm(in_type(x, dtype), order, dim, keepdim);
             });
    function(l, "matrix_norm", "A, ord='fro', dim=None, keepdim=False, *, dtype=None",
             "A norm of matrices (the last two axes unless given): 'fro', 'nuc', ±2 (singular values), ±1 (columns), "
             "±inf (rows).",
             [](const Tensor& a, nb::handle order, std::optional<Dims> dim, bool keepdim, std::optional<DType> dtype) {
                 return linalg::matrix_norm(in_type(a, dtype), norm_kind(order, {"linalg.matrix_norm", "ord"}),
                                            dim.value_or(Dims{-2, -1}), keepdim);
             });
    function(l, "norm", "A, ord=None, dim=None, keepdim=False, *, dtype=None", "A norm of vectors or of matrices.",
             [](const Tensor& a, nb::handle order, std::optional<Dims> dim, bool keepdim, std::optional<DType> dtype) {
                 return norm_of(in_type(a, dtype), order, dim, keepdim);
             });
    function(l, "cond", "A, p=None", "The norm of a matrix times that of its inverse.",
             [](const Tensor& a, nb::handle p) {
                 return p.is_none() ? linalg::cond(a) : linalg::cond(a, norm_kind(p, {"linalg.cond", "p"}));
             });
}

void bind_pieces(nb::module_& l) {
    function(l, "matmul", "input, other", "The matrix product of the last two axes; the axes before them broadcast.",
             [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
    function(l, "vecdot", "x, y, *, dim=-1", "The sum of products along one axis, of tensors that broadcast.",
             [](const Tensor& a, const Tensor& b, int dim) { return vecdot(a, b, dim); });
    function(l, "outer", "x1, x2", "All products of two 1-d tensors.",
             [](const Tensor& a, const Tensor& b) { return outer(a, b); });
    function(l, "cross", "input, other, *, dim=-1", "The vector product along an axis of size 3.",
             [](const Tensor& a, const Tensor& b, int dim) { return cross(a, b, dim); });
    function(l, "diagonal", "A, *, offset=0, dim1=-2, dim2=-1", "The elements A[i, i + offset], along a last axis.",
             [](const Tensor& a, std::int64_t offset, int dim1, int dim2) {
                 return linalg::diagonal(a, offset, dim1, dim2);
             });
    function(l, "trace", "A, *, offset=0, dtype=None", "The sum of the diagonal of each matrix.",
             [](const Tensor& a, std::int64_t offset, std::optional<DType> dtype) {
                 return linalg::trace(in_type(a, dtype), offset);
             });
    function(l, "matrix_transpose", "A", "With the last two axes exchanged.",
             [](const Tensor& a) { return linalg::matrix_transpose(a); });
}

// The names that PyTorch has beside those in linalg.
void bind_old_names(nb::module_& m, nb::handle t) {
    both(m, t, "ormqr", "tau, other, left=True, transpose=False",
         "`other` times the Q of a QR factorisation that is given by reflections, from the left or from the right.",
         [](const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
             return linalg::multiply_q(a, tau, other, {.left = left, .transposed = transposed});
         });
    both(m, t, "orgqr", "tau", "weft.linalg.householder_product by its old name.",
         [](const Tensor& a, const Tensor& tau) { return linalg::householder_product(a, tau); });
    both(m, t, "det", "", "The determinant.", [](const Tensor& a) { return linalg::det(a); });
    both(m, t, "logdet", "", "The logarithm of the determinant; NaN where that is negative.", [](const Tensor& a) {
        const linalg::SignAndLog result = linalg::slogdet(a);
        return where(lt(result.sign, 0), std::nan(""), result.logabsdet);
    });
    both(m, t, "inverse", "", "The inverse; LinAlgError when it runs, if there is none.",
         [](const Tensor& a) { return linalg::inv(a); });
    both(m, t, "pinverse", "rcond=1e-15", "The pseudo-inverse.",
         [](const Tensor& a, double rcond) { return linalg::pinv(a, {.rtol = rcond}); });
    both(m, t, "cholesky", "upper=False", "L with A = L Lᵀ, or U with A = Uᵀ U.",
         [](const Tensor& a, bool upper) { return linalg::cholesky(a, upper); });
    both(m, t, "cholesky_solve", "L, upper=False", "X with L Lᵀ X = input.",
         [](const Tensor& b, const Tensor& l, bool upper) { return linalg::cholesky_solve(b, l, upper); });
    both(m, t, "cholesky_inverse", "upper=False", "The inverse of L Lᵀ.",
         [](const Tensor& l, bool upper) { return linalg::cholesky_inverse(l, upper); });
    both(m, t, "lu_solve", "LU_data, LU_pivots", "X with A X = input, from the factors of A.",
         [](const Tensor& b, const Tensor& lu, const Tensor& pivots) { return linalg::lu_solve(lu, pivots, b); });
    both(m, t, "matrix_power", "n", "The product of `n` times the matrix; of its inverse for a negative `n`.",
         [](const Tensor& a, std::int64_t n) { return linalg::matrix_power(a, n); });
    both(m, t, "matrix_exp", "", "The exponential of a matrix.", [](const Tensor& a) { return linalg::matrix_exp(a); });
    function(m, "matrix_transpose", "x", "With the last two axes exchanged.",
             [](const Tensor& a) { return linalg::matrix_transpose(a); });
    function(m, "chain_matmul", "*matrices", "The product of several matrices, in the order that needs least.",
             [](const std::vector<Tensor>& tensors) {
                 return tensors.size() == 1 ? tensors[0] : linalg::multi_dot(tensors);
             });
}

}  // namespace

void bind_linalg(nb::module_& m, nb::handle tensor) {
    nb::module_ l = m.def_submodule("_linalg", "Linear algebra on the last two axes.");
    bind_solving(l);
    bind_factors(l);
    bind_functions(l);
    bind_pieces(l);
    bind_old_names(m, tensor);
}

}  // namespace weft::python
