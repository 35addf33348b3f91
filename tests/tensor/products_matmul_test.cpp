// Products of matrices against plain loops: ranks, batches, types, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

namespace {

Doubles product(const std::vector<float>& a, const std::vector<float>& b, int m, int k, int n) {
    Doubles result(static_cast<std::size_t>(m * n));
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l) result[i * n + j] += static_cast<double>(a[i * k + l]) * b[l * n + j];
    return result;
}

}  // namespace

TEST_CASE("matmul of matrices, vectors and batches") {
    const auto a = noise(3 * 5), b = noise(5 * 4, 2);
    const Tensor x = from_data(a, {3, 5}), y = from_data(b, {5, 4});
    const Doubles expected = product(a, b, 3, 5, 4);
    CHECK(close(matmul(x, y), expected));
    CHECK(close(matmul(y.t(), x.t()).t(), expected));
    CHECK(close(matmul(x[0], y), Doubles(expected.begin(), expected.begin() + 4)));
    CHECK(matmul(x[0], y).shape() == Shape{4});
    CHECK(matmul(x, zeros({5})).shape() == Shape{3});
    CHECK(matmul(x[0], zeros({5})).shape() == Shape{});
    CHECK(matmul(zeros({7, 3, 5}), zeros({5})).shape() == Shape{7, 3});
    CHECK(matmul(zeros({5}), zeros({7, 5, 4})).shape() == Shape{7, 4});
    CHECK(matmul(zeros({2, 1, 3, 5}), zeros({7, 5, 4})).shape() == Shape{2, 7, 3, 4});
    const Tensor batch = matmul(stack({x, x * 2}), y);
    CHECK(close(batch[0], expected));
    CHECK(close(batch[1], values(matmul(x, y) * 2)));
    CHECK(values(matmul(zeros({2, 0}), zeros({0, 2}))) == Doubles{0, 0, 0, 0});
    CHECK(values(matmul(ones({1, 1}) * 3, ones({1, 1}) * 4)) == Doubles{12});
}

TEST_CASE("matmul's types") {
    CHECK(matmul(ones({2, 3}, i32), ones({3, 2}, i32)).dtype() == i32);
    CHECK(values(matmul(ones({2, 3}, i32), ones({3, 2}, i32))) == Doubles{3, 3, 3, 3});
    CHECK(matmul(ones({2, 3}, f16), ones({3, 2}, f32)).dtype() == f32);
    const Tensor half = matmul(ones({1, 4096}, f16), ones({4096, 1}, f16));
    CHECK(half.dtype() == f16);
    CHECK(half.item() == 4096);  // summed in f32: in f16 it would stop at 2048
    CHECK(matmul(ones({1, 2}, f64) / 3, ones({2, 1}, f64)).item() == 2.0 / 3);
}

TEST_CASE("linear, dot and outer") {
    const auto a = noise(6), w = noise(8, 3);
    const Tensor x = from_data(a, {3, 2}), weight = from_data(w, {4, 2}), bias = tensor({1.0, 2.0, 3.0, 4.0});
    CHECK(close(linear(x, weight, bias), values(matmul(x, weight.t()) + bias)));
    CHECK(linear(x[0], weight).shape() == Shape{4});
    CHECK(linear(zeros({5, 3, 2}), weight).shape() == Shape{5, 3, 4});
    CHECK(dot(tensor({1, 2, 3}), tensor({4, 5, 6})).item() == 32);
    CHECK(values(outer(tensor({1, 2}), tensor({3, 4}))) == Doubles{3, 4, 6, 8});
}

TEST_CASE("the gradient of a product is two products") {
    Tensor x = from_data(noise(6), {2, 3}), y = from_data(noise(12, 4), {3, 4});
    x.set_requires_grad();
    y.set_requires_grad();
    const Tensor g = from_data(noise(8, 5), {2, 4});
    matmul(x, y).backward(g);
    CHECK(close(x.grad(), values(matmul(g, y.detach().t()))));
    CHECK(close(y.grad(), values(matmul(x.detach().t(), g))));
}

TEST_CASE("mistakes name the call") {
    CHECK(error_of<ShapeError>([] {
              matmul(zeros({2, 3}), zeros({4, 5}));
          }) == "matmul(a: f32[2, 3], b: f32[4, 5]): a's last size 3 must equal b's second-last 4");
    CHECK(error_of<ShapeError>([] {
              matmul(zeros({2, 3}), zeros({4}));
          }) == "matmul(a: f32[2, 3], b: f32[4]): a's last size 3 must equal b's last 4");
    CHECK(error_of<ShapeError>([] {
              matmul(zeros({2, 3}), 2);
          }) == "matmul(a: f32[2, 3], b: i64[]): a scalar has no dimension to sum over; did you mean a * b?");
    CHECK(error_of<ShapeError>([] {
              matmul(zeros({2, 3, 4}), zeros({5, 4, 6}));
          }) ==
          "matmul(a: f32[2, 3, 4], b: f32[5, 4, 6]): sizes 2 and 5 at axis -1 do not broadcast: they must be equal, or "
          "one "
          "of them 1");
    CHECK(error_of<DTypeError>([] {
              matmul(ones({2, 2}, bool_), ones({2, 2}, bool_));
          }) == "matmul(a: bool[2, 2], b: bool[2, 2]): bools have no products to sum; convert one of them");
    CHECK(error_of<ShapeError>([] {
              linear(zeros({2, 3}), zeros({3, 4}));
          }) == "linear(x: f32[2, 3], weight: f32[3, 4]): x's last size 3 must equal weight's second 4");
    CHECK(error_of<ShapeError>([] {
              linear(zeros({2, 3}), zeros({4, 3}), zeros({3}));
          }) ==
          "linear(x: f32[2, 3], weight: f32[4, 3], bias: f32[3]): bias must have shape [4], or one that broadcasts to "
          "[2, 4]");
    CHECK(error_of<ShapeError>([] { dot(zeros({2}), zeros({3})); }) ==
          "dot(a: f32[2], b: f32[3]): the sizes 2 and 3 must be equal");
}
