// Measures lgamma, digamma and erfinv (kernel/math_gamma.cpp, kernel/math_erf.cpp) against references in long double. Where they
// cross 0 at an odd place (lgamma below 0, digamma) the error counts in units of eps, elsewhere in units of eps of the result.
#include "kernel/math.h"

#include "support/expression_eval.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace {

using namespace weft;
using ir::Op;
using test::ExpressionProgram;
using ld = long double;

constexpr ld kPi = std::numbers::pi_v<ld>;

ld digamma(ld x) {
    if (x < 0) return digamma(-x) - 1 / x + kPi / std::tan(kPi * (std::fmod(-x, 1.0L)));
    ld sum = 0;
    for (; x < 25; x += 1) sum -= 1 / x;
    const ld z = 1 / (x * x);
    return sum + std::log(x) - 1 / (2 * x) -
           z * (1 / 12.0L -
                z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z * (1 / 132.0L - z * 691 / 32760.0L)))));
}

// By Newton's method, from where the function under test arrived.
ld erfinv(ld x, ld y) {
    for (int i = 0; i < 3; ++i) {
        const ld a = std::fabs(x), error = a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y);
        y -= error * std::sqrt(kPi) / 2 * std::exp(y * y);
    }
    return y;
}

template <class T>
std::vector<T> evaluate(Op op, std::vector<T> numbers) {
    constexpr std::size_t kBlock = ExpressionProgram::kBlock;
    kernel::Kernel kernel;
    kernel.interner = std::make_shared<ir::Interner>();
    const ir::NodeRef input[] = {kernel.make(Op::ScalarParam, dtype_of<T>(), {}, ir::SlotArg{0, {}})};
    ExpressionProgram program(expand_math(kernel, op, input[0]), input);
    const std::size_t count = numbers.size();
    numbers.resize((count + kBlock - 1) / kBlock * kBlock, T(1));
    std::vector<T> results(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); i += kBlock) {
        const void* in[] = {numbers.data() + i};
        program.run(in, results.data() + i);
    }
    results.resize(count);
    return results;
}

template <class T>
std::vector<T> numbers(double low, double high, int count = 20000) {
    std::mt19937_64 random(7);
    std::vector<T> result;
    for (int i = 0; i < count; ++i)
        result.push_back(static_cast<T>(std::uniform_real_distribution<double>(low, high)(random)));
    return result;
}

// The largest error in units of eps * max(|exact|, least).
template <class T, class F>
double worst(Op op, const std::vector<T>& at, ld least, F reference) {
    const std::vector<T> got = evaluate(op, at);
    double result = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const ld exact = reference(static_cast<ld>(at[i]), static_cast<ld>(got[i]));
        const ld unit = std::numeric_limits<T>::epsilon() * std::max(std::fabs(exact), least);
        const auto error = static_cast<double>(std::fabs(static_cast<ld>(got[i]) - exact) / unit);
        if (!(error <= result)) result = error;
    }
    return result;
}

constexpr ld kLeast = 1e-30L;  // relative everywhere

template <class T>
void check_lgamma() {
    const auto reference = [](ld x, ld) { return std::lgamma(x); };
    for (const double high : {1e-6, 0.5, 1.0, 2.5, 9.0, 100.0, 1e6, 1e30})
        CHECK(worst<T>(Op::Lgamma, numbers<T>(high * 1e-3, high), kLeast, reference) <= 4);
    std::vector<T> near;  // both zeros, from both sides
    for (int i = 1; i < 1000; ++i)
        for (const double zero : {1.0, 2.0})
            for (const double step : {i * 1e-4, -i * 1e-4, i * 1e-7, -i * 1e-7})
                near.push_back(static_cast<T>(zero + step));
    CHECK(worst<T>(Op::Lgamma, near, kLeast, reference) <= 4);
    CHECK(worst<T>(Op::Lgamma, numbers<T>(-4, -1e-9), 1, reference) <= 8);
    CHECK(worst<T>(Op::Lgamma, numbers<T>(-100, -4), 1, reference) <= 16);
}

template <class T>
void check_digamma() {
    const auto reference = [](ld x, ld) { return digamma(x); };
    for (const double high : {1e-6, 1.0, 3.0, 9.0, 100.0, 1e6, 1e30})
        CHECK(worst<T>(Op::Digamma, numbers<T>(high * 1e-3, high), 1, reference) <= 12);
    CHECK(worst<T>(Op::Digamma, numbers<T>(-10, -1e-9), 1, reference) <= 12);
    CHECK(worst<T>(Op::Digamma, numbers<T>(-1000, -10), 1, reference) <= 12);
}

template <class T>
void check_erfinv() {
    const auto reference = [](ld x, ld y) { return std::copysign(erfinv(x, std::fabs(y)), x); };
    for (const double high : {1e-9, 1e-3, 0.5, 0.99, 0.9999})
        CHECK(worst<T>(Op::Erfinv, numbers<T>(-high, high), kLeast, reference) <= 4);
    std::vector<T> tail;
    for (int i = 2; i < std::numeric_limits<T>::digits; ++i)
        for (const double m : {1.0, 1.3, 1.7}) tail.push_back(static_cast<T>(1 - std::ldexp(m, -i)));
    std::erase_if(tail, [](T x) { return x >= 1; });
    CHECK(worst<T>(Op::Erfinv, tail, kLeast, reference) <= 4);
}

template <class T>
void check_ends() {
    constexpr T kInfinity = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
    const auto is = [](Op op, const std::vector<T>& at, const std::vector<T>& expected) {
        const std::vector<T> got = evaluate(op, at);
        for (std::size_t i = 0; i < at.size(); ++i) {
            CAPTURE(ir::name_of(op));
            CAPTURE(at[i]);
            CHECK((got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))));
        }
    };
    is(Op::Lgamma, {0, -T(0), -1, -2, -100, kInfinity, -kInfinity, kNaN, 1, 2},
       {kInfinity, kInfinity, kInfinity, kInfinity, kInfinity, kInfinity, kInfinity, kNaN, 0, 0});
    is(Op::Digamma, {0, -T(0), -1, -2, -100, kInfinity, -kInfinity, kNaN},
       {-kInfinity, kInfinity, kNaN, kNaN, kNaN, kInfinity, kNaN, kNaN});
    is(Op::Erfinv, {0, 1, -1, T(1.5), -2, kInfinity, kNaN}, {0, kInfinity, -kInfinity, kNaN, kNaN, kNaN, kNaN});
}

}  // namespace

TEST_CASE("lgamma: relative errors above 0, absolute ones below") {
    check_lgamma<float>();
    check_lgamma<double>();
}

TEST_CASE("digamma: errors against a sum and its asymptotic series") {
    check_digamma<float>();
    check_digamma<double>();
}

TEST_CASE("erfinv: errors against Newton's method, up to the ends") {
    check_erfinv<float>();
    check_erfinv<double>();
}

TEST_CASE("lgamma, digamma and erfinv at their poles and at the infinities") {
    check_ends<float>();
    check_ends<double>();
}
