// tensor/linalg_householder.cpp: products of Householder's reflections, which other libraries' factorisations give. All k of them are one
// matrix, H₁ H₂ … = I - V T Vᵀ, with the triangular T⁻¹ = diag(1 / tau) + (Vᵀ V above the diagonal): a few matrix products, and
// derivatives of all orders. T = D (I + S D)⁻¹ allows a tau of 0.
#include "tensor/check.h"
#include "tensor/linalg.h"

#include <weft/linalg.h>
#include <weft/ops.h>

namespace weft::linalg {

namespace {

struct Reflections {
    Tensor v, t;  // […, m, k] and […, k, k], f64
};

Reflections reflections(const Checker& check, const Tensor& a, const Tensor& tau) {
    const Tensor wide = wide_matrix(check, "v", a);
    check.dtype(a.dtype() == tau.dtype(), "v and tau must have one type");
    Shape batch = tau.shape();
    if (!batch.empty()) batch.pop_back();
    check.that(tau.rank() == a.rank() - 1 && batch == batch_of(a), "tau must be […, k], with v's batches");
    const std::int64_t rows = a.size(-2), columns = a.size(-1), k = tau.size(-1);
    check.that(k <= columns && k <= rows, "tau has ", k, " reflections, but v is ", rows, " by ", columns);
    const Tensor v = tril(wide.narrow(-1, 0, k), -1) + eye(rows, k, f64);
    const Tensor d = tau.to(f64).unsqueeze(-2);  // […, 1, k]: scales columns
    const Tensor inner = triu(matmul(transpose_of(v), v), 1) * d + eye(k, k, f64);
    const Tensor right = diagonal_matrix(tau.to(f64));
    // D (I + S D)⁻¹ = X with X (I + S D) = D
    return {v, k == 0 ? right : solve_triangular(inner, right, {.upper = true, .left = false, .unitriangular = true})};
}

}  // namespace

Tensor householder_product(const Tensor& v, const Tensor& tau) {
    const Checker check("linalg.householder_product", {{"v", v}, {"tau", tau}});
    check.that(v.rank() >= 2 && v.size(-2) >= v.size(-1), "v must have at least as many rows as columns");
    const Reflections all = reflections(check, v, tau);
    const std::int64_t rows = v.size(-2), columns = v.size(-1);
    const Tensor top = transpose_of(all.v.narrow(-2, 0, columns));  // Vᵀ, of the first columns of the identity
    return (eye(rows, columns, f64) - matmul(all.v, matmul(all.t, top))).to(v.dtype());
}

Tensor multiply_q(const Tensor& v, const Tensor& tau, const Tensor& other, const MultiplyOptions& options) {
    const Checker check("ormqr", {{"v", v}, {"tau", tau}, {"other", other}});
    const Reflections all = reflections(check, v, tau);
    const Tensor wide = wide_matrix(check, "other", other);
    check.dtype(v.dtype() == other.dtype(), "v and other must have one type");
    check.that(batch_of(v) == batch_of(other), "v and other must have the same batches");
    check.that(other.size(options.left ? -2 : -1) == v.size(-2), "other's ", options.left ? "rows" : "columns",
               " must be v's ", v.size(-2), " rows");
    const Tensor t = options.transposed ? transpose_of(all.t) : all.t;
    const Tensor change = options.left ? matmul(all.v, matmul(t, matmul(transpose_of(all.v), wide)))
                                       : matmul(matmul(matmul(wide, all.v), t), transpose_of(all.v));
    return (wide - change).to(other.dtype());
}

}  // namespace weft::linalg
