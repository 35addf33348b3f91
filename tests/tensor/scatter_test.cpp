// Writes at indices and into parts: values, what joins, gradients, errors.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr ScatterReduce kAll[] = {ScatterReduce::Sum, ScatterReduce::Prod, ScatterReduce::Mean, ScatterReduce::Max,
                                  ScatterReduce::Min};

Doubles joined(ScatterReduce how, bool include_self, DType dtype = f32) {
    const Tensor x = tensor({10, 20, 30}, dtype), source = tensor({1, 2, 5, 50}, dtype);
    return values(scatter_reduce(x, 0, tensor({0, 0, 2, 2}), source, how, include_self));
}

}  // namespace

TEST_CASE("what meets in one place is joined") {
    const Doubles with[] = {{13, 20, 85}, {20, 20, 7500}, {13.0 / 3, 20, 85.0 / 3}, {10, 20, 50}, {1, 20, 5}};
    const Doubles without[] = {{3, 20, 55}, {2, 20, 250}, {1.5, 20, 27.5}, {2, 20, 50}, {1, 20, 5}};
    for (int i = 0; i < 5; ++i) {
        CAPTURE(i);
        CHECK(close(
            scatter_reduce(tensor({10.0, 20.0, 30.0}), 0, tensor({0, 0, 2, 2}), tensor({1.0, 2.0, 5.0, 50.0}), kAll[i]),
            with[i]));
        CHECK(joined(kAll[i], false) == without[i]);
    }
    CHECK(joined(ScatterReduce::Mean, true, i64) == Doubles{4, 20, 28});  // integers round down
    CHECK(joined(ScatterReduce::Max, false, u8) == Doubles{2, 20, 50});
    const Tensor many = scatter_reduce(ones({1}, f16), 0, zeros({4096}, i64), ones({4096}, f16), ScatterReduce::Sum);
    CHECK(many.item() == 4096);  // 4097 in f32, rounded once
}

TEST_CASE("the gradient of a product knows zeros, and equal maxima share") {
    Tensor x = tensor({2.0, 3.0, 0.0}), source = tensor({0.0, 5.0, 4.0, 0.0});
    x.set_requires_grad(), source.set_requires_grad();
    const Tensor targets[] = {x, source};
    const Tensor y = scatter_reduce(x, 0, tensor({0, 0, 1, 2}), source, ScatterReduce::Prod);
    const std::vector<Tensor> g = gradient(y.sum(), targets);
    CHECK(values(g[0]) == Doubles{0, 4, 0});
    CHECK(values(g[1]) == Doubles{10, 0, 3, 0});
    Tensor a = tensor({4.0, 1.0}), b = tensor({4.0, 4.0, 0.0});
    a.set_requires_grad(), b.set_requires_grad();
    const Tensor both[] = {a, b};
    const Tensor top = scatter_reduce(a, 0, tensor({0, 0, 1}), b, ScatterReduce::Max);
    const std::vector<Tensor> shares = gradient(top.sum(), both);
    CHECK(close(shares[0], {1.0 / 3, 1}));
    CHECK(close(shares[1], {1.0 / 3, 1.0 / 3, 0}));
}

TEST_CASE("slices copied, filled, added with a factor and joined") {
    const Tensor x = zeros({2, 3}), at = tensor({2, 0}), rows = counting({2, 2});
    CHECK(values(index_copy(x, 1, at, rows)) == Doubles{1, 0, 0, 3, 0, 2});
    CHECK(values(index_fill(x, 1, at, 7)) == Doubles{7, 0, 7, 7, 0, 7});
    CHECK(values(index_add(x, 1, at, rows, -2)) == Doubles{-2, 0, 0, -6, 0, -4});
    CHECK(values(index_reduce(ones({3}), 0, tensor({1, 1}), tensor({4.0, 6.0}), ScatterReduce::Mean, false)) ==
          Doubles{1, 5, 1});
    CHECK(values(index_fill(tensor(3.0), 0, tensor({0}), 5)) == Doubles{5});  // a scalar is a vector of one element
    CHECK(error_of<DTypeError>([&] { index_add(zeros({2}, i64), 0, tensor({0}), ones({1}, i64), 0.5); }) ==
          "index_add(x: i64[2], axis: 0, index: i64[1], source: i64[1]): alpha must be an integer for x's i64");
}

