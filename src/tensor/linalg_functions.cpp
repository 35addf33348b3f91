// tensor/linalg_functions.cpp: what is made of the decompositions: least squares, pseudo-inverses, powers, norms.
#include "tensor/linalg.h"

#include <weft/autograd.h>
#include <weft/linalg.h>

#include <cmath>
#include <limits>

namespace weft::linalg {
namespace {

double precision_of(DType type) { return type == f64 ? 0x1p-52 : 0x1p-23; }

double relative_tolerance(const Tensor& a, const ToleranceOptions& options) {
    const double larger = static_cast<double>(std::max(a.size(-2), a.size(-1)));
    return options.rtol.value_or(options.atol.value_or(0) > 0 ? 0 : precision_of(a.dtype()) * larger);
}

// Magnitudes from this on count as not zero: […, 1], from the sizes' maximum over the last axis.
Tensor threshold(const Tensor& a, const Tensor& sizes, const ToleranceOptions& options) {
    return maximum(max(sizes, -1, true) * relative_tolerance(a, options), options.atol.value_or(0));
}

void check_tolerance(const Checker& check, const ToleranceOptions& options) {
    check.value(options.atol.value_or(0) >= 0 && options.rtol.value_or(0) >= 0, "tolerances must not be negative");
}

bool has_elements(const Tensor& a) { return a.size(-1) > 0 && a.size(-2) > 0; }

// The pseudo-inverse's value, in f64.
Tensor pseudo_inverse(const Tensor& a, const Tensor& wide, const ToleranceOptions& options, const std::string& call) {
    const NoGrad value_only;
    if (options.hermitian) {
        const nodes::EighNode parts = nodes::eigh(wide, call);
        const Tensor kept = gt(abs(parts.values), threshold(a, abs(parts.values), options));
        const Tensor inverse = where(kept, 1.0 / where(kept, parts.values, 1.0), 0.0);
        return matmul(parts.vectors * inverse.unsqueeze(-2), transpose_of(parts.vectors));
    }
    const nodes::SvdNode parts = nodes::svd(wide, false, call);
    const Tensor kept = gt(parts.s, threshold(a, parts.s, options));
    const Tensor inverse = where(kept, 1.0 / where(kept, parts.s, 1.0), 0.0);
    return matmul(transpose_of(parts.vh) * inverse.unsqueeze(-2), transpose_of(parts.u));
}

// The gradient of x from that of its pseudo-inverse k: dK = -K dA K + K Kᵀ dAᵀ (I - A K) + (I - K A) dAᵀ Kᵀ K
Tensor through_pinv(const Tensor& x, const Tensor& k, const Tensor& g) {
    const Tensor kt = transpose_of(k), gt = transpose_of(g);
    const Tensor left = matmul(gt, matmul(k, kt)), right = matmul(matmul(kt, k), gt);
    const Tensor outside = (left - matmul(x, matmul(k, left))) + (right - matmul(matmul(right, k), x));
    return outside - matmul(kt, matmul(g, kt));
}

Tensor pinv_of(const Tensor& a, const Tensor& wide, const ToleranceOptions& options, const std::string& call) {
    if (!has_elements(a)) return transpose_of(wide) * 0.0;
    const Tensor inputs[] = {wide}, outputs[] = {pseudo_inverse(a, wide, options, call)};
    const SavedTensor matrix(wide);
    return custom_gradient("linalg.pinv", inputs, outputs, [=](auto gradients, auto results) {
        return std::vector<Tensor>{through_pinv(matrix.unpack(), results[0], gradients[0])};
    })[0];
}

}  // namespace

Tensor pinv(const Tensor& a, const ToleranceOptions& options) {
    const Checker check("linalg.pinv", {{"A", a}});
    check_tolerance(check, options);
    const Tensor wide = options.hermitian ? wide_square(check, "A", a) : wide_matrix(check, "A", a);
    return pinv_of(a, wide, options, check.call()).to(a.dtype());
}

Tensor matrix_rank(const Tensor& a, const ToleranceOptions& options) {
    const Checker check("linalg.matrix_rank", {{"A", a}});
    check_tolerance(check, options);
    const Tensor wide = options.hermitian ? wide_square(check, "A", a) : wide_matrix(check, "A", a);
    if (!has_elements(a)) return zeros(batch_of(a), i64);
    const NoGrad value_only;
    const Tensor sizes =
        options.hermitian ? abs(nodes::eigvalsh(wide, check.call())) : nodes::svdvals(wide, check.call());
    return gt(sizes, threshold(a, sizes, options)).to(i64).sum(-1);
}

namespace {

struct LeastSquaresValue {
    Tensor solution, rank;
};

LeastSquaresValue least_squares(const Tensor& a, const Tensor& wide, const Tensor& right,
                                const ToleranceOptions& options, const std::string& call) {
    const nodes::LeastSquaresNode made = nodes::least_squares(wide, right, relative_tolerance(a, options), call);
    const Tensor inputs[] = {wide, right}, outputs[] = {made.solution};
    const SavedTensor matrix(wide), side(right), original(a);
    const Tensor solution = custom_gradient("linalg.lstsq", inputs, outputs, [=](auto gradients, auto) {
        const Tensor x = matrix.unpack(), k = pinv_of(original.unpack(), x, options, call);
        return std::vector<Tensor>{through_pinv(x, k, matmul(gradients[0], transpose_of(side.unpack()))),
                                   matmul(transpose_of(k), gradients[0])};
    })[0];
    return {solution, made.rank};
}

}  // namespace

LeastSquares lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond) {
    const Checker check("linalg.lstsq", {{"A", a}, {"B", b}});
    const Tensor wide = wide_matrix(check, "A", a);
    check.dtype(a.dtype() == b.dtype(), "A and B must have one type");
    check.value(rcond.value_or(0) >= 0, "rcond must not be negative");
    const Shape shape = a.shape(), right_shape = b.shape();
    const bool vector =
        right_shape.size() + 1 == shape.size() && std::equal(right_shape.begin(), right_shape.end(), shape.begin());
    check.that(vector || b.rank() >= 2, "B must be a matrix, or a vector for each matrix of A");
    const Tensor right = vector ? b.to(f64).unsqueeze(-1) : b.to(f64);
    check.that(right.size(-2) == a.size(-2), "B's rows ", right.size(-2), " must be as many as A's ", a.size(-2));
    const Shape batch = check.broadcast(batch_of(a), batch_of(right));
    const ToleranceOptions options{.rtol = rcond};
    LeastSquares result;
    Tensor solution;
    if (has_elements(a) && batch == batch_of(a)) {
        const LeastSquaresValue made = least_squares(a, wide, with_batch(right, batch), options, check.call());
        solution = made.solution, result.rank = made.rank;
    } else {  // one matrix for many right sides
        solution = matmul(with_batch(pinv_of(a, wide, options, check.call()), batch), with_batch(right, batch));
    }
    result.solution = (vector ? solution.squeeze(-1) : solution).to(a.dtype());
    if (has_elements(a)) {
        const NoGrad value_only;
        const Tensor s = nodes::svdvals(wide, check.call());
        if (!result.rank.defined()) result.rank = gt(s, threshold(a, s, options)).to(i64).sum(-1);
        result.singular_values = s.to(a.dtype());
    } else {
        Shape values = batch_of(a);
        result.rank = zeros(values, i64);
        values.push_back(0);
        result.singular_values = zeros(values, a.dtype());
    }
    const Tensor residual = matmul(with_batch(wide, batch), solution) - with_batch(right, batch),
                 squares = (residual * residual).sum(-2);
    result.residuals =
        a.size(-2) > a.size(-1) ? (vector ? squares.squeeze(-1) : squares).to(a.dtype()) : zeros({0}, a.dtype());
    return result;
}

