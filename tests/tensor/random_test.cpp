// Random numbers: Threefry's published answers, ranges, moments, and that calls, not runs, advance the generator.
#include "tensor/random.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tests/tensor/support.h"

#include <weft/debug.h>

#include <set>

using namespace weft;
using namespace weft::testing;

namespace {

std::vector<std::uint32_t> threefry_of(std::uint32_t k0, std::uint32_t k1, std::uint32_t c0, std::uint32_t c1) {
    const std::uint64_t key = std::uint64_t{k1} << 32 | k0;
    const auto words = [](const RandomWords& out) {
        return std::vector{make_tensor(out.first).item<std::uint32_t>(), make_tensor(out.second).item<std::uint32_t>()};
    };
    const auto number = [](DType dtype, std::uint64_t value) { return ir::constant_word(dtype, value); };
    const auto scalar = [](DType dtype, std::uint64_t value) { return ir::variable(dtype, value, nullptr); };
    const auto folded = words(threefry(number(u64, key), {number(u32, c0), number(u32, c1)}));
    CHECK(words(threefry(scalar(u64, key), {scalar(u32, c0), scalar(u32, c1)})) == folded);  // a kernel says the same
    return folded;
}

}  // namespace

TEST_CASE("Threefry-2x32-20 gives its published answers") {
    using Words = std::vector<std::uint32_t>;
    CHECK(threefry_of(0, 0, 0, 0) == Words{0x6b200159, 0x99ba4efe});
    CHECK(threefry_of(~0u, ~0u, ~0u, ~0u) == Words{0x1cb996fc, 0xbb002be7});
    CHECK(threefry_of(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3) == Words{0xc4923a9c, 0x483df7a0});
}

TEST_CASE("numbers depend on the seed and the order of calls only") {
    manual_seed(42);
    const Tensor a = rand({4}), b = rand({4});
    const Doubles second = values(b), first = values(a);  // run in the other order
    CHECK(first != second);
    manual_seed(42);
    CHECK(values(rand({4})) == first);
    CHECK(values(rand({4})) == second);
    CHECK(values(a) == first);
    manual_seed(43);
    CHECK(values(rand({4})) != first);
    manual_seed(42);
    CHECK(values(rand({2})) == Doubles(first.begin(), first.begin() + 2));
    const RandomState state = random_state();
    const Doubles next = values(rand({2}));
    CHECK(next == Doubles(first.begin() + 2, first.end()));
    set_random_state(state);
    CHECK(values(rand({2})) == next);
}

TEST_CASE("the counter carries into its second word") {
    set_random_state({.seed = 1, .counter = 0xfffffffe});
    const Doubles across = values(rand({4}));
    for (std::uint64_t i = 0; i < 4; ++i) {
        set_random_state({.seed = 1, .counter = 0xfffffffe + i});
        CHECK(rand({1}).item() == across[i]);
    }
    const auto expected = threefry_of(1, 0, 0, 1)[0] >> 8;  // counter 2^32
    CHECK(across[2] == expected * 0x1p-24);
}

TEST_CASE("uniform and normal numbers have the right range and moments") {
    manual_seed(0);
    for (const DType dtype : {f16, bf16, f32, f64}) {
        CAPTURE(dtype);
        const Doubles u = values(rand({20000}, dtype));
        double sum = 0;
        bool inside = true;
        for (const double v : u) sum += v, inside &= v >= 0 && v < 1;
        CHECK(inside);
        CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.02));
        const Tensor n = randn({20000}, dtype);
        CHECK(n.dtype() == dtype);
        const Doubles z = values(n);
        double mean = 0, square = 0;
        for (const double v : z) mean += v, square += v * v;
        CHECK(std::fabs(mean / 20000) < 0.03);
        CHECK(square / 20000 == doctest::Approx(1).epsilon(0.04));
    }
    CHECK(rand({0}).numel() == 0);
}

TEST_CASE("integers and coins") {
    manual_seed(7);
    std::set<double> seen;
    for (const double v : values(randint(-2, 3, {500}))) seen.insert(v);
    CHECK(seen == std::set<double>{-2, -1, 0, 1, 2});
    CHECK(randint(0, 10, {2}).dtype() == i64);
    CHECK(randint(0, 10, {2}, u8).dtype() == u8);
    for (const double v : values(randint(-1, 1L << 40, {100}))) CHECK_UNARY(v >= -1 && v < std::ldexp(1, 40));
    CHECK(values(bernoulli(tensor({0.0, 1.0}))) == Doubles{0, 1});
    CHECK(sum(bernoulli(full({10000}, 0.25))).item() == doctest::Approx(2500).epsilon(0.06));
}

TEST_CASE("dropout scales what it keeps, and backward uses the same mask") {
    manual_seed(3);
    Tensor x = ones({1000}).clone();
    x.set_requires_grad();
    const Tensor y = dropout(x, 0.75);
    const Doubles out = values(y);
    for (const double v : out) CHECK_UNARY(v == 0 || v == 4);
    y.sum().backward();
    CHECK(values(x.grad()) == out);
    CHECK(values(dropout(ones({3}), 0.5, false)) == Doubles{1, 1, 1});
    CHECK(values(dropout(ones({3}), 1)) == Doubles{0, 0, 0});
    CHECK(values(dropout(ones({50}), 0.5) + dropout(ones({50}), 0.5) * 10) != values(dropout(ones({50}), 0.5) * 11));
}

TEST_CASE("poisson's numbers: the same on every backend and with any number of threads, the right mean and variance") {
    const Tensor rates = cat({full({20'000}, 3.0), full({20'000}, 50.0)});
    const auto drawn = [&] {
        manual_seed(5);
        return poisson(rates).to_vector<float>();
    };
    const std::vector<float> first = drawn();
    {
        const BackendScope backend("ref");
        CHECK(drawn() == first);
    }
    {
        const ThreadScope threads(1);
        CHECK(drawn() == first);
    }
    const Tensor counts = from_data(first).reshape({2, 20'000});
    const std::vector<float> means = counts.mean(1).to_vector<float>(), spread = var(counts, 1).to_vector<float>();
    CHECK(std::abs(means[0] - 3) < 0.07);
    CHECK(std::abs(means[1] - 50) < 0.25);
    CHECK(std::abs(spread[0] - 3) < 0.2);
    CHECK(std::abs(spread[1] - 50) < 2.5);
}

TEST_CASE("multinomial: frequencies, one row at a time, nothing twice") {
    manual_seed(1);
    const std::vector<float> weights = {1, 0, 3, 4};
    const std::vector<std::int64_t> drawn = multinomial(from_data(weights), 80'000, true).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto count = static_cast<double>(std::count(drawn.begin(), drawn.end(), static_cast<std::int64_t>(i)));
        CHECK(std::abs(count - 10'000 * weights[i]) < 700);
    }
    const Tensor rows = multinomial(ones({500, 6}), 6);
    CHECK(all(eq(rows.sum(1), 15)).item<bool>());
    CHECK(all(eq(prod(rows + 1, 1), 720)).item<bool>());
}

TEST_CASE("mistakes name the call") {
    CHECK(error_of<DTypeError>([] { rand({2}, i32); }) ==
          "rand(shape: [2], dtype: i32): the dtype must be a float type, not i32");
    CHECK(error_of<ValueError>([] { randint(3, 3, {2}); }) ==
          "randint(low: 3, high: 3, shape: [2], dtype: i64): low must be below high");
    CHECK(error_of<ValueError>([] { dropout(ones({2}), 1.5); }) ==
          "dropout(x: f32[2], probability: 1.5): the probability must lie between 0 and 1");
}
