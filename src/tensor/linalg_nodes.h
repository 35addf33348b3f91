// tensor/linalg_nodes.h: the decompositions as custom functions in the graph, on f64 and without derivatives: src/tensor/linalg*.cpp adds
// those. Where `call` is not empty, a matrix that cannot be factored raises LinAlgError, which opens with it.
#pragma once

#include "ir/node.h"

#include <weft/tensor.h>

#include <string>
#include <vector>

namespace weft::linalg::nodes {

// A function's argument: a Tensor of f64 (pivots: i32), matrices in its last two axes. All sources of one call have the same batch axes.
struct LuNode {
    Tensor lu, pivots, info;
};
LuNode lu(const Tensor& a, const std::string& call = {});
Tensor lu_solve(const LuNode& factors, const Tensor& b, bool transposed, const std::string& call);
Tensor permutation(const Tensor& pivots, std::int64_t rows);  // p with a = p l u

struct CholeskyNode {
    Tensor l, info;
};
CholeskyNode cholesky(const Tensor& a, const std::string& call);
Tensor solve_triangular(const Tensor& t, const Tensor& b, bool upper, bool unit);

struct QrNode {
    Tensor q, r;
};
QrNode qr(const Tensor& a, bool complete);

struct SvdNode {
    Tensor u, s, vh;
};
SvdNode svd(const Tensor& a, bool full, const std::string& call);
Tensor svdvals(const Tensor& a, const std::string& call);

struct EighNode {
    Tensor values, vectors;
};
EighNode eigh(const Tensor& a, const std::string& call);
Tensor eigvalsh(const Tensor& a, const std::string& call);

struct LeastSquaresNode {
    Tensor solution, rank;  // rank: i64
};
LeastSquaresNode least_squares(const Tensor& a, const Tensor& b, double tolerance, const std::string& call);

Tensor matrix_exp(const Tensor& a);
Tensor cofactors(const Tensor& a);  // det(a) a⁻ᵀ, of singular matrices too

}  // namespace weft::linalg::nodes
