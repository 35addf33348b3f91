// The functions of weft/linalg.h: values, batches, types, derivatives by finite differences, and what happens to matrices that cannot be
// factored.
#include "tests/tensor/support.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/linalg.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

// d(sum of w * f(x))/dx against differences, in f64.
void check_slope(const Tensor& start, const std::function<Tensor(const Tensor&)>& f, double tolerance = 1e-6) {
    Tensor x = start.clone();
    x.set_requires_grad();
    const auto weighted = [&](const Tensor& y) {
        return (y * sin(arange(y.numel(), f64).reshape(y.shape()) * 0.37 + 0.5)).sum();
    };
    weighted(f(x)).backward();
    const Doubles slope = values(x.grad()), at = values(start);
    for (std::size_t i = 0; i < at.size(); ++i) {
        const double step = 1e-5;
        Doubles up = at, down = at;
        up[i] += step, down[i] -= step;
        const double difference =
            (weighted(f(from_data(up, start.shape()))).item() - weighted(f(from_data(down, start.shape()))).item()) /
            (2 * step);
        CHECK(std::fabs(slope[i] - difference) <= tolerance * (1 + std::fabs(difference)));
    }
}

Tensor sample(const Shape& shape, double diagonal = 0) {
    std::mt19937 generator(static_cast<unsigned>(shape.size() + static_cast<std::size_t>(numel(shape))));
    std::normal_distribution<double> normal;
    Doubles numbers(static_cast<std::size_t>(numel(shape)));
    for (double& number : numbers) number = normal(generator);
    const Tensor x = from_data(numbers, shape);
    return diagonal == 0 ? x : x + eye(shape.back(), {}, f64) * diagonal;
}
Tensor positive(const Shape& shape) {
    const Tensor x = sample(shape);
    return matmul(x, x.transpose(-2, -1)) + eye(shape.back(), {}, f64);
}

double gap(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

}  // namespace

// ---- solving ---------------------------------------------------------------------------------------------------------

TEST_CASE("determinants") {
    CHECK(linalg::det(tensor({{1.0, 2.0}, {3.0, 4.0}}, f64)).item() == -2);
    CHECK(linalg::det(zeros({0, 0})).item() == 1);
    CHECK(values(linalg::det(stack({eye(3) * 2, eye(3)}))) == Doubles{8, 1});
    const auto [sign, log] = linalg::slogdet(tensor({{0.0, 2.0}, {3.0, 0.0}}, f64));
    CHECK(sign.item() == -1);
    CHECK(std::fabs(log.item() - std::log(6.0)) < 1e-15);
    check_slope(sample({2, 3, 3}), [](const Tensor& x) { return linalg::det(x); });
    check_slope(sample({3, 3}), [](const Tensor& x) { return linalg::slogdet(x).logabsdet; });
    // of a singular matrix: the cofactors, which exist all the same
    check_slope(tensor({{1.0, 2.0}, {2.0, 4.0}}, f64), [](const Tensor& x) { return linalg::det(x); });
    check_slope(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, f64),
                [](const Tensor& x) { return linalg::det(x); });
}

TEST_CASE("inverses and equations") {
    const Tensor a = sample({2, 4, 4}, 3), b = sample({2, 4, 3});
    CHECK(gap(matmul(a, linalg::inv(a)), eye(4, {}, f64)) < 1e-13);
    CHECK(gap(matmul(a, linalg::solve(a, b)), b) < 1e-13);
    CHECK(gap(matmul(linalg::solve(a, b.transpose(-2, -1), {.left = false}), a), b.transpose(-2, -1)) < 1e-13);
    CHECK(linalg::solve(a, sample({2, 4})).shape() == Shape{2, 4});              // a vector for each matrix
    CHECK(linalg::solve(a, sample({5, 1, 4, 3})).shape() == Shape{5, 2, 4, 3});  // batches broadcast
    CHECK(linalg::solve(a[0], b[0].to(f64)).dtype() == f64);
    CHECK(linalg::inv(a.to(f32)).dtype() == f32);
    check_slope(sample({3, 3}, 3), [](const Tensor& x) { return linalg::inv(x); });
    const Tensor right = sample({3, 2}), left = sample({3, 3}, 3);
    check_slope(left, [&](const Tensor& x) { return linalg::solve(x, right); });
    check_slope(right, [&](const Tensor& x) { return linalg::solve(left, x); });
    for (const bool upper : {false, true})
        for (const bool unit : {false, true}) {
            const auto solved = [&](const Tensor& x) {
                return linalg::solve_triangular(x, right, {.upper = upper, .unitriangular = unit});
            };
            Tensor t = upper ? triu(left) : tril(left);
            if (unit) t = (upper ? triu(left, 1) : tril(left, -1)) + eye(3, {}, f64);
            CHECK(gap(matmul(t, solved(left)), right) < 1e-13);
            check_slope(left, solved);
        }
}

