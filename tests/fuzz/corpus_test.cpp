// Programs that were wrong once, as the fuzzer printed them. Each runs in many configurations, and on the oracle.
#include "tests/fuzz/replay.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

namespace weft::testing::fuzz {
namespace {

TEST_CASE("a scan that stands in a join twice") {
    replay([](const Show& show) {
        Tensor v2 = filled(f32, {2}, 975);
        Tensor v3 = cumprod(clamp(v2, 0.8, 1.2), 0);
        Tensor v4 = stack({v3, v3}, 0);
        show(v4);
    });
    replay([](const Show& show) {
        Tensor v2 = filled(f32, {2, 1}, 647);
        Tensor v3 = cumsum(v2, 0);
        Tensor v4 = stack({v3, v3}, 0);
        show(v4);
    });
}

TEST_CASE("an update in place of what a transposed operand was read for") {
    replay([](const Show& show) {
        Tensor v1 = filled(f32, {7, 16, 16}, 829);
        v1.set_requires_grad();
        Tensor v2 = tanh(v1);
        Tensor v4 = v1.t();
        Tensor v5 = where(v2 > v4, v2 * 0.5, v4);
        (mean(v5 * v5)).backward({}, true);
        v5.realize();
        (mean(v5 * v5)).backward({}, true);
        {
            NoGrad off;
            Tensor(v5).add_(-1.5);
        }
        show(v5);
    });
}

TEST_CASE("rows that are taken, written and softened while their source is read") {
    replay([](const Show& show) {
        Tensor v1 = filled(u8, {1, 65}, 972);
        Tensor v3 = filled(bool_, {65, 65}, 660);
        Tensor v4 = take(v3, arange(65) * 3 % 65, 0);
        v4.slice(0, {53}).fill_(2);
        Tensor v7 = v3 - sum(v1, 0, true);
        Tensor v8 = softmax(v4, 0);
        show(v7);
        show(v8);
    });
}

}  // namespace
}  // namespace weft::testing::fuzz
