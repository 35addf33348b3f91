// tensor/linalg_factor.cpp: factorisations into triangles and orthogonal matrices, with their derivatives.
#include "tensor/linalg.h"

#include <weft/autograd.h>
#include <weft/linalg.h>

namespace weft::linalg {
namespace {

Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// x t⁻¹
Tensor divided_right(const Tensor& x, const Tensor& t, bool upper, bool unit = false) {
    return transpose_of(solved_triangular(transpose_of(t), transpose_of(x), !upper, unit));
}

}  // namespace

// ---- Cholesky --------------------------------------------------------------------------------------------------------

namespace {

CholeskyEx factored(const Tensor& a, bool upper, const std::string& call) {
    const nodes::CholeskyNode made = nodes::cholesky(a, call);
    const Tensor inputs[] = {a}, outputs[] = {made.l};
    const Tensor l = custom_gradient("linalg.cholesky", inputs, outputs, [](auto gradients, auto results) {
        // L⁻ᵀ Φ(Lᵀ G) L⁻¹, symmetric, where Φ takes the lower triangle and half of the diagonal
        const Tensor& l = results[0];
        const Tensor product = tril(matmul(transpose_of(l), gradients[0]));
        const Tensor phi = product - diagonal_matrix(diagonal_of(product)) * 0.5;
        const Tensor left = solved_triangular(transpose_of(l), (phi + transpose_of(phi)) * 0.5, true);
        return std::vector<Tensor>{divided_right(left, l, false)};
    })[0];
    return {upper ? transpose_of(l) : l, made.info};
}

}  // namespace

Tensor cholesky(const Tensor& a, bool upper) {
    const Checker check("linalg.cholesky", {{"A", a}});
    return factored(wide_square(check, "A", a), upper, check.call()).l.to(a.dtype());
}

CholeskyEx cholesky_ex(const Tensor& a, bool upper) {
    const Checker check("linalg.cholesky_ex", {{"A", a}});
    const CholeskyEx result = factored(wide_square(check, "A", a), upper, "");
    return {result.l.to(a.dtype()), result.info};
}

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper) {
    const Checker check("cholesky_solve", {{"B", b}, {"L", l}});
    const Tensor factor = wide_square(check, "L", l), right = wide_matrix(check, "B", b);
    check.dtype(b.dtype() == l.dtype(), "B and L must have one type");
    check.that(b.size(-2) == l.size(-1), "B's size ", b.size(-2), " must equal L's ", l.size(-1));
    const Shape batch = check.broadcast(batch_of(l), batch_of(b));
    const Tensor lower = with_batch(upper ? transpose_of(factor) : factor, batch);
    const Tensor half = solved_triangular(lower, with_batch(right, batch), false);
    return solved_triangular(transpose_of(lower), half, true).to(b.dtype());
}

Tensor cholesky_inverse(const Tensor& l, bool upper) {
    const Checker check("cholesky_inverse", {{"L", l}});
    const Tensor factor = wide_square(check, "L", l), lower = upper ? transpose_of(factor) : factor;
    const Tensor half = solved_triangular(lower, broadcast_to(eye(l.size(-1), {}, f64), l.shape()), false);
    return matmul(transpose_of(half), half).to(l.dtype());
}

// ---- LU --------------------------------------------------------------------------------------------------------------

