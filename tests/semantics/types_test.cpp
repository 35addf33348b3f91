// Lines S1 to S24 of docs/semantics.md: element types, promotion, integers, casts, f16 and bf16.
#include "tests/semantics/lines.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(), kHighest = -(kLowest + 1);

DType sum_type(DType a, DType b) { return (zeros({2}, a) + zeros({2}, b)).dtype(); }
DType type_with(DType a, Scalar number) { return (zeros({2}, a) + number).dtype(); }

}  // namespace

// ---- promotion -------------------------------------------------------------------------------------------------------

LINE_ALONE("S1: two tensors meet in the smallest type that holds both kinds") {
    CHECK(sum_type(bool_, u8) == u8);
    CHECK(sum_type(u8, i8) == i16);
    CHECK(sum_type(u8, i16) == i16);
    CHECK(sum_type(u32, i32) == i64);
    CHECK(sum_type(i64, f16) == f16);
    CHECK(sum_type(f16, bf16) == f32);
    CHECK(sum_type(f32, f64) == f64);
    for (int a = 0; a < kDTypeCount; ++a)
        for (int b = 0; b < kDTypeCount; ++b) CHECK(promote(DType(a), DType(b)) == promote(DType(b), DType(a)));
}

LINE("S2: u64 and a signed integer meet in i64, which wraps") {
    CHECK(sum_type(u64, i8) == i64);
    CHECK(sum_type(u64, i64) == i64);
    const Tensor huge = from_data(std::vector<std::uint64_t>{1ull << 63, 5});
    line.ints(huge + tensor({-1, -1}, i8), {kHighest, 4});
    line.is(huge > tensor({0, 0}, i64), {0, 1});
}

LINE("S3: a number in the program is weak") {
    CHECK(type_with(f16, 2.5) == f16);
    CHECK(type_with(i8, 2) == i8);
    CHECK(type_with(i8, 2.5) == f32);
    CHECK(type_with(bool_, 1) == i64);
    CHECK(type_with(bool_, true) == bool_);
    CHECK(type_with(u8, true) == u8);
    line.is(tensor({1, 2}, f16) * 2.5, {2.5, 5});
    line.is(tensor({1, 2}, i64) * 0.5, {0.5, 1});
}

LINE("S4: an integer that does not fit raises at the call; a negative one wraps in an unsigned type") {
    const Tensor x = tensor({0, 7}, u8);
    CHECK(error_of<ValueError>([&] { x + 256; }) == "add(a: u8[2], b: 256): 256 does not fit u8");
    CHECK_THROWS_AS(tensor({1}, i8) * 128, ValueError);
    CHECK_THROWS_AS(x > 300, ValueError);
    CHECK_THROWS_AS(full({2}, 300, u8), ValueError);
    CHECK(error_of<ValueError>([] { tensor({1, 300}, u8); }) == "tensor(): 300 does not fit u8");
    CHECK(error_of<ValueError>([] { tensor({~0ull}); }) == "tensor(): 18446744073709551615 does not fit i64");
    CHECK_THROWS_AS(Tensor(~0ull), ValueError);
    CHECK_THROWS_AS(pad(x, {1, 1}, 300), ValueError);
    CHECK_THROWS_AS(tensor({1}, u8).assign(256), ValueError);
    CHECK_THROWS_AS(tensor({1}, u8).fill_(-257), ValueError);
    line.ints(x + -1, {255, 6});
    line.ints(tensor({~0ull, 1}, u64) - 1, {-2, 0});  // read as i64
}

LINE("S5: a 0-d tensor raises the kind, not the width") {
    CHECK((zeros({2}, f16) + zeros({}, f64)).dtype() == f16);
    CHECK((zeros({2}, i8) + zeros({}, i64)).dtype() == i8);
    CHECK((zeros({2}, i8) + zeros({}, f64)).dtype() == f64);
    CHECK((zeros({}, f16) + zeros({}, f64)).dtype() == f64);
    CHECK((zeros({}, f32) + 1.5).dtype() == f32);
    line.ints(tensor({1, 2}, i8) + tensor(300, i64), {45, 46});  // the 0-d value wraps
}

LINE("S6: without a type, integers are i64, floats f32, bools bool, and nothing is f32") {
    CHECK(tensor({1, 2}).dtype() == i64);
    CHECK(tensor({1, 2.5}).dtype() == f32);
    CHECK(tensor({true, false}).dtype() == bool_);
    CHECK(tensor({true, 2}).dtype() == i64);
    CHECK(tensor(Nested{}).dtype() == f32);
    CHECK(arange(3).dtype() == i64);
    CHECK(full({2}, 7).dtype() == i64);
    line.is(tensor({0.1}), {static_cast<double>(0.1f)});
}

