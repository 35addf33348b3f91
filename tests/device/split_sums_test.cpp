// Long sums with few results: their blocks are computed at the same time (schedule/split_sums.h), with the bits of the CPU.
#include "core/str.h"
#include "support/decisions.h"
#include "support/ptx_runner.h"

#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace weft;

namespace {

using Program = std::function<Tensor(const Device&)>;

std::vector<std::byte> bytes_of(const Tensor& x) {
    const Tensor here = x.to(cpu).contiguous();
    std::vector<std::byte> bytes(static_cast<std::size_t>(here.numel()) * size_of(here.dtype()));
    std::memcpy(bytes.data(), here.realize().data_ptr(), bytes.size());
    return bytes;
}

// The bits of the CPU, by the loops and by the PTX. There are more kernels than on the CPU, which splits nothing.
void check_bits(const std::string& name, const Program& program) {
    CAPTURE(name);
    const auto launched = [&](const Device& device, std::vector<std::byte>& bytes) {
        const CounterScope count;
        bytes = bytes_of(program(device));
        return count.kernels_launched();
    };
    std::vector<std::byte> expected, bytes;
    const std::int64_t whole = launched(cpu, expected);
    CHECK(launched("simulated", bytes) > whole);
    CHECK(bytes == expected);
    const testing::PtxScope scope(testing::ptx::Order::Shuffled);
    CHECK(bytes_of(program("simulated")) == expected);
}

Tensor some(const Shape& shape, std::uint64_t seed = 1) {
    manual_seed(seed);
    return randn(shape).realize();
}

Tensor leaf(const Tensor& x, const Device& device) {
    Tensor result = x.to(device).detach();
    return result.set_requires_grad();
}

}  // namespace

TEST_CASE("simulated: split sums of products, even and uneven, in batches, with epilogues and transposed") {
    for (const std::int64_t k : {1025, 1536, 2048, 2500}) {
        const Tensor a = some({k, 24}), b = some({k, 40}, 2), bias = some({40}, 3);
        check_bits("plain", [&](const Device& d) { return matmul(a.to(d).t(), b.to(d)); });
        check_bits("epilogue", [&](const Device& d) { return relu(matmul(a.to(d).t(), b.to(d)) + bias.to(d)); });
        check_bits("transposed", [&](const Device& d) { return matmul(a.to(d).t(), b.to(d)).t() * 2; });
    }
    const Tensor a = some({3, 20, 1300}), b = some({3, 1300, 9}, 2);
    check_bits("batches", [&](const Device& d) { return matmul(a.to(d), b.to(d)); });
    check_bits("doubles", [&](const Device& d) { return matmul(a.to(d).to(f64), b.to(d).to(f64)); });
    check_bits("halves", [&](const Device& d) { return matmul(a.to(d).to(bf16), b.to(d).to(bf16)); });
    check_bits("row by row", [&](const Device& d) { return softmax(matmul(a.to(d), b.to(d)) * 0.1, -1); });
    check_bits("used twice", [&](const Device& d) {
        const Tensor product = matmul(a.to(d), b.to(d));
        return matmul(product.transpose(1, 2), product) + product.sum();
    });
}

TEST_CASE("simulated: a split sum of more blocks than a plain sum adds in one chain") {
    const Tensor a = some({2, 8, 70'000}), b = some({2, 70'000, 8}, 2);
    check_bits("long", [&](const Device& d) { return matmul(a.to(d), b.to(d)); });
}

TEST_CASE("simulated: split sums of many axes: the gradients of a convolution's weights") {
    struct Case {
        Shape image, kernels;
        Conv2dOptions options;
    };
    for (const auto& [image, kernels, options] :
         {Case{{4, 3, 22, 22}, {8, 3, 3, 3}, {}}, Case{{3, 3, 23, 24}, {8, 3, 3, 3}, {.padding = 1}},
          Case{{3, 2, 45, 43}, {8, 2, 3, 3}, {.stride = 2, .padding = 1}}}) {
        const Tensor x = some(image), w = some(kernels, 2);
        check_bits("gradient", [&](const Device& d) {
            const Tensor weight = leaf(w, d);
            square(conv2d(x.to(d), weight, {}, options)).sum().backward();
            return weight.grad();
        });
    }
}

TEST_CASE("simulated: the gradient of weights in front of max_pool2d") {
    const Tensor x = some({4, 3, 22, 22}), w = some({8, 3, 3, 3}, 2);
    check_bits("pooled", [&](const Device& d) {
        const Tensor weight = leaf(w, d);
        square(max_pool2d(relu(conv2d(x.to(d), weight)), {2, 2})).sum().backward();
        return weight.grad();
    });
}

TEST_CASE("simulated: a long sum in lanes, a row for each block") {
    const Tensor x = some({1 << 12, 1 << 13});
    CHECK(explain(x.to("simulated").sum()).kernels.size() == 4);
    CHECK(bytes_of(x.to("simulated").sum()) == bytes_of(x.sum()));
}

TEST_CASE("simulated: split sums whose blocks are counted through several axes, with and without a shorter last one") {
    for (const Shape& axes : {Shape{3, 701}, Shape{71, 33}, Shape{5, 257}, Shape{3, 2, 400}, Shape{2, 23, 31}}) {
        Shape left = axes, right = axes;
        left.push_back(17);
        right.push_back(9);
        const Tensor a = some(left), b = some(right, 2);
        Dims summed;
        for (std::size_t d = 0; d < axes.size(); ++d) summed.push_back(static_cast<std::int64_t>(d));
        check_bits(str("over ", axes), [&](const Device& d) { return tensordot(a.to(d), b.to(d), summed, summed); });
    }
}

