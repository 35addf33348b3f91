// Lines S131 to S144 of docs/semantics.md: parts and places of tensors.
#include "support/backends.h"
#include "tests/semantics/lines.h"

#include <array>

using namespace weft;
using namespace weft::testing;

namespace {

using N = const Tensor&;

// Restores the default type, whatever a test does.
struct DefaultType {
    explicit DefaultType(DType dtype) { set_default_dtype(dtype); }
    ~DefaultType() { set_default_dtype(f32); }
};

}  // namespace

LINE("S131: scatter_reduce: equal maxima share the gradient; without include_self x takes no part") {
    const auto top = [](bool include_self) {
        return [=](N x) {
            return scatter_reduce(floats({4, 1}), 0, tensor({0, 0, 1}), x, ScatterReduce::Max, include_self);
        };
    };
    line.is(slope({4, 4, 0}, top(true)) * 3, {1, 1, 0});
    line.is(slope({4, 4, 0}, top(false)), {0.5, 0.5, 1});
    line.is(slope({4, 1},
                  [](N x) {
                      return scatter_reduce(x, 0, tensor({0, 0}), floats({4, 4}), ScatterReduce::Max, false);
                  }),
            {0, 1});
    line.is(scatter_reduce(floats({9, 9}), 0, tensor({0}), floats({kNan}), ScatterReduce::Min), {kNan, 9});
}

LINE("S132: scatter_reduce: the gradient of a product is the product of the others, zeros or not") {
    const auto product = [](N x) {
        return scatter_reduce(floats({2, 3}), 0, tensor({0, 0, 1}), x, ScatterReduce::Prod);
    };
    line.is(slope({0, 5, 4}, product), {10, 0, 3});
    line.is(slope({0, 0, 4}, product), {0, 0, 3});
}

LINE("S133: the mean of integers in one place is rounded down, towards minus infinity") {
    const Tensor x = tensor({0, 0}), source = tensor({-1, -2, 7});
    line.ints(scatter_reduce(x, 0, tensor({0, 0, 1}), source, ScatterReduce::Mean, false), {-2, 7});
    line.ints(scatter_reduce(x, 0, tensor({0, 0, 1}), source, ScatterReduce::Mean), {-1, 3});
}

LINE("S134: of several values for one place the last one wins, in index_put, index_copy and put too") {
    const Tensor at = tensor({1, 1}), x = zeros({3});
    line.is(index_put(x, {at}, floats({5, 6})), {0, 6, 0});
    line.is(index_copy(x, 0, at, floats({5, 6})), {0, 6, 0});
    line.is(put(x, at, floats({5, 6})), {0, 6, 0});
    line.is(index_put(x, {at}, floats({5, 6}), true), {0, 11, 0});
}

LINE_ALONE("S135: masked_scatter with too few elements raises at the run") {
    const BackendScope scope("ref");
    const Tensor bad = masked_scatter(zeros({3}), tensor({true, false, true}), ones({1}));
    CHECK(contains(error_of<IndexError>([&] { bad.realize(); }), "more often than source has elements"));
    CHECK(masked_scatter(zeros({3}), tensor({false, false, false}), ones({0})).to_vector<float>() ==
          std::vector<float>{0, 0, 0});
}

LINE("S136: a scalar counts as a vector of one element for indices") {
    const Tensor x = floats({3})[0], zero = tensor({0})[0];
    line.is(gather(x, 0, zero), {3});
    line.is(index_select(x, 0, tensor({0})), {3});
    line.is(scatter_add(x, -1, zero, x), {6});
    line.is(take(x, tensor({0, -1})), {3, 3});
    line.is(moveaxis(x, 0, -1), {3});
}

LINE("S137: diagonal, unfold and the pieces are views that can be written; flip and rot90 are values of their own") {
    Tensor x = arange(6, f32).reshape({2, 3}).clone();
    const Tensor flipped = x.flip(1), turned = rot90(x), same = rot90(x, 4);
    diagonal(x, 1).fill_(-1);
    tensor_split(x, 2, 1)[0][1].fill_(7);
    line.is(x, {0, -1, 2, 7, 7, -1});
    line.is(flipped, {2, 1, 0, 5, 4, 3});
    line.is(turned, {2, 5, 1, 4, 0, 3});
    line.is(same, {0, 1, 2, 3, 4, 5});
    Tensor y = arange(5, f32).clone();
    unfold(y, 0, 1, 2).fill_(0);
    line.is(y, {0, 1, 0, 3, 0});
}

