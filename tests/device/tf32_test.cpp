// tests/device/tf32_test.cpp: products of f32 as tf32, by choice. The oracle is the CPU's exact product of factors that are rounded here, bit by bit. On
// "simulated:1" tensor cores multiply, in the PTX that the machine of ptx_machine.h runs; they add one product after the other, so sums of up to 1024
// terms have the CPU's bits. "simulated" multiplies and adds, and has them always.
#include "support/decisions.h"
#include "support/ptx_runner.h"

#include <doctest/doctest.h>
#include <weft/weft.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace weft;
using testing::by_tensor_cores;
using testing::ptx::Order;

namespace {

struct Tf32Scope {
    Tf32Scope() { set_tf32_products(true); }
    ~Tf32Scope() { set_tf32_products(false); }
};

Tensor rounded(const Tensor& x) {
    std::vector<float> values = x.to_vector<float>();
    for (float& value : values)
        if (!std::isnan(value))
            value = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
    return from_data(values, x.shape());
}

Tensor some(const Shape& shape, std::uint64_t seed) {
    manual_seed(seed);
    return randn(shape).realize();
}

bool have_equal_bits(const Tensor& here, const Tensor& there) {
    const std::vector<float> a = here.to_vector<float>(), b = there.to(cpu).to_vector<float>();
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
               return (std::isnan(x) && std::isnan(y)) ||
                      std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
           });
}

struct Case {
    std::int64_t batch, m, n, k;
    bool left_transposed = false, right_transposed = false;
};
using Orders = std::vector<Order>;
const Orders kAll{Order::Forward, Order::Backward, Order::Shuffled};

void check(const Case& c, const Orders& orders = kAll) {
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    CAPTURE(c.left_transposed);
    CAPTURE(c.right_transposed);
    const auto factor = [&](std::int64_t rows, std::int64_t columns, bool transposed, std::uint64_t seed) {
        return some(transposed ? Shape{c.batch, columns, rows} : Shape{c.batch, rows, columns}, seed);
    };
    const Tensor a = factor(c.m, c.k, c.left_transposed, 1), b = factor(c.k, c.n, c.right_transposed, 2),
                 bias = some({c.n}, 3);
    const auto product = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
        return relu(matmul(c.left_transposed ? x.transpose(1, 2) : x, c.right_transposed ? y.transpose(1, 2) : y) + z);
    };
    const Tensor here = product(rounded(a), rounded(b), bias);
    const Tf32Scope tf32;
    for (const auto& device : {Device("simulated:1"), Device("simulated:2")}) {
        CAPTURE(device.name());
        for (const auto order : orders) {
            const testing::PtxScope scope(order);
            const Tensor result = product(a.to(device).realize(), b.to(device).realize(), bias.to(device).realize());
            CHECK(by_tensor_cores(result));
            if (c.k <= 1024) CHECK(have_equal_bits(here, result));
            else CHECK(max(abs(here - result.to(cpu))).item<float>() <= 1e-4f * max(abs(here)).item<float>());
        }
    }
}

}  // namespace

TEST_CASE("tf32: products by tensor cores") {
    for (const bool left : {false, true})
        for (const bool right : {false, true}) {
            check({1, 128, 128, 128, left, right});
            check({1, 70, 65, 61, left, right});  // nothing is a multiple of a piece
        }
    check({2, 64, 64, 32});
    check({1, 100, 72, 96});
    check({1, 64, 64, 40, true, false});
    check({1, 64, 64, 1096});  // blocks of the sum, the last one shorter
    check({1, 64, 64, 1061, true, true});
    check({3, 65, 130, 200, true, false});
    check({116, 128, 128, 96}, {Order::Shuffled});  // larger tiles, of which each warpgroup has a half
    check({58, 128, 512, 136, true, true}, {Order::Shuffled});
}

TEST_CASE("tf32: computed factors, and NaN and infinity") {
    Tensor a = some({80, 70}, 1), b = some({70, 90}, 2);
    const auto product = [](const Tensor& x, const Tensor& y) { return matmul(relu(x) * 2, y); };
    const Tensor here = matmul(rounded(relu(a) * 2), rounded(b));
    std::vector<float> values = a.to_vector<float>();
    values[3] = std::numeric_limits<float>::infinity();
    values[70 * 5] = std::bit_cast<float>(0x7fffffffu);  // a carry would make it -0
    values[70 * 9] = std::bit_cast<float>(0x7f800001u);  // … and infinity
    const Tensor odd = from_data(values, a.shape()), odd_here = matmul(rounded(odd), rounded(b));
    const Tf32Scope tf32;
    for (const Device device : {Device("simulated:1"), Device("simulated:2"), Device("simulated")}) {
        CAPTURE(device.name());
        for (const bool ptx : {false, true}) {
            const testing::PtxScope scope(Order::Forward);
            if (!ptx) testing::set_ptx_order(std::nullopt);
            const Tensor result = product(a.to(device).realize(), b.to(device).realize());
            CHECK(by_tensor_cores(result) == (device.index() > 0));
            CHECK(have_equal_bits(here, result));
            CHECK(have_equal_bits(odd_here, matmul(odd.to(device), b.to(device))));
        }
    }
}