LINE("S7: true division and float functions of integers give f32; sums of integers and bools i64") {
    CHECK(div(tensor({1}, i64), 2).dtype() == f32);
    CHECK(exp(tensor({1}, u8)).dtype() == f32);
    CHECK(sum(tensor({1}, u8)).dtype() == i64);
    CHECK(prod(tensor({true})).dtype() == i64);
    CHECK(cumsum(tensor({1}, u64), 0).dtype() == i64);
    CHECK_THROWS_AS(mean(tensor({1, 2})), DTypeError);
    line.is(tensor({1, -3}) / 2, {0.5, -1.5});
    line.ints(sum(tensor({200, 100}, u8)), {300});
    line.ints(sum(from_data(std::vector<std::uint64_t>{~0ull, 1})), {0});
}

LINE("S8: an integer tensor meets a float in the float's type, also in comparisons") {
    line.is(tensor({16777217, 16777216}, i64) == 16777216.0, {1, 1});
    line.is(tensor({1, 2}, i32) < tensor({1.5, 1.5}, f16), {1, 0});
}

LINE("S9: of bools, + is or, * is and; - and unary - raise") {
    const Tensor a = tensor({true, true, false}), b = tensor({true, false, false});
    CHECK((a + b).dtype() == bool_);
    CHECK_THROWS_AS(a - b, DTypeError);
    CHECK_THROWS_AS(-a, DTypeError);
    CHECK_THROWS_AS(pow(a, b), DTypeError);
    line.is(a + b, {1, 1, 0});
    line.is(a * b, {1, 0, 0});
    line.is(maximum(a, b), {1, 1, 0});
    line.ints(a + 1, {2, 2, 1});
}

LINE("S10: an in-place op keeps the type, and raises where the kind would grow") {
    Tensor whole = tensor({1, 2}), half = tensor({1, 2}, f16), taken = tensor({1, 2});
    CHECK_THROWS_AS(whole += 0.5, DTypeError);
    CHECK_THROWS_AS(whole /= 2, DTypeError);
    half += tensor({0.5, 0.5}, f32);
    CHECK(half.dtype() == f16);
    taken.assign(2.75);
    line.is(half, {1.5, 2.5});
    line.ints(taken, {2, 2});
}

// ---- integers --------------------------------------------------------------------------------------------------------

LINE("S11: integer arithmetic wraps") {
    line.ints(tensor({127, -128}, i8) + tensor({1, -1}, i8), {-128, 127});
    line.ints(tensor({200, 0}, u8) * tensor({2, 1}, u8), {144, 0});
    line.ints(-tensor({-128, 5}, i8), {-128, -5});
    line.ints(-tensor({1, 0}, u16), {65535, 0});
    line.ints(tensor({kHighest, kLowest}) - tensor({-1, 1}), {kLowest, kHighest});
    line.ints(sum(tensor({kHighest, 1})), {kLowest});
    line.ints(full({1}, kHighest) + 1, {kLowest});  // folded when it is built
}

LINE("S12: integer x // 0 is 0 and x % 0 is 0") {
    const Tensor x = tensor({5, -5, 0}, i32), zero = tensor({0, 0, 0}, i32);
    line.ints(floor_divide(x, zero), {0, 0, 0});
    line.ints(x % zero, {0, 0, 0});
    line.ints(fmod(x, zero), {0, 0, 0});
    line.ints(floor_divide(tensor({7}, u8), 0), {0});
    line.ints(floor_divide(full({1}, 7), 0), {0});
}

LINE("S13: the lowest integer // -1 wraps, and % -1 is 0") {
    line.ints(floor_divide(tensor({kLowest, 6}), tensor({-1, -1})), {kLowest, -6});
    line.ints(floor_divide(tensor({-128}, i8), tensor({-1}, i8)), {-128});
    line.ints(tensor({kLowest, 6}) % tensor({-1, -1}), {0, 0});
}

LINE("S14: // rounds down, % has the divisor's sign, fmod the dividend's") {
    const Tensor a = tensor({7, -7, 7, -7}, i32), b = tensor({2, 2, -2, -2}, i32);
    line.ints(floor_divide(a, b), {3, -4, -4, 3});
    line.ints(a % b, {1, 1, -1, -1});
    line.ints(fmod(a, b), {1, -1, 1, -1});
    line.ints(fmod(tensor({kLowest, 5, 200}), tensor({3, kLowest, -300})), {-2, 5, 200});
    line.is(floor_divide(a.to(f32), b.to(f32)), {3, -4, -4, 3});
    line.is(a.to(f32) % b.to(f32), {1, 1, -1, -1});
}

LINE("S15: a shift by the width or more, or by a negative number, gives 0, or -1 for a negative value shifted right") {
    const Tensor x = tensor({1, -1, -8}, i8);
    line.ints(x << tensor({7, 8, 100}, i8), {-128, 0, 0});
    line.ints(x >> tensor({1, 8, 100}, i8), {0, -1, -1});
    line.ints(x << tensor({-1, -1, -1}, i8), {0, 0, 0});
    line.ints(x >> tensor({-1, -1, -1}, i8), {0, -1, -1});
    line.ints(tensor({255, 255}, u8) >> tensor({4, 8}, u8), {15, 0});
    line.ints(tensor({1, 1}) << tensor({63, 64}), {kLowest, 0});
}

