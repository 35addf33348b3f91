// The remainder of a division (kernel/math_mod.cpp) against the C library's fmod, bit for bit: quotients of every size up to 2^2098,
// whole ones and their neighbours, with subnormals kept and flushed. WEFT_EXHAUSTIVE=1 takes 50 times as many.
#include "kernel/math.h"

#include "support/expression_eval.h"
#include "support/subnormals.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace weft;
using ir::Op;
using test::ExpressionProgram;
using test::Subnormals;
using test::SubnormalScope;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T>
using Pairs = std::vector<std::pair<T, T>>;

// What an operation makes of a number, or gives, if subnormals are flushed.
template <class T>
T flushed(T x) {
    return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

template <class T>
T expected(T a, T b, bool flush) {
    const auto as = [&](T x) { return flush ? flushed(x) : x; };
    const T remainder = as(std::fmod(as(a), as(b)));
    return remainder != 0 && (remainder < 0) != (b < 0) ? as(remainder + b) : remainder;
}

template <class T>
bool same(T got, T wanted) {
    return std::bit_cast<Bits<T>>(got) == std::bit_cast<Bits<T>>(wanted) || (std::isnan(got) && std::isnan(wanted));
}

void run(ExpressionProgram& program, Subnormals how, std::span<const void* const> in, void* out) {
    const SubnormalScope scope(how);
    program.run(in, out);
}

template <class T>
void check(Pairs<T> pairs) {
    constexpr std::size_t kBlock = ExpressionProgram::kBlock;
    kernel::Kernel kernel;
    kernel.interner = std::make_shared<ir::Interner>();
    const ir::NodeRef inputs[] = {kernel.make(Op::ScalarParam, dtype_of<T>(), {}, ir::SlotArg{0, {}}),
                                  kernel.make(Op::ScalarParam, dtype_of<T>(), {}, ir::SlotArg{1, {}})};
    ExpressionProgram program(expand_math(kernel, Op::Mod, inputs[0], inputs[1]), inputs);
    CHECK(program.operations() < 100);
    pairs.resize((pairs.size() + kBlock - 1) / kBlock * kBlock, {T(1), T(1)});
    std::vector<T> a(kBlock), b(kBlock), kept(kBlock), zeroed(kBlock);
    int wrong = 0;
    for (std::size_t i = 0; i < pairs.size(); i += kBlock) {
        for (std::size_t k = 0; k < kBlock; ++k) std::tie(a[k], b[k]) = pairs[i + k];
        const void* in[] = {a.data(), b.data()};
        run(program, Subnormals::Keep, in, kept.data());
        run(program, Subnormals::Flush, in, zeroed.data());
        for (std::size_t k = 0; k < kBlock; ++k) {
            const T wanted = expected(a[k], b[k], false), wanted_flushed = expected(a[k], b[k], test::kCanFlush);
            if (same(kept[k], wanted) && same(zeroed[k], wanted_flushed)) continue;
            CAPTURE(a[k]);
            CAPTURE(b[k]);
            CHECK(kept[k] == wanted);
            CHECK(zeroed[k] == wanted_flushed);
            if (++wrong == 10) return;
        }
    }
}

int times(int count) { return std::getenv("WEFT_EXHAUSTIVE") ? 50 * count : count; }

template <class T>
T with_exponent(std::mt19937_64& random, int e) {
    const double m = std::uniform_real_distribution<double>(1, 2)(random);
    return std::ldexp(static_cast<T>(random() % 2 ? m : -m), e);
}

// Every exponent of a with every `step`th of b.
template <class T>
void check_exponents(int step) {
    using Limits = std::numeric_limits<T>;
    std::mt19937_64 random(5);
    Pairs<T> pairs;
    const int low = Limits::min_exponent - Limits::digits, high = Limits::max_exponent;
    for (int a = low; a < high; ++a)
        for (int b = low + static_cast<int>(random() % static_cast<unsigned>(step)); b < high; b += step)
            for (int n = times(1); n > 0; --n)
                pairs.push_back({with_exponent<T>(random, a), with_exponent<T>(random, b)});
    check<T>(std::move(pairs));
}

// a next to whole multiples of b, where a quotient that is rounded can be one too large.
template <class T>
void check_multiples() {
    using Limits = std::numeric_limits<T>;
    std::mt19937_64 random(6);
    Pairs<T> pairs;
    for (int i = 0; i < times(200000); ++i) {
        const T b = with_exponent<T>(random, static_cast<int>(random() % 40) - 20);
        const double n =
            std::floor(std::ldexp(static_cast<double>(with_exponent<T>(random, 0)), static_cast<int>(random() % 60)));
        T a = static_cast<T>(n * static_cast<double>(b));
        for (int k = static_cast<int>(random() % 4); k > 0; --k)
            a = std::nextafter(a, random() % 2 ? Limits::max() : T(0));
        pairs.push_back({a, b});
        pairs.push_back({a * Limits::min() * 4, b * Limits::min() * 4});  // about where the remainder is subnormal
        pairs.push_back({static_cast<T>(n), static_cast<T>(random() % 1000 + 1)});
    }
    check<T>(std::move(pairs));
}

template <class T>
void check_special() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {0, 1, 1.5, 2, 3, 10, T(1e10), T(0.1), T(1) / 3};
    for (const T x : {Limits::min(), Limits::denorm_min(), Limits::max(), Limits::infinity(), Limits::quiet_NaN(),
                      Limits::epsilon(), Limits::min() * 2, Limits::min() / 2, 1 / Limits::min(),
                      std::ldexp(T(1), Limits::min_exponent + Limits::digits), Limits::max() / 2,
                      std::ldexp(T(1), Limits::digits), std::ldexp(T(1), 53), std::ldexp(T(1), Limits::digits - 1)})
        for (const T y : {x, std::nextafter(x, T(0)), std::nextafter(x, Limits::max())}) values.push_back(y);
    Pairs<T> pairs;
    for (const T a : values)
        for (const T b : values)
            for (const T s : {T(1), T(-1)})
                for (const T t : {T(1), T(-1)}) pairs.push_back({s * a, t * b});
    std::mt19937_64 random(8);
    for (int i = 0; i < times(100000); ++i)
        pairs.push_back(
            {std::bit_cast<T>(static_cast<Bits<T>>(random())), std::bit_cast<T>(static_cast<Bits<T>>(random()))});
    check<T>(std::move(pairs));
}

}  // namespace

TEST_CASE("mod of floats is exact for quotients of every size") {
    check_exponents<float>(1);
    check_exponents<double>(13);
}

TEST_CASE("mod of floats is exact at multiples of the divisor and beside them") {
    check_multiples<float>();
    check_multiples<double>();
}

TEST_CASE("mod of floats: zeros, infinities, NaN, subnormals and random bits") {
    check_special<float>();
    check_special<double>();
}
