// Writes in place into parts of tensors, many in one run: every tensor keeps its shape and its own values.
#include "support/random.h"

#include <weft/debug.h>
#include <weft/linalg.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

namespace {

using Floats = std::vector<float>;
Floats values(const Tensor& t) { return t.to_vector<float>(); }
Tensor counted(std::int64_t size) { return (arange(size).to(f32) + 10.0).realize(); }
Floats counted_values(std::int64_t size) {
    Floats result;
    for (std::int64_t i = 0; i < size; ++i) result.push_back(static_cast<float>(i) + 10);
    return result;
}

}  // namespace

TEST_CASE("one constant is written into two tensors") {
    Tensor a = counted(3), b = counted(2);
    const void *const first = a.data_ptr(), *const second = b.data_ptr();
    const CounterScope count;
    a[0].assign(full({}, 1.0));
    b[1].assign(full({}, 1.0));
    const Tensor both[] = {a, b};
    realize(both);
    CHECK(count.kernels_launched() == 1);
    CHECK(values(a) == Floats{1, 11, 12});
    CHECK(values(b) == Floats{10, 1});
    CHECK(a.data_ptr() == first);
    CHECK(b.data_ptr() == second);
}

TEST_CASE("one value is written into several tensors, and read itself") {
    for (const bool strided : {false, true}) {
        CAPTURE(strided);
        const Tensor x = counted(8);
        const Tensor v = strided ? x.slice(0, {0, 8, 2}) : x.slice(0, {0, 4});  // memory, dense or not
        const Floats seen = values(v);
        Tensor a = zeros({6}).realize(), b = zeros({9}).realize(), c = zeros({2, 4}).realize();
        a.slice(0, {1, 5}).assign(v);
        b.slice(0, {0, 4}).assign(v);
        b.slice(0, {5, 9}).assign(v);
        c[1].assign(v);
        const Tensor d = v.contiguous(), e = v * 2;
        const Tensor all[] = {d, a, e, b, c};
        realize(all);
        const float* s = seen.data();
        CHECK(values(a) == Floats{0, s[0], s[1], s[2], s[3], 0});
        CHECK(values(b) == Floats{s[0], s[1], s[2], s[3], 0, s[0], s[1], s[2], s[3]});
        CHECK(values(c) == Floats{0, 0, 0, 0, s[0], s[1], s[2], s[3]});
        CHECK(values(d) == seen);
        CHECK(values(e) == Floats{2 * s[0], 2 * s[1], 2 * s[2], 2 * s[3]});
    }
}

TEST_CASE("a computed value is written into two tensors, and read afterwards") {
    Tensor a = counted(5), b = counted(7);
    const Tensor x = counted(3), v = x * x + 1.0;
    a.slice(0, {1, 4}).assign(v);
    b.slice(0, {4, 7}).assign(v);
    const Tensor sum = v.sum(), twice = v * 2;
    const Tensor all[] = {sum, a, twice, b};
    realize(all);
    CHECK(values(a) == Floats{10, 101, 122, 145, 14});
    CHECK(values(b) == Floats{10, 11, 12, 13, 101, 122, 145});
    CHECK(sum.item() == 368);
    CHECK(values(twice) == Floats{202, 244, 290});
    const Tensor w = x - 1.0;  // … and is an output itself
    a.slice(0, {0, 3}).assign(w);
    b.slice(0, {0, 3}).assign(w);
    const Tensor again[] = {a, w, b};
    realize(again);
    CHECK(values(w) == Floats{9, 10, 11});
    CHECK(values(a) == Floats{9, 10, 11, 145, 14});
    CHECK(values(b) == Floats{9, 10, 11, 13, 101, 122, 145});
}

