// Pooling: values worked out by hand or by plain loops, gradients, and the messages of likely mistakes.
#include "tests/tensor/support.h"

#include <weft/debug.h>

using namespace weft;
using namespace weft::testing;

TEST_CASE("pooling") {
    const Tensor x = counting({1, 1, 4, 4});
    CHECK(values(max_pool2d(x, 2)) == Doubles{5, 7, 13, 15});
    CHECK(values(avg_pool2d(x, 2)) == Doubles{2.5, 4.5, 10.5, 12.5});
    CHECK(values(max_pool2d(x, {1, 2}, {.stride = {2, 1}})) == Doubles{1, 2, 3, 9, 10, 11});
    CHECK(max_pool2d(x, 3, {.stride = 2, .padding = 1}).shape() == Shape{1, 1, 2, 2});
    CHECK(values(max_pool2d(-x - 1, 3, {.stride = 2, .padding = 1})) == Doubles{-1, -2, -5, -6});
    CHECK(values(max_pool2d(counting({1, 1, 2, 2}, i32), 2)) == Doubles{3});
    CHECK(
        close(avg_pool2d(ones({1, 1, 2, 2}), 2, {.stride = 1, .padding = 1}), {.25, .5, .25, .5, 1, .5, .25, .5, .25}));
    CHECK(values(avg_pool2d(ones({1, 1, 2, 2}), 2, {.stride = 1, .padding = 1, .count_include_pad = false})) ==
          Doubles(9, 1));
}

TEST_CASE("a pool's gradient goes to the first maximum of each window") {
    Tensor x = zeros({1, 1, 2, 4}).clone();
    x.set_requires_grad();
    max_pool2d(x, 2).sum().backward();
    CHECK(values(x.grad()) == Doubles{1, 0, 1, 0, 0, 0, 0, 0});
    Tensor y = counting({1, 1, 3, 3}).clone();
    y.set_requires_grad();
    max_pool2d(y, 2, {.stride = 1}).sum().backward();
    CHECK(values(y.grad()) == Doubles{0, 0, 0, 0, 1, 1, 0, 1, 1});
}

TEST_CASE("windows over sequences and volumes, dilated, and over the end") {
    const Tensor row = tensor({{{3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0}}});
    CHECK(values(max_pool1d(row, 2)) == Doubles{3, 4, 9});
    CHECK(values(max_pool1d(row, 2, {.ceil_mode = true})) == Doubles{3, 4, 9, 2});
    CHECK(values(max_pool1d(row, 3, {.stride = 1, .dilation = 2})) == Doubles{5, 9, 5});
    CHECK(values(avg_pool1d(row, 2, {.ceil_mode = true})) == Doubles{2, 2.5, 7, 2});
    CHECK(values(avg_pool1d(row, 2, {.divisor_override = 1})) == Doubles{4, 5, 14});
    CHECK(close(avg_pool1d(row, 3, {.padding = 1, .ceil_mode = true}), {4.0 / 3, 10.0 / 3, 11.0 / 3}));
    CHECK(values(max_pool1d(row[0], 7)) == Doubles{9});
    CHECK(values(max_pool3d(counting({1, 1, 2, 2, 4}), 2)) == Doubles{13, 15});
    CHECK(values(avg_pool3d(counting({1, 2, 2, 4}), 2)) == Doubles{6.5, 8.5});
}

TEST_CASE("the places of maxima are those of x, not of its padding") {
    const auto [values_of, where_they_are] =
        max_pool2d_with_indices(counting({1, 1, 4, 4}), 3, {.stride = 2, .padding = 1});
    CHECK(values(values_of) == Doubles{5, 7, 13, 15});
    CHECK(where_they_are.dtype() == i64);
    CHECK(values(where_they_are) == Doubles{5, 7, 13, 15});
    CHECK(values(max_pool1d_with_indices(full({1, 1, 3}, -kInf, f32), 3, {.stride = 2, .padding = 1}).indices) ==
          Doubles{0, 1});
    CHECK(values(max_pool1d_with_indices(tensor({{2.0, 2.0, kNan, 1.0}}), 2).indices) == Doubles{0, 2});
}

