// What random programs have found in the schedule, each as small as it gets.
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

namespace {
using Floats = std::vector<float>;
Floats values(const Tensor& t) { return t.to_vector<float>(); }
}  // namespace

TEST_CASE("a root that simplifies to memory with gaps can be reshaped") {
    const BackendScope backend("ref");
    const Tensor x = tensor({{3, 4, -4}}, f32);
    const Tensor same = x.expand({2, 1, 3}) * 1;
    CHECK(values(same.reshape({6, 1})) == Floats{3, 4, -4, 3, 4, -4});
    CHECK(values((tensor({{1, 2}, {3, 4}}, f32).t() * 1).reshape({4})) == Floats{1, 3, 2, 4});
}

TEST_CASE("a sum of one row joins a kernel that spreads a scalar over many elements") {
    const BackendScope backend("ref");
    const Tensor x = tensor({1, 2, 3, 4}, f32);
    const Tensor total = contiguous(x.sum({}, true)), zero = (x - x).sum();
    const Tensor wide = x * total + x, product = total * zero;
    const Tensor both[] = {wide, product};
    realize(both);
    CHECK(values(wide) == Floats{11, 22, 33, 44});
    CHECK(values(product) == Floats{0});
}

TEST_CASE("a column that is written in place is read where it lies by others of the same run") {
    const BackendScope backend("ref");
    const Tensor w = tensor({{1, 2}, {3, 4}}, f32);
    w.realize();
    Tensor x = (w.sum() * ones({2, 3})).realize();  // 10 everywhere
    x[{Slice{}, 2}].assign(w.sum({1}));
    const Tensor y = x * 2;
    const Tensor both[] = {x, y};
    realize(both);
    CHECK(values(x) == Floats{10, 10, 3, 10, 10, 7});
    CHECK(values(y) == Floats{20, 20, 6, 20, 20, 14});
}

TEST_CASE("arrays put together are written into a box of memory") {
    const BackendScope backend("ref");
    const Tensor a = ones({2, 20}).contiguous(), b = ones({20, 16}).contiguous();
    const Tensor memory[] = {a, b};
    realize(memory);
    for (const std::int64_t start : {1, 2}) {
        Tensor cache = (zeros({7, 16}) + a.sum() * 0).realize();
        cache.narrow(0, start, 4).assign(cat({a.matmul(b), a.matmul(b) + 1}, 0));
        const Tensor sums = cache.sum({1});
        const Tensor both[] = {cache, sums};
        realize(both);
        Floats expected(7, 0);
        for (int row = 0; row < 4; ++row) expected[static_cast<std::size_t>(start + row)] = row < 2 ? 320 : 336;
        CHECK(values(sums) == expected);
        CHECK(values(cache.sum({1})) == expected);
    }
}

TEST_CASE("a stretched array and a copy of it are stored as one") {
    const Tensor x = tensor({1, 2}, f32).realize();
    const Tensor stretched = where(tensor({{true, false}, {false, true}}), x, x), copied = clone(stretched);
    const Tensor both[] = {stretched * 1, stretched, copied};
    realize(both);
    CHECK(values(stretched) == Floats{1, 2, 1, 2});
    CHECK(values(copied) == Floats{1, 2, 1, 2});
}

TEST_CASE("an index is not checked where a view has no element") {
    const Tensor table = tensor({10, 20}, f32).realize(), one_based = tensor({1, 2}, i64).realize();
    const Tensor zero = tensor({5}, i64).realize();
    for (const std::string_view name : {"ref", "x86"}) {
        const BackendScope backend(name);
        const Tensor picked = index_select(table, 0, one_based - 1);
        CHECK(values(pad(picked, {1, 2})) == Floats{0, 10, 20, 0, 0});
        CHECK(values(cat({zeros({3}), picked, ones({1})}, 0)) == Floats{0, 0, 0, 10, 20, 1});
        CHECK(values(pad(index_select(table, 0, arange(2) + (zero - zero)), {1, 0})) == Floats{0, 10, 20});
        CHECK(values(pad(pad(gather(table, 0, one_based - 1), {1, 0}).reshape({3, 1}) * 2, {1, 0}).sum({1})) ==
              Floats{0, 20, 40});
        CHECK_THROWS_AS(pad(index_select(table, 0, one_based), {1, 0}).realize(), IndexError);
    }
}
