// Programs that were wrong once, as the fuzzer printed them. Each runs in many configurations, and on the oracle.
#include "tests/fuzz/replay.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

namespace weft::testing::fuzz {
namespace {

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

}  // namespace
}  // namespace weft::testing::fuzz