TEST_CASE("a singular matrix raises when the graph runs, and nothing else is lost") {
    const Tensor singular = tensor({{1.0, 2.0}, {2.0, 4.0}});
    Tensor counter = zeros({3});
    counter.realize();
    const Tensor inverse = linalg::inv(singular);  // nothing happens yet
    counter += 1;
    CHECK(error_of<LinAlgError>([&] { inverse.realize(); }) ==
          "linalg.inv(A: f32[2, 2]): the matrix is singular: U's diagonal element 2 is 0");
    CHECK(values(counter) == Doubles{1, 1, 1});
    counter += 1;
    CHECK(values(counter) == Doubles{2, 2, 2});
    CHECK(error_of<LinAlgError>([&] {
              linalg::inv(stack({eye(2), singular})).realize();
          }) == "linalg.inv(A: f32[2, 2, 2]): matrix 1 of the batch is singular: U's diagonal element 2 is 0");
    CHECK(error_of<LinAlgError>([&] {
              linalg::solve(singular, ones({2, 1})).realize();
          }) == "linalg.solve(A: f32[2, 2], B: f32[2, 1]): the matrix is singular: U's diagonal element 2 is 0");
    CHECK(error_of<LinAlgError>([&] { linalg::cholesky(-eye(2)).realize(); }) ==
          "linalg.cholesky(A: f32[2, 2]): the matrix is not positive definite: the leading minor of order 1 is not "
          "positive");
    CHECK(error_of<LinAlgError>([&] {
              linalg::svd(full({2, 2}, kNan)).s.realize();
          }) == "linalg.svd(A: f32[2, 2]): the matrix has elements that are not finite");
    CHECK(values(linalg::inv_ex(stack({eye(2), singular})).info) == Doubles{0, 2});
    CHECK(values(linalg::solve_ex(singular, ones({2})).info) == Doubles{2});
    CHECK(linalg::cholesky_ex(-eye(2)).info.item() == 1);
    CHECK(error_of<LinAlgError>([&] { linalg::lu_factor(singular).lu.realize(); }) ==
          "linalg.lu_factor(A: f32[2, 2]): the matrix is singular: U's diagonal element 2 is 0");
    CHECK(linalg::lu_factor_ex(singular).info.item() == 2);
    CHECK(values(linalg::lu(singular).u) == Doubles{2, 4, 0, 0});
}

TEST_CASE("a plan with a decomposition is found again") {
    const Tensor a = sample({3, 3}, 3).realize();
    linalg::inv(a).realize();
    const CounterScope count;
    linalg::inv(a + 0.0).realize();
    linalg::inv((a * 2).realize()).realize();
    CHECK(count.plans_made() <= 2);
    CHECK(count.plan_cache_hits() >= 1);
}

// ---- factorisations --------------------------------------------------------------------------------------------------

