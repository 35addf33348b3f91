// The lines on products, linear algebra and attention of docs/semantics.md.
#include "tests/semantics/lines.h"

#include <weft/debug.h>
#include <weft/linalg.h>

namespace weft::testing {

namespace {

Tensor rows(const Nested& values) { return tensor(values, f64); }
const Nested kSingular = {{1.0, 2.0}, {2.0, 4.0}};

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }
bool all_nan(const Tensor& x) { return static_cast<bool>(all(isnan(x))); }

}  // namespace

LINE_ALONE("S146: the triangle that cholesky_solve and cholesky_inverse do not read has gradient 0") {
    const Tensor b = rows({{1.0}, {1.0}});
    Tensor l = rows({{2.0, 7.0}, {1.0, 4.0}});  // the 7 is not read
    l.set_requires_grad(true);
    sum(linalg::cholesky_solve(b, l)).backward();
    CHECK(l.grad()[{0, 1}].item() == 0);
    l.set_grad({});
    sum(linalg::cholesky_inverse(l)).backward();
    CHECK(l.grad()[{0, 1}].item() == 0);
    CHECK(l.grad()[{1, 0}].item() != 0);
}

LINE("S161: einsum's letters") {
    const Tensor x = tensor({{1, 2}, {3, 4}});
    line.ints(einsum("ba", {x}), {1, 3, 2, 4});
    line.ints(einsum("aB", {x}), {1, 3, 2, 4});  // capitals first
    line.ints(einsum("ij,ij->j", {x, tensor({{10}, {1}})}), {13, 24});
    line.ints(einsum("ii->i", {x}), {1, 4});
    line.ints(einsum("...i->i", {x}), {4, 6});
}

LINE_ALONE("S162: types of products") {
    CHECK(einsum("i,i", {ones({2}, i32), ones({2}, f16)}).dtype() == f16);
    CHECK(tensordot(ones({2}, u8), ones({2}, i8), 1).dtype() == i16);
    CHECK(contains(error_of<DTypeError>([] {
                       einsum("i,i", {ones({2}, bool_), ones({2}, bool_)});
                   }),
                   "bools have no products"));
}

LINE("S163: beta = 0 does not look") {
    line.is(addmm(full({1, 1}, kNan), ones({1, 2}), ones({2, 1}), {.beta = 0}), {2});
    line.is(addmm(full({1, 1}, kNan), ones({1, 2}), ones({2, 1})), {kNan});
}

LINE_ALONE("S164: types of linear algebra") {
    for (const DType type : {f16, bf16, i64, bool_}) {
        CHECK(contains(error_of<DTypeError>([&] { linalg::inv(ones({2, 2}, type)); }), "f32 or f64"));
        CHECK(contains(error_of<DTypeError>([&] { linalg::svd(ones({2, 2}, type)); }), "f32 or f64"));
    }
    CHECK(contains(error_of<DTypeError>([] { linalg::solve(ones({2, 2}), ones({2, 2}, f64)); }), "one type"));
    CHECK(linalg::matrix_norm(ones({2, 2}, f16)).dtype() == f16);
    CHECK(linalg::matrix_power(ones({2, 2}, i64), 2).dtype() == i64);
    // f32 is computed in f64: of a Hilbert matrix, whose condition is 5e5, the inverse has all digits of the rounded input
    const Tensor hilbert = 1.0 / (arange(5).unsqueeze(1) + arange(5) + 1.0);
    CHECK(distance(linalg::inv(hilbert), linalg::inv(hilbert.to(f64)).to(f32)) == 0);
}

LINE_ALONE("S165: singular matrices") {
    Tensor written = zeros({1});
    written.realize();
    written += 1;
    CHECK(contains(error_of<LinAlgError>([] { linalg::inv(rows(kSingular)).realize(); }), "the matrix is singular"));
    CHECK(written.item() == 1);  // S93
    CHECK(
        contains(error_of<LinAlgError>([] { linalg::solve(rows(kSingular), rows(kSingular)).realize(); }), "singular"));
    CHECK(contains(error_of<LinAlgError>([] { linalg::cholesky(rows(kSingular)).realize(); }), "minor of order 2"));
    const linalg::InverseEx inverse = linalg::inv_ex(rows(kSingular));
    CHECK(inverse.info.item() == 2);
    CHECK_FALSE(static_cast<bool>(any(isfinite(inverse.inverse))));
    CHECK(inverse.info.dtype() == i32);
}

