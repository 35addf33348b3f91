// Joints, pieces, diagonals, and the views beside them: values, writes through views, and errors.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("tensors stacked in every direction") {
    const Tensor a = tensor({1, 2}), b = tensor({3, 4}), pair[] = {a, b};
    CHECK(values(hstack(pair)) == Doubles{1, 2, 3, 4});
    CHECK(values(vstack(pair)) == Doubles{1, 2, 3, 4});
    CHECK(vstack(pair).shape() == Shape{2, 2});
    CHECK(values(column_stack(pair)) == Doubles{1, 3, 2, 4});
    CHECK(dstack(pair).shape() == Shape{1, 2, 2});
    const Tensor blocks[] = {counting({2, 2}), tensor(9.0), counting({1, 3}, i64)};
    CHECK(values(block_diag(blocks)) ==
          Doubles{0, 1, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2});
    CHECK(block_diag(blocks).dtype() == f32);
    CHECK(values(cat({zeros({0}), counting({1, 2}), zeros({0})}, 1)) == Doubles{0, 1});  // no elements fit anything
    CHECK(values(kron(tensor({1, 10}), tensor({1, 2}))) == Doubles{1, 2, 10, 20});
    CHECK(error_of<ShapeError>([] { hstack({}); }) == "hstack(tensors: []): there must be one tensor at least");
}

TEST_CASE("tensors brought to one shape, and grids") {
    const Tensor pair[] = {counting({3}), counting({2, 1})};
    CHECK(values(broadcast_tensors(pair)[1]) == Doubles{0, 0, 0, 1, 1, 1});
    const Shape shapes[] = {{3, 1}, {}, {4}};
    CHECK(broadcast_shapes(shapes) == Shape{3, 4});
    const Tensor lines[] = {tensor({1, 2}), tensor({3, 4, 5})};
    CHECK(values(meshgrid(lines)[1]) == Doubles{3, 4, 5, 3, 4, 5});
    CHECK(meshgrid(lines, Indexing::XY)[0].shape() == Shape{3, 2});
    CHECK(values(cartesian_prod(lines)) == Doubles{1, 3, 1, 4, 1, 5, 2, 3, 2, 4, 2, 5});
    CHECK(values(combinations(tensor({5, 6, 7}))) == Doubles{5, 6, 5, 7, 6, 7});
    CHECK(values(combinations(tensor({5, 6}), 2, true)) == Doubles{5, 5, 5, 6, 6, 6});
}

TEST_CASE("pieces of nearly one size, and between indices") {
    const std::vector<Tensor> pieces = tensor_split(counting({7}), 3);
    CHECK(values(pieces[0]) == Doubles{0, 1, 2});
    CHECK(values(pieces[2]) == Doubles{5, 6});
    CHECK(values(tensor_split_at(counting({7}), {2, -2})[1]) == Doubles{2, 3, 4});
    CHECK(tensor_split_at(counting({7}), {5, 2})[1].numel() == 0);
    CHECK(values(unbind(counting({2, 2}), 1)[1]) == Doubles{1, 3});
}

TEST_CASE("axes moved and split") {
    const Tensor x = counting({2, 3, 4});
    CHECK(moveaxis(x, {0, 1}, {2, 0}).shape() == Shape{3, 4, 2});
    CHECK(unflatten(x, -1, {2, -1}).shape() == Shape{2, 3, 2, 2});
    CHECK(squeeze(zeros({1, 2, 1}), {0, 1}).shape() == Shape{2, 1});
    CHECK(values(rot90(counting({2, 2}))) == Doubles{1, 3, 0, 2});
    CHECK(values(rot90(counting({2, 2}), -1)) == Doubles{2, 0, 3, 1});
    CHECK(values(select(x, 1, -1)) == Doubles{8, 9, 10, 11, 20, 21, 22, 23});
    CHECK(atleast_3d(counting({2})).shape() == Shape{1, 2, 1});
    CHECK(error_of<ValueError>([&] {
              moveaxis(x, {0, 0}, {1, 2});
          }) == "moveaxis(x: f32[2, 3, 4], from: [0, 0], to: [1, 2]): axis 0 is moved twice");
}

TEST_CASE("diagonals are views; matrices are made from them") {
    Tensor x = counting({3, 4}).clone();
    CHECK(values(diagonal(x, 1)) == Doubles{1, 6, 11});
    CHECK(values(diagonal(x, -1)) == Doubles{4, 9});
    CHECK(diagonal(x, 9).shape() == Shape{0});
    CHECK(diagonal(counting({2, 3, 4}), 0, 0, 2).shape() == Shape{3, 2});
    diagonal(x).fill_(-1);
    CHECK(values(x) == Doubles{-1, 1, 2, 3, 4, -1, 6, 7, 8, 9, -1, 11});
    CHECK(values(diag(tensor({1, 2}), 1)) == Doubles{0, 1, 0, 0, 0, 2, 0, 0, 0});
    CHECK(values(diag(x)) == Doubles{-1, -1, -1});
    CHECK(values(diag_embed(tensor({{1, 2}, {3, 4}}), 0, 0, 2)) == Doubles{1, 0, 3, 0, 0, 2, 0, 4});
    CHECK(values(tril_indices(2, 3)) == Doubles{0, 1, 1, 0, 0, 1});
    CHECK(values(triu_indices(2, 3, 1)) == Doubles{0, 0, 1, 1, 2, 2});
    CHECK(triu_indices(2, 3, 7).shape() == Shape{2, 0});
}

TEST_CASE("windows and strides are views") {
    Tensor x = counting({6}).clone();
    CHECK(values(unfold(x, 0, 3, 2)) == Doubles{0, 1, 2, 2, 3, 4});
    CHECK(error_of<ValueError>([&] { unfold(x, 0, 3, 2).fill_(0); }).find("several of its elements share one place") !=
          std::string::npos);
    unfold(x, 0, 2, 3).assign(tensor({{-1.0, -2.0}, {-3.0, -4.0}}));
    CHECK(values(x) == Doubles{-1, -2, 2, -3, -4, 5});
    CHECK(values(as_strided(x, {2, 2}, {1, 2}, 1)) == Doubles{-2, -3, 2, -4});
    as_strided(x, {2}, {4}, 1).fill_(9);
    CHECK(values(x) == Doubles{-1, 9, 2, -3, -4, 9});
    CHECK(bit_view(tensor({1.0}), i32).item<std::int64_t>() == 0x3f800000);
}

TEST_CASE("repeats that are data") {
    CHECK(values(repeat_interleave(counting({3}), tensor({2, 0, 1}), 0)) == Doubles{0, 0, 2});
    CHECK(repeat_interleave(counting({2, 3}), tensor(2), 1).shape() == Shape{2, 6});
    CHECK(error_of<ShapeError>([] {
              repeat_interleave(counting({3}), tensor({1, 2}), 0);
          }) ==
          "repeat_interleave(x: f32[3], counts: i64[2], axis: 0): there must be one count for each of the 3 slices, "
          "not 2");
}
