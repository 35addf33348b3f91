// Grids of places, unpooled maxima, and losses of sequences and margins, by values that can be computed by hand.
#include "tests/tensor/support.h"

#include <weft/ctc_loss.h>
#include <weft/margin_loss.h>
#include <weft/sampling.h>

#include <cmath>

using namespace weft;

TEST_CASE("an identity grid gives the image back, and reads beyond its ends as told") {
    const Tensor x = reshape(arange(6, f32), {1, 1, 2, 3});
    const Tensor same = affine_grid(tensor({{{1., 0., 0.}, {0., 1., 0.}}}), {1, 1, 2, 3}, true);
    CHECK(grid_sample(x, same, {.align_corners = true}).to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
    const Tensor outside = tensor({{{{3., -1.}}}});  // one pixel beyond the right end of the first row, and more
    CHECK(grid_sample(x, outside, {.align_corners = true}).item<float>() == 0);
    CHECK(grid_sample(x, outside, {.padding = SamplePadding::Border, .align_corners = true}).item<float>() == 2);
    CHECK(grid_sample(x, outside, {.padding = SamplePadding::Reflection, .align_corners = true}).item<float>() == 0);
    CHECK_THROWS_AS(grid_sample(x, tensor({{{1., 1.}}})), ShapeError);
}

TEST_CASE("unpooled maxima stand at their indices") {
    const Tensor x = tensor({{7., 8.}}), at = tensor({{3, 1}});
    CHECK(max_unpool(x, at, {4}).to_vector<float>() == std::vector<float>{0, 8, 0, 7});
    CHECK_THROWS_AS(max_unpool(x, tensor({{3}}), {4}), ShapeError);
}

TEST_CASE("ctc_loss adds up all readings") {
    // Two times, two classes of equal probability: "1" is read from 01, 10 and 11, three of four paths.
    const Tensor x = full({2, 1, 2}, std::log(0.5), f64);
    CHECK(ctc_loss(x, tensor({{1}}), {2}, {1}).item<double>() == doctest::Approx(-std::log(0.75)));
    CHECK(ctc_loss(x, tensor({{1, 1}}), {2}, {2}, {.reduction = Reduction::Sum}).item<double>() ==
          std::numeric_limits<double>::infinity());  // 1 twice needs a blank between: three times
    CHECK(ctc_loss(x, tensor({{1, 1}}), {2}, {2}, {.zero_infinity = true}).item<double>() == 0);
    CHECK_THROWS_AS(ctc_loss(x, tensor({{1}}), {3}, {1}), ValueError);
}

TEST_CASE("margin losses") {
    const Tensor x = tensor({{0.5, 0., 1.}});
    CHECK(multi_margin_loss(x, tensor({0})).item<float>() == doctest::Approx((0.5 + 1.5) / 3));
    CHECK(multi_margin_loss(x, tensor({0}), {.p = 2}).item<float>() == doctest::Approx((0.25 + 2.25) / 3));
    CHECK(multilabel_margin_loss(x, tensor({{0, -1, 1}})).item<float>() == doctest::Approx((0.5 + 1.5) / 3));
    CHECK(soft_margin_loss(tensor({0.}), tensor({1.})).item<float>() == doctest::Approx(std::log(2.)));
    CHECK_THROWS_AS(multi_margin_loss(x, tensor({0}), {.p = 3}), ValueError);
}
