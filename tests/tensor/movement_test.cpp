// Views and movement: what they read, what writing through them changes, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

namespace {

// A copy whose own memory can be written.
Tensor fresh(const Shape& shape) { return counting(shape).clone(); }

}  // namespace

TEST_CASE("indexing reads what Python's does") {
    const Tensor x = counting({3, 4});
    CHECK(values(x[1]) == Doubles{4, 5, 6, 7});
    CHECK(values(x[-1]) == Doubles{8, 9, 10, 11});
    CHECK(values(x[{1, 2}]) == Doubles{6});
    CHECK(x[{1, 2}].shape() == Shape{});
    CHECK(values(x[{Slice{}, 1}]) == Doubles{1, 5, 9});
    CHECK(values(x[{Slice{1, {}}, Slice{{}, {}, 2}}]) == Doubles{4, 6, 8, 10});
    CHECK(values(x[{Slice{{}, {}, -1}, 0}]) == Doubles{8, 4, 0});
    CHECK(values(x[{0, Slice{{}, {}, -2}}]) == Doubles{3, 1});
    CHECK(values(x[{0, Slice{-1, 0, -1}}]) == Doubles{3, 2, 1});
    CHECK(values(x[{0, Slice{1, 100}}]) == Doubles{1, 2, 3});
    CHECK(x[{0, Slice{3, 1}}].shape() == Shape{0});
    CHECK(x[{kNewAxis, kEllipsis, kNewAxis, 1}].shape() == Shape{1, 3, 1});
    CHECK(values(x[{kEllipsis, -1}]) == Doubles{3, 7, 11});
    CHECK(x[{kEllipsis}].shape() == Shape{3, 4});
}

TEST_CASE("shapes of the same elements") {
    const Tensor x = counting({2, 3, 1});
    CHECK(x.reshape({-1}).shape() == Shape{6});
    CHECK(x.reshape({3, -1, 1}).shape() == Shape{3, 2, 1});
    CHECK(x.squeeze().shape() == Shape{2, 3});
    CHECK(x.squeeze(-1).shape() == Shape{2, 3});
    CHECK(x.squeeze(0).shape() == Shape{2, 3, 1});
    CHECK(x.unsqueeze(0).shape() == Shape{1, 2, 3, 1});
    CHECK(x.unsqueeze(-1).shape() == Shape{2, 3, 1, 1});
    CHECK(x.flatten().shape() == Shape{6});
    CHECK(x.flatten(1).shape() == Shape{2, 3});
    CHECK(zeros({}).flatten().shape() == Shape{1});
    CHECK(values(x.permute({1, 0, 2})) == Doubles{0, 3, 1, 4, 2, 5});
    CHECK(x.permute({-1, 0, 1}).shape() == Shape{1, 2, 3});
    CHECK(values(x.squeeze().t()) == Doubles{0, 3, 1, 4, 2, 5});
    CHECK(moveaxis(zeros({2, 3, 4}), 0, -1).shape() == Shape{3, 4, 2});
    CHECK(values(counting({3}).expand({2, -1})) == Doubles{0, 1, 2, 0, 1, 2});
    CHECK(values(counting({2, 2}).flip({})) == Doubles{3, 2, 1, 0});
    CHECK(values(counting({2, 2}).flip(1)) == Doubles{1, 0, 3, 2});
    CHECK(values(counting({5}).narrow(0, 1, 3)) == Doubles{1, 2, 3});
}

TEST_CASE("writing through a view writes its part of the base") {
    Tensor x = fresh({2, 3});
    x[0].fill_(9);
    CHECK(values(x) == Doubles{9, 9, 9, 3, 4, 5});
    x[{Slice{}, 1}].assign(tensor({-1.0, -2.0}));
    CHECK(values(x) == Doubles{9, -1, 9, 3, -2, 5});
    x.t()[2].fill_(7);
    CHECK(values(x) == Doubles{9, -1, 7, 3, -2, 7});
    x.reshape({6}).narrow(0, 0, 2).fill_(0);
    CHECK(values(x) == Doubles{0, 0, 7, 3, -2, 7});
    x.slice(1, {{}, {}, -1})[{Slice{}, 0}].fill_(1);
    CHECK(values(x) == Doubles{0, 0, 1, 3, -2, 1});
}

TEST_CASE("writing through a slice with a step leaves what lies between") {
    Tensor x = fresh({7});
    x.slice(0, {1, {}, 3}).fill_(-1);
    CHECK(values(x) == Doubles{0, -1, 2, 3, -1, 5, 6});
    x.slice(0, {{}, {}, -2}).assign(tensor({10, 20, 30, 40}));
    CHECK(values(x) == Doubles{40, -1, 30, 3, 20, 5, 10});
    Tensor y = fresh({3, 4});
    y[{Slice{{}, {}, 2}, Slice{1, {}, 2}}].fill_(0);
    CHECK(values(y) == Doubles{0, 0, 2, 0, 4, 5, 6, 7, 8, 0, 10, 0});
}

TEST_CASE("an expanded view cannot be written") {
    Tensor x = fresh({3});
    CHECK(error_of<ValueError>([&] {
              x.expand({2, 3}).fill_(1);
          }) ==
          "writing through an expanded view f32[2, 3] of f32[3]: several of its elements share one place; clone() it "
          "first");
    CHECK(values(x) == Doubles{0, 1, 2});
}