LINE_ALONE("S166: determinants of singular matrices") {
    CHECK(linalg::det(rows(kSingular)).item() == 0);
    const linalg::SignAndLog logarithm = linalg::slogdet(rows(kSingular));
    CHECK(logarithm.sign.item() == 0);
    CHECK(logarithm.logabsdet.item() == -kInf);
    Tensor x = rows(kSingular);
    x.set_requires_grad();
    linalg::det(x).backward();
    CHECK(distance(x.grad(), rows({{4.0, -2.0}, {-2.0, 1.0}})) < 1e-13);
    Tensor zero = zeros({2, 2}, f64);
    zero.set_requires_grad();
    linalg::det(zero).backward();
    CHECK(zero.grad().to_vector<double>() == Doubles{0, 0, 0, 0});
}

LINE_ALONE("S167: no rows, no columns") {
    const Tensor none = zeros({0, 0});
    CHECK(linalg::det(none).item() == 1);
    CHECK(linalg::slogdet(none).sign.item() == 1);
    CHECK(linalg::slogdet(none).logabsdet.item() == 0);
    CHECK(linalg::inv(none).shape() == Shape{0, 0});
    CHECK(linalg::matrix_norm(none, 2.0).item() == 0);
    CHECK(linalg::matrix_norm(none, 1.0).item() == 0);
    CHECK(linalg::cond(none).item() == 0);
    CHECK(linalg::matrix_rank(zeros({3, 0})).item() == 0);
    const linalg::Svd svd = linalg::svd(zeros({3, 0}));
    CHECK(svd.u.to_vector<double>() == Doubles{1, 0, 0, 0, 1, 0, 0, 0, 1});
    CHECK(linalg::qr(zeros({2, 0}), linalg::QrMode::Complete).q.to_vector<double>() == Doubles{1, 0, 0, 1});
    CHECK(linalg::pinv(zeros({2, 0})).shape() == Shape{0, 2});
    CHECK(linalg::lstsq(zeros({0, 2}), zeros({0, 1})).solution.to_vector<double>() == Doubles{0, 0});
}

LINE_ALONE("S168: NaN and infinities in matrices") {
    const Tensor bad = full({2, 2}, kNan, f64);
    CHECK(all_nan(linalg::inv(bad)));
    CHECK(all_nan(linalg::det(bad)));
    CHECK(all_nan(linalg::solve(bad, ones({2, 1}, f64))));
    CHECK(all_nan(linalg::qr(bad).q));
    CHECK(all_nan(linalg::eigh(bad).eigenvalues));
    CHECK(all_nan(linalg::matrix_exp(bad)));
    CHECK(all_nan(linalg::slogdet(bad).logabsdet));
    for (const Tensor& x : {bad, full({2, 2}, kInf, f64)}) {
        CHECK(contains(error_of<LinAlgError>([&] { linalg::svdvals(x).realize(); }), "not finite"));
        CHECK(contains(error_of<LinAlgError>([&] { linalg::pinv(x).realize(); }), "not finite"));
        CHECK(contains(error_of<LinAlgError>([&] { linalg::matrix_rank(x).realize(); }), "not finite"));
    }
    CHECK(contains(error_of<LinAlgError>([&] { linalg::cholesky(bad).realize(); }), "minor of order 1"));
}

LINE_ALONE("S169: signs of factors") {
    CHECK(linalg::qr(rows({{2.0, 0.0}, {0.0, 3.0}})).r.to_vector<double>() ==
          Doubles{2, 0, 0, 3});  // nothing to reflect
    const Tensor a = rows({{3.0, 1.0}, {4.0, 2.0}});
    CHECK(linalg::qr(a).r[0][0].item() < 0);
    CHECK(distance(linalg::qr(a).r[0][0], rows({-5.0})) < 1e-14);
    const auto largest_is_positive = [](const Tensor& columns) {
        return static_cast<bool>(all(eq(max(columns, 0), max(abs(columns), 0))));
    };
    for (const Tensor& x : {a, -a, a.t()}) {
        CHECK(largest_is_positive(linalg::svd(x).u));
        CHECK(largest_is_positive(linalg::eigh(x + x.t()).eigenvectors));
    }
}

