// The normalisations: values, types, running statistics, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("layer_norm, rms_norm and group_norm") {
    const Tensor x = tensor({{1.0, 2.0, 3.0, 6.0}});  // mean 3, variance 3.5
    const double s = 1 / std::sqrt(3.5 + 1e-5);
    CHECK(close(layer_norm(x, {4}), {-2 * s, -s, 0, 3 * s}));
    CHECK(close(layer_norm(x, {4}, tensor({1.0, 2.0, 1.0, 1.0}), tensor({0.0, 0.0, 5.0, 0.0})),
                {-2 * s, -2 * s, 5, 3 * s}));
    CHECK(close(layer_norm(x, {1, 4}), {-2 * s, -s, 0, 3 * s}));
    CHECK(layer_norm(x.to(f16), {4}).dtype() == f16);
    const Tensor r = tensor({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0});  // mean square 4
    CHECK(values(rms_norm(r, {8}, ones({8}), 0)) == Doubles{.5, .5, .5, .5, .5, .5, .5, 2.5});
    const Tensor grouped = tensor({{1.0, 3.0, 10.0, 30.0}});
    CHECK(close(group_norm(grouped, 2, {}, {}, 0), {-1, 1, -1, 1}));
    CHECK(close(group_norm(grouped, 2, tensor({1.0, 2.0, 1.0, 1.0}), ones({4}), 0), {0, 3, 0, 2}));
}

TEST_CASE("batch_norm normalises channels and moves the running statistics") {
    const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}});  // channel means 2 and 20, variances 1 and 100
    Tensor mean = zeros({2}).clone(), var = ones({2}).clone();
    const Tensor y = batch_norm(x, mean, var, {}, {}, {.training = true, .eps = 0});
    CHECK(close(y, {-1, -1, 1, 1}));
    CHECK(close(mean, {0.2, 2}));
    CHECK(close(var, {0.9 + 0.1 * 2, 0.9 + 0.1 * 200}));  // the running variance is unbiased
    const Tensor eval =
        batch_norm(x, tensor({1.0, 10.0}), tensor({4.0, 100.0}), tensor({1.0, 2.0}), tensor({0.0, 1.0}), {.eps = 0});
    CHECK(close(eval, {0, 1, 1, 5}));
    const Tensor image = counting({2, 3, 4, 4});
    CHECK(close(batch_norm(image, {}, {}, {}, {}, {.training = true}).mean({0, 2, 3}), {0, 0, 0}, 1e-5));
    CHECK(close(mean, {0.2, 2}));
}

TEST_CASE("batch_norm's gradient does not pass through the running statistics") {
    Tensor x = tensor({{1.0}, {3.0}, {4.0}}), mean = zeros({1}).clone(), var = ones({1}).clone();
    x.set_requires_grad();
    batch_norm(x, mean, var, {}, {}, {.training = true}).sum().backward();
    CHECK(close(x.grad(), {0, 0, 0}, 1e-5));  // the sum of normalised values does not depend on x
    CHECK(!mean.requires_grad());
}

TEST_CASE("mistakes name the call") {
    const Tensor x = zeros({2, 3});
    CHECK(error_of<ShapeError>([&] { layer_norm(x, {2}); }) ==
          "layer_norm(x: f32[2, 3], normalized_shape: [2]): x's last sizes must be [2]");
    CHECK(error_of<ShapeError>([&] { layer_norm(x, {3}, ones({2})); }) ==
          "layer_norm(x: f32[2, 3], normalized_shape: [3], weight: f32[2]): weight must have shape [3]");
    CHECK(error_of<DTypeError>([&] { rms_norm(x.to(i32), {3}); }) ==
          "rms_norm(x: i32[2, 3], normalized_shape: [3]): x must be a float tensor, not i32");
    CHECK(error_of<ValueError>([&] {
              batch_norm(zeros({1, 3}), {}, {}, {}, {}, {.training = true});
          }) == "batch_norm(x: f32[1, 3]): training needs more than one value per channel");
    CHECK(error_of<ValueError>([&] { batch_norm(x, {}, {}); }) ==
          "batch_norm(x: f32[2, 3]): without training the running mean and variance are needed");
    CHECK(error_of<ShapeError>([&] { group_norm(x, 2); }) ==
          "group_norm(x: f32[2, 3], groups: 2): the 3 channels cannot be divided into 2 groups");
}