TEST_CASE("tf32: what is rounded, and what is not") {
    const Tensor a = some({20, 30}, 1), b = some({30, 10}, 2), w = some({10, 30}, 3), v = some({30}, 4);
    const Tensor c = some({3, 20, 30}, 5), d = some({3, 30, 10}, 6);
    const Device device("simulated");
    const auto there = [&](const Tensor& x) { return x.to(device); };
    const Tensor exact = matmul(a, b), of_rounded = matmul(rounded(a), rounded(b));
    CHECK_FALSE(have_equal_bits(exact, of_rounded));
    CHECK(have_equal_bits(exact, matmul(there(a), there(b))));  // off until somebody asks
    const Tensor of_linear = linear(rounded(a), rounded(w), w.narrow(1, 0, 1).reshape({10})),
                 of_batch = bmm(rounded(c), rounded(d)), of_einsum = einsum("bij,bjk->bki", {rounded(c), rounded(d)}),
                 of_vector = matmul(a, v), of_f64 = matmul(a.to(f64), b.to(f64)),
                 of_halves = matmul(a.to(bf16), b.to(bf16)).to(f32);
    const Tf32Scope tf32;
    CHECK(tf32_products());
    CHECK(have_equal_bits(of_rounded, matmul(there(a), there(b))));
    CHECK(have_equal_bits(of_linear, linear(there(a), there(w), there(w).narrow(1, 0, 1).reshape({10}))));
    CHECK(have_equal_bits(of_batch, bmm(there(c), there(d))));
    CHECK(have_equal_bits(of_einsum, einsum("bij,bjk->bki", {there(c), there(d)})));
    CHECK(have_equal_bits(exact, matmul(a, b)));  // the CPU's stay exact
    CHECK(have_equal_bits(of_vector, matmul(there(a), there(v))));
    CHECK(all(of_f64 == matmul(there(a).to(f64), there(b).to(f64)).to(cpu)).item<bool>());
    CHECK(have_equal_bits(of_halves, matmul(there(a).to(bf16), there(b).to(bf16)).to(f32)));
}

TEST_CASE("tf32: einsum with a vector is exact, as matmul is") {
    const Tf32Scope tf32;
    const Tensor a = some({6, 7}, 1), v = some({7, 1}, 2);
    const auto product = [](const Tensor& x, const Tensor& y) { return einsum("ij,jk->ik", {x, y}); };
    CHECK(have_equal_bits(product(a, v), product(a.to("simulated"), v.to("simulated"))));
    CHECK(have_equal_bits(product(v.t(), a.t()), product(v.t().to("simulated"), a.t().to("simulated"))));
}

TEST_CASE("tf32: gradients are products of rounded factors, too") {
    const Tensor a = some({80, 70}, 1), b = some({70, 90}, 2), g = some({80, 90}, 3);
    const Tensor of_a = matmul(rounded(g), rounded(b).t()), of_b = matmul(rounded(a).t(), rounded(g));
    const Tf32Scope tf32;
    for (const Device device : {Device("simulated:1"), Device("simulated:2"), Device("simulated")}) {
        CAPTURE(device.name());
        const testing::PtxScope scope(Order::Shuffled);
        Tensor x = a.to(device), y = b.to(device);
        x.set_requires_grad();
        y.set_requires_grad();
        matmul(x, y).backward(g.to(device));
        CHECK(have_equal_bits(of_a, x.grad()));
        CHECK(have_equal_bits(of_b, y.grad()));
    }
}

TEST_CASE("tf32: a traced function follows the setting") {
    const Tensor a = some({40, 50}, 1), b = some({50, 60}, 2);
    const Device device("simulated");
    const Jit product([](std::span<const Tensor> in) { return std::vector<Tensor>{matmul(in[0], in[1])}; });
    const auto run = [&] { return product({a.to(device), b.to(device)})[0]; };
    CHECK(have_equal_bits(matmul(a, b), run()));
    const Tensor of_rounded = matmul(rounded(a), rounded(b));
    {
        const Tf32Scope tf32;
        CHECK(have_equal_bits(of_rounded, run()));
        CHECK(have_equal_bits(of_rounded, run()));
        CHECK(product.traces() == 2);
    }
    CHECK(have_equal_bits(matmul(a, b), run()));
}
