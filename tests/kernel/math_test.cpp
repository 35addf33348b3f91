// Measures exp, log, sin … (kernel/math.h) against the C library in the next wider precision, with subnormals kept and
// flushed. The suite takes a dense sample. WEFT_EXHAUSTIVE=1 takes every f32 (an hour on two idle cores;
// WEFT_EXHAUSTIVE=tanh is one function) and more of f64, and prints a table.
#include "kernel/math.h"

#include "support/expression_eval.h"
#include "support/subnormals.h"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace weft;
using ir::Op;
using test::ExpressionProgram;
using test::Subnormals;
using test::SubnormalScope;
constexpr int kBlock = ExpressionProgram::kBlock;
using ld = long double;

enum class Symmetry { None, Odd, Even };

struct Function {
    Op op;
    Symmetry symmetry;
    ld (*wide)(ld);
    double (*narrow)(double);
    double f32_bound, f64_bound;  // in ULP: what was measured, rounded up
};

// clang-format off
const Function kFunctions[] = {
    {Op::Exp, Symmetry::None, std::exp, std::exp, 1, 1},
    {Op::Exp2, Symmetry::None, std::exp2, std::exp2, 1, 1},
    {Op::Expm1, Symmetry::None, std::expm1, std::expm1, 2, 2},
    {Op::Log, Symmetry::None, std::log, std::log, 1, 1.5},
    {Op::Log2, Symmetry::None, std::log2, std::log2, 2, 2},
    {Op::Log1p, Symmetry::None, std::log1p, std::log1p, 2, 2},
    {Op::Sin, Symmetry::Odd, std::sin, std::sin, 2, 2},
    {Op::Cos, Symmetry::Even, std::cos, std::cos, 2, 2},
    {Op::Tan, Symmetry::Odd, std::tan, std::tan, 4, 4},
    {Op::Asin, Symmetry::Odd, std::asin, std::asin, 2.5, 2.5},
    {Op::Acos, Symmetry::None, std::acos, std::acos, 1.5, 1.5},
    {Op::Atan, Symmetry::Odd, std::atan, std::atan, 1.5, 2.5},
    {Op::Sinh, Symmetry::Odd, std::sinh, std::sinh, 2, 2},
    {Op::Cosh, Symmetry::Even, std::cosh, std::cosh, 1.5, 1.5},
    {Op::Tanh, Symmetry::Odd, std::tanh, std::tanh, 2, 2},
    {Op::Erf, Symmetry::Odd, std::erf, std::erf, 1.5, 1.5},
    {Op::Erfc, Symmetry::None, std::erfc, std::erfc, 5, 5},
};
// clang-format on
constexpr double kPowBound = 2;

// One maths op, ready to run. An op may be made of others where subnormals are kept.
struct Expanded {
    kernel::Kernel kernel;
    ExpressionProgram program;

    Expanded(Op op, DType dtype, Subnormals how = Subnormals::Flush) : Expanded(op, dtype, make_kernel(how)) {}

private:
    static kernel::Kernel make_kernel(Subnormals how) {
        kernel::Kernel kernel;
        kernel.numerics.keep_subnormals = how == Subnormals::Keep;
        kernel.interner = std::make_shared<ir::Interner>();
        return kernel;
    }
    Expanded(Op op, DType dtype, kernel::Kernel made) : kernel(std::move(made)), program(expand(kernel, op, dtype)) {}
    static ExpressionProgram expand(const kernel::Kernel& kernel, Op op, DType dtype) {
        const ir::NodeRef inputs[] = {kernel.make(Op::ScalarParam, dtype, {}, ir::SlotArg{0, {}}),
                                      kernel.make(Op::ScalarParam, dtype, {}, ir::SlotArg{1, {}})};
        if (op == Op::Pow) return ExpressionProgram(expand_math(kernel, op, inputs[0], inputs[1]), inputs);
        return ExpressionProgram(expand_math(kernel, op, inputs[0]), std::span(inputs, 1));
    }
};