// ---- powers and products ---------------------------------------------------------------------------------------------

Tensor matrix_power(const Tensor& a, std::int64_t exponent) {
    const Checker check("linalg.matrix_power", {{"A", a}, {"n", exponent}});
    check.that(a.rank() >= 2 && a.size(-1) == a.size(-2), "A must be square");
    check.dtype(!is_bool(a.dtype()), "not defined for bools");
    check.dtype(exponent >= 0 || a.dtype() == f32 || a.dtype() == f64, "only matrices of f32 or f64 have inverses");
    if (exponent == 0) return broadcast_to(eye(a.size(-1), {}, a.dtype()), a.shape());
    Tensor base = (exponent < 0 ? inv(a) : a).to(accumulator_of(a.dtype())), result;
    // of the lowest integer the magnitude is one more than the highest
    for (std::uint64_t left = exponent < 0 ? -static_cast<std::uint64_t>(exponent)
                                           : static_cast<std::uint64_t>(exponent);
         ;) {
        if (left & 1) result = result.defined() ? matmul(result, base) : base;
        left >>= 1;
        if (!left) return result.to(a.dtype());
        base = matmul(base, base);
    }
}

namespace {

// exp(a) in f64. Its derivative is a block of the exponential of [[aᵀ, g], [0, aᵀ]], so it has derivatives of all orders.
Tensor exponential(const Tensor& a) {
    const Tensor inputs[] = {a}, outputs[] = {nodes::matrix_exp(a)};
    const SavedTensor matrix(a);
    return custom_gradient("linalg.matrix_exp", inputs, outputs, [=](auto gradients, auto) {
        const Tensor at = transpose_of(matrix.unpack()), &g = gradients[0];
        const std::int64_t n = at.size(-1);
        const Tensor blocks = cat({cat({at, g}, -1), cat({zeros_like(at), at}, -1)}, -2);
        return std::vector<Tensor>{exponential(blocks).narrow(-2, 0, n).narrow(-1, n, n)};
    })[0];
}

// How many multiplications the products from … to need at least, and where the last one splits them.
struct Chain {
    std::vector<std::int64_t> sizes;  // matrix i is sizes[i] × sizes[i + 1]
    std::vector<std::vector<double>> cost;
    std::vector<std::vector<std::size_t>> split;

