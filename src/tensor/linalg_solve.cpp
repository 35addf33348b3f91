// tensor/linalg_solve.cpp: solving linear equations, determinants and inverses, with their derivatives.
#include "tensor/linalg.h"

#include "tensor/cell.h"
#include "tensor/contract.h"

#include <weft/autograd.h>
#include <weft/linalg.h>

#include <algorithm>
#include <numeric>

namespace weft::linalg {

// ---- what the other files use too ------------------------------------------------------------------------------------

Tensor wide_matrix(const Checker& check, std::string_view name, const Tensor& a) {
    check.dtype(a.dtype() == f32 || a.dtype() == f64, name, " must be of f32 or f64, not ", a.dtype());
    check.that(a.rank() >= 2, name, " must have two axes at least");
    return a.to(f64);
}

Tensor wide_square(const Checker& check, std::string_view name, const Tensor& a) {
    Tensor wide = wide_matrix(check, name, a);
    check.that(a.size(-1) == a.size(-2), name, " must be square: its last sizes are ", a.size(-2), " and ", a.size(-1));
    return wide;
}

Shape batch_of(const Tensor& a) {
    const Shape shape = a.shape();
    return Shape(shape.begin(), shape.end() - 2);
}

Tensor with_batch(const Tensor& a, const Shape& batch) {
    Shape shape = batch;
    shape.push_back(a.size(-2)), shape.push_back(a.size(-1));
    return shape == a.shape() ? a : broadcast_to(a, shape);
}

Tensor diagonal_of(const Tensor& a) {
    Labels labels(static_cast<std::size_t>(a.rank()));
    std::iota(labels.begin(), labels.end(), 0);
    labels.back() = a.rank() - 2;
    return make_tensor(contract({{node_of(a), labels}}, Labels(labels.begin(), labels.end() - 1)));
}

Tensor diagonal_matrix(const Tensor& d) {
    const std::int64_t n = d.size(-1);
    return where(eq(arange(n).unsqueeze(1), arange(n)), d.unsqueeze(-1), 0.0);
}

bool is_differentiated(const Tensor& a) { return grad_enabled() && a.requires_grad(); }

Tensor solved(const Tensor& a, const nodes::LuNode& factors, const Tensor& b, bool transposed,
              const std::string& call) {
    const Tensor inputs[] = {a, b}, outputs[] = {nodes::lu_solve(factors, b, transposed, call)};
    const SavedTensor matrix(a), lu(factors.lu), pivots(factors.pivots), info(factors.info);
    return custom_gradient("linalg.solve", inputs, outputs, [=](auto gradients, auto results) {
        const nodes::LuNode again{lu.unpack(), pivots.unpack(), info.unpack()};
        const Tensor of_b = solved(matrix.unpack(), again, gradients[0], !transposed);
        const Tensor of_a =
            transposed ? matmul(results[0], transpose_of(of_b)) : matmul(of_b, transpose_of(results[0]));
        return std::vector<Tensor>{-of_a, of_b};
    })[0];
}

Tensor solved_triangular(const Tensor& t, const Tensor& b, bool upper, bool unit) {
    const Tensor inputs[] = {t, b}, outputs[] = {nodes::solve_triangular(t, b, upper, unit)};
    const SavedTensor matrix(t);
    return custom_gradient("linalg.solve_triangular", inputs, outputs, [=](auto gradients, auto results) {
        const Tensor of_b = solved_triangular(transpose_of(matrix.unpack()), gradients[0], !upper, unit);
        const Tensor whole = -matmul(of_b, transpose_of(results[0]));
        return std::vector<Tensor>{upper ? triu(whole, unit ? 1 : 0) : tril(whole, unit ? -1 : 0), of_b};
    })[0];
}

// ---- determinants ----------------------------------------------------------------------------------------------------

namespace {

// 1, or -1 if an odd number of rows were exchanged.
Tensor parity(const Tensor& pivots) {
    const Tensor exchanged = ne(pivots, arange(pivots.size(-1)) + 1).to(i64).sum(-1);
    return (1 - 2 * remainder(exchanged, 2)).to(f64);
}

Tensor identity_like(const Tensor& a) { return broadcast_to(eye(a.size(-1), {}, f64), a.shape()); }

// det(a) a⁻ᵀ. Its derivative is that of the formula, which a singular matrix has not.
Tensor cofactors(const Tensor& a) {
    const Tensor inputs[] = {a}, outputs[] = {nodes::cofactors(a)};
    const SavedTensor matrix(a);
    return custom_gradient("linalg.cofactors", inputs, outputs, [=](auto gradients, auto results) {
        const Tensor x = matrix.unpack(), &c = results[0], &g = gradients[0];
        const Tensor inverse = transpose_of(solved(x, nodes::lu(x), identity_like(x), false));
        const Tensor along = (g * c).sum({-2, -1}, true);
        return std::vector<Tensor>{inverse * along - matmul(c, matmul(transpose_of(g), inverse))};
    })[0];
}

}  // namespace

Tensor det(const Tensor& a) {
    const Checker check("linalg.det", {{"A", a}});
    const Tensor wide = wide_square(check, "A", a);
    const nodes::LuNode factors = nodes::lu(wide);
    const Tensor inputs[] = {wide}, outputs[] = {prod(diagonal_of(factors.lu), -1) * parity(factors.pivots)};
    const SavedTensor matrix(wide);
    return custom_gradient(
               "linalg.det", inputs, outputs,
               [=](auto gradients, auto) {
                   return std::vector<Tensor>{gradients[0].unsqueeze(-1).unsqueeze(-1) * cofactors(matrix.unpack())};
               })[0]
        .to(a.dtype());
}

SignAndLog slogdet(const Tensor& a) {
    const Checker check("linalg.slogdet", {{"A", a}});
    const Tensor wide = wide_square(check, "A", a);
    const nodes::LuNode factors = nodes::lu(wide);
    const Tensor diagonal = diagonal_of(factors.lu);
    const Tensor signs = where(isnan(diagonal), diagonal, sign(diagonal));
    const Tensor inputs[] = {wide}, outputs[] = {prod(signs, -1) * parity(factors.pivots), log(abs(diagonal)).sum(-1)};
    const SavedTensor matrix(wide), lu(factors.lu), pivots(factors.pivots), info(factors.info);
    const auto made = custom_gradient("linalg.slogdet", inputs, outputs, [=](auto gradients, auto) {
        if (!gradients[1].defined()) return std::vector<Tensor>{Tensor()};  // the sign is flat
        const Tensor x = matrix.unpack();
        const nodes::LuNode again{lu.unpack(), pivots.unpack(), info.unpack()};
        const Tensor inverse = solved(x, again, identity_like(x), true);
        return std::vector<Tensor>{gradients[1].unsqueeze(-1).unsqueeze(-1) * inverse};
    });
    return {made[0].to(a.dtype()), made[1].to(a.dtype())};
}

// ---- inverses and equations ------------------------------------------------------------------------------------------

namespace {

InverseEx inverted(const Tensor& a, const std::string& call) {
    const nodes::LuNode factors = nodes::lu(a);
    const Tensor inputs[] = {a}, outputs[] = {nodes::lu_solve(factors, identity_like(a), false, call)};
    const Tensor inverse = custom_gradient("linalg.inv", inputs, outputs, [](auto gradients, auto results) {
        const Tensor transposed_inverse = transpose_of(results[0]);
        return std::vector<Tensor>{-matmul(transposed_inverse, matmul(gradients[0], transposed_inverse))};
    })[0];
    return {inverse, factors.info};
}

// Whether b is a vector for each matrix, and not a matrix.
bool is_vector(const Tensor& a, const Tensor& b) {
    const Shape left = a.shape(), right = b.shape();
    return right.size() == 1 ||
           (right.size() + 1 == left.size() && std::equal(right.begin(), right.end(), left.begin()));
}

SolveEx solve_by_lu(const Checker& check, const Tensor& a, const Tensor& b, bool left, const std::string& call) {
    const Tensor wide = wide_square(check, "A", a);
    check.dtype(a.dtype() == b.dtype(), "A and B must have one type");
    check.that(b.rank() >= 1, "B must have one axis at least");
    const bool vector = is_vector(a, b);
    check.that(left || !vector, "a B that is a vector can only stand on the left");
    Tensor right = vector ? b.to(f64).unsqueeze(-1) : b.to(f64);
    if (!left) right = transpose_of(right);
    check.that(right.size(-2) == a.size(-1), "B's size ", right.size(-2), " must equal A's ", a.size(-1));
    const Shape batch = check.broadcast(batch_of(a), batch_of(right));
    nodes::LuNode factors = nodes::lu(wide);
    const Tensor info = factors.info;
    if (!(batch == batch_of(a))) {
        Shape pivots = batch;
        pivots.push_back(a.size(-1));
        factors = {with_batch(factors.lu, batch), broadcast_to(factors.pivots, pivots), broadcast_to(info, batch)};
    }
    Tensor x = solved(with_batch(wide, batch), factors, with_batch(right, batch), !left, call);
    if (!left) x = transpose_of(x);
    if (vector) x = x.squeeze(-1);
    return {x.to(a.dtype()), info};
}

}  // namespace

Tensor inv(const Tensor& a) {
    const Checker check("linalg.inv", {{"A", a}});
    return inverted(wide_square(check, "A", a), check.call()).inverse.to(a.dtype());
}

InverseEx inv_ex(const Tensor& a) {
    const Checker check("linalg.inv_ex", {{"A", a}});
    const InverseEx result = inverted(wide_square(check, "A", a), "");
    return {result.inverse.to(a.dtype()), result.info};
}

Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options) {
    const Checker check("linalg.solve", {{"A", a}, {"B", b}});
    return solve_by_lu(check, a, b, options.left, check.call()).result;
}

