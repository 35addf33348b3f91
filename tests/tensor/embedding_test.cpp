// Rows of a table by index, and bags of them: values, gradients, and what a bad index raises.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("rows by index") {
    CHECK(embedding(counting({10, 4}), tensor({{1, 2, 3}, {4, 5, 6}})).shape() == Shape{2, 3, 4});
    CHECK(values(embedding(counting({3, 2}), tensor(1))) == Doubles{2, 3});
    CHECK(embedding(zeros({0, 2}), zeros({0}, i64)).shape() == Shape{0, 2});
}

TEST_CASE("gradients follow the indices") {
    Tensor weight = counting({3, 2}).clone();
    weight.set_requires_grad();
    embedding(weight, tensor({2, 2, 0})).sum().backward();
    CHECK(values(weight.grad()) == Doubles{1, 1, 0, 0, 2, 2});
}

TEST_CASE("a bad index of a row raises, and names the call") {
    const Tensor weight = counting({10, 4}), x = zeros({3, 2});
    CHECK(run_error_of<IndexError>([&] {
              embedding(weight, tensor({1, 10, 2})).realize();
          }) == "embedding(weight: f32[10, 4], index: i64[3]): index out of range [0, 10)");
    CHECK(error_of<DTypeError>([&] { embedding(x, tensor({1.0})); }) ==
          "embedding(weight: f32[3, 2], index: f32[1]): index must be an integer tensor, not f32");
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