// The exponent e of |v| = 2^(e-1) 1.…; called billions of times for f32.
int exponent_of(double v) { return static_cast<int>(std::bit_cast<std::uint64_t>(v) >> 52 & 0x7ff) - 1022; }
int exponent_of(ld v) { return std::ilogb(v) + 1; }
double scaled(double v, int e) { return v * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + e) << 52); }
ld scaled(ld v, int e) { return std::ldexp(v, e); }

// |got - exact| in units of T's last place at exact. Infinity counts as the power of two beyond the largest number.
template <class T, class Wide>
double ulp_error(T got, Wide exact) {
    using Limits = std::numeric_limits<T>;
    static const Wide kBeyond = std::ldexp(Wide(1), Limits::max_exponent);
    if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    const Wide a = std::isinf(got) ? std::copysign(kBeyond, Wide(got)) : Wide(got);
    const Wide b = std::fabs(exact) > kBeyond ? std::copysign(kBeyond, exact) : exact;
    const int exponent = b == 0 ? Limits::min_exponent : std::max(exponent_of(b), Limits::min_exponent);
    const double error = static_cast<double>(scaled(std::fabs(a - b), Limits::digits - exponent));
    if (std::isnan(error)) return std::isnan(got) && std::isnan(exact) ? 0 : INFINITY;
    return error;
}

// The same with flushing: a subnormal operand may have been taken for zero, a subnormal result may be zero.
template <class T, class Wide, class F>
double error_of(T got, T x, Wide exact, F&& reference, Subnormals how) {
    if (got == static_cast<T>(exact) && got != 0) return 0.5;  // correctly rounded: the common case, made fast
    double error = ulp_error(got, exact);
    if (how == Subnormals::Flush && error > 0) {
        constexpr T kTiny = std::numeric_limits<T>::min();
        if (std::fabs(exact) < kTiny) error = std::min(error, ulp_error(got, std::copysign(Wide(0), exact)));
        if (x != 0 && std::fabs(x) < kTiny)
            error = std::min(error, ulp_error(got, Wide(reference(std::copysign(Wide(0), Wide(x))))));
    }
    return error;
}

template <class T>
struct Worst {
    double error = -1;
    T x = 0, y = 0, got = 0;
    void add(double e, T at, T at_y, T result) {
        if (e > error) *this = {e, at, at_y, result};
    }
    void add(const Worst& other) { add(other.error, other.x, other.y, other.got); }
};

// Runs op on all the numbers (padded to whole blocks) and compares.
template <class T, class F>
Worst<T> measure(ExpressionProgram& program, F&& reference, std::vector<T> numbers, Subnormals how) {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, ld>;
    numbers.resize((numbers.size() + kBlock - 1) / kBlock * kBlock, T(1));
    Worst<T> worst;
    std::vector<T> got(kBlock);
    for (std::size_t i = 0; i < numbers.size(); i += kBlock) {
        const void* in[] = {numbers.data() + i};
        {
            const SubnormalScope scope(how);
            program.run(in, got.data());
        }
        for (int k = 0; k < kBlock; ++k) {
            const T x = numbers[i + static_cast<std::size_t>(k)];
            worst.add(error_of(got[k], x, Wide(reference(Wide(x))), reference, how), x, 0, got[k]);
        }
    }
    return worst;
}

