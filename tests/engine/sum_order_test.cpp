// The bits of a sum follow from its logical shape. Whatever is stored before it, however memory is laid out, whatever else runs in the
// same plan, and with jit: they stay the same. Each program is computed in all of these ways, and compared bit by bit.
#include "support/differential.h"
#include "support/some.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <string>

using namespace weft;
using testing::some;

namespace {

std::vector<std::uint64_t> bits(const Tensor& x) {
    std::vector<std::uint64_t> result;
    for (const double value : x.to(f64).to_vector<double>()) result.push_back(std::bit_cast<std::uint64_t>(value));
    return result;
}

using Make = std::function<Tensor()>;
using Sum = std::function<Tensor(const Tensor&)>;

// Every sum of what `make` makes: from the graph, from its memory, from dense memory, all in one run, and captured.
void check(const Make& make, const std::vector<Sum>& sums) {
    const auto all = [&](const Tensor& x) {
        std::vector<Tensor> results;
        for (const Sum& sum : sums) results.push_back(sum(x));
        return results;
    };
    std::vector<std::vector<std::uint64_t>> expected;
    for (const Sum& sum : sums) expected.push_back(bits(sum(make())));
    const auto same = [&](const char* way, const std::vector<Tensor>& results) {
        CAPTURE(way);
        for (std::size_t i = 0; i < results.size(); ++i) {
            CAPTURE(i);
            CHECK(bits(results[i]) == expected[i]);
        }
    };
    Tensor stored = make(), dense = make().contiguous(), transposed = make().t().contiguous();
    stored.realize(), dense.realize(), transposed.realize();
    same("stored", all(stored));
    same("dense", all(dense));
    same("transposed", all(transposed.t()));
    const std::vector<Tensor> together = all(make());
    realize(together);
    same("together", together);
    auto captured = jit([&](Tensor) { return all(make()); });
    same("captured", captured(make()));
}

const std::vector<Sum> kSums = {
    [](const Tensor& x) { return x.sum(0); },
    [](const Tensor& x) { return x.sum(1); },
    [](const Tensor& x) { return x.sum(); },
    [](const Tensor& x) { return x.mean(1); },
    [](const Tensor& x) { return logsumexp(x, 1); },
    [](const Tensor& x) { return softmax(x, 0); },
    [](const Tensor& x) { return softmax(x, 1); },
    [](const Tensor& x) { return prod(x * 0.01 + 1, 1); },
    [](const Tensor& x) { return (x * x).sum(1); },
    [](const Tensor& x) { return (x * x).t().sum(1); },
    [](const Tensor& x) {
        return x.sum(1).slice(0, Slice{1, 3});
    },
    [](const Tensor& x) {
        return x.sum(0).slice(0, Slice{1, 3});
    },
    [](const Tensor& x) { return matmul(x, x.t()); },
    [](const Tensor& x) {
        return matmul(x, x.t()).slice(0, Slice{1, 2});
    },
    [](const Tensor& x) { return matmul(x.t(), x).t(); },
    [](const Tensor& x) {
        return matmul(x, x.slice(0, Slice{0, 1}).reshape({-1}));
    },
    [](const Tensor& x) { return x.sum(1).sum(0); },
};

}  // namespace

TEST_CASE("what is stored, how it is laid out and what runs beside it change no bit of a sum") {
    for (const auto& [rows, columns] : {std::pair{17, 31}, {65, 130}, {300, 700}, {4, 9001}}) {
        CAPTURE(rows);
        CAPTURE(columns);
        const Tensor x = some({rows, columns});
        check([&] { return tanh((x * 1.3).t()); }, kSums);
    }
}

TEST_CASE("… of f64, of half precision, and of expanded arrays") {
    for (const DType dtype : {f64, f16, bf16}) {
        const Tensor x = some({70, 90}, dtype);
        check([&] { return exp(x.t()); }, kSums);
    }
    const Tensor x = some({60, 1, 30});
    check([&] { return (x.expand({60, 20, 30}).reshape({60, 600}) * 1.1).t(); }, kSums);
}

