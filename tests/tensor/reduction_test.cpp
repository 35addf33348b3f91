// Reductions: values, result types, empty ones, NaN, ties, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("sums and their types") {
    const Tensor x = counting({2, 3});
    CHECK(sum(x).item() == 15);
    CHECK(values(sum(x, 0)) == Doubles{3, 5, 7});
    CHECK(values(x.sum(-1)) == Doubles{3, 12});
    CHECK(sum(x, {0, 1}, true).shape() == Shape{1, 1});
    CHECK(sum(x, {}, true).shape() == Shape{1, 1});
    CHECK(sum(x.to(i8)).dtype() == i64);
    CHECK(sum(x > 2).item<std::int64_t>() == 3);
    CHECK(sum(x > 2).dtype() == i64);
    CHECK(sum(x.to(f16)).dtype() == f16);
    CHECK(values(sum(zeros({0, 2}), 0)) == Doubles{0, 0});
    CHECK(values(prod(zeros({0, 2}), 0)) == Doubles{1, 1});
    CHECK(values(prod(x + 1, 1)) == Doubles{6, 120});
    CHECK(prod(tensor({2, 3}, i32)).dtype() == i64);
    CHECK(sum(tensor(5.0)).item() == 5);
    CHECK(sum(tensor(5.0), -1).item() == 5);
}

TEST_CASE("f16 sums are made in f32 and rounded once") {
    const Tensor x = ones({4096}, f16);
    CHECK(sum(x).item() == 4096);  // in f16 it would stop at 2048
    CHECK(mean(x * 30000).item() == 30000);
    CHECK(isinf(sum(x * 60)).item() == 1);
}

TEST_CASE("extremes and their positions") {
    const Tensor x = tensor({{3.0, 1.0, 3.0}, {0.0, -5.0, 0.0}});
    CHECK(values(max(x, 1)) == Doubles{3, 0});
    CHECK(values(min(x, 0)) == Doubles{0, -5, 0});
    CHECK(max(x).item() == 3);
    CHECK(values(argmax(x, 1)) == Doubles{0, 0});
    CHECK(values(argmin(x, 0, true)) == Doubles{1, 1, 1});
    CHECK(argmin(x).item() == 4);
    CHECK(argmax(x, 1).dtype() == i64);
    CHECK(argmax(x, {}, true).shape() == Shape{1, 1});
    CHECK(values(max(tensor({{1, 7}, {2, 3}}, u8), 1)) == Doubles{7, 3});
    CHECK(max(tensor({true, false})).item() == 1);
    CHECK(argmax(tensor(2.0)).item() == 0);
    const Tensor nan = tensor({1.0, kNan, 9.0, kNan});
    CHECK(std::isnan(max(nan).item()));
    CHECK(std::isnan(min(nan).item()));
    CHECK(argmax(nan).item() == 1);
    CHECK(argmin(nan).item() == 1);
    CHECK(argmax(tensor({-kInf, -kInf})).item() == 0);
}

TEST_CASE("any and all") {
    CHECK(values(any(tensor({{0, 0}, {0, 2}}), 1)) == Doubles{0, 1});
    CHECK(values(all(tensor({{1, 0}, {3, 2}}), 1)) == Doubles{0, 1});
    CHECK(any(zeros({0})).item() == 0);
    CHECK(all(zeros({0})).item() == 1);
    CHECK(any(tensor({kNan})).item() == 1);
    CHECK(any(zeros({2})).dtype() == bool_);
}

TEST_CASE("statistics") {
    const Tensor x = tensor({{1.0, 2.0, 4.0}, {0.0, 0.0, 3.0}});
    CHECK(close(mean(x, 1), {7.0 / 3, 1}));
    CHECK(close(var(x, 1), {7.0 / 3, 3}));
    CHECK(close(var(x, 1, 0), {14.0 / 9, 2}));
    CHECK(close(stddev(x, 1, 1, true), {std::sqrt(7.0 / 3), std::sqrt(3.0)}));
    CHECK(stddev(x, 1, 1, true).shape() == Shape{2, 1});
    CHECK(std::isnan(var(tensor({1.0})).item()));
    CHECK(std::isnan(mean(zeros({0})).item()));
    CHECK(close(var(x + 10000, 1), {7.0 / 3, 3}, 1e-3));  // two passes: no cancellation
}

TEST_CASE("norms") {
    const Tensor x = tensor({{3.0, -4.0}, {0.0, 0.0}});
    CHECK(norm(x).item() == 5);
    CHECK(values(norm(x, 1, 1)) == Doubles{7, 0});
    CHECK(values(norm(x, kInf, 1)) == Doubles{4, 0});
    CHECK(values(norm(x, 0, 1)) == Doubles{2, 0});
    CHECK(close(norm(x, 3, 1), {std::cbrt(27.0 + 64.0), 0}));
    Tensor zero = zeros({2}).clone();
    zero.set_requires_grad();
    norm(zero).backward();
    CHECK(values(zero.grad()) == Doubles{0, 0});
}

TEST_CASE("logsumexp neither overflows nor invents NaN") {
    CHECK(close(logsumexp(tensor({1000.0, 1000.0})), {1000 + std::log(2.0)}));
    CHECK(close(logsumexp(tensor({{-kInf, -kInf}, {kInf, 1.0}, {0.0, kNan}}), 1), {-kInf, kInf, kNan}));
    CHECK(logsumexp(zeros({0})).item() == -kInf);
}

TEST_CASE("running sums and products") {
    CHECK(values(cumsum(counting({2, 3}), 1)) == Doubles{0, 1, 3, 3, 7, 12});
    CHECK(values(cumsum(counting({2, 3}), 0)) == Doubles{0, 1, 2, 3, 5, 7});
    CHECK(values(cumprod(tensor({1, 2, 3, 4}, i8), -1)) == Doubles{1, 2, 6, 24});
    CHECK(cumsum(tensor({true, true}), 0).dtype() == i64);
    CHECK(values(cumsum(ones({3000}, f16), 0)).back() == 3000);
}

TEST_CASE("mistakes name the call") {
    const Tensor x = zeros({2, 3});
    CHECK(error_of<IndexError>([&] { sum(x, 2); }) == "sum(x: f32[2, 3], axes: [2]): axis 2 is out of range [-2, 2)");
    CHECK(error_of<ValueError>([&] { sum(x, {0, -2}); }) == "sum(x: f32[2, 3], axes: [0, -2]): axis -2 is given twice");
    CHECK(error_of<DTypeError>([&] { mean(x.to(i32)); }) ==
          "mean(x: i32[2, 3], axes: []): x must be a float tensor, not i32; convert it with x.to(f32)");
    CHECK(error_of<ValueError>([&] { max(zeros({0})); }) ==
          "max(x: f32[0], axes: []): the max of no elements is not defined");
    CHECK(error_of<ValueError>([&] {
              argmin(zeros({2, 0}), 1);
          }) == "argmin(x: f32[2, 0], axis: 1): the argmin of no elements is not defined");
    CHECK(max(zeros({0, 3}), 1).shape() == Shape{0});
    CHECK(error_of<IndexError>([&] { cumsum(x, 5); }) ==
          "cumsum(x: f32[2, 3], axis: 5): axis 5 is out of range [-2, 2)");
    CHECK(error_of<IndexError>([&] { sum(tensor(1.0), 1); }) ==
          "sum(x: f32[], axes: [1]): axis 1 of a scalar, which has no axes");
}
