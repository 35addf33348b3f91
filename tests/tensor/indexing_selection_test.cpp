// tests/tensor/indexing_selection_test.cpp: ops whose result's shape depends on values.
#include <doctest/doctest.h>

#include <weft/debug.h>
#include <weft/weft.h>

#include <algorithm>
#include <limits>
#include <vector>

using namespace weft;

TEST_CASE("nonzero") {
    const Tensor x = tensor({{0, 3, 0}, {4, 0, 5}}, f32);
    CHECK(nonzero(x).to_vector<int>() == std::vector{0, 1, 1, 0, 1, 2});
    const auto axes = nonzero_by_axis(x);
    CHECK(axes[0].to_vector<int>() == std::vector{0, 1, 1});
    CHECK(axes[1].to_vector<int>() == std::vector{1, 0, 2});
    CHECK(index(x, axes).to_vector<int>() == std::vector{3, 4, 5});
    CHECK(nonzero(zeros({2, 3})).shape() == Shape{0, 2});
    CHECK(nonzero(zeros({0, 3})).shape() == Shape{0, 2});
    CHECK(nonzero(Tensor(2.0)).shape() == Shape{1, 0});
    CHECK(nonzero(Tensor(0.0)).shape() == Shape{0, 0});
    CHECK(nonzero(full({1}, std::numeric_limits<double>::quiet_NaN())).shape() == Shape{1, 1});
    CHECK(nonzero(tensor({true, false}, bool_)).to_vector<int>() == std::vector{0});
}

TEST_CASE("masked_select: broadcasting, gradients, mistakes") {
    Tensor x = tensor({{1, 2}, {3, 4}}, f32);
    x.set_requires_grad();
    const Tensor picked = masked_select(x, tensor({true, false}, bool_));
    CHECK(picked.to_vector<float>() == std::vector<float>{1, 3});
    (picked * 10).sum().backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{10, 0, 10, 0});
    CHECK(masked_select(tensor({1, 2}, f32), tensor({{true, true}, {false, true}}, bool_)).to_vector<float>() ==
          std::vector<float>{1, 2, 2});
    CHECK(masked_select(Tensor(3.0), tensor({true, true}, bool_)).to_vector<float>() == std::vector<float>{3, 3});
    CHECK(masked_select(Tensor(3.0), Tensor(true)).to_vector<float>() == std::vector<float>{3});
    CHECK_THROWS_AS(masked_select(x, ones({2})), DTypeError);
    CHECK_THROWS_AS(masked_select(x, ones({3}).to(bool_)), ShapeError);
}

TEST_CASE("randperm is a permutation, and follows the seed") {
    manual_seed(3);
    const std::vector<std::int64_t> first = randperm(100).to_vector<std::int64_t>();
    manual_seed(3);
    CHECK(randperm(100).to_vector<std::int64_t>() == first);
    CHECK(randperm(100).to_vector<std::int64_t>() != first);
    std::vector<bool> seen(100);
    for (const std::int64_t i : first) seen[static_cast<std::size_t>(i)] = true;
    CHECK(std::count(seen.begin(), seen.end(), true) == 100);
    CHECK(randperm(0).shape() == Shape{0});
    CHECK_THROWS_AS(randperm(-1), ValueError);
}

TEST_CASE("randperm is in memory: batches of an epoch are one plan, and nothing is drawn or sorted again") {
    const Tensor data = arange(64).to(f32).reshape({64, 1}).contiguous(), order = randperm(64);
    const auto batch = [&](std::int64_t from) { return (take(data, order[{Slice{from, from + 8}}]) * 2).sum(); };
    batch(0).item<float>();
    batch(8).item<float>();
    const CounterScope count;
    for (std::int64_t from = 16; from < 64; from += 8) batch(from).item<float>();
    CHECK(count.plans_made() == 0);
    CHECK(count.kernels_compiled() == 0);
    CHECK(count.kernels_launched() == 6);  // the rows and their sum: no draw, no sort, no copy of the data
}
