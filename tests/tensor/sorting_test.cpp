// tests/tensor/sorting_test.cpp: order, ranks and search, and what Custom functions with several results need of the engine.
#include "support/some.h"

#include <doctest/doctest.h>

#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace weft;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("sort: values and indices, stable, NaN last, -0 equals 0") {
    const auto [values, indices] = sort(tensor({3, 1, 2, 1}, f32));
    CHECK(values.to_vector<float>() == Floats{1, 1, 2, 3});
    CHECK(indices.to_vector<std::int64_t>() == Ints{1, 3, 2, 0});
    CHECK(sort(tensor({3, 1, 2, 1}, f32), -1, true).indices.to_vector<std::int64_t>() == Ints{0, 2, 1, 3});
    const Tensor odd = tensor({kNan, 0.0, -0.0, kInf, -kInf, kNan}, f32);
    CHECK(argsort(odd).to_vector<std::int64_t>() == Ints{4, 1, 2, 3, 0, 5});
    CHECK(argsort(odd, 0, true).to_vector<std::int64_t>() == Ints{0, 5, 3, 1, 2, 4});
    CHECK(std::signbit(sort(odd).values.to_vector<float>()[2]));
    const Tensor tiny = tensor({3e-45, 0, 1e-45, -1e-45}, f32);  // subnormals are not 0 here
    CHECK(argsort(tiny).to_vector<std::int64_t>() == Ints{3, 1, 2, 0});
}

