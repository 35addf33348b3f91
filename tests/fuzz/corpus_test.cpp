// Programs that were wrong once, as the fuzzer printed them. Each runs in many configurations, and on the oracle.
#include "tests/fuzz/replay.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

namespace weft::testing::fuzz {
namespace {

TEST_CASE("a written tensor that stands in a join twice") {
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {2}, 662);
        select(v0, 0, 1).fill_(2);
        Tensor v1 = cat({v0, v0}, 0);
        show(v1);
        show(v0);
    });
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {15, 15}, 789);
        v0.slice(0, {8}).fill_(0.2);
        Tensor v1 = cat({v0, v0, v0}, 0);
        show(v1);
    });
}

TEST_CASE("a written tensor that is joined with its scan") {
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {1, 2}, 204);
        select(v0, 1, 0).fill_(0.5);
        Tensor v3 = stack({v0, cumsum(v0, 0)});
        show(v3);
    });
}

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

TEST_CASE("a written tensor that is joined with others") {
    replay([](const Show& show) {
        Tensor v2 = filled(f64, {2, 5}, 320);
        Tensor v7 = pad(tanh(v2), {1, 2});
        v7.realize();
        select(v7, 0, 1).fill_(0.3);
        Tensor v8 = cat({cat({v2, v2}, 1), v7}, 1);
        show(v8);
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

TEST_CASE("a sum of one row that a custom function waits for, and whose kernel has more to do later") {
    replay([](const Show& show) {
        Tensor v1 = filled(f32, {2}, 314);
        v1.set_requires_grad();
        Tensor v2 = filled(f32, {3}, 367);
        v2.set_requires_grad();
        Tensor v3 = logsumexp(v2, 0);
        Tensor v5 = where(v3 > v1, v3 * 0.5, v1);
        Tensor v10 = gather(v5, 0, argsort(v5, 0));
        (mean(v10 * v10)).backward({}, true);
        show(v10);
        show(v5);
        show(v2.grad());
    });
}

TEST_CASE("a sum over two axes of a number, in blocks that do not divide the inner one") {
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {5, 15, 5}, 180);
        Tensor v1 = filled(f32, {15}, 829);
        v1.set_requires_grad();
        Tensor v2 = v1 + v0.unsqueeze(-1);
        (sum(v2) * 0.3).backward({}, true);
        show(v1.grad());
    });
}

TEST_CASE("lanes of a register that another loop, which may not run at all, has written before") {
    replay([](const Show& show) {
        Tensor v1 = filled(f32, {11, 57}, 836);
        v1.set_requires_grad();
        Tensor v3 = filled(f32, {57, 11}, 921);
        Tensor v4 = matmul(v3, v1) * 0.3;
        Tensor v6 = tanh(tanh(v4));
        Tensor v7 = v4 - mean(v4, 0, true);
        (sum(v7) * 0.3 + sum(v7) * 0.3).backward({}, true);
        show(v6);
    });
}

TEST_CASE("a row that is read as another shape, beside a larger value of the row's shape") {
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {3}, 941);
        Tensor v1 = filled(f32, {3, 1}, 574);
        Tensor v3 = v1 / (sum(abs(v1), 0, true) + 1);
        Tensor v4 = v0 + v3.unsqueeze(-1);
        Tensor v6 = min(v4, 0, true);
        Tensor v7 = v3.reshape({v3.size(-1), -1});
        Tensor v8 = gather(v7, 1, argsort(floor(v7 * 8 + 0.37), 1));
        show(v8);
    });
}

TEST_CASE("the derivative of a base by a view that was written, before and after a run") {
    for (const bool run : {false, true})
        replay([run](const Show& show) {
            Tensor v0 = filled(f32, {2, 1}, 977);
            Tensor v1 = filled(f32, {1, 2}, 125);
            v1.set_requires_grad();
            Tensor v3 = tanh(v1);
            Tensor v4 = v3.reshape({2, 1});
            v4.sub_(tanh(v3).t());
            if (run) show(logsumexp(v0, 0));
            const Tensor slope = gradient(sum(v3) * 0.3, std::vector<Tensor>{v4})[0];
            if (slope.defined()) CHECK(abs(slope).sum().item() == 0);
            show(gradient(sum(v3) * 0.3, std::vector<Tensor>{v1})[0]);
        });
}

TEST_CASE("an address that is computed in a loop, and used before it") {
    replay([](const Show& show) {
        Tensor v2 = filled(f32, {2, 1}, 274);
        Tensor v3 = tanh(v2);
        Tensor v5 = tanh(v2);
        v3.slice(0, {1, 1 + 1}).copy_(v3.slice(0, {0, 1}));
        Tensor v7 = sum(stack({v3, v3}), 0);
        show(v5);
        show(v7);
    });
    replay([](const Show& show) {
        Tensor v0 = filled(f32, {2, 2}, 265);
        Tensor v1 = filled(f32, {2, 2}, 915);
        Tensor v3 = tanh(tanh(v1));
        v3.slice(0, {1, 1 + 1}).copy_(v3.slice(0, {0, 1}));
        Tensor v4 = max(stack({v0, v3}, 0), 0);
        show(tanh(v3));
        show(v4);
    });
}

TEST_CASE("a transposed convolution whose blocks need more shared memory than a GPU gives without being asked") {
    replay(
        [](const Show& show) {
            Tensor v1 = filled(f32, {8, 65}, 517);
            v1.set_requires_grad();
            std::vector<Tensor> all;
            for (int i = 0; i <= 8; ++i) all.push_back(v1.narrow(1, 0, 3) * (0.3 + 0.1 * i));
            Tensor v2 = conv_transpose1d(v1.unsqueeze(0), stack(all).permute({1, 0, 2}), {}, {.stride = 3}) * 0.2;
            (sum(v2 * filled(f32, v2.shape(), 1)) * 0.1).backward();
            show(v1.grad());
        },
        1e-4);
}

}  // namespace
}  // namespace weft::testing::fuzz