// Where something changes: zeros, ends of the ranges of every function, powers of two, multiples of pi/2; each with
// what is around it, and negated.
template <class T>
std::vector<T> special_numbers() {
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::vector<T> centres = {T(0),
                              Limits::denorm_min(),
                              Limits::min(),
                              Limits::max(),
                              T(0.5),
                              T(1),
                              T(2),
                              T(4),
                              T(6),
                              T(10),
                              T(20),
                              T(0.5625),
                              T(18),
                              T(40),
                              T(87.33654475),
                              T(88.72283905),
                              T(89.41598629),
                              T(103.97207708),
                              T(708.3964185),
                              T(709.782712893384),
                              T(710.4758600739439),
                              T(745.1332191019412),
                              T(149),
                              T(150),
                              T(1022),
                              T(1074),
                              T(1075),
                              T(0.70710678118654752),
                              T(1.41421356237309505),
                              T(0.41421356237309505),
                              T(2.41421356237309505),
                              T(0.34657359027997264),
                              T(3.92),
                              T(5.93)};
    for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e)
        centres.push_back(std::ldexp(T(1), e));
    for (int n = 1; n < 2000; ++n) centres.push_back(static_cast<T>(n * 1.57079632679489661923L));
    // the numbers nearest to a multiple of pi/2 of all in their format
    centres.push_back(sizeof(T) == 4 ? static_cast<T>(std::ldexp(16367173.0, 72))
                                     : static_cast<T>(std::ldexp(6381956970095103.0, 797)));
    std::vector<T> result = {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()};
    for (const T centre : centres) {
        for (int step = -16; step <= 16; ++step) {
            const T x = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(centre) + static_cast<Bits>(step)));
            result.push_back(x);
            result.push_back(-x);
        }
    }
    return result;
}

// Random bit patterns, and random numbers in the ranges where functions are neither 0, 1 nor infinite.
std::vector<double> random_doubles(int count, unsigned seed) {
    std::mt19937_64 random(seed);
    const double limits[] = {0.1, 0.7, 1, 1.5, 4, 6, 25, 750, 2000, 1e6, 1e15};
    std::vector<double> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(std::bit_cast<double>(random()));
        for (const double limit : limits)
            result.push_back(std::uniform_real_distribution<double>(-limit, limit)(random));
        result.push_back(
            1 + std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), -static_cast<int>(random() % 40)));
    }
    return result;
}

const char* exhaustive() { return std::getenv("WEFT_EXHAUSTIVE"); }

template <class T>
void report(std::string_view name, const ExpressionProgram& program, const Worst<T>& worst) {
    if (exhaustive())
        std::printf("%-6.*s f%d  %6.3f ULP at %-24.17g %4d nodes\n", static_cast<int>(name.size()), name.data(),
                    static_cast<int>(8 * sizeof(T)), worst.error, static_cast<double>(worst.x), program.operations());
}

template <class T>
void check(std::string_view name, const Worst<T>& worst, double bound) {
    CAPTURE(name);
    CAPTURE(worst.x);
    CAPTURE(worst.y);
    CAPTURE(worst.got);
    CHECK(worst.error <= bound);
}

}  // namespace

TEST_CASE("maths ops on f32: a sample of all numbers") {
    for (const Function& f : kFunctions) {
        for (const Subnormals how : {Subnormals::Keep, Subnormals::Flush}) {
            Expanded expanded(f.op, DType::F32, how);
            std::vector<float> numbers = special_numbers<float>();
            const std::uint64_t stride = how == Subnormals::Keep ? 4093 : 16381;
            for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += stride)
                numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            const Worst<float> worst = measure<float>(expanded.program, f.narrow, std::move(numbers), how);
            if (how == Subnormals::Keep) report(ir::name_of(f.op), expanded.program, worst);
            check(ir::name_of(f.op), worst, f.f32_bound);
        }
    }
}

TEST_CASE("maths ops on f64: special and random numbers") {
    for (const Function& f : kFunctions) {
        for (const Subnormals how : {Subnormals::Keep, Subnormals::Flush}) {
            Expanded expanded(f.op, DType::F64, how);
            Worst<double> worst = measure<double>(expanded.program, f.wide, special_numbers<double>(), how);
            const int count = exhaustive() ? 300000 : how == Subnormals::Keep ? 10000 : 1000;
            worst.add(measure<double>(expanded.program, f.wide, random_doubles(count, 1), how));
            if (how == Subnormals::Keep) report(ir::name_of(f.op), expanded.program, worst);
            check(ir::name_of(f.op), worst, f.f64_bound);
        }
    }
}