namespace {

// l and u out of one matrix: [m, k] and [k, n].
Tensor lower_of(const Tensor& lu) {
    const std::int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
    return tril(lu.narrow(-1, 0, k), -1) + eye(m, k, f64);
}
Tensor upper_of(const Tensor& lu) { return triu(lu.narrow(-2, 0, std::min(lu.size(-2), lu.size(-1)))); }

// The gradient of P⁻¹ a, from that of both triangles in one matrix.
Tensor lu_gradient(const Tensor& lu, const Tensor& g) {
    const std::int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
    const Tensor l = lower_of(lu), u = upper_of(lu);
    const Tensor l1 = l.narrow(-2, 0, k), u1 = u.narrow(-1, 0, k);
    Tensor of_l = tril(g.narrow(-2, 0, k).narrow(-1, 0, k), -1), of_u = triu(g.narrow(-2, 0, k).narrow(-1, 0, k)),
           beside;
    if (n > k) {  // u2 = l⁻¹ a2
        beside = solved_triangular(transpose_of(l1), g.narrow(-1, k, n - k), true, true);
        of_l = of_l - tril(matmul(beside, transpose_of(u.narrow(-1, k, n - k))), -1);
    }
    if (m > k) {  // l2 = a2 u⁻¹
        beside = divided_right(g.narrow(-2, k, m - k), transpose_of(u1), false);
        of_u = of_u - triu(matmul(transpose_of(l.narrow(-2, k, m - k)), beside));
    }
    const Tensor inside = tril(matmul(transpose_of(l1), of_l), -1) + triu(matmul(of_u, transpose_of(u1)));
    const Tensor square =
        divided_right(solved_triangular(transpose_of(l1), inside, true, true), transpose_of(u1), false);
    return beside.defined() ? cat({square, beside}, n > k ? -1 : -2) : square;
}

LuFactors factored(const Tensor& a, const std::string& call) {
    const nodes::LuNode made = nodes::lu(a, call);
    const Tensor inputs[] = {a}, outputs[] = {made.lu};
    const SavedTensor pivots(made.pivots);
    const std::int64_t rows = a.size(-2);
    const Tensor lu = custom_gradient("linalg.lu_factor", inputs, outputs, [=](auto gradients, auto results) {
        const Tensor p = nodes::permutation(pivots.unpack(), rows);
        return std::vector<Tensor>{matmul(p, lu_gradient(results[0], gradients[0]))};
    })[0];
    return {lu, made.pivots, made.info};
}

}  // namespace

LuFactors lu_factor(const Tensor& a) {
    const Checker check("linalg.lu_factor", {{"A", a}});
    const LuFactors result = factored(wide_matrix(check, "A", a), check.call());
    return {result.lu.to(a.dtype()), result.pivots, result.info};
}

LuFactors lu_factor_ex(const Tensor& a) {
    const Checker check("linalg.lu_factor_ex", {{"A", a}});
    const LuFactors result = factored(wide_matrix(check, "A", a), "");
    return {result.lu.to(a.dtype()), result.pivots, result.info};
}

Lu lu(const Tensor& a) {
    const Checker check("linalg.lu", {{"A", a}});
    const LuFactors made = factored(wide_matrix(check, "A", a), "");
    const DType type = a.dtype();
    return {nodes::permutation(made.pivots, a.size(-2)).to(type), lower_of(made.lu).to(type),
            upper_of(made.lu).to(type)};
}

namespace {

void check_pivots(const Checker& check, const Tensor& lu, const Tensor& pivots) {
    check.dtype(pivots.dtype() == i32, "the pivots must be i32, not ", pivots.dtype());
    Shape shape = batch_of(lu);
    shape.push_back(std::min(lu.size(-2), lu.size(-1)));
    check.that(pivots.shape() == shape, "the pivots must have the shape ", shape);
}

}  // namespace

Lu lu_unpack(const Tensor& lu, const Tensor& pivots) {
    const Checker check("lu_unpack", {{"LU_data", lu}, {"LU_pivots", pivots}});
    const Tensor wide = wide_matrix(check, "LU_data", lu);
    check_pivots(check, lu, pivots);
    const DType type = lu.dtype();
    return {nodes::permutation(pivots, lu.size(-2)).to(type), lower_of(wide).to(type), upper_of(wide).to(type)};
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, const LuSolveOptions& options) {
    const Checker check("linalg.lu_solve", {{"LU", lu}, {"pivots", pivots}, {"B", b}});
    const Tensor wide = wide_square(check, "LU", lu);
    Tensor right = wide_matrix(check, "B", b);
    check.dtype(lu.dtype() == b.dtype(), "LU and B must have one type");
    check_pivots(check, lu, pivots);
    bool adjoint = options.adjoint;
    if (!options.left) right = transpose_of(right), adjoint = !adjoint;
    check.that(right.size(-2) == lu.size(-1), "B's size ", right.size(-2), " must equal LU's ", lu.size(-1));
    const Shape batch = check.broadcast(batch_of(lu), batch_of(right));
    const Tensor p = with_batch(nodes::permutation(pivots, lu.size(-1)), batch), factors = with_batch(wide, batch);
    right = with_batch(right, batch);
    Tensor x;
    if (!adjoint) {
        const Tensor half = solved_triangular(factors, matmul(transpose_of(p), right), false, true);
        x = solved_triangular(factors, half, true);
    } else {
        const Tensor half = solved_triangular(transpose_of(factors), right, false);
        x = matmul(p, solved_triangular(transpose_of(factors), half, true, true));
    }
    return (options.left ? x : transpose_of(x)).to(b.dtype());
}