SolveEx solve_ex(const Tensor& a, const Tensor& b, const SolveOptions& options) {
    const Checker check("linalg.solve_ex", {{"A", a}, {"B", b}});
    return solve_by_lu(check, a, b, options.left, "");
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
    const Checker check("linalg.solve_triangular", {{"A", a}, {"B", b}});
    Tensor t = wide_square(check, "A", a), right = wide_matrix(check, "B", b);
    check.dtype(a.dtype() == b.dtype(), "A and B must have one type");
    bool upper = options.upper;
    if (!options.left) t = transpose_of(t), right = transpose_of(right), upper = !upper;
    check.that(right.size(-2) == a.size(-1), "B's size ", right.size(-2), " must equal A's ", a.size(-1));
    const Shape batch = check.broadcast(batch_of(t), batch_of(right));
    const Tensor x = solved_triangular(with_batch(t, batch), with_batch(right, batch), upper, options.unitriangular);
    return (options.left ? x : transpose_of(x)).to(a.dtype());
}

namespace {

Dims moved_last(const Checker& check, const Dims& axes, int rank) {
    Dims order, last;
    for (const std::int64_t axis : axes) last.push_back(check.axis(axis, rank));
    for (int d = 0; d < rank; ++d)
        if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
    order.append(last.begin(), last.end());
    return order;
}

}  // namespace