TEST_CASE("pieces") {
    const Tensor x = counting({5});
    const auto two = split(x, 2);
    REQUIRE(two.size() == 3);
    CHECK(values(two[0]) == Doubles{0, 1});
    CHECK(values(two[2]) == Doubles{4});
    const auto sized = split_with_sizes(x, {1, 4});
    CHECK(values(sized[1]) == Doubles{1, 2, 3, 4});
    const auto chunks = chunk(counting({2, 7}), 3, 1);
    REQUIRE(chunks.size() == 3);
    CHECK(chunks[2].shape() == Shape{2, 1});
    CHECK(chunk(x, 9).size() == 5);
}

TEST_CASE("joining, padding, repeating, rolling") {
    const Tensor a = counting({2, 2}), b = counting({1, 2}) + 10;
    CHECK(values(cat({a, b})) == Doubles{0, 1, 2, 3, 10, 11});
    CHECK(values(cat({a, a}, -1)) == Doubles{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(cat({a, b.to(f64)}).dtype() == f64);
    CHECK(values(cat({zeros({0, 2}), b})) == Doubles{10, 11});
    CHECK(values(stack({counting({2}), counting({2}) + 5})) == Doubles{0, 1, 5, 6});
    CHECK(values(stack({counting({2}), counting({2}) + 5}, 1)) == Doubles{0, 5, 1, 6});
    CHECK(values(pad(counting({2}) + 1, {1, 2})) == Doubles{0, 1, 2, 0, 0});
    CHECK(values(pad(a, {0, 1, 1, 0}, 7)) == Doubles{7, 7, 7, 0, 1, 7, 2, 3, 7});
    CHECK(values(pad(counting({4}), {-1, 1}, 9)) == Doubles{1, 2, 3, 9});
    CHECK(values(tile(counting({2}), {2, 2})) == Doubles{0, 1, 0, 1, 0, 1, 0, 1});
    CHECK(tile(zeros({2, 3}), {2}).shape() == Shape{2, 6});
    CHECK(repeat(zeros({2, 3}), {1, 2, 2}).shape() == Shape{1, 4, 6});
    CHECK(values(repeat_interleave(counting({2}), 2, 0)) == Doubles{0, 0, 1, 1});
    CHECK(values(roll(counting({4}), {1}, 0)) == Doubles{3, 0, 1, 2});
    CHECK(values(roll(counting({2, 2}), {1, -1}, {0, 1})) == Doubles{3, 2, 1, 0});
}

TEST_CASE("a clone is a value of its own") {
    Tensor x = fresh({2}), y = x.clone();
    y.fill_(5);
    CHECK(values(x) == Doubles{0, 1});
}

TEST_CASE("mistakes name the call") {
    const Tensor x = zeros({2, 3});
    CHECK(error_of<ShapeError>([&] { x.reshape({4}); }) ==
          "reshape(x: f32[2, 3], shape: [4]): 6 elements do not fill a shape of 4");
    CHECK(error_of<ShapeError>([&] {
              x.reshape({4, -1});
          }) == "reshape(x: f32[2, 3], shape: [4, -1]): 6 elements cannot be divided into groups of 4");
    CHECK(error_of<ValueError>([&] {
              x.reshape({-1, -1});
          }) == "reshape(x: f32[2, 3], shape: [-1, -1]): only one size may be -1");
    CHECK(error_of<IndexError>([&] { x[2]; }) ==
          "index(x: f32[2, 3], i: 2): index 2 is out of range [-2, 2) of axis 0");
    CHECK(error_of<IndexError>([&] { x[{0, 0, 0}]; }) == "index(x: f32[2, 3]): 3 indices are too many for 2 axes");
    CHECK(error_of<IndexError>([&] { zeros({})[0]; }) == "index(x: f32[], i: 0): a scalar has no axis to index");
    CHECK(error_of<ValueError>([&] {
              x.slice(0, {0, 1, 0});
          }) == "slice(x: f32[2, 3], axis: 0): the step of a slice must not be 0");
    CHECK(error_of<IndexError>([&] { x.transpose(0, 2); }) ==
          "transpose(x: f32[2, 3], a: 0, b: 2): axis 2 is out of range [-2, 2)");
    CHECK(error_of<ValueError>([&] {
              x.permute({0, 0});
          }) == "permute(x: f32[2, 3], axes: [0, 0]): axis 0 is given twice");
    CHECK(error_of<ShapeError>([&] {
              x.expand({4, 3});
          }) == "expand(x: f32[2, 3], shape: [4, 3]): size 2 at axis 0 cannot become 4: only size 1 stretches");
    CHECK(error_of<ShapeError>([&] {
              cat({x, zeros({2, 4})});
          }) ==
          "cat(tensors: [f32[2, 3], f32[2, 4]], axis: 0): tensor 1 has shape [2, 4], which must equal tensor 0's [2, "
          "3] but for axis 0");
    CHECK(error_of<ShapeError>([&] { cat({}); }) == "cat(tensors: [], axis: 0): there must be one tensor at least");
    CHECK(error_of<IndexError>([&] { x.narrow(1, 2, 2); }) ==
          "narrow(x: f32[2, 3], axis: 1, start: 2, length: 2): elements 2 to 2 + 2 leave axis 1 of size 3");
    CHECK(error_of<ShapeError>([&] {
              split_with_sizes(x, {1, 2});
          }) == "split_with_sizes(x: f32[2, 3], sizes: [1, 2], axis: 0): the sizes add up to 3, the axis has 2");
}
