// Scatters that add, as sums that look through all indices (schedule/scatter_sums.h): on a simulated GPU, with the bits of the CPU.
#include "ir/kernel_graph.h"
#include "support/ptx_runner.h"

#include <weft/nn.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <functional>
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

bool looks_through_indices(const Tensor& x) {
    for (const auto& kernel : explain(x).kernels)
        if (kernel.reason == ir::describe(ir::KernelGraph::Cut::Scatter)) return false;
    return true;
}

void check_bits(const Program& program, bool as_sums = true) {
    const std::vector<std::byte> expected = bytes_of(program(cpu));
    CHECK(looks_through_indices(program("simulated")) == as_sums);
    CHECK(bytes_of(program("simulated")) == expected);
    const testing::PtxScope scope(testing::ptx::Order::Shuffled);
    CHECK(bytes_of(program("simulated")) == expected);
}

Tensor some(const Shape& shape, std::uint64_t seed = 1) {
    manual_seed(seed);
    return randn(shape).realize();
}

Tensor indices(const Shape& shape, std::int64_t below, std::uint64_t seed = 7) {
    manual_seed(seed);
    return randint(0, below, shape).realize();
}

}  // namespace

TEST_CASE("simulated: the gradient of a small embedding has the order of the scatter") {
    for (const auto& [rows, width, count] : {std::array{17, 5, 301}, std::array{256, 3, 64}, std::array{2, 33, 1000}}) {
        const Tensor table = some({rows, width}), index = indices({count}, rows), factor = some({count, width}, 2);
        check_bits([&](const Device& d) {
            Tensor weight = table.to(d).detach();
            weight.set_requires_grad();
            (embedding(weight, index.to(d)) * factor.to(d)).sum().backward();
            return weight.grad();
        });
    }
}

TEST_CASE("simulated: scatter_add along each axis, of each type") {
    for (const DType t : {f32, f64, f16, bf16, i32, i64}) {
        const Tensor value = (some({40, 7, 6}, 3) * 10).to(t).realize();
        for (const int axis : {0, 1, 2}) {
            const Tensor index = indices({40, 7, 6}, 4);
            Shape shape{40, 7, 6};
            shape[static_cast<std::size_t>(axis)] = 4;
            check_bits(
                [&](const Device& d) { return scatter_add(zeros(shape, t).to(d), axis, index.to(d), value.to(d)); });
        }
    }
}

TEST_CASE("simulated: a sum that is flushed to -0 keeps its sign where others are added elsewhere") {
    const Tensor value = from_data(std::vector<float>{0x1.8p-126f, 1, -0x1.cp-126f, 2, 3}, {5, 1}),
                 index = from_data(std::vector<std::int64_t>{0, 1, 0, 1, 1}, {5, 1});
    check_bits([&](const Device& d) { return scatter_add(zeros({2, 1}).to(d), 0, index.to(d), value.to(d)); });
}

TEST_CASE("simulated: a scatter onto other numbers, or with many rows, stays one") {
    const Tensor value = some({64, 3}), index = indices({64, 3}, 9), base = some({9, 3}, 4);
    check_bits([&](const Device& d) { return scatter_add(base.to(d), 0, index.to(d), value.to(d)); }, false);
    const Tensor far = indices({64, 3}, 1 << 20);
    check_bits(
        [&](const Device& d) {
            return scatter_add(zeros({1 << 20, 3}).to(d), 0, far.to(d), value.to(d)).sum(0);
        },
        false);
}

TEST_CASE("simulated: an index out of range raises as in a scatter") {
    const Tensor value = some({8, 3}), index = (indices({8, 3}, 4) + 1).realize();
    CHECK_THROWS_AS(
        bytes_of(scatter_add(zeros({4, 3}).to("simulated"), 0, index.to("simulated"), value.to("simulated"))),
        IndexError);
}