TEST_CASE("factorisations and their slopes") {
    const Tensor p = positive({2, 3, 3});
    const Tensor l = linalg::cholesky(p);
    CHECK(gap(matmul(l, l.transpose(-2, -1)), p) < 1e-13);
    CHECK(gap(linalg::cholesky(p, true), l.transpose(-2, -1)) == 0);
    CHECK(gap(linalg::cholesky_solve(matmul(p, p), l), p) < 1e-12);
    CHECK(gap(linalg::cholesky_inverse(l), linalg::inv(p)) < 1e-13);
    const auto symmetric = [](const Tensor& x) { return (x + x.transpose(-2, -1)) * 0.5; };
    check_slope(p, [&](const Tensor& x) { return linalg::cholesky(symmetric(x)); });
    check_slope(p, [&](const Tensor& x) { return linalg::eigvalsh(symmetric(x)); });
    check_slope(
        p, [&](const Tensor& x) { return square(linalg::eigh(symmetric(x)).eigenvectors); }, 1e-5);
    for (const Shape& shape : {Shape{3, 3}, Shape{4, 3}, Shape{3, 4}}) {
        const Tensor a = sample(shape);
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        const linalg::Lu lu = linalg::lu(a);
        CHECK(gap(matmul(lu.p, matmul(lu.l, lu.u)), a) < 1e-13);
        check_slope(a, [](const Tensor& x) { return linalg::lu(x).l; });
        check_slope(a, [](const Tensor& x) { return linalg::lu(x).u; });
        const linalg::Qr qr = linalg::qr(a);
        CHECK(gap(matmul(qr.q, qr.r), a) < 1e-13);
        CHECK(linalg::qr(a, linalg::QrMode::Complete).q.shape() == Shape{shape[0], shape[0]});
        CHECK(linalg::qr(a, linalg::QrMode::R).q.shape() == Shape{0});
        check_slope(a, [](const Tensor& x) { return linalg::qr(x).q; });
        check_slope(a, [](const Tensor& x) { return linalg::qr(x).r; });
        const linalg::Svd svd = linalg::svd(a, false);
        CHECK(gap(matmul(svd.u * svd.s, svd.vh), a) < 1e-13);
        check_slope(
            a, [](const Tensor& x) { return linalg::svd(x, false).u; }, 1e-5);
        check_slope(a, [](const Tensor& x) { return linalg::svdvals(x); });
        check_slope(
            a, [](const Tensor& x) { return linalg::svd(x, false).vh; }, 1e-5);
        check_slope(a, [](const Tensor& x) { return linalg::pinv(x); });
    }
    const Tensor a = sample({4, 4}, 2), b = sample({4, 2});
    const linalg::LuFactors factors = linalg::lu_factor(a);
    CHECK(factors.pivots.dtype() == i32);
    CHECK(gap(linalg::lu_solve(factors.lu, factors.pivots, b), linalg::solve(a, b)) < 1e-13);
    CHECK(gap(linalg::lu_solve(factors.lu, factors.pivots, b, {.adjoint = true}), linalg::solve(a.t(), b)) < 1e-13);
    CHECK(error_of<GradError>([] {
              Tensor x = sample({4, 3});
              x.set_requires_grad();
              linalg::qr(x, linalg::QrMode::Complete).q.sum().backward();
          }) == "linalg.qr has no derivative for mode='complete' where there are more rows than columns");
}

// ---- functions -------------------------------------------------------------------------------------------------------

TEST_CASE("least squares, ranks, powers, exponentials, chains") {
    const Tensor a = sample({5, 3}), b = sample({5, 2});
    const linalg::LeastSquares fit = linalg::lstsq(a, b);
    CHECK(gap(matmul(a.t(), matmul(a, fit.solution) - b), zeros({3, 2}, f64)) < 1e-13);  // what is left is orthogonal
    CHECK(fit.rank.item() == 3);
    CHECK(fit.residuals.shape() == Shape{2});
    CHECK(linalg::matrix_rank(stack({eye(3), zeros({3, 3})})).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{3, 0});
    CHECK(linalg::matrix_rank(ones({4, 3})).item() == 1);
    CHECK(linalg::matrix_rank(tensor({{1.0, 0.0}, {0.0, 1e-3}}), {.atol = 0.01}).item() == 1);
    CHECK(gap(linalg::matrix_power(sample({3, 3}, 2), -3), linalg::inv(linalg::matrix_power(sample({3, 3}, 2), 3))) <
          1e-12);
    CHECK(values(linalg::matrix_power(tensor({{1, 1}, {0, 1}}), 10)) == Doubles{1, 10, 0, 1});
    CHECK(values(linalg::matrix_power(ones({2, 2}, f16), 0)) == Doubles{1, 0, 0, 1});
    const Tensor turn = linalg::matrix_exp(tensor({{0.0, -1.0}, {1.0, 0.0}}, f64) * 2);
    CHECK(gap(turn, tensor({{std::cos(2.0), -std::sin(2.0)}, {std::sin(2.0), std::cos(2.0)}}, f64)) < 1e-14);
    check_slope(sample({2, 2}), [](const Tensor& x) { return linalg::matrix_exp(x * 3); });
    const Tensor c = sample({3, 4});
    CHECK(gap(linalg::multi_dot({a, c, sample({4})}), matmul(matmul(a, c), sample({4}))) < 1e-13);
    CHECK(gap(linalg::tensorinv(sample({4, 2, 2}), 1),
              linalg::inv(sample({4, 2, 2}).reshape({4, 4})).reshape({2, 2, 4})) == 0);
    CHECK(linalg::tensorsolve(sample({2, 3, 6}), sample({2, 3})).shape() == Shape{6});
}