TEST_CASE("adaptive pooling takes ranges that may overlap") {
    for (const int size : {5, 7, 8, 12})
        for (const int parts : {1, 2, 3, 5, 8, 9}) {
            CAPTURE(size);
            CAPTURE(parts);
            const std::vector<float> x = noise(static_cast<std::size_t>(size));
            Doubles means, maxima;
            for (int i = 0; i < parts; ++i) {
                const int start = i * size / parts, end = ((i + 1) * size + parts - 1) / parts;
                double sum = 0, top = -kInf;
                for (int k = start; k < end; ++k) sum += x[k], top = std::max<double>(top, x[k]);
                means.push_back(sum / (end - start));
                maxima.push_back(top);
            }
            CHECK(close(adaptive_avg_pool1d(from_data(x, {1, 1, size}), parts), means));
            CHECK(close(adaptive_max_pool1d(from_data(x, {1, 1, size}), parts), maxima));
        }
    const Tensor image = counting({1, 1, 4, 6});
    CHECK(values(adaptive_avg_pool2d(image, 1)) == Doubles{11.5});
    CHECK(explain(adaptive_avg_pool2d(image, 1)).kernels.size() == 1);
    CHECK(values(adaptive_avg_pool2d(image, {2, -1})) == values(avg_pool2d(image, {2, 1})));
    CHECK(values(adaptive_max_pool2d(image, {2, 3})) == Doubles{7, 9, 11, 19, 21, 23});
    Tensor equal = zeros({1, 1, 4, 6}).clone();
    equal.set_requires_grad();
    adaptive_max_pool2d(equal, {2, 4}).sum().backward();
    CHECK(values(equal.grad()) == Doubles{1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0});
    Tensor big = full({1, 1, 5}, kInf, f32);
    CHECK(values(adaptive_avg_pool1d(big, 3)) == Doubles{kInf, kInf, kInf});
}

TEST_CASE("mistakes in pooling name the call") {
    const Tensor x = zeros({1, 4, 5, 5});
    CHECK(
        error_of<ValueError>([&] { max_pool2d(x, 2, {.padding = 2}); }) ==
        "max_pool2d(x: f32[1, 4, 5, 5], window: [2]): padding 2 must be at most half of what the window reaches over, "
        "2");
    CHECK(error_of<ValueError>([&] {
              avg_pool2d(x, 2, {.stride = {1, 0}});
          }) == "avg_pool2d(x: f32[1, 4, 5, 5], window: [2]): stride must be at least 1, not 0");
    CHECK_THROWS_AS(max_pool2d(x, 2, {.stride = 0}), ValueError);
    CHECK(max_pool2d(x, 2, {.stride = Sizes{}}).shape() == max_pool2d(x, 2).shape());
    CHECK(error_of<ShapeError>([&] { max_pool2d(x, 6); }) ==
          "max_pool2d(x: f32[1, 4, 5, 5], window: [6]): the window of 6 does not fit the padded size 5");
    CHECK(error_of<ShapeError>([&] { avg_pool1d(x, 2); }) ==
          "avg_pool1d(x: f32[1, 4, 5, 5], window: [2]): x must be [n, c, l] or [c, l]");
    CHECK(error_of<DTypeError>([&] { adaptive_avg_pool2d(x.to(i32), 1); }) ==
          "adaptive_avg_pool2d(x: i32[1, 4, 5, 5], size: [1]): x must be a float tensor, not i32");
    CHECK(error_of<ValueError>([&] { adaptive_max_pool2d(x, 0); }) ==
          "adaptive_max_pool2d(x: f32[1, 4, 5, 5], size: [0]): a size must be positive");
}

TEST_CASE("unpooled maxima stand at their indices") {
    const Tensor x = tensor({{7., 8.}}), at = tensor({{3, 1}});
    CHECK(max_unpool(x, at, {4}).to_vector<float>() == std::vector<float>{0, 8, 0, 7});
    CHECK_THROWS_AS(max_unpool(x, tensor({{3}}), {4}), ShapeError);
}

TEST_CASE("adaptive maxima have places, of the first of equal ones") {
    const Tensor x = tensor({{{1., 3., 3., 2., 5.}}});
    const PooledMaxima found = adaptive_max_pool1d_with_indices(x, 2);
    CHECK(values(found.values) == Doubles{3, 5});
    CHECK(values(found.indices) == Doubles{1, 4});
}
