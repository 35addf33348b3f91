// The columns pass by its values: reductions over an axis that memory does not run along, with columns and steps of every number. The
// bits are those of plain loops. Random graphs are too small to reach it.
#include "core/config.h"
#include "support/decisions.h"
#include "support/differential.h"
#include "support/some.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace weft;
using testing::some;
using testing::values;

namespace {

bool by_columns(const Tensor& x) { return testing::decides<kernel::ColumnStrips>(x); }

void check(const std::function<Tensor()>& make, bool expected_by_columns = true) {
    const std::string cpu = config().cpu;
    std::vector<double> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"all"};
        expected = values(make());
    }
    for (const char* level : {"native", "avx2"})
        for (const char* backend : {"ref", "c", "x86"}) {
            if (!testing::have_backend(backend)) continue;
            CAPTURE(level);
            CAPTURE(backend);
            config().cpu = level;
            const BackendScope scope(backend);
            CHECK(by_columns(make()) == expected_by_columns);
            CHECK(values(make()) == expected);
        }
    config().cpu = cpu;
}

}  // namespace

TEST_CASE("sums over axis 0 with every number of rows and columns") {
    for (const std::int64_t rows : {16, 19, 600, 1025})
        for (const std::int64_t columns : {2, 10, 33, 64, 100, 251, 1000}) {
            CAPTURE(rows);
            CAPTURE(columns);
            const Tensor x = some({rows, columns});
            check([&] { return x.sum(0); });
        }
    const Tensor wide = some({20, 10000}), narrow = some({100, 1}), low = some({3, 1000});
    check([&] { return wide.sum(0); });
    check([&] { return narrow.sum(0); }, false);
    check([&] { return low.sum(0); }, false);
}

TEST_CASE("along the rows, of any length: by other passes") {
    for (const std::int64_t length : {15, 16, 17, 24, 31, 33, 71}) {
        CAPTURE(length);
        const Tensor x = some({37, length});
        check([&] { return x.sum(1) + x.max(1); }, false);
        check([&] { return softmax(x, 1); }, false);
    }
    const Tensor d = some({37, 11}, f64), n = (some({37, 19}) * 100).to(i32);
    check([&] { return d.sum(1); }, false);
    check([&] { return n.max(1) - n.sum(1); }, false);
}

TEST_CASE("other reductions, axes and types") {
    const Tensor x = some({3, 40, 100});
    check([&] { return x.sum(1); });
    check([&] { return x.max(1) + 1; });
    check([&] { return (x * x).sum(1) * x.sum(1); });  // two in the same loops
    check([&] { return softmax(x, 1); });              // a stage after the other, and a store per element
    check([&] { return x.sum({0, 1}); });
    check([&] { return (x - x.mean(1, true)).to(f16); });
    const Tensor d = some({70, 130}, f64), h = some({70, 130}, f16), n = (some({70, 130}) * 100).to(i32);
    check([&] { return d.sum(0); });
    check([&] { return h.sum(0); });
    check([&] { return n.sum(0); });
    check([&] { return (d > 0).sum(0); });
}

TEST_CASE("a vector times a matrix") {
    for (const std::int64_t k : {16, 30, 1100}) {
        CAPTURE(k);
        const Tensor a = some({1, k}), b = some({k, 300});
        check([&] { return matmul(a, b); });
        check([&] { return relu(matmul(a, b) - 0.5); });
    }
}

TEST_CASE("an output that takes over its operand's memory") {
    check([&] {
        Tensor x = some({40, 100});
        x -= x.sum(0);
        return x;
    });
}

TEST_CASE("a long array summed along its leading axes is cut by rows: two kernels, the same sums") {
    const Tensor x = ((arange(2048 * 1024) * 7919) % 31).to(f32).reshape({2, 1024, 1024}).contiguous();
    x.realize();
    std::vector<float> expected(1024);  // of small whole numbers: exact in any order
    for (std::int64_t i = 0; i < 2048 * 1024; ++i)
        expected[static_cast<std::size_t>(i % 1024)] += static_cast<float>(i * 7919 % 31);
    const CounterScope count;
    CHECK(x.sum({0, 1}).to_vector<float>() == expected);
    CHECK(count.kernels_launched() == 2);
}

TEST_CASE("rows are scattered whole, with repeated places and a failing one reported") {
    for (const std::int64_t columns : {64, 100, 300}) {
        CAPTURE(columns);
        const Tensor places = (arange(50) * 13) % 20, rows = some({50, columns}), base = some({20, columns});
        places.realize();
        check([&] { return index_add(base, 0, places, rows); });
    }
    const Tensor wrong = tensor({0, 25, 30}), rows = some({3, 100});
    wrong.realize();
    CHECK_THROWS_WITH_AS(index_add(zeros({20, 100}), 0, tensor({0, 1, 2}) * 0 + wrong, rows).realize(),
                         doctest::Contains("got 25"), IndexError);
}

TEST_CASE("a scan takes what is computed from it along") {
    const Tensor x = some({70, 100}), y = some({70, 100});
    for (const int axis : {0, 1}) {
        CAPTURE(axis);
        check([&] { return cumsum(x, axis) * y + 1; }, axis == 0);
        const CounterScope count;
        (cumsum(x, axis) * y + 1).realize();
        CHECK(count.kernels_launched() == 1);
    }
    const Tensor running = cumsum(x, 0), both[] = {running, running * 2};
    realize(both);
    CHECK(values(both[0] * 2) == values(both[1]));
    CHECK(values(running + running.flip({0})) == values(both[0] + both[0].flip({0})));
}

TEST_CASE("a scan that takes over its operand's memory still reads it for its other results") {
    const auto results = [] {  // the operand is donatable
        const Tensor z = tensor({1, 3, 2, 5, 4}, f32), top = cummax(z, 0).values;
        return std::vector<Tensor>{top, (z == top).to(f32), z * 2};
    };
    const std::vector<Tensor> got = results();
    realize(got);
    CHECK(values(got[0]) == std::vector<double>{1, 3, 3, 5, 5});
    CHECK(values(got[1]) == std::vector<double>{1, 1, 0, 1, 0});
    CHECK(values(got[2]) == std::vector<double>{2, 6, 4, 10, 8});
}