LINE("S16: integer powers wrap; to a negative number they raise, to a negative tensor they are 0, or +-1 for +-1") {
    CHECK_THROWS_AS(pow(tensor({2}), -1), ValueError);
    const Tensor minus = tensor({-1, -1, -2, -1, -1}), base = tensor({1, -1, -1, 2, 0});
    line.ints(pow(base, minus), {1, -1, 1, 0, 0});
    line.ints(pow(tensor({3, 0, 2}, i32), tensor({21, 0, 31}, i32)), {1870418611, 1, -2147483648ll});
    line.ints(pow(tensor({2, 3}, u8), 8), {0, 161});
    CHECK(pow(tensor({2}), 0.5).dtype() == f32);
}

LINE("S17: abs of the lowest integer is itself") { line.ints(abs(tensor({-128, -127}, i8)), {-128, 127}); }

// ---- casts -----------------------------------------------------------------------------------------------------------

LINE("S18: float to integer truncates and saturates; NaN gives 0") {
    const Tensor x = floats({1.9, -1.9, 1e10, -1e10, kNan, kInf, -kInf, -0.5});
    line.ints(x.to(i8), {1, -1, 127, -128, 0, 127, -128, 0});
    line.ints(x.to(u8), {1, 0, 255, 0, 0, 255, 0, 0});
    line.ints(x.to(i32), {1, -1, 2147483647, -2147483648ll, 0, 2147483647, -2147483648ll, 0});
    line.ints(floats({9.3e18, -9.3e18}).to(i64), {kHighest, kLowest});
    line.ints(tensor({70000.0, -0.75}, bf16).to(i16), {32767, 0});
    line.ints(full({1}, 1e10).to(i8), {127});
}

LINE("S19: integer to integer wraps; integer to float rounds to nearest even") {
    line.ints(tensor({300, -1}, i32).to(u8), {44, 255});
    line.ints(tensor({128, 255}, u8).to(i8), {-128, -1});
    line.is(tensor({16777217, 16777219}).to(f32), {16777216, 16777220});
    line.is(from_data(std::vector<std::uint64_t>{~0ull}).to(f64), {0x1p64});
    line.is(tensor({100000, 2049}).to(f16), {kInf, 2048});
}

LINE("S20: to bool is != 0, so NaN is true and -0 false; bool to a number is 0 or 1") {
    line.is(floats({0, -0.0, kNan, 0.25, kInf}).to(bool_), {0, 0, 1, 1, 1});
    line.is(tensor({256, 0}, i32).to(bool_), {1, 0});
    line.is(tensor({true, false}).to(f16), {1, 0});
    line.is(logical_and(floats({kNan, -0.0}), true), {1, 0});
}

LINE("S21: to f16 and bf16 rounds to nearest even, overflows to infinity, keeps subnormals; f64 goes through f32") {
    const Tensor x = tensor({65519.0, 65520.0, -1e6, 2049.0, 2051.0, 0x1p-24, 0x1p-25, 0x1.8p-25, kNan}, f64);
    line.is(x.to(f16), {65504, kInf, -kInf, 2048, 2052, 0x1p-24, 0, 0x1p-24, kNan});
    line.is(tensor({3.4e38, 257.0, 259.0, 1e300}, f64).to(bf16), {kInf, 256, 260, kInf});
    line.is(tensor({1 + 0x1p-11 + 0x1p-26}, f64).to(f16), {1});  // rounded twice
    line.is(tensor({1 + 0x1p-11 + 0x1p-20}, f64).to(f16), {1 + 0x1p-10});
}

// ---- f16 and bf16 ----------------------------------------------------------------------------------------------------

LINE("S22: an f16 or bf16 op computes in f32 and rounds its result, fused or not") {
    const Tensor x = tensor({2048.0, 60000.0}, f16);
    line.is((x + 1) + 1, {2048, 60000});
    line.is(x + x, {4096, kInf});
    line.is((x + x) - x, {2048, kInf});
    line.is((tensor({256.0}, bf16) + 1) + 1, {256});
}

LINE("S23: sums, means, products, norms and losses of f16 and bf16 round once, at the end") {
    line.is(sum(tensor({2048.0, 1.0, 1.0}, f16)), {2050});
    line.is(mean(tensor({60000.0, 60000.0}, f16)), {60000});
    line.is(cumsum(tensor({2048.0, 1.0, 1.0}, f16), 0), {2048, 2048, 2050});
    line.is(matmul(tensor({{2048.0, 1.0, 1.0}}, f16), ones({3, 1}, f16).clone()), {2050});
    line.is(mse_loss(tensor({300.0, 300.0}, f16), tensor({45.0, 45.0}, f16)), {65024});
    line.is(norm(tensor({300.0, 400.0}, f16)), {500});  // 300 * 300 is not an f16
}

LINE("S24: overflow of a float op gives infinity") {
    line.is(floats({3e38, -3e38}) * 2, {kInf, -kInf});
    line.is(exp(floats({89, -104})), {kInf, 0});
}
