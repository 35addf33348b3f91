// tests/device/tensor_cores_test.cpp: products of halves by tensor cores, on the device "simulated:1", whose PTX runs on the machine of ptx_machine.h. Its
// tensor cores add one product after the other: sums of up to 1024 terms have the CPU's bits there.
#include "backend/cuda/simulated.h"
#include "support/ptx_runner.h"

#include <doctest/doctest.h>
#include <weft/weft.h>

#include <vector>

using namespace weft;

namespace {

struct Case {
    std::int64_t batch, m, n, k;
    bool left_transposed = false, right_transposed = false;
};

Tensor factor(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed, DType t, int seed) {
    manual_seed(seed);
    const Tensor x = randn(transposed ? Shape{batch, columns, rows} : Shape{batch, rows, columns}).to(t).realize();
    return x;
}

using Orders = std::vector<testing::ptx::Order>;
const Orders kAll{testing::ptx::Order::Forward, testing::ptx::Order::Backward, testing::ptx::Order::Shuffled};

void check(const Case& c, DType t, const Orders& orders = kAll) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    CAPTURE(c.left_transposed);
    CAPTURE(c.right_transposed);
    const Tensor a = factor(c.batch, c.m, c.k, c.left_transposed, t, 1),
                 b = factor(c.batch, c.k, c.n, c.right_transposed, t, 2), bias = randn({c.n}).to(t).realize();
    const auto product = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
        return relu(matmul(c.left_transposed ? x.transpose(1, 2) : x, c.right_transposed ? y.transpose(1, 2) : y) + z);
    };
    const Tensor here = product(a, b, bias).to(f32);
    const auto there = [](const Tensor& x) { return x.to(Device("simulated:1")); };
    for (const auto order : orders) {
        const testing::PtxScope scope(order);
        const Tensor result = product(there(a), there(b), there(bias)).to(f32);
        CHECK(explain(result).text("schedule").find("by tensor cores") != std::string::npos);
        const Tensor other = result.to(Device("cpu"));
        if (c.k <= 1024) CHECK(all(here == other).item<bool>());
        else CHECK(max(abs(here - other)).item<float>() <= 0.02f * max(abs(here)).item<float>());
    }
}

}  // namespace

TEST_CASE("products of halves by tensor cores") {
    for (const DType t : {bf16, f16})
        for (const bool left : {false, true})
            for (const bool right : {false, true}) check({1, 128, 128, 128, left, right}, t);
    check({2, 64, 64, 64}, bf16);
    check({1, 100, 72, 96}, bf16);   // beyond the last row and column
    check({1, 70, 65, 61}, f16);     // nothing is a multiple of a piece
    check({1, 64, 64, 1096}, bf16);  // blocks of the sum, the last one shorter
    check({1, 64, 64, 1061, true, true}, f16);
    check({3, 65, 130, 200, true, false}, bf16);
    check({116, 128, 128, 384}, bf16,
          {testing::ptx::Order::Shuffled});  // larger tiles, of which each warpgroup has a half
}