Tensor tensorsolve(const Tensor& a, const Tensor& b, const Dims& axes) {
    const Checker check("linalg.tensorsolve", {{"A", a}, {"B", b}});
    check.dtype(a.dtype() == b.dtype(), "A and B must have one type");
    const Tensor moved = axes.empty() ? a : a.permute(moved_last(check, axes, a.rank()));
    const Shape shape = moved.shape();
    check.that(shape.size() >= b.shape().size(), "A has fewer axes than B");
    const Shape rest(shape.begin() + static_cast<std::ptrdiff_t>(b.shape().size()), shape.end());
    check.that(numel(rest) == b.numel(), "A cannot be a square matrix: B has ", b.numel(),
               " elements, and A's other axes ", numel(rest));
    return solve(moved.reshape({b.numel(), numel(rest)}), b.reshape({b.numel()})).reshape(rest);
}

Tensor tensorinv(const Tensor& a, int count) {
    const Checker check("linalg.tensorinv", {{"A", a}, {"ind", count}});
    check.value(count > 0, "ind must be positive");
    const Shape shape = a.shape();
    const std::size_t split = std::min(static_cast<std::size_t>(count), shape.size());
    const Shape first(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(split)),
        rest(shape.begin() + static_cast<std::ptrdiff_t>(split), shape.end());
    check.that(numel(first) == numel(rest), "A cannot be a square matrix: its first ", count, " axes have ",
               numel(first), " elements, the others ", numel(rest));
    Shape result = rest;
    result.append(first.begin(), first.end());
    return inv(a.reshape({numel(first), numel(rest)})).reshape(result);
}

}  // namespace weft::linalg