// What a box needs to know of its tensor's readers is asked of the simplified graph: there m * 1 is m.
TEST_CASE("the old values of a tensor that is written are an output as well") {
    const auto scaled = [] { return counted(6) * 1.0; };
    const auto written = [](Tensor& t, std::int64_t start) { t.slice(0, {start, start + 2}).assign(full({2}, 7.0)); };
    const Floats old = counted_values(6), fresh{10, 11, 7, 7, 14, 15};
    const auto check = [&](Tensor m, const Tensor& other, const Floats& expected) {
        written(m, 2);
        const Tensor both[] = {m, other};
        realize(both);
        CHECK(values(m) == fresh);
        CHECK(values(other) == expected);
    };
    Tensor m = scaled();
    SUBCASE("copied") { check(m, m.clone(), old); }
    SUBCASE("divided by one") { check(m, m / 1.0, old); }
    SUBCASE("plus one") { check(m, m + 1.0, {11, 12, 13, 14, 15, 16}); }
    SUBCASE("two boxes in what was one tensor, at other places in each run") {
        for (std::int64_t run = 0; run < 3; ++run) {
            CAPTURE(run);
            Tensor base = scaled();
            Tensor a = base * 1.0, b = base / 1.0;
            base = Tensor();
            written(a, run);
            written(b, 2);
            const Tensor both[] = {a, b};
            realize(both);
            Floats moved = old;
            moved[static_cast<std::size_t>(run)] = moved[static_cast<std::size_t>(run) + 1] = 7;
            CHECK(values(a) == moved);
            CHECK(values(b) == fresh);
        }
    }
    SUBCASE("a second box in a copy of the first") {
        for (std::int64_t run = 0; run < 3; ++run) {
            CAPTURE(run);
            Tensor a = counted(6);
            written(a, run);
            Tensor c = a * 1.0;
            c.slice(0, {4, 6}).assign(full({2}, 9.0));
            const Tensor both[] = {a, c};
            realize(both);
            Floats first = old;
            first[static_cast<std::size_t>(run)] = first[static_cast<std::size_t>(run) + 1] = 7;
            Floats second = first;
            second[4] = second[5] = 9;
            CHECK(values(a) == first);
            CHECK(values(c) == second);
        }
    }
}

TEST_CASE("what a custom function computed is written into a slice") {
    Tensor a = counted(6);
    a.slice(0, {2, 4}).assign(sort(tensor({3.f, 1.f})).values);
    CHECK(values(a) == Floats{10, 11, 1, 3, 14, 15});
    Tensor rows = counted(8).reshape({4, 2}).contiguous().realize();
    rows.slice(0, {1, 3}).assign(linalg::cholesky(tensor({4.f, 0.f, 0.f, 9.f}).reshape({2, 2})));
    CHECK(values(rows) == Floats{10, 11, 2, 0, 0, 3, 16, 17});
    Tensor square = counted(16).reshape({4, 4}).contiguous().realize();
    square.slice(1, {1, 2}).assign(sort(tensor({3.f, 1.f, 2.f, 4.f})).values.reshape({4, 1}));
    CHECK(values(square) == Floats{10, 1, 12, 13, 14, 2, 16, 17, 18, 3, 20, 21, 22, 4, 24, 25});
}

TEST_CASE("what a custom function reads is written into a slice as well") {
    Tensor a = counted(6);
    const Tensor v = tanh(counted(2) * 0.01), order = argsort(v, 0);
    const Floats seen = values(v.clone());
    a.slice(0, {2, 4}).assign(tanh(counted(2) * 0.01));
    const Tensor both[] = {order, a};
    realize(both);
    CHECK(values(a) == Floats{10, 11, seen[0], seen[1], 14, 15});
    Tensor b = counted(3);
    const Tensor none = zeros({0}).realize(), zero = tanh(matmul(none, none) * 0.3);
    b[0].assign(zero);
    const Tensor rank = argsort(zero, 0);
    const Tensor again[] = {rank, b};
    realize(again);
    CHECK(values(b) == Floats{0, 11, 12});
}

TEST_CASE("random writes of few values into many tensors, in random order, with reads between them") {
    testing::Rng random(17);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        std::vector<Tensor> tensors;
        std::vector<Floats> expected;
        for (int t = 0; t < 4; ++t) {
            const std::int64_t size = random.below(4) + 1;
            tensors.push_back(counted(size));
            expected.push_back(counted_values(size));
        }
        for (int write = 0; write < 8; ++write) {
            const auto t = static_cast<std::size_t>(random.below(4));
            const auto size = static_cast<std::int64_t>(expected[t].size());
            const std::int64_t start = random.below(size), length = random.below(size - start) + 1;
            const auto value = static_cast<float>(random.below(2));
            if (random.below(2)) tensors[t].slice(0, {start, start + length}).assign(full({length}, value));
            else tensors[t].slice(0, {start, start + length}).fill_(value);
            for (std::int64_t i = start; i < start + length; ++i) expected[t][i] = value;
            if (random.below(4) == 0) CHECK(values(tensors[t]) == expected[t]);
        }
        realize(tensors);
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            CAPTURE(t);
            CHECK(tensors[t].shape() == Shape{static_cast<std::int64_t>(expected[t].size())});
            CHECK(values(tensors[t]) == expected[t]);
        }
    }
}