// ---- QR --------------------------------------------------------------------------------------------------------------

namespace {

// Of a with no more columns than rows: (gQ + Q sym(R gRᵀ - gQᵀ Q)) R⁻ᵀ, where sym mirrors the lower triangle.
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& of_q, const Tensor& of_r) {
    const Tensor from_r = of_r.defined() ? matmul(r, transpose_of(of_r)) : Tensor();
    const Tensor m = plus(from_r, of_q.defined() ? -matmul(transpose_of(of_q), q) : Tensor());
    const Tensor lower = tril(m), mirrored = lower + transpose_of(tril(m, -1));
    return divided_right(plus(of_q, matmul(q, mirrored)), transpose_of(r), false);
}

}  // namespace

Qr qr(const Tensor& a, QrMode mode) {
    const Checker check("linalg.qr", {{"A", a}});
    const Tensor wide = wide_matrix(check, "A", a);
    const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    const bool complete = mode == QrMode::Complete && m > n;
    const nodes::QrNode made = nodes::qr(wide, complete);
    const Tensor inputs[] = {wide}, outputs[] = {made.q, made.r};
    const SavedTensor matrix(wide);
    const auto results = custom_gradient("linalg.qr", inputs, outputs, [=](auto gradients, auto factors) {
        if (complete)
            throw GradError("linalg.qr has no derivative for mode='complete' where there are more rows than columns");
        const Tensor &q = factors[0], &r = factors[1], &of_q = gradients[0], &of_r = gradients[1];
        if (m >= n) return std::vector<Tensor>{qr_gradient(q, r, of_q, of_r)};
        // a = [x, y], r = [u, v]: v = qᵀ y
        const Tensor y = matrix.unpack().narrow(-1, k, n - k);
        if (!of_r.defined())
            return std::vector<Tensor>{cat({qr_gradient(q, r.narrow(-1, 0, k), of_q, Tensor()), zeros_like(y)}, -1)};
        const Tensor of_v = of_r.narrow(-1, k, n - k), through_q = plus(of_q, matmul(y, transpose_of(of_v)));
        const Tensor of_x = qr_gradient(q, r.narrow(-1, 0, k), through_q, of_r.narrow(-1, 0, k));
        return std::vector<Tensor>{cat({of_x, matmul(q, of_v)}, -1)};
    });
    const Tensor q = mode == QrMode::R ? zeros({0}, a.dtype()) : results[0].to(a.dtype());
    return {q, results[1].to(a.dtype())};
}

// ---- eigenvalues -----------------------------------------------------------------------------------------------------

namespace {

// 1 / (x[j] - x[i]), and 0 on the diagonal.
Tensor gaps(const Tensor& x) {
    const std::int64_t n = x.size(-1);
    const Tensor same = eq(arange(n).unsqueeze(1), arange(n)), gap = x.unsqueeze(-2) - x.unsqueeze(-1);
    return where(same, 0.0, 1.0 / where(same, 1.0, gap));
}

nodes::EighNode decomposed(const Tensor& a, const std::string& call) {
    const nodes::EighNode made = nodes::eigh(a, call);
    const Tensor inputs[] = {a}, outputs[] = {made.values, made.vectors};
    const auto results = custom_gradient("linalg.eigh", inputs, outputs, [](auto gradients, auto parts) {
        const Tensor &w = parts[0], &v = parts[1];
        Tensor inside;
        if (gradients[1].defined()) {
            const Tensor half = matmul(transpose_of(v), gradients[1]) * gaps(w) * 0.5;
            inside = half + transpose_of(half);  // of a symmetric change, only this counts
        }
        if (gradients[0].defined()) inside = plus(inside, diagonal_matrix(gradients[0]));
        return std::vector<Tensor>{matmul(v, matmul(inside, transpose_of(v)))};
    });
    return {results[0], results[1]};
}

Tensor symmetric(const Checker& check, const Tensor& a, bool upper) {
    const Tensor wide = wide_square(check, "A", a);
    return upper ? transpose_of(wide) : wide;
}

}  // namespace