LINE_ALONE("S170: the triangle that is read") {
    const Tensor lower = rows({{4.0, kNan}, {2.0, 5.0}}), upper = rows({{4.0, 2.0}, {kNan, 5.0}});
    CHECK(linalg::cholesky(lower).to_vector<double>() == Doubles{2, 0, 1, 2});
    CHECK(distance(linalg::eigvalsh(lower), linalg::eigvalsh(upper, true)) == 0);
    CHECK(linalg::solve_triangular(lower, ones({2, 1}, f64), {}).to_vector<double>() == Doubles{0.25, 0.1});
    CHECK(linalg::solve_triangular(rows({{0.0}}), ones({1, 1}, f64), {}).item() == kInf);  // never raises
    Tensor x = rows({{4.0, 2.0}, {2.0, 5.0}});
    x.set_requires_grad();
    linalg::cholesky(x).sum().backward();
    CHECK(distance(x.grad(), x.grad().t()) == 0);
}

LINE_ALONE("S171: gradients of repeated eigenvalues") {
    Tensor x = eye(2, {}, f64).clone();
    x.set_requires_grad();
    linalg::eigvalsh(x).sum().backward();
    CHECK(distance(x.grad(), eye(2, {}, f64)) < 1e-15);
    x.zero_grad();
    linalg::svdvals(x).sum().backward();
    CHECK(distance(x.grad(), eye(2, {}, f64)) < 1e-15);
    x.zero_grad();
    linalg::eigh(x).eigenvectors.sum().backward();
    CHECK_FALSE(static_cast<bool>(all(isfinite(x.grad()))));
    x.zero_grad();
    linalg::pinv(x).sum().backward();  // needs no singular vectors
    CHECK(distance(x.grad(), -ones({2, 2}, f64)) < 1e-15);
}

LINE("S172: a query that sees nothing") {
    const Tensor q = ones({2, 1}), hidden = tensor({{true}, {false}});
    line.is(scaled_dot_product_attention(q, ones({1, 1}), full({1, 1}, 3.0), {.mask = hidden}), {3, 0});
    line.is(scaled_dot_product_attention(q, ones({1, 1}), full({1, 1}, 3.0), {.mask = tensor({{0.0}, {-kInf}})}),
            {3, 0});
    line.is(scaled_dot_product_attention(q, zeros({0, 1}), zeros({0, 1})), {0, 0});
    // Of halves the weights are halves.
    const Tensor a = sin(arange(8 * 16, f32)).reshape({8, 16}).to(bf16),
                 b = cos(arange(24 * 16, f32) * 3).reshape({24, 16}).to(bf16);
    const Tensor weights = softmax(matmul(a.to(f32), b.to(f32).t()) * 0.25, -1), values = flip(b, {0});
    const Tensor result = scaled_dot_product_attention(a, b, values);
    CHECK(equal(result, matmul(weights.to(bf16).to(f32), values.to(f32)).to(bf16)));
    CHECK_FALSE(equal(result, matmul(weights, values.to(f32)).to(bf16)));
}

LINE_ALONE("S173: long sequences") {
    const std::int64_t length = 4224;  // 17.8 million scores
    const Tensor q = sin(arange(length * 4, f32) * 0.7f).reshape({length, 4}).realize(), k = q.flip(0), v = cos(q * 3);
    Tensor wanted = q.clone();
    wanted.set_requires_grad();
    for (const bool causal : {false, true}) {
        const Tensor blocks = scaled_dot_product_attention(q, k, v, {.is_causal = causal});
        const Tensor whole = scaled_dot_product_attention(wanted, k, v, {.is_causal = causal});
        const std::vector<float> values = blocks.to_vector<float>();  // before `whole`: it is read without a gradient
        CHECK(values == whole.to_vector<float>());                    // the same bits
    }
    const Tensor mask = gt(sin(arange(length, f32)), 0).unsqueeze(1);
    const std::int64_t limit = memory_limit();
    set_memory_limit(counters().bytes_allocated + length * length);  // a fourth of what the scores take
    const Tensor masked = scaled_dot_product_attention(q, k, v, {.mask = mask.expand({length, length})}).realize();
    set_memory_limit(limit);
    CHECK(static_cast<bool>(all(eq(masked, where(mask, scaled_dot_product_attention(wanted, k, v), 0.0)))));
}

}  // namespace weft::testing
