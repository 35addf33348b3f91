// Patches, resizing, values at the places of a grid, and shuffling of images.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("fold adds up what unfold has cut") {
    const Tensor x = counting({1, 1, 3, 3});
    CHECK(values(unfold_patches(x, 2)) == Doubles{0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8});
    CHECK(values(fold(unfold_patches(x, 2), 3, 2)) == Doubles{0, 2, 2, 6, 16, 10, 6, 14, 8});
    CHECK(unfold_patches(zeros({3, 7, 9}), {2, 3}, {.padding = 1, .stride = 2}).shape() == Shape{18, 20});
    CHECK(error_of<ShapeError>([] {
              fold(zeros({1, 4, 3}), 3, 2);
          }) ==
          "fold(x: f32[1, 4, 3], output: [3], window: [2]): axis -1 of size 3 must have the 4 places of the window");
}

TEST_CASE("sizes grow and shrink") {
    const Tensor x = counting({1, 1, 4});
    CHECK(values(interpolate(x, {.factors = {2}})) == Doubles{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(values(interpolate(x, {.sizes = {2}})) == Doubles{0, 2});
    CHECK(values(interpolate(x, {.sizes = {2}, .mode = Interpolation::NearestExact})) == Doubles{1, 3});
    CHECK(values(interpolate(x, {.sizes = {3}})) == Doubles{0, 1, 2});
    CHECK(values(interpolate(x, {.sizes = {7}, .mode = Interpolation::Linear, .align_corners = true})) ==
          Doubles{0, 0.5, 1, 1.5, 2, 2.5, 3});
    CHECK(values(interpolate(x, {.factors = {2}, .mode = Interpolation::Linear})) ==
          Doubles{0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3});
    CHECK(values(interpolate(x, {.sizes = {2}, .mode = Interpolation::Area})) == Doubles{0.5, 2.5});
    CHECK(close(interpolate(counting({1, 1, 2, 2}), {.sizes = {4, 4}, .mode = Interpolation::Cubic}).slice(2, {0, 1}),
                {-0.31640625, 0.015625, 0.5625, 0.89453125}));
    const Tensor row = counting({1, 1, 1, 10});
    CHECK(close(interpolate(row, {.sizes = {1, 4}, .mode = Interpolation::Linear, .antialias = true}),
                {1, 3.24, 5.76, 8}));
    CHECK(close(interpolate(row, {.sizes = {1, 4}, .mode = Interpolation::Cubic, .antialias = true}),
                {0.8005, 3.2060, 5.7940, 8.1995}, 1e-4));
    CHECK(std::isinf(
        interpolate(full({1, 1, 1, 9}, kInf), {.sizes = {1, 2}, .mode = Interpolation::Linear, .antialias = true})
            .sum()
            .item<float>()));
    CHECK(error_of<ValueError>([&] { interpolate(x, {}); }) ==
          "interpolate(x: f32[1, 1, 4]): either sizes or factors must be given");
}

TEST_CASE("pixels and channels change places") {
    const Tensor x = counting({1, 4, 1, 2});
    CHECK(values(pixel_shuffle(x, 2)) == Doubles{0, 2, 1, 3, 4, 6, 5, 7});
    CHECK(values(pixel_unshuffle(pixel_shuffle(x, 2), 2)) == values(x));
    CHECK(values(channel_shuffle(x, 2)) == Doubles{0, 1, 4, 5, 2, 3, 6, 7});
}

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
