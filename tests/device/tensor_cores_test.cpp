// tests/device/tensor_cores_test.cpp: products of halves by tensor cores, on the devices "simulated:1" (of 9.0) and "simulated:2" (of 8.0), whose PTX runs on
// the machine of ptx_machine.h. Its tensor cores add one product after the other: sums of up to 1024 terms have the CPU's bits there.
#include "backend/cuda/simulated.h"
#include "support/decisions.h"
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
    for (const auto& device : {Device("simulated:1"), Device("simulated:2")}) {
        CAPTURE(device.name());
        for (const auto order : orders) {
            const testing::PtxScope scope(order);
            const Tensor result =
                product(a.to(device).realize(), b.to(device).realize(), bias.to(device).realize()).to(f32);
            CHECK(testing::by_tensor_cores(result));
            const Tensor other = result.to(Device("cpu"));
            if (c.k <= 1024) CHECK(all(here == other).item<bool>());
            else CHECK(max(abs(here - other)).item<float>() <= 0.02f * max(abs(here)).item<float>());
        }
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

// Factors that are arrays, of which a copy unit brings boxes: where they begin, how far apart their rows are, and what is beyond their ends.
TEST_CASE("slices of factors that are arrays are copied as boxes") {
    const auto there = [](const Tensor& x) { return x.to(Device("simulated:1")); };
    const auto random = [](const Shape& shape, int seed) {
        manual_seed(seed);
        return round(randn(shape) * 2).to(bf16).realize();  // whose sums are exact
    };
    int program = 0;
    const auto compare = [&](bool boxes, const std::vector<Tensor>& in, const auto& f) {
        ++program;
        CAPTURE(program);
        std::vector<Tensor> moved;
        for (const Tensor& x : in) moved.push_back(there(x).realize());
        const Tensor here = f(in).to(f32);
        for (const auto order : kAll) {
            const testing::PtxScope scope(order);
            const Tensor result = f(moved).to(f32);
            bool copied = false;
            for (const kernel::Kernel& kernel : testing::kernels_of(result))
                for (const auto& tile : testing::decisions<kernel::BlockTile>(kernel)) copied |= tile.boxes;
            CHECK(copied == boxes);
            CHECK(all(here == result.to(Device("cpu"))).template item<bool>());
        }
    };
    using In = std::vector<Tensor>;
    const Tensor a = random({200, 264}, 1), b = random({264, 136}, 2), batch = random({3, 72, 136}, 3);
    const auto plain = [](const In& x) { return matmul(x[0], x[1]); };
    compare(true, {a, b}, plain);                                                             // 33 pieces of the sum
    compare(true, {a, b}, [](const In& x) { return relu(matmul(x[1].t(), x[0].t()) + 1); });  // across the sum
    compare(true, {a, b}, [](const In& x) { return matmul(x[0].slice(1, {8, 208}), x[1].slice(0, {64, 264})); });
    compare(true, {a, b}, [](const In& x) { return matmul(x[0].slice(0, {3, 100}), x[1].slice(1, {8, 80})); });
    compare(false, {random({200, 261}, 4), random({261, 136}, 5)}, plain);  // rows begin anywhere
    compare(false, {a, b}, [](const In& x) { return matmul(relu(x[0]), x[1]); });
    compare(true, {a, b},
            [](const In& x) { return gelu(matmul(x[0], x[1])); });  // looks values up in tables, beside the slices
    compare(true, {batch, b}, [](const In& x) { return matmul(x[0], x[1].slice(0, {0, 136})); });
    compare(true, {batch, batch}, [](const In& x) { return matmul(x[0], x[1].transpose(1, 2)); });
    compare(true, {batch}, [](const In& x) { return matmul(x[0].transpose(1, 2), x[0]); });
    for (const std::int64_t steps : {520, 1096})  // blocks of the sum, the last one shorter
        compare(true, {random({66, steps}, 6), random({66, steps}, 7)},
                [](const In& x) { return matmul(x[0], x[1].t()); });
    // An array that begins at no multiple of 16 bytes: the kernel is another one.
    compare(true, {a, b}, [](const In& x) { return matmul(x[0].slice(1, {3, 203}), x[1].slice(0, {64, 264})); });
    const Tensor base = random({100 * 128 + 8}, 8);
    for (const std::int64_t offset : {1, 4, 8})
        compare(true, {base, random({128, 64}, 9)}, [&](const In& x) {
            return matmul(x[0].slice(0, {offset, offset + 100 * 128}).realize().reshape({100, 128}), x[1]);
        });
}

// Each store of such a tile has counts for its row and its column, and that no two threads meet follows from them. These outputs are too large to try all
// addresses. Only the proof is made: nothing is computed.
TEST_CASE("products that end inside a tile have tiles, however large they are") {
    const auto zeros_there = [](const Device& device, const Shape& shape, DType t) {
        return zeros(shape, {t, device}).clone().realize();
    };
    const auto is_tiled = [&](const Device& device, const Case& c, DType t, const auto& f) {
        CAPTURE(device.name());
        CAPTURE(c.batch);
        CAPTURE(c.m);
        CAPTURE(c.n);
        CAPTURE(t);
        const Tensor a = zeros_there(device, {c.batch, c.m, c.k}, t), b = zeros_there(device, {c.batch, c.k, c.n}, t);
        const Tensor product = f(bmm(a, b));
        CHECK(testing::decides<kernel::BlockTile>(product));
        CHECK(testing::by_tensor_cores(product) == (device.index() > 0));
    };
    const auto plain = [](const Tensor& x) { return x; };
    const Device groups("simulated:1"), warps("simulated:2"), none("simulated");
    for (const Case& c :
         {Case{1, 1001, 1001, 64}, Case{1, 1000, 1001, 64}, Case{96, 77, 77, 64}, Case{16, 277, 277, 64}})
        for (const Device& device : {groups, warps}) is_tiled(device, c, bf16, plain);
    is_tiled(groups, {1, 4097, 4097, 64}, bf16, plain);   // larger tiles
    is_tiled(groups, {12, 1000, 1000, 64}, bf16, plain);  // eight tiles below each other
    is_tiled(groups, {2, 2040, 2040, 64}, bf16, plain);   // … twice in each matrix
    is_tiled(none, {12, 1000, 1000, 64}, f32, [](const Tensor& x) { return gelu(x); });
    is_tiled(none, {3, 2001, 2001, 64}, f32,
             plain);  // in registers: rows of a thread that are apart have counts of their own
    set_tf32_products(true);
    for (const Device& device : {groups, warps}) is_tiled(device, {16, 277, 277, 64}, f32, plain);
    set_tf32_products(false);
}