namespace {

template <class T>
Worst<T> measure_pow(ExpressionProgram& program, std::vector<std::pair<T, T>> pairs, Subnormals how) {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, ld>;
    pairs.resize((pairs.size() + kBlock - 1) / kBlock * kBlock, {T(1), T(1)});
    Worst<T> worst;
    std::vector<T> x(kBlock), y(kBlock), got(kBlock);
    for (std::size_t i = 0; i < pairs.size(); i += kBlock) {
        for (int k = 0; k < kBlock; ++k) std::tie(x[k], y[k]) = pairs[i + static_cast<std::size_t>(k)];
        const void* in[] = {x.data(), y.data()};
        {
            const SubnormalScope scope(how);
            program.run(in, got.data());
        }
        for (int k = 0; k < kBlock; ++k) {
            const auto reference = [&](Wide base) { return std::pow(base, Wide(y[k])); };
            double error = error_of(got[k], x[k], reference(x[k]), reference, how);
            // y may be flushed as well; then the result is 1
            if (how == Subnormals::Flush && std::fabs(y[k]) < std::numeric_limits<T>::min() && got[k] == 1) error = 0;
            worst.add(error, x[k], y[k], got[k]);
        }
    }
    return worst;
}

template <class T>
std::vector<std::pair<T, T>> pow_pairs(int count) {
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::vector<T> values = {T(0),
                             T(0.5),
                             T(1),
                             T(1.5),
                             T(2),
                             T(2.5),
                             T(3),
                             T(4),
                             T(5),
                             T(7),
                             T(10),
                             T(100),
                             T(101),
                             T(1e30),
                             Limits::min(),
                             Limits::denorm_min(),
                             Limits::max(),
                             Limits::epsilon(),
                             1 + Limits::epsilon(),
                             1 - Limits::epsilon() / 2,
                             1 / Limits::epsilon(),
                             1 / Limits::epsilon() - 1,
                             2 / Limits::epsilon() - 1,
                             Limits::infinity(),
                             Limits::quiet_NaN(),
                             T(126),
                             T(149),
                             T(1074),
                             T(1022),
                             T(1023),
                             T(1024),
                             T(128),
                             T(127),
                             T(1) / 3};
    std::vector<std::pair<T, T>> pairs;
    for (const T x : values)
        for (const T y : values)
            for (const T s : {T(1), T(-1)})
                for (const T t : {T(1), T(-1)}) pairs.push_back({s * x, t * y});
    std::mt19937_64 random(7);
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    for (int i = 0; i < count; ++i) {
        const T any = std::bit_cast<T>(static_cast<Bits>(random())),
                other = std::bit_cast<T>(static_cast<Bits>(random()));
        pairs.push_back({any, other});
        pairs.push_back({std::fabs(any), static_cast<T>(uniform(-3, 3))});
        pairs.push_back({any, static_cast<T>(static_cast<int>(random() % 21) - 10)});
        // results all over the range, subnormal ones too
        const T near = static_cast<T>(1 + std::ldexp(uniform(-0.5, 1), -static_cast<int>(random() % 30)));
        for (const T x : {near, std::fabs(any)}) {
            const double log = std::log2(static_cast<double>(x));
            if (std::isfinite(log) && log != 0)
                pairs.push_back(
                    {x,
                     static_cast<T>(uniform(Limits::min_exponent - Limits::digits - 2, Limits::max_exponent) / log)});
        }
    }
    return pairs;
}

template <class T>
void test_pow() {
    for (const Subnormals how : {Subnormals::Keep, Subnormals::Flush}) {
        Expanded expanded(Op::Pow, dtype_of<T>(), how);
        const int count = exhaustive() ? 3000000 : how == Subnormals::Keep ? 100000 : 10000;
        const Worst<T> worst = measure_pow<T>(expanded.program, pow_pairs<T>(count), how);
        if (how == Subnormals::Keep) report("pow", expanded.program, worst);
        check("pow", worst, kPowBound);
    }
}

}  // namespace