    explicit Chain(std::vector<std::int64_t> all) : sizes(std::move(all)) {
        const std::size_t n = sizes.size() - 1;
        cost.assign(n, std::vector<double>(n, 0));
        split.assign(n, std::vector<std::size_t>(n, 0));
        for (std::size_t length = 2; length <= n; ++length)
            for (std::size_t i = 0; i + length <= n; ++i) {
                const std::size_t j = i + length - 1;
                cost[i][j] = std::numeric_limits<double>::infinity();
                for (std::size_t k = i; k < j; ++k) {
                    const double own = static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) *
                                       static_cast<double>(sizes[j + 1]);
                    const double sum = cost[i][k] + cost[k + 1][j] + own;
                    if (sum < cost[i][j]) cost[i][j] = sum, split[i][j] = k;
                }
            }
    }
    Tensor multiply(std::span<const Tensor> matrices, std::size_t i, std::size_t j) const {
        if (i == j) return matrices[i];
        return matmul(multiply(matrices, i, split[i][j]), multiply(matrices, split[i][j] + 1, j));
    }
};

}  // namespace

Tensor matrix_exp(const Tensor& a) {
    const Checker check("linalg.matrix_exp", {{"A", a}});
    return exponential(wide_square(check, "A", a)).to(a.dtype());
}

Tensor multi_dot(std::span<const Tensor> matrices) {
    const Checker check("linalg.multi_dot", {{"tensors", matrices}});
    check.value(matrices.size() >= 2, "two tensors at least are needed");
    const std::size_t last = matrices.size() - 1;
    DType result = matrices[0].dtype();
    std::vector<std::int64_t> sizes;
    std::vector<Tensor> wide;
    for (std::size_t i = 0; i <= last; ++i) result = promote(result, matrices[i].dtype());
    for (std::size_t i = 0; i <= last; ++i) {
        Tensor matrix = matrices[i].to(accumulator_of(result));
        const bool end = i == 0 || i == last;
        check.that(matrix.rank() == 2 || (end && matrix.rank() == 1), "tensor ", i, " must be a matrix",
                   end ? " or a vector" : "");
        if (matrix.rank() == 1) matrix = matrix.unsqueeze(i == 0 ? 0 : 1);
        check.that(i == 0 || sizes.back() == matrix.size(0), "tensor ", i, " has ", matrix.size(0),
                   " rows, and the one before ", i == 0 ? 0 : sizes.back(), " columns");
        if (i == 0) sizes.push_back(matrix.size(0));
        sizes.push_back(matrix.size(1));
        wide.push_back(matrix);
    }
    Tensor product = Chain(sizes).multiply(wide, 0, last);
    if (matrices[last].rank() == 1) product = product.squeeze(1);
    if (matrices[0].rank() == 1) product = product.squeeze(0);
    return product.to(result);
}

// ---- norms -----------------------------------------------------------------------------------------------------------

Tensor vector_norm(const Tensor& x, double p, const Axes& axes, bool keepdim) {
    const Checker check("linalg.vector_norm", {{"x", x}, {"ord", p}, {"dim", axes}});
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    check.axes(axes, x.rank());
    return norm(x, p, axes, keepdim);
}