TEST_CASE("… over several axes, also of windows and of a part of the memory") {
    const Tensor x = some({6, 5, 30, 28});
    const std::vector<std::pair<const char*, Sum>> views = {
        {"whole", [](const Tensor& t) { return t; }},
        {"inner part",
         [](const Tensor& t) {
             return t.slice(2, Slice{1, 29}).slice(3, Slice{1, 27});
         }},
        {"channels last",
         [](const Tensor& t) {
             return t.permute({0, 2, 3, 1});
         }},
        {"reversed axes",
         [](const Tensor& t) {
             return t.permute({3, 2, 1, 0});
         }},
    };
    const std::vector<Axes> axes = {{0, 2, 3}, {2, 3}, {0, 1}, {1, 3}, {0, 1, 2, 3}, {0, 3}};
    for (const auto& [name, view] : views)
        for (const Axes& over : axes) {
            CAPTURE(name);
            const Tensor fused = view(x * 1.5).sum(over);
            const std::vector<std::uint64_t> expected = bits(fused);
            Tensor stored = x * 1.5, dense = view(x * 1.5).contiguous();
            stored.realize(), dense.realize();
            CHECK(bits(view(stored).sum(over)) == expected);
            CHECK(bits(dense.sum(over)) == expected);
        }
}

TEST_CASE(
    "a product that is read before its sum is rounded as one that is not; a matmul rounds once per multiply-add") {
    const Tensor a = some({40, 300}), b = some({40, 300}) * 1.7;
    Tensor product = a * b;
    const std::vector<std::uint64_t> fused = bits((a * b).sum(1));
    product.realize();
    CHECK(bits(product.sum(1)) == fused);
    const Tensor column = a.slice(0, Slice{0, 1}).t(), row = b.slice(0, Slice{0, 1});
    Tensor table = column * row;  // what matmul(column, row) multiplies, but the user's own
    const Tensor sum = table.sum(0);
    const std::vector<std::uint64_t> before = bits(sum);
    table.realize();
    CHECK(bits(table.sum(0)) == before);
}

TEST_CASE("sums of one kernel keep their own orders, and no kernel stores a fused product") {
    const Tensor x = some({50, 300}), y = some({50, 300}) * 1.3, wide = exp(some({50, 300}, f64));
    const auto stored = [](Tensor t) { return t.realize(), t; };
    const Tensor along = stored(x.sum(1)), across = stored(y.t().sum(0)), doubles = stored(wide.sum(1));
    CHECK(bits(x.sum(1) + y.t().sum(0)) == bits(along + across));                  // lanes and a chain
    CHECK(bits(x.sum(1).to(f64) + wide.sum(1)) == bits(along.to(f64) + doubles));  // 16 lanes and 8
    const Tensor weights = stored(softmax(x, 1));
    CHECK(bits(vecdot(softmax(x, 1), y, 0)) ==
          bits(vecdot(weights, y, 0)));  // a product with what another kernel computes
}

TEST_CASE("what does not depend on the summed axes is added as often as they say, in blocks that end early, too") {
    const Tensor one = full({}, 1.0).contiguous(), row = some({15}) * 0 + 1;
    for (const std::int64_t outer : {1, 2, 5, 17})
        for (const std::int64_t inner : {63, 64, 65, 75, 129, 257, 521, 1031})
            for (const std::int64_t kept : {1, 2, 15, 16, 33}) {
                CAPTURE(outer);
                CAPTURE(inner);
                CAPTURE(kept);
                const auto terms = static_cast<double>(outer * inner);
                CHECK(one.expand({outer, inner, kept}).sum({0, 1}).to_vector<double>() ==
                      std::vector<double>(static_cast<std::size_t>(kept), terms));
                CHECK(one.expand({kept, outer, inner}).sum({1, 2}).to_vector<double>() ==
                      std::vector<double>(static_cast<std::size_t>(kept), terms));
                CHECK(row.expand({outer, inner, 15}).sum({0, 1}).to_vector<double>() == std::vector<double>(15, terms));
            }
}