TEST_CASE("sort: axes, views, every length around the changes of algorithm, every backend") {
    const Tensor x = rand({5, 6, 7});
    x.realize();  // views of memory are strided leaves, which a Custom function does not read as they are
    const Tensor moved = x.permute({2, 0, 1});
    CHECK(all(eq(sort(moved, 1).values, sort(x, 0).values.permute({2, 0, 1}))).item<bool>());
    const Ints lengths = testing::is_short_run() ? Ints{0, 1, 2, 255, 256, 257, 513, 2049}
                                                 : Ints{0, 1, 2, 255, 256, 257, 5000, 131'071, 131'072, 300'001};
    for (const std::int64_t n : lengths) {
        CAPTURE(n);
        const std::vector<float> data = rand({n}).to_vector<float>();
        std::vector<float> expected = data;
        std::sort(expected.begin(), expected.end());
        const Tensor input = from_data(data);
        const auto [values, indices] = sort(input);
        CHECK(values.to_vector<float>() == expected);
        CHECK(take(input, indices).to_vector<float>() == expected);
    }
    for (const std::string_view backend : {"ref", "x86"}) {
        const BackendScope scope(backend);
        CHECK(sort(x * 2, 1).values.to_vector<float>() == (sort(x, 1).values * 2).to_vector<float>());
    }
}

TEST_CASE("sort: every dtype") {
    for (const DType dtype : {DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64,
                              DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64}) {
        CAPTURE(dtype);
        const Tensor x = tensor({100, 3, 120, 7, 3}).to(dtype);
        CHECK(argsort(x).to_vector<std::int64_t>() == Ints{1, 4, 3, 0, 2});
        if (dtype != DType::U8 && dtype != DType::U16 && dtype != DType::U32 && dtype != DType::U64)
            CHECK(argsort(-x).to_vector<std::int64_t>() == Ints{2, 0, 3, 1, 4});
    }
    CHECK(argsort(tensor({true, false, true, false})).to_vector<std::int64_t>() == Ints{1, 3, 0, 2});
}

TEST_CASE("sort: a step of its own in a plan, made once for equal calls") {
    const Tensor x = rand({100, 10});
    x.realize();
    const auto program = [&] { return (sort(x * 3, 0).values + 1).sum(); };
    const float first = program().item<float>();
    const CounterScope count;
    CHECK(program().item<float>() == first);
    CHECK(count.plans_made() == 0);
    if (x.device() == cpu) CHECK(count.kernels_launched() == 3);  // x * 3, the sort, the sum
}

TEST_CASE("sort, topk, quantile: gradients go back to where the elements were") {
    Tensor x = tensor({3, 1, 2}, f32);
    x.set_requires_grad();
    (sort(x).values * tensor({1, 10, 100}, f32)).sum().backward();
    CHECK(x.grad().to_vector<float>() == Floats{100, 1, 10});
    x.zero_grad();
    topk(x, 2).values.sum().backward();
    CHECK(x.grad().to_vector<float>() == Floats{1, 0, 1});
    x.zero_grad();
    quantile(x, 0.25).backward();
    CHECK(x.grad().to_vector<float>() == Floats{0, 0.5, 0.5});
    CHECK_FALSE(argsort(x).requires_grad());
}

TEST_CASE("topk: the largest and smallest of short and long rows, ties in order") {
    const Tensor x = tensor({{1, 5, 5, 0, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}, f32);
    CHECK(topk(x, 2).indices.to_vector<std::int64_t>() == Ints{1, 2});
    CHECK(topk(x, 2, -1, false).values.to_vector<float>() == Floats{0, 1});
    CHECK(topk(x, 17).values.to_vector<float>() == sort(x, -1, true).values.to_vector<float>());
    const std::int64_t length = testing::is_short_run() ? 600 : 1500;
    const Tensor rows = rand({3, testing::is_short_run() ? 3000 : 200'000});
    CHECK(all(eq(topk(rows, 50).indices, argsort(rows, -1, true).slice(1, {0, 50}))).item<bool>());
    for (const DType dtype : {bool_, u8, i64, f16, f32, f64})
        for (const std::int64_t distinct : {1, 3, 100'000})  // many ties, few, none
            for (const std::int64_t k : Ints{1, 7, 32, 33})
                for (const bool largest : {false, true}) {
                    CAPTURE(dtype);
                    CAPTURE(distinct);
                    CAPTURE(k);
                    CAPTURE(largest);
                    Tensor many = (randint(0, distinct, {2, length}) - distinct / 2).to(dtype);
                    if (is_float(dtype)) many = where(eq(arange(length) % 701, 5), kNan, many);
                    const Tensor want = argsort(many, -1, largest).slice(1, {0, k});
                    CHECK(all(eq(topk(many, k, -1, largest).indices, want)).item<bool>());
                }
    CHECK(topk(x, 0).values.shape() == Shape{1, 0});
    CHECK_THROWS_WITH_AS(topk(x, 18),
                         "topk(x: f32[1, 17], k: 18, axis: -1): k must lie between 0 and the size 17 of the axis",
                         ValueError);
}

TEST_CASE("kthvalue and median of short and long rows are elements of the sorted ones") {
    for (const DType dtype : {u8, i64, f16, f32, f64})
        for (const std::int64_t length : testing::is_short_run() ? Ints{1, 40, 700} : Ints{1, 40, 3000, 140'000})
            for (const std::int64_t distinct : {1, 200, 100'000'000}) {
                CAPTURE(dtype);
                CAPTURE(length);
                CAPTURE(distinct);
                Tensor x = (randint(0, distinct, {2, length}) - distinct / 2).to(dtype);
                if (is_float(dtype)) x = where(eq(arange(length) % 701, 5), kNan, x / 7);
                x.realize();
                const ValuesAndIndices sorted = sort(x);
                for (const std::int64_t k : {std::int64_t{1}, (length + 1) / 2, length}) {
                    CAPTURE(k);
                    const Tensor want = sorted.indices.slice(1, {k - 1, k}).squeeze(1);
                    CHECK(all(eq(kthvalue(x, k, 1).indices, want)).item<bool>());
                }
                const std::int64_t valid = is_float(dtype) ? length - (length + 695) / 701 : length;
                const std::int64_t middle = valid == length ? (length - 1) / 2 : valid;
                CHECK(all(eq(median(x, 1).indices, sorted.indices.slice(1, {middle, middle + 1}).squeeze(1)))
                          .item<bool>());
            }
}

TEST_CASE("median, kthvalue, mode, quantile") {
    const Tensor x = tensor({{4, 1, 3, 2}, {kNan, 1, 3, 2}}, f32);
    CHECK(median(x, 1).values[0].item<float>() == 2);
    CHECK(std::isnan(median(x, 1).values[1].item<float>()));
    CHECK(median(x, 1).indices.to_vector<std::int64_t>() == Ints{3, 0});
    CHECK(nanmedian(x, 1).values.to_vector<float>() == Floats{2, 2});
    CHECK(kthvalue(x[0], 3).values.item<float>() == 3);
    CHECK_THROWS_AS(kthvalue(x, 5), ValueError);
    CHECK_THROWS_AS(median(zeros({0}), 0), ValueError);
    CHECK(mode(tensor({5, 2, 5, 2, 7})).values.item<std::int64_t>() == 2);
    CHECK(mode(tensor({5, 2, 5, 2, 7})).indices.item<std::int64_t>() == 3);
    const Tensor four = tensor({0, 10, 20, 30}, f64);
    const double q[] = {0, 0.5, 1};
    CHECK(quantile(four, q).to_vector<double>() == std::vector<double>{0, 15, 30});
    CHECK(quantile(four, 0.5, 0, true, Between::Lower).to_vector<double>() == std::vector<double>{10});
    CHECK(quantile(four, 0.5, 0, false, Between::Nearest).item<double>() == 20);  // halves to even
    CHECK(std::isnan(quantile(x[1], 0.5).item<float>()));
    CHECK(nanquantile(x[1], 0.5).item<float>() == 2);
    CHECK_THROWS_AS(quantile(four, 1.5), ValueError);
    CHECK_THROWS_AS(quantile(tensor({1, 2}), 0.5), DTypeError);
}

TEST_CASE("search, membership, counts") {
    const Tensor edges = tensor({1, 3, 5}, f32);
    CHECK(searchsorted(edges, tensor({0, 1, 4, 9}, f32)).to_vector<std::int64_t>() == Ints{0, 0, 2, 3});
    CHECK(bucketize(tensor({1, 3}, f32), edges, true).to_vector<std::int64_t>() == Ints{1, 2});
    CHECK(searchsorted(tensor({{1, 3}, {2, 4}}), tensor({{2}, {2}})).to_vector<std::int64_t>() == Ints{1, 0});
    CHECK_THROWS_AS(searchsorted(tensor({{1, 3}, {2, 4}}), tensor({2})), ShapeError);
    CHECK(isin(tensor({1, 2, 9}), tensor({2, 3})).to_vector<bool>() == std::vector<bool>{false, true, false});
    CHECK(isin(tensor({1, 2}), zeros({0}, i64), true).to_vector<bool>() == std::vector<bool>{true, true});
    CHECK(bincount(tensor({1, 1, 3})).to_vector<std::int64_t>() == Ints{0, 2, 0, 1});
    CHECK(bincount(zeros({0}, i64), {}, 2).to_vector<std::int64_t>() == Ints{0, 0});
    CHECK_THROWS_AS(bincount(tensor({-1})), ValueError);
    CHECK(histc(tensor({0, 1, 2, 3, 9}, f32), 3, 0, 3).to_vector<float>() == Floats{1, 1, 2});
}

TEST_CASE("unique: elements, slices, neighbours") {
    const Unique found = unique(tensor({{3, 1}, {1, 2}}));
    CHECK(found.values.to_vector<std::int64_t>() == Ints{1, 2, 3});
    CHECK(found.inverse.to_vector<std::int64_t>() == Ints{2, 0, 0, 1});
    CHECK(found.inverse.shape() == Shape{2, 2});
    CHECK(found.counts.to_vector<std::int64_t>() == Ints{2, 1, 1});
    CHECK(found.first.to_vector<std::int64_t>() == Ints{1, 3, 0});
    const Unique rows = unique(tensor({{2, 1}, {1, 9}, {2, 1}}), 0);
    CHECK(rows.values.to_vector<std::int64_t>() == Ints{1, 9, 2, 1});
    CHECK(rows.inverse.to_vector<std::int64_t>() == Ints{1, 0, 1});
    CHECK(unique_consecutive(tensor({1, 1, 2, 1})).values.to_vector<std::int64_t>() == Ints{1, 2, 1});
    CHECK(unique(zeros({0})).values.shape() == Shape{0});
    CHECK(unique(tensor({kNan, kNan}, f32)).values.shape() == Shape{2});
}
