// Long running sums are computed in blocks (schedule/scan_blocks.h): on a simulated GPU, with the bits of the CPU.
#include "support/ptx_runner.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
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

void check_bits(const Program& program) {
    const std::vector<std::byte> expected = bytes_of(program(cpu));
    CHECK(bytes_of(program("simulated")) == expected);
    const testing::PtxScope scope(testing::ptx::Order::Shuffled);
    CHECK(bytes_of(program("simulated")) == expected);
    for (const std::string_view backend : {"ref", "c"}) {
        const BackendScope one(backend);
        CHECK(bytes_of(program(cpu)) == expected);
    }
}

Tensor some(const Shape& shape) {
    manual_seed(3);
    return randn(shape).realize();
}

}  // namespace

TEST_CASE("simulated: running sums and products of floats, at the ends of blocks and beyond") {
    for (const std::int64_t length : {4095, 4096, 4097, 4160, 5003}) {
        CAPTURE(length);
        const Tensor x = some({2, length}), near_one = (x * 0.01 + 1).realize();
        check_bits([&](const Device& d) { return cumsum(x.to(d), 1); });
        check_bits([&](const Device& d) { return cumsum(x.to(d).to(f64), 1); });
        check_bits([&](const Device& d) { return cumprod(near_one.to(d), 1); });
        check_bits([&](const Device& d) { return cumsum(flip(x.to(d), {1}), 1) * 2 + x.to(d); });
    }
}

TEST_CASE("simulated: running sums of integers, and maxima with their places, along any axis") {
    const Tensor x = some({3, 700, 2}), whole = (x * 9).to(i32).realize();
    for (const DType t : {DType::Bool, u8, i32, i64})
        check_bits([&](const Device& d) { return cumsum(whole.to(d).to(t), 1); });
    check_bits([&](const Device& d) { return cumprod(whole.to(d) | 1, 1); });
    check_bits([&](const Device& d) { return cummax(x.to(d), 1).values; });
    check_bits([&](const Device& d) { return cummin(x.to(d), 1).indices; });
    const Tensor with_nan = where(eq(arange(900), 600), std::numeric_limits<double>::quiet_NaN(), arange(900).to(f32));
    check_bits([&](const Device& d) { return isnan(cummax(with_nan.to(d), 0).values); });
    check_bits([&](const Device& d) { return nonzero(gt(x.to(d), 0.5)); });
}

TEST_CASE("simulated: a running sum hands its gradient back") {
    const Tensor x = some({4500}), weight = some({4500});
    check_bits([&](const Device& d) {
        Tensor y = x.to(d).detach();
        y.set_requires_grad();
        (cumsum(y, 0) * weight.to(d)).sum().backward();
        return y.grad();
    });
}

TEST_CASE("running sums of positive numbers never fall, and are right to the last digits") {
    const Tensor x = rand({100003}).realize();
    const std::vector<float> sums = cumsum(x, 0).to_vector<float>(), terms = x.to_vector<float>();
    double exact = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        exact += terms[i];
        REQUIRE(sums[i] == doctest::Approx(exact).epsilon(1e-7));
        if (i > 0) REQUIRE(sums[i] >= sums[i - 1]);
    }
    const std::vector<double> wide = cumsum(x.to(f64), 0).to_vector<double>();
    for (std::size_t i = 1; i < wide.size(); ++i) REQUIRE(wide[i] >= wide[i - 1]);
}

TEST_CASE("simulated: a row of a running sum has many threads") {
    const auto kernels = explain(cumsum(some({1 << 20}).to("simulated"), 0)).kernels;
    CHECK(kernels.size() == 3);
}
