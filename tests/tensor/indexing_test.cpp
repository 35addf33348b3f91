// Reading by indices that are data: values, and what a bad index raises.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("picking by index") {
    const Tensor x = counting({3, 2});
    CHECK(values(index_select(x, 0, tensor({2, 0}))) == Doubles{4, 5, 0, 1});
    CHECK(values(index_select(x, -1, tensor({1, 1, 0}, u8))) == Doubles{1, 1, 0, 3, 3, 2, 5, 5, 4});
    CHECK(values(gather(x, 0, tensor({{0, 2}}))) == Doubles{0, 5});
    CHECK(values(gather(x, 1, tensor({{1}, {0}}))) == Doubles{1, 2});
    CHECK(values(take_along_dim(x, argmax(x, 1, true), 1)) == Doubles{1, 3, 5});
    CHECK(values(take_along_dim(x, tensor({{2}}), 0)) == Doubles{4, 5});
    CHECK(values(take(x, tensor({-1, 0}))) == Doubles{4, 5, 0, 1});
    CHECK(take(x, tensor({{0, 1}, {1, 0}}), 1).shape() == Shape{3, 2, 2});
    CHECK(values(index(x, {tensor({0, 2, -1}), tensor({1, 0, -1})})) == Doubles{1, 4, 5});
    CHECK(values(index(x, {tensor({1})})) == Doubles{2, 3});
    CHECK(index(x, {tensor({{0}, {1}}), tensor({0, 1, 1})}).shape() == Shape{2, 3});
    CHECK(values(one_hot(tensor({2, 0}), 3)) == Doubles{0, 0, 1, 1, 0, 0});
    CHECK(one_hot(tensor(1), 3).shape() == Shape{3});
}

TEST_CASE("a bad index raises when the graph runs, and names the call") {
    const Tensor x = counting({3, 2});
    CHECK(run_error_of<IndexError>([&] { index_select(x, 0, tensor({-1})).realize(); }) ==
          "index_select(x: f32[3, 2], axis: 0, index: i64[1]): index out of range [0, 3)");
    CHECK(run_error_of<IndexError>([&] { gather(x, 1, tensor({{2}})).realize(); }) ==
          "gather(x: f32[3, 2], axis: 1, index: i64[1, 1]): index out of range [0, 2)");
    CHECK(run_error_of<IndexError>([&] { take(x, tensor({-4})).realize(); }) ==
          "take(x: f32[3, 2], positions: i64[1], axis: 0): index out of range [-3, 3) of axis 0");
    CHECK(run_error_of<IndexError>([&] { one_hot(tensor({3}), 3).realize(); }) ==
          "one_hot(index: i64[1], classes: 3): index out of range [0, 3)");
}

TEST_CASE("other mistakes raise at the call") {
    const Tensor x = zeros({3, 2});
    CHECK(error_of<ShapeError>([&] { index_select(x, 0, tensor({{1}})); }) ==
          "index_select(x: f32[3, 2], axis: 0, index: i64[1, 1]): index must have one axis");
    CHECK(error_of<ShapeError>([&] { gather(x, 0, tensor({1})); }) ==
          "gather(x: f32[3, 2], axis: 0, index: i64[1]): x and index must have as many axes as each other");
    CHECK(error_of<ShapeError>([&] {
              gather(x, 0, zeros({1, 3}, i64));
          }) == "gather(x: f32[3, 2], axis: 0, index: i64[1, 3]): index's size 3 at axis 1 must not be above x's 2");
    CHECK(error_of<IndexError>([&] {
              index_select(zeros({0, 2}), 0, tensor({0}));
          }) == "index_select(x: f32[0, 2], axis: 0, index: i64[1]): there is nothing to index: the axis has size 0");
    CHECK(error_of<IndexError>([&] {
              index(x, {tensor({0}), tensor({0}), tensor({0})});
          }) == "index(x: f32[3, 2]): 3 indices are too many for 2 axes");
}