TEST_CASE("simulated: an optimiser's step behind a split sum") {
    const Tensor x = some({1300, 12}), y = some({1300, 10}, 2);
    check_bits("training", [&](const Device& d) {
        const DeviceScope there(d);
        manual_seed(3);
        nn::Linear layer(12, 10);
        optim::Adam adam(layer.parameters(), {.lr = 0.01});
        for (int i = 0; i < 3; ++i) {
            adam.zero_grad();
            mse_loss(layer(x.to(d)), y.to(d)).backward();
            adam.step();
        }
        return layer.weight.detach() + 0;
    });
}

// The sums so far, flushed to -0, and a last block, shorter and flushed to -0 too: an added zero would change the sign.
TEST_CASE("simulated: a split sum keeps the sign of a zero") {
    constexpr std::int64_t kTerms = 1025, kBlock = 342;  // three blocks
    std::vector<float> left(kTerms * 8, 0), right(kTerms * 8, 0);
    for (std::int64_t k = 0; k < kTerms; ++k)
        for (std::int64_t i = 0; i < 8; ++i) {
            left[k * 8 + i] = k < 2 * kBlock ? 0.0f : 1e-30f;
            right[k * 8 + i] = k < 2 * kBlock ? 1.0f : -1e-30f;
        }
    for (std::int64_t i = 0; i < 8; ++i) {
        left[i] = 0x1.8p-126f;
        left[kBlock * 8 + i] = -0x1.cp-126f;
    }
    const Tensor a = from_data(left, {kTerms, 8}), b = from_data(right, {kTerms, 8});
    CHECK(std::signbit(matmul(a.t(), b).to_vector<float>()[0]));
    check_bits("zeros", [&](const Device& d) { return matmul(a.to(d).t(), b.to(d)); });
}

TEST_CASE("simulated: halves that no tensor core multiplies are split as on the CPU") {
    const Tensor a = some({16, 5001}).to(bf16).realize(), b = some({5001, 16}, 2).to(bf16).realize();
    const Tensor wide = some({40, 5001}, 3).to(f16).realize(), other = some({5001, 40}, 4).to(bf16).realize();
    for (const char* device : {"simulated:1", "simulated:2"}) {
        CAPTURE(device);
        const auto has_bits = [&](const Program& program) {
            return bytes_of(program(cpu)) == bytes_of(program(device));
        };
        CHECK(has_bits([&](const Device& d) { return matmul(a.to(d).to(f32), b.to(d).to(f32)); }));
        CHECK(has_bits([&](const Device& d) { return matmul(wide.to(d).to(f32), other.to(d).to(f32)); }));
    }
}

TEST_CASE("simulated: a long sum in lanes that is split keeps the sign of a zero") {
    std::vector<float> values(65 * 131072);
    values[0] = 1.5f * 0x1p-126f;
    values[65536] = -1.75f * 0x1p-126f;
    const Tensor x = from_data(values, {65, 131072});
    check_bits("max", [&](const Device& d) { return max(sum(x.to(d), 1, true)); });
}

TEST_CASE("simulated: the same sums as one kernel, in batches too") {
    const OptScope off{"split_sums"};
    for (const Shape& shape : {Shape{1100, 24}, Shape{2500, 24}, Shape{3, 1300, 20}}) {
        Shape other = shape;
        other[shape.size() - 1] = 40;
        const Tensor a = some(shape), b = some(other, 2);
        const auto product = [&](const Device& d) { return relu(matmul(a.to(d).transpose(-2, -1), b.to(d)) + 1); };
        const std::vector<std::byte> expected = bytes_of(product(cpu));
        CHECK(explain(product("simulated")).kernels.size() == 1);
        CHECK(bytes_of(product("simulated")) == expected);
        const testing::PtxScope scope(testing::ptx::Order::Shuffled);
        CHECK(bytes_of(product("simulated")) == expected);
    }
}

// Too many addresses to try them all: the proofs must see that rows of a tile are apart.
TEST_CASE("simulated: tiles of a batch, and those of a split sum, that end beyond the last column") {
    const Device there("simulated");
    const auto leaf_of = [&](const Shape& shape) { return zeros(shape, there).clone().realize(); };
    CHECK(testing::decides<kernel::BlockTile>(matmul(leaf_of({300, 200, 24}), leaf_of({300, 24, 200}))));
    Tensor weight = leaf_of({64, 32, 3, 3});
    weight.set_requires_grad();
    (conv2d(leaf_of({64, 32, 26, 26}), weight) * leaf_of({64, 64, 24, 24})).sum().backward();
    CHECK(testing::decides<kernel::BlockTile>(weight.grad()));
}

TEST_CASE("simulated: explain() says which kernel adds the blocks of a sum") {
    const Device there("simulated");
    const Tensor a = some({16, 4096}).to(there).realize(), b = some({4096, 16}, 2).to(there).realize();
    const Explanation found = explain(matmul(a, b));
    REQUIRE(found.kernels.size() == 2);
    CHECK(found.kernels[0].reason == describe(ir::KernelGraph::Cut::Contraction));
    CHECK(found.kernels[1].reason == describe(ir::KernelGraph::Cut::AddsBlocks));
}