LINE_ALONE(
    "S138: a view in which elements share a place cannot be written, but by as_strided, where the last one wins") {
    const BackendScope scope("ref");
    Tensor x = arange(5, f32).clone();
    CHECK_THROWS_AS(unfold(x, 0, 3, 1).fill_(0), ValueError);
    CHECK_THROWS_AS(meshgrid(std::array{x, x})[0].fill_(0), ValueError);
    as_strided(x, {2, 2}, {1, 1}).assign(floats({{1, 2}, {3, 4}}));
    CHECK(x.to_vector<float>() == std::vector<float>{1, 3, 4, 3, 4});
}

LINE("S139: as_strided counts in row-major order, whatever the order in memory") {
    const Tensor x = arange(6, f32).reshape({2, 3}).t();  // 0 3 1 4 2 5
    line.is(as_strided(x, {3}, {2}), {0, 1, 2});
    line.is(as_strided(x, {2, 2}, {1, 1}, 1), {3, 1, 1, 4});
}

LINE("S140: nearest takes floor(i · in / out), in f32; linear and cubic weights are computed in f64") {
    const Tensor x = floats({{{0, 1, 2}}});
    line.is(interpolate(x, {.sizes = {5}}), {0, 0, 1, 1, 2});
    line.is(interpolate(x, {.sizes = {2}, .mode = Interpolation::NearestExact}), {0, 2});
    line.is(interpolate(x, {.sizes = {2}, .mode = Interpolation::Linear}), {0.25, 1.75});
    line.is(interpolate(x, {.factors = {1.7}}), {0, 0, 1, 1, 2});
}

LINE("S141: an empty bag is 0, rows of the padding do not count, and equal maxima share the gradient") {
    const Tensor weight = floats({{1}, {-2}, {-5}});
    line.is(embedding_bag(weight, tensor({1, 2}), tensor({0, 0, 2}), {.mode = BagMode::Max}), {0, -2, 0});
    line.is(embedding_bag(weight, tensor({{1, 2}, {2, 2}}), {}, {.padding = 2}), {-2, 0});
    line.is(slope({{3}, {3}},
                  [](N w) {
                      return embedding_bag(w, tensor({{0, 1}}), {}, {.mode = BagMode::Max});
                  }),
            {0.5, 0.5});
}

LINE_ALONE("S142: embedding with max_norm writes the rows that it uses, and records no gradient for that") {
    const BackendScope scope("ref");
    Tensor weight = floats({{3, 4}, {6, 8}});
    weight.set_requires_grad();
    const Tensor rows = embedding(weight, tensor({1}), {}, {.max_norm = 5});
    CHECK(std::abs(rows.to_vector<double>()[0] - 3) < 1e-5);
    CHECK(std::abs(weight.to_vector<double>()[3] - 4) < 1e-5);
    CHECK(weight.to_vector<double>()[0] == 3);
    CHECK(weight.is_leaf());
    rows.sum().backward();
    CHECK(weight.grad().to_vector<double>() == std::vector<double>{0, 0, 1, 1});
}

LINE_ALONE(
    "S143: the default type is that of numbers, of new tensors and of float functions of integers; tensors keep "
    "theirs") {
    const BackendScope scope("ref");
    const Tensor before = ones({2});
    const DefaultType wide(f64);
    CHECK((tensor({1, 2}) / 2).dtype() == f64);
    CHECK(zeros({2}).dtype() == f64);
    CHECK(tensor({0.1}).item() == 0.1);
    CHECK((tensor({1, 2}) * 0.5).dtype() == f64);
    CHECK(exp(tensor({1})).dtype() == f64);
    CHECK((before * 0.5).dtype() == f32);
    CHECK_THROWS_AS(set_default_dtype(i64), DTypeError);
}

LINE_ALONE("S144: sizes that depend on values are read at the call: counts of repeat_interleave, masks as indices") {
    const BackendScope scope("ref");
    Tensor counts = tensor({1, 2}).clone();
    const Tensor repeated = repeat_interleave(floats({5, 6}), counts, 0);
    counts.fill_(0);
    CHECK(repeated.to_vector<float>() == std::vector<float>{5, 6, 6});
    CHECK(index(floats({5, 6}), {tensor({false, true})}).shape() == Shape{1});
}