TEST_CASE("pow on f32 and f64: C's special cases and random pairs") {
    test_pow<float>();
    test_pow<double>();
}

TEST_CASE("tanh and erf of f32 end at exactly one, and never fall on their way") {
    for (const auto& [op, end] : {std::pair{Op::Tanh, 9.2f}, std::pair{Op::Erf, 4.0f}}) {
        CAPTURE(ir::name_of(op));
        Expanded expanded(op, DType::F32);
        std::vector<float> x(kBlock), got(kBlock);
        const void* in[] = {x.data()};
        for (int i = 0; i < kBlock; ++i) x[i] = std::ldexp(end, i % 120);
        x[1] = std::numeric_limits<float>::infinity();
        expanded.program.run(in, got.data());
        CHECK(std::all_of(got.begin(), got.end(), [](float y) { return y == 1; }));
        for (const float start : {0.9f * end, 0.8f * end, 0.6f * end}) {
            for (int i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(start) + 17 * i);
            expanded.program.run(in, got.data());
            CHECK(std::is_sorted(got.begin(), got.end()));
        }
    }
}

TEST_CASE("exp of a negated value has exp's bits, and needs no negation") {
    for (const auto& [dtype, how] : {std::pair{DType::F32, Subnormals::Flush}, std::pair{DType::F32, Subnormals::Keep},
                                     std::pair{DType::F64, Subnormals::Flush}}) {
        Expanded expanded(Op::Exp, dtype, how);
        const ir::NodeRef x = expanded.kernel.make(Op::ScalarParam, dtype, {}, ir::SlotArg{0, {}});
        ExpressionProgram negated(expand_math(expanded.kernel, Op::Exp, expanded.kernel.unary(Op::Neg, x)),
                                  std::span(&x, 1));
        CHECK(negated.operations() == expanded.program.operations());
        std::mt19937_64 random(5);
        std::vector<double> numbers = {0.0,    INFINITY, NAN,     1e30,  88.72, 88.73,         103.9,
                                       104.1,  709.7,    709.8,   745.1, 745.2, 0.34657359028, 0.5 / M_LOG2E,
                                       1e-300, 1e-40,    2.0 / 3, M_LN2, 89.0,  710.0};
        while (numbers.size() < 20 * kBlock)
            numbers.push_back(std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random),
                                         static_cast<int>(random() % 40) - 29));
        int different = 0;
        for (const double number : numbers)
            for (const double signed_number : {number, -number}) {
                const Word word = scalar_word(dtype, signed_number), mirrored = scalar_word(dtype, -signed_number);
                const Word got = negated.run_by_table(std::span(&word, 1)),
                           want = expanded.program.run_by_table(std::span(&mirrored, 1));
                different += got != want && !std::isnan(word_to_double(dtype, want));
            }
        CHECK(different == 0);
    }
}

TEST_CASE("maths ops give the op table's bits, and only exact ops") {
    for (const DType dtype : {DType::F32, DType::F64}) {
        std::mt19937_64 random(3);
        std::vector<Op> ops = {Op::Pow};
        for (const Function& f : kFunctions) ops.push_back(f.op);
        for (const Op op : ops) {
            Expanded expanded(op, dtype);
            CHECK(expanded.program.operations() < 250);
            std::vector<Word> x(kBlock), y(kBlock), got(kBlock);  // as memory of any dtype
            char* memory[] = {reinterpret_cast<char*>(x.data()), reinterpret_cast<char*>(y.data())};
            const std::size_t size = size_of(dtype);
            for (int i = 0; i < kBlock; ++i)
                for (char* m : memory) {
                    const double number = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                                                     static_cast<int>(random() % 60) - 40);
                    store_word(dtype, m + size * static_cast<std::size_t>(i), scalar_word(dtype, number));
                }
            const void* in[] = {x.data(), y.data()};
            expanded.program.run(in, got.data());
            int different = 0;
            for (int i = 0; i < kBlock; ++i) {
                const std::size_t at = size * static_cast<std::size_t>(i);
                const Word words[] = {load_word(dtype, memory[0] + at), load_word(dtype, memory[1] + at)};
                different +=
                    load_word(dtype, reinterpret_cast<char*>(got.data()) + at) != expanded.program.run_by_table(words);
            }
            CAPTURE(ir::name_of(op));
            CHECK(different == 0);
        }
    }
}

