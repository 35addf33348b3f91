// Covariances, histograms, derivatives at points, and products of reflections.
#include "tests/tensor/support.h"

#include <weft/functional.h>
#include <weft/linalg.h>
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

TEST_CASE("a product of one reflection") {
    const Tensor v = tensor({{9.}, {1.}}), tau = tensor({1.});  // I - (1, 1)ᵀ (1, 1): the diagonal is not read
    CHECK(values(linalg::householder_product(v, tau)) == Doubles{0, -1});
    CHECK(values(linalg::multiply_q(v, tau, eye(2))) == Doubles{0, -1, -1, 0});
    CHECK(values(linalg::householder_product(v, zeros({1}))) == Doubles{1, 0});
}

TEST_CASE("adaptive maxima have places, of the first of equal ones") {
    const Tensor x = tensor({{{1., 3., 3., 2., 5.}}});
    const PooledMaxima found = adaptive_max_pool1d_with_indices(x, 2);
    CHECK(values(found.values) == Doubles{3, 5});
    CHECK(values(found.indices) == Doubles{1, 4});
}