namespace {

// By the singular values of the last two axes; no elements: 0.
Tensor by_singular_values(const Tensor& a, const NormKind& kind) {
    if (!has_elements(a)) return zeros(batch_of(a), a.dtype());
    const Tensor s = svdvals(a);
    if (kind.kind == MatrixNorm::Nuclear) return s.sum(-1);
    return s.narrow(-1, kind.p > 0 ? 0 : s.size(-1) - 1, 1).squeeze(-1);
}

}  // namespace

Tensor matrix_norm(const Tensor& a, const NormKind& kind, const Dims& axes, bool keepdim) {
    const Checker check("linalg.matrix_norm", {{"A", a}, {"dim", axes}});
    check.dtype(is_float(a.dtype()), "A must be a float tensor, not ", a.dtype());
    check.that(a.rank() >= 2, "A must have two axes at least");
    check.value(axes.size() == 2, "dim must have two axes");
    const int row = check.axis(axes[0], a.rank()), column = check.axis(axes[1], a.rank());
    check.value(row != column, "the axes must differ");
    const double size = std::fabs(kind.p);
    check.value(kind.kind != MatrixNorm::P || size == 1 || size == 2 || std::isinf(size),
                "ord must be 'fro', 'nuc', ±infinity, ±1 or ±2");
    Tensor result;
    if (kind.kind == MatrixNorm::Frobenius) {
        return norm(a, 2, {row, column}, keepdim);
    } else if (kind.kind == MatrixNorm::Nuclear || size == 2) {
        Dims order;
        for (int d = 0; d < a.rank(); ++d)
            if (d != row && d != column) order.push_back(d);
        order.push_back(row), order.push_back(column);
        result = by_singular_values(a.permute(order), kind);
    } else {
        const int summed = size == 1 ? row : column, kept = size == 1 ? column : row;
        const Tensor sums = norm(a, 1, summed, true);
        if (a.size(kept) == 0) {
            result = sums.sum({row, column});
        } else {
            result = (kind.p > 0 ? max(sums, kept, true) : min(sums, kept, true))
                         .squeeze(std::max(row, column))
                         .squeeze(std::min(row, column));
        }
    }
    if (!keepdim) return result;
    return result.unsqueeze(std::min(row, column)).unsqueeze(std::max(row, column));
}

Tensor cond(const Tensor& a, const NormKind& kind) {
    const Checker check("linalg.cond", {{"A", a}});
    const bool by_values = kind.kind == MatrixNorm::P && std::fabs(kind.p) == 2;
    const Tensor wide = by_values ? wide_matrix(check, "A", a) : wide_square(check, "A", a);
    if (!has_elements(a)) return zeros(batch_of(a), a.dtype());
    if (by_values) {
        const Tensor s = svdvals(wide), largest = s.narrow(-1, 0, 1).squeeze(-1),
                     smallest = s.narrow(-1, s.size(-1) - 1, 1).squeeze(-1);
        return (kind.p > 0 ? largest / smallest : smallest / largest).to(a.dtype());
    }
    const InverseEx inverse = inv_ex(wide);
    const Tensor singular = ne(inverse.info, 0),
                 safe = where(singular.unsqueeze(-1).unsqueeze(-1), 1.0, inverse.inverse);
    const Tensor product = matrix_norm(wide, kind) * matrix_norm(safe, kind);
    return where(singular, std::numeric_limits<double>::infinity(), product).to(a.dtype());
}

// ---- pieces ----------------------------------------------------------------------------------------------------------

Tensor diagonal(const Tensor& a, std::int64_t offset, int axis1, int axis2) {
    const Checker check("linalg.diagonal", {{"A", a}, {"offset", offset}, {"dim1", axis1}, {"dim2", axis2}});
    check.that(a.rank() >= 2, "A must have two axes at least");
    return weft::diagonal(a, offset, axis1, axis2);
}

Tensor matrix_transpose(const Tensor& a) {
    const Checker check("linalg.matrix_transpose", {{"A", a}});
    check.that(a.rank() >= 2, "A must have two axes at least");
    return transpose_of(a);
}

Tensor trace(const Tensor& a, std::int64_t offset) {
    const Checker check("linalg.trace", {{"A", a}, {"offset", offset}});
    check.that(a.rank() >= 2, "A must have two axes at least");
    return sum(weft::diagonal(a, offset, -2, -1), -1);
}

}  // namespace weft::linalg
