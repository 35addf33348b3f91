// Patches, resizing and shuffling of images, and bags of embeddings.
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

TEST_CASE("bags of rows") {
    const Tensor weight = counting({4, 2}), index = tensor({0, 3, 1, 2}), offsets = tensor({0, 1, 1});
    CHECK(values(embedding_bag(weight, index, offsets, {.mode = BagMode::Sum})) == Doubles{0, 1, 0, 0, 12, 15});
    CHECK(values(embedding_bag(weight, index, offsets)) == Doubles{0, 1, 0, 0, 4, 5});
    CHECK(values(embedding_bag(weight, index, offsets, {.mode = BagMode::Max})) == Doubles{0, 1, 0, 0, 6, 7});
    CHECK(values(embedding_bag(weight, index, offsets, {.include_last_offset = true})) == Doubles{0, 1, 0, 0});
    CHECK(values(embedding_bag(weight, tensor({{0, 3}, {3, 3}}), {}, {.padding = 3})) == Doubles{0, 1, 0, 0});
    CHECK(run_error_of<IndexError>([&] {
              embedding_bag(weight, index, tensor({1, 2})).realize();
          }) == "embedding_bag(weight: f32[4, 2], index: i64[4], offsets: i64[2]): the first offset must be 0");
}

TEST_CASE("rows that are too long are shortened, and frequent ones learn less") {
    Tensor weight = tensor({{3.0, 4.0}, {6.0, 8.0}, {0.0, 30.0}});
    CHECK(close(embedding(weight, tensor({0, 1}), {}, {.max_norm = 5}), {3, 4, 3, 4}));
    CHECK(close(weight, {3, 4, 3, 4, 0, 30}));
    weight.set_requires_grad();
    embedding(weight, tensor({0, 0, 2}), {}, {.scale_grad_by_freq = true}).sum().backward();
    CHECK(values(weight.grad()) == Doubles{1, 1, 0, 0, 1, 1});
}