TEST_CASE("norms and conditions") {
    const Tensor a = tensor({{3.0, -4.0}, {0.0, 5.0}}, f64);
    using linalg::matrix_norm, linalg::MatrixNorm;
    CHECK(std::fabs(matrix_norm(a).item() - std::sqrt(50.0)) < 1e-14);
    CHECK(matrix_norm(a, 1.0).item() == 9);
    CHECK(matrix_norm(a, -1.0).item() == 3);
    CHECK(matrix_norm(a, kInf).item() == 7);
    CHECK(matrix_norm(a, -kInf).item() == 5);
    CHECK(std::fabs(matrix_norm(a, 2.0).item() - std::sqrt(45.0)) < 1e-14);
    CHECK(std::fabs(matrix_norm(a, -2.0).item() - std::sqrt(5.0)) < 1e-14);
    CHECK(std::fabs(matrix_norm(a, MatrixNorm::Nuclear).item() - std::sqrt(80.0)) < 1e-14);
    CHECK(matrix_norm(ones({2, 3, 4}), 1.0, {0, 2}, true).shape() == Shape{1, 3, 1});
    CHECK(matrix_norm(zeros({0, 0}), 2.0).item() == 0);
    CHECK(matrix_norm(ones({2, 2}, f16)).dtype() == f16);
    CHECK(linalg::vector_norm(a, 1).item() == 12);
    CHECK(std::fabs(linalg::cond(a).item() - 3) < 1e-14);
    CHECK(linalg::cond(zeros({2, 2}), 1.0).item() == kInf);
    CHECK(values(linalg::diagonal(tensor({{1, 2, 3}, {4, 5, 6}}), 1)) == Doubles{2, 6});
    CHECK(linalg::diagonal(ones({2, 3}, bool_), -5).shape() == Shape{0});
    CHECK(linalg::trace(ones({2, 3, 3}, i32)).to_vector<double>() == Doubles{3, 3});
}

TEST_CASE("wrong arguments raise at the call") {
    CHECK(error_of<DTypeError>([] {
              linalg::inv(ones({2, 2}, f16));
          }) == "linalg.inv(A: f16[2, 2]): A must be of f32 or f64, not f16");
    CHECK(error_of<ShapeError>([] {
              linalg::det(ones({2, 3}));
          }) == "linalg.det(A: f32[2, 3]): A must be square: its last sizes are 2 and 3");
    CHECK(error_of<ShapeError>([] { linalg::svd(ones({3})); }) ==
          "linalg.svd(A: f32[3]): A must have two axes at least");
    CHECK(error_of<ShapeError>([] {
              linalg::solve(ones({2, 2}), ones({3, 1}));
          }) == "linalg.solve(A: f32[2, 2], B: f32[3, 1]): B's size 3 must equal A's 2");
    CHECK(error_of<DTypeError>([] {
              linalg::solve(ones({2, 2}), ones({2, 1}, f64));
          }) == "linalg.solve(A: f32[2, 2], B: f64[2, 1]): A and B must have one type");
    CHECK(error_of<ShapeError>([] {
              linalg::multi_dot({ones({2, 3}), ones({2, 3})});
          }) == "linalg.multi_dot(tensors: [f32[2, 3], f32[2, 3]]): tensor 1 has 2 rows, and the one before 3 columns");
    CHECK(error_of<ValueError>([] {
              linalg::matrix_norm(ones({2, 2}), 3.0);
          }) == "linalg.matrix_norm(A: f32[2, 2], dim: [-2, -1]): ord must be 'fro', 'nuc', ±infinity, ±1 or ±2");
}

TEST_CASE("a product of one reflection") {
    const Tensor v = tensor({{9.}, {1.}}), tau = tensor({1.});  // I - (1, 1)ᵀ (1, 1): the diagonal is not read
    CHECK(values(linalg::householder_product(v, tau)) == Doubles{0, -1});
    CHECK(values(linalg::multiply_q(v, tau, eye(2))) == Doubles{0, -1, -1, 0});
    CHECK(values(linalg::householder_product(v, zeros({1}))) == Doubles{1, 0});
}