Eigh eigh(const Tensor& a, bool upper) {
    const Checker check("linalg.eigh", {{"A", a}});
    const nodes::EighNode result = decomposed(symmetric(check, a, upper), check.call());
    return {result.values.to(a.dtype()), result.vectors.to(a.dtype())};
}

Tensor eigvalsh(const Tensor& a, bool upper) {
    const Checker check("linalg.eigvalsh", {{"A", a}});
    const Tensor wide = symmetric(check, a, upper);
    const Tensor values =
        is_differentiated(a) ? decomposed(wide, check.call()).values : nodes::eigvalsh(wide, check.call());
    return values.to(a.dtype());
}

// ---- singular values -------------------------------------------------------------------------------------------------

namespace {

// With E = s[j]² - s[i]²: u ((skew(uᵀ gu) / E) s + s (skew(vᵀ gv) / E) + diag(gs)) vᵀ, and what leaves the spaces of u and v.
Tensor svd_gradient(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& of_u, const Tensor& of_s,
                    const Tensor& of_vh) {
    const auto skew = [](const Tensor& x) { return x - transpose_of(x); };
    Tensor inside;
    if (of_u.defined() || of_vh.defined()) {
        const Tensor over = gaps(s * s);
        if (of_u.defined()) inside = skew(matmul(transpose_of(u), of_u)) * over * s.unsqueeze(-2);
        if (of_vh.defined()) inside = plus(inside, s.unsqueeze(-1) * (skew(matmul(vh, transpose_of(of_vh))) * over));
    }
    if (of_s.defined()) inside = plus(inside, diagonal_matrix(of_s));
    Tensor result = matmul(u, matmul(inside, vh));
    if (of_u.defined() && u.size(-2) > s.size(-1)) {
        const Tensor scaled = of_u / s.unsqueeze(-2);
        result = result + matmul(scaled - matmul(u, matmul(transpose_of(u), scaled)), vh);
    }
    if (of_vh.defined() && vh.size(-1) > s.size(-1)) {
        const Tensor scaled = of_vh / s.unsqueeze(-1);
        result = result + matmul(u, scaled - matmul(matmul(scaled, transpose_of(vh)), vh));
    }
    return result;
}

nodes::SvdNode taken_apart(const Tensor& a, bool full, const std::string& call) {
    const nodes::SvdNode made = nodes::svd(a, full, call);
    const std::int64_t k = made.s.size(-1);
    const Tensor inputs[] = {a}, outputs[] = {made.u, made.s, made.vh};
    const auto results = custom_gradient("linalg.svd", inputs, outputs, [k](auto gradients, auto parts) {
        const auto columns = [&](const Tensor& x) { return x.defined() ? x.narrow(-1, 0, k) : x; };
        const auto rows = [&](const Tensor& x) { return x.defined() ? x.narrow(-2, 0, k) : x; };
        return std::vector<Tensor>{svd_gradient(columns(parts[0]), parts[1], rows(parts[2]), columns(gradients[0]),
                                                gradients[1], rows(gradients[2]))};
    });
    return {results[0], results[1], results[2]};
}

}  // namespace

Svd svd(const Tensor& a, bool full_matrices) {
    const Checker check("linalg.svd", {{"A", a}});
    const nodes::SvdNode result = taken_apart(wide_matrix(check, "A", a), full_matrices, check.call());
    return {result.u.to(a.dtype()), result.s.to(a.dtype()), result.vh.to(a.dtype())};
}

Tensor svdvals(const Tensor& a) {
    const Checker check("linalg.svdvals", {{"A", a}});
    const Tensor wide = wide_matrix(check, "A", a);
    const Tensor values =
        is_differentiated(a) ? taken_apart(wide, false, check.call()).s : nodes::svdvals(wide, check.call());
    return values.to(a.dtype());
}

}  // namespace weft::linalg
