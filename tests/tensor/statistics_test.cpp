// Covariances, histograms, derivatives at points, pairs of reductions, running values, integrals and distances.
#include "tests/tensor/support.h"

#include <weft/statistics.h>

using namespace weft;
using namespace weft::testing;

TEST_CASE("cov and corrcoef") {
    const Tensor x = tensor({{0., 1., 2.}, {2., 1., 0.}});
    CHECK(values(cov(x)) == Doubles{1, -1, -1, 1});
    CHECK(values(corrcoef(x)) == Doubles{1, -1, -1, 1});
    CHECK(cov(tensor({1., 2., 3.})).shape() == Shape{});
    CHECK(close(cov(x, {.correction = 0}), {2. / 3, -2. / 3, -2. / 3, 2. / 3}));
    const Tensor twice = tensor({{0., 1., 1., 2.}, {2., 1., 1., 0.}});
    CHECK(close(cov(x, {.frequencies = tensor({1, 2, 1})}), values(cov(twice))));
    CHECK(error_of<ShapeError>([&] {
              cov(x, {.frequencies = tensor({1, 2})});
          }) ==
          "cov(x: f32[2, 3], frequencies: i64[2]): frequencies must have one number for each of the 3 observations");
}

TEST_CASE("a histogram's bins contain their lower edge, and the last one its upper edge") {
    const auto [sums, edges] = histogram(tensor({0., 1., 1., 2., 3., 3.5}), tensor({0., 1., 2., 3.}));
    CHECK(values(sums) == Doubles{1, 2, 2});
    CHECK(values(histogram(tensor({1., 2., 1.}), 4, {.range = {{0, 3}}}).first) == Doubles{0, 2, 1, 0});
    CHECK(values(histogram(zeros({0}), 2).second) == Doubles{0, 0.5, 1});
    const Bins bins[] = {Bins(std::int64_t(2)), Bins(tensor({0., 1.}))};
    const auto [counts, both] = histogramdd(tensor({{0., 0.5}, {1., 1.}, {1., 2.}}), bins);
    CHECK(values(counts) == Doubles{1, 1});
    CHECK(both.size() == 2);
}

TEST_CASE("differences are exact for a parabola, inside and with edge_order 2 at the ends") {
    const Tensor x = tensor({1., 4., 9., 16.});
    CHECK(values(differences(x)[0]) == Doubles{3, 4, 6, 7});
    CHECK(values(differences(x, {1}, {}, 2)[0]) == Doubles{2, 4, 6, 8});
    const Tensor at[] = {tensor({1., 2., 4., 5.})};
    CHECK(close(differences(at[0] * at[0], at, {}, 2)[0], {2, 4, 8, 10}));
    CHECK(error_of<ValueError>([&] {
              differences(x, {1, 2});
          }) == "differences(x: f32[4], axes: []): there must be a spacing for each of the 1 axes, not 2");
}

TEST_CASE("pairs of reductions, differences, integrals, distances") {
    const Tensor x = tensor({{1, 2, 3, 4}, {0, 0, 2, 2}}, f32);
    CHECK(values(var_mean(x, 1, 0).first) == Doubles{1.25, 1});
    CHECK(values(std_mean(x, 1, 0).second) == Doubles{2.5, 1});
    CHECK(values(aminmax(x, 0).second) == Doubles{1, 2, 3, 4});
    CHECK(values(diff(x, 1, 1)) == Doubles{1, 1, 1, 0, 2, 0});
    CHECK(values(diff(x, 1, 0, zeros({1, 4}))) == Doubles{1, 2, 3, 4, -1, -2, -1, -2});
    CHECK(values(trapezoid(x)) == Doubles{7.5, 3});
    CHECK(values(trapezoid(x, tensor({0., 1., 3., 6.}))) == Doubles{17, 8});
    CHECK(values(cumulative_trapezoid(x, 2.0)) == Doubles{3, 8, 15, 0, 2, 6});
    CHECK(values(cdist(x, x, 1)) == Doubles{0, 6, 6, 0});
    CHECK(values(dist(x, zeros({4}), kInf)) == Doubles{4});
    CHECK(close(norm(renorm(x, 2, 0, 1), 2, 1), {1, 1}));
    CHECK(close(norm(normalize(x), 2, 1), {1, 1}));
    CHECK(count_nonzero(tensor({1.0, 0.0, kNan})).item<std::int64_t>() == 2);
    CHECK_THROWS_AS(cdist(zeros({3, 2}), zeros({3, 4})), ShapeError);
    CHECK_THROWS_AS(cummax(zeros({3}), 1), IndexError);
    CHECK_THROWS_AS(trapezoid(zeros({3}), zeros({4})), ShapeError);
}

TEST_CASE("the derivative of logcumsumexp, along an axis") {
    Tensor x = tensor({0.5, -1, 2}, f64);
    x.set_requires_grad();
    const Tensor targets[] = {x}, weights = tensor({1.0, -2.0, 0.5}, f64);
    const Doubles got = values(gradient(sum(logcumsumexp(x, 0) * weights), targets)[0]);
    const Doubles e = {std::exp(0.5), std::exp(-1.0), std::exp(2.0)};
    const Doubles s = {e[0], e[0] + e[1], e[0] + e[1] + e[2]};
    CHECK(got[0] == doctest::Approx(e[0] * (1 / s[0] - 2 / s[1] + 0.5 / s[2])));
    CHECK(got[1] == doctest::Approx(e[1] * (-2 / s[1] + 0.5 / s[2])));
    CHECK(got[2] == doctest::Approx(e[2] * 0.5 / s[2]));
}