namespace {

// How many of the numbers have f(-x) with other bits than f(x) (even) or -f(x) (odd).
int count_asymmetric(ExpressionProgram& program, const std::vector<float>& numbers, Symmetry symmetry) {
    const std::uint32_t sign = 0x80000000, flip = symmetry == Symmetry::Odd ? sign : 0;
    std::vector<std::uint32_t> mirrored(kBlock), got(kBlock), expected(kBlock);
    int count = 0;
    for (std::size_t i = 0; i < numbers.size(); i += kBlock) {
        for (int k = 0; k < kBlock; ++k)
            mirrored[k] = std::bit_cast<std::uint32_t>(numbers[i + static_cast<std::size_t>(k)]) ^ sign;
        const void* in[] = {numbers.data() + i};
        program.run(in, expected.data());
        in[0] = mirrored.data();
        program.run(in, got.data());
        for (int k = 0; k < kBlock; ++k)  // the sign of a NaN means nothing
            count += got[k] != (expected[k] ^ flip) && !std::isnan(std::bit_cast<float>(got[k]));
    }
    return count;
}

}  // namespace

TEST_CASE("maths ops on f32: all 2^32 numbers, if WEFT_EXHAUSTIVE is set") {
    const char* wanted = exhaustive();
    if (!wanted) return;
    for (const Function& f : kFunctions)
        for (const Subnormals how : {Subnormals::Keep, Subnormals::Flush}) {
            const std::string_view name = ir::name_of(f.op);
            if (std::string_view(wanted) != "1" && wanted != name) continue;
            const unsigned count = std::max(1u, std::thread::hardware_concurrency());
            std::vector<Worst<float>> worst(count);
            std::atomic<std::uint64_t> next{0};
            std::deque<Expanded> programs;
            for (unsigned t = 0; t < count; ++t) programs.emplace_back(f.op, DType::F32, how);
            std::vector<std::thread> threads;
            constexpr std::uint64_t kChunk = 1 << 20;
            const std::uint64_t end = f.symmetry == Symmetry::None ? std::uint64_t{1} << 32 : std::uint64_t{1} << 31;
            std::atomic<int> asymmetric{0};
            for (unsigned t = 0; t < count; ++t)
                threads.emplace_back([&, t] {
                    ExpressionProgram& program = programs[t].program;
                    for (std::uint64_t start; (start = next.fetch_add(kChunk)) < end;) {
                        std::vector<float> numbers(kChunk);
                        for (std::uint64_t i = 0; i < kChunk; ++i)
                            numbers[i] = std::bit_cast<float>(static_cast<std::uint32_t>(start + i));
                        if (f.symmetry != Symmetry::None) asymmetric += count_asymmetric(program, numbers, f.symmetry);
                        worst[t].add(measure<float>(program, f.narrow, std::move(numbers), how));
                    }
                });
            for (std::thread& thread : threads) thread.join();
            for (const Worst<float>& other : worst) worst[0].add(other);
            report(name, programs[0].program, worst[0]);
            std::fflush(stdout);
            check(name, worst[0], f.f32_bound);
            CHECK(asymmetric == 0);
        }
}