TEST_CASE("x[i, j] = values, with gaps, masks and sums") {
    const Tensor x = zeros({2, 3, 2});
    CHECK(values(index_put(x, {tensor({1, 0}), tensor({2, -3})}, tensor({{1.0, 2.0}, {3.0, 4.0}}))) ==
          Doubles{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2});
    CHECK(values(index_put(x, {tensor({1}), Tensor(), tensor({0})}, tensor({1.0, 2.0, 3.0}))) ==
          Doubles{0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0});
    CHECK(values(index_put(zeros({3}), {tensor({1, 1})}, tensor({2.0, 3.0}), true)) == Doubles{0, 5, 0});
    CHECK(values(index_put(zeros({3}), {tensor({true, false, true})}, tensor({2.0, 3.0}))) == Doubles{2, 0, 3});
    CHECK(index(x, {tensor({1}), Tensor(), tensor({0})}).shape() == Shape{1, 3});
    CHECK(index(counting({2, 3, 4}), {Tensor(), tensor({0, 2, 1}), tensor({1, 1, 1})}).shape() == Shape{2, 3});
    CHECK(values(put(zeros({2, 2}), tensor({-1, 0}), tensor({1.0, 2.0}))) == Doubles{2, 0, 0, 1});
    CHECK(values(masked_scatter(zeros({2, 2}), tensor({{true, false}, {true, true}}), counting({5}) + 1)) ==
          Doubles{1, 0, 2, 3});
    CHECK(run_error_of<IndexError>([] {
              masked_scatter(zeros({2}), tensor({true, true}), ones({1})).realize();
          }) ==
          "masked_scatter(x: f32[2], mask: bool[2], source: f32[1]): the mask holds more often than source has "
          "elements");
}

TEST_CASE("parts replaced leave the rest, and x itself, alone") {
    const Tensor x = counting({2, 3});
    CHECK(values(select_scatter(x, tensor({8.0, 9.0}), 1, -1)) == Doubles{0, 1, 8, 3, 4, 9});
    CHECK(values(slice_scatter(x, zeros({2, 2}), 1, {0, 3, 2})) == Doubles{0, 1, 0, 0, 4, 0});
    CHECK(values(diagonal_scatter(x, tensor({8.0, 9.0}))) == Doubles{8, 1, 2, 3, 9, 5});
    CHECK(values(x) == Doubles{0, 1, 2, 3, 4, 5});
}

TEST_CASE("writing by index") {
    const Tensor x = zeros({3, 2});
    CHECK(values(scatter(x, 0, tensor({{2, 0}}), tensor({{5.0, 6.0}}))) == Doubles{0, 6, 0, 0, 5, 0});
    CHECK(values(scatter(x, 1, tensor({{1}}), 7)) == Doubles{0, 7, 0, 0, 0, 0});
    CHECK(values(scatter(zeros({2}), 0, tensor({1, 1}), tensor({3.0, 4.0}))) == Doubles{0, 4});
    CHECK(values(scatter_add(ones({3}), 0, tensor({1, 1, 2}), tensor({3.0, 4.0, 5.0}))) == Doubles{1, 8, 6});
    CHECK(values(scatter_add(x, 0, tensor({{1, 1}, {1, 0}}), counting({3, 2}))) == Doubles{0, 3, 2, 1, 0, 0});
    CHECK(values(index_add(ones({2, 2}), 0, tensor({1, 1}), counting({2, 2}))) == Doubles{1, 1, 3, 5});
    CHECK(values(index_add(ones({2, 2}), 1, tensor({0}), tensor({{3.0}, {4.0}}))) == Doubles{4, 1, 5, 1});
    const Tensor many = scatter_add(zeros({1}, f16), 0, zeros({4096}, i64), ones({4096}, f16));
    CHECK(many.item() == 4096);  // added in f32: in f16 it would stop at 2048
}

TEST_CASE("sources that do not fit raise at the call") {
    const Tensor x = zeros({3, 2});
    CHECK(error_of<DTypeError>([&] {
              scatter_add(x.to(i32), 0, zeros({1, 1}, i64), zeros({1, 1}));
          }) ==
          "scatter_add(x: i32[3, 2], axis: 0, index: i64[1, 1], source: f32[1, 1]): source's f32 does not fit x's i32");
    CHECK(error_of<ShapeError>([&] {
              index_add(x, 0, tensor({0}), zeros({2, 2}));
          }) ==
          "index_add(x: f32[3, 2], axis: 0, index: i64[1], source: f32[2, 2]): source must have shape [1, 2]: one "
          "slice of x "
          "for each index");
}
