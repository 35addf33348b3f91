// Elementwise ops: promotion, values and edge cases, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("tensors promote as in PyTorch, numbers are weak") {
    const auto of = [](DType t) { return ones({2}, t); };
    CHECK((of(i8) + of(u8)).dtype() == i16);
    CHECK((of(i32) + of(f16)).dtype() == f16);
    CHECK((of(f16) + of(bf16)).dtype() == f32);
    CHECK((of(f32) + of(f64)).dtype() == f64);
    CHECK((of(bool_) + of(u8)).dtype() == u8);
    CHECK((of(f16) * 2.5).dtype() == f16);
    CHECK((2 * of(i8)).dtype() == i8);
    CHECK((of(i8) * 2.5).dtype() == f32);
    CHECK((of(bool_) + 1).dtype() == i64);
    CHECK((of(bool_) + true).dtype() == bool_);
    CHECK((of(i32) / of(i32)).dtype() == f32);
    CHECK((of(i32) / 2).dtype() == f32);
    CHECK((of(f16) / 2).dtype() == f16);
    CHECK((of(u8) < 3).dtype() == bool_);
}

TEST_CASE("a 0-d tensor does not widen a tensor with dimensions, but raises its kind") {
    const auto point = [](DType t) { return ones({}, t); };
    CHECK((ones({2}, f16) * point(f32)).dtype() == f16);
    CHECK((ones({2}, i8) * point(i64)).dtype() == i8);
    CHECK((ones({2}, i8) * point(f64)).dtype() == f64);
    CHECK((point(f16) * point(f32)).dtype() == f32);
    CHECK((ones({2}, f16) * Tensor(2.5)).dtype() == f16);
    CHECK((ones({2}, i8) * Tensor(2)).dtype() == i8);
}

TEST_CASE("a number keeps its precision until it meets a tensor") {
    CHECK((zeros({1}, f64) + 0.1).item() == 0.1);
    CHECK(where(zeros({1}, bool_), zeros({1}, f64), 0.1).item() == 0.1);
    CHECK(maximum(zeros({1}, f64), 0.1).item() == 0.1);
    Tensor x = zeros({1}, f64).clone();
    x += 0.1;
    CHECK(x.item() == 0.1);
    x.fill_(0.3);
    CHECK(x.item() == 0.3);
    x.assign(0.7);
    CHECK(x.item() == 0.7);
    Tensor half = ones({}, f16).clone();
    CHECK((half *= 2.5).dtype() == f16);
    CHECK(tensor({-3, 2}).pow(2).dtype() == i64);
}

TEST_CASE("arithmetic on numbers and bools") {
    const Tensor x = tensor({7, -7, 7, -7}), y = tensor({2, 2, -2, -2});
    CHECK(values(x + y) == Doubles{9, -5, 5, -9});
    CHECK(values(10 - x) == Doubles{3, 17, 3, 17});
    CHECK(values(x / y) == Doubles{3.5, -3.5, -3.5, 3.5});
    CHECK(values(floor_divide(x, y)) == Doubles{3, -4, -4, 3});
    CHECK(values(x % y) == Doubles{1, 1, -1, -1});
    CHECK(values(fmod(x, y)) == Doubles{1, -1, 1, -1});
    const Tensor a = tensor({true, true, false}), b = tensor({true, false, false});
    CHECK(values(a + b) == Doubles{1, 1, 0});
    CHECK(values(a * b) == Doubles{1, 0, 0});
    CHECK((a + b).dtype() == bool_);
    CHECK(values(tensor({200}, u8) + 100) == Doubles{44});
    CHECK(values(tensor({5}, u8) + -1) == Doubles{4});
}

TEST_CASE("division of floats rounds down, and has defined results at the edges") {
    const Tensor x = tensor({7.5, -7.5, 7.5, -7.5}), y = tensor({2.0, 2.0, -2.0, -2.0});
    CHECK(values(floor_divide(x, y)) == Doubles{3, -4, -4, 3});
    CHECK(values(remainder(x, y)) == Doubles{1.5, 0.5, -0.5, -1.5});
    CHECK(values(fmod(x, y)) == Doubles{1.5, -1.5, 1.5, -1.5});
    CHECK(close(floor_divide(tensor({1.0, -1.0, 0.0}), 0), {kInf, -kInf, kNan}));
    CHECK(values(floor_divide(tensor({-1.0}), kInf)) == Doubles{-1});
    CHECK(values(floor_divide(tensor({1, -1, 0}), 0)) == Doubles{0, 0, 0});
    CHECK(values(remainder(tensor({1, -1}), 0)) == Doubles{0, 0});
    CHECK(values(floor_divide(tensor({1.0}), 0.1)) == Doubles{9});  // 0.1 as f32 is above 1/10
}

TEST_CASE("sums and differences with a factor, which is an integer where the result is") {
    const Tensor x = tensor({1.0, 2.0}), n = tensor({1, 2}), b = tensor({true, false});
    CHECK(values(add(x, x, 0.5)) == Doubles{1.5, 3});
    CHECK(values(sub(x, 3, 0.5)) == Doubles{-0.5, 0.5});
    CHECK(values(add(n, n, 3)) == Doubles{4, 8});
    CHECK(values(add(x, n, 0.5)) == Doubles{1.5, 3});
    CHECK(add(n, n, 3).dtype() == i64);
    CHECK(values(add(b, b, 2)) == Doubles{1, 0});
    CHECK(add(b, b, 2).dtype() == bool_);
    CHECK(values(add(b, logical_not(b), false)) == Doubles{1, 0});
    CHECK(values(add(n, 2.5, 0.5)) == Doubles{2.25, 3.25});
    const Tensor third =
        ones({1}, f64) + add(zeros({1}, f64), tensor({1}), 1.0 / 3);  // in the result's type, not in f32
    CHECK(third.item<double>() == 1 + 1.0 / 3);
    CHECK(error_of<DTypeError>([&] { add(n, n, 0.5); }) ==
          "add(a: i64[2], b: i64[2], alpha: 0.5): alpha must be an integer, as the result is i64");
    CHECK_THROWS_AS(sub(n, 1, 1.0), DTypeError);
    CHECK_THROWS_AS(add(b, b, 0.5), DTypeError);
    CHECK_THROWS_AS(add(x, x, true), DTypeError);
}

TEST_CASE("powers") {
    const Tensor x = tensor({-3.0, 0.0, 2.0});
    CHECK(values(pow(x, 2)) == Doubles{9, 0, 4});
    CHECK(values(pow(x, 3)) == Doubles{-27, 0, 8});
    CHECK(values(pow(x, 0)) == Doubles{1, 1, 1});
    CHECK(close(pow(x, -1), {-1.0 / 3, kInf, 0.5}));
    CHECK(close(pow(x, 0.5), {kNan, 0, std::sqrt(2.0)}));
    CHECK(close(pow(tensor({2.0, 3.0}), 2.5), {std::pow(2, 2.5), std::pow(3, 2.5)}));
    CHECK(close(pow(2, x), {0.125, 1, 4}));
    CHECK(values(pow(tensor({-3, 2}), 5)) == Doubles{-243, 32});
    CHECK(values(pow(tensor({-3, 2}), 13)) == Doubles{-1594323, 8192});
    CHECK(pow(tensor({2}), 3).dtype() == i64);
    CHECK(pow(tensor({2}), 0.5).dtype() == f32);
    CHECK(pow(ones({1}, f16), 2).dtype() == f16);
    CHECK(error_of<ValueError>([] {
              pow(tensor({2, 3}), -1);
          }) ==
          "pow(base: i64[2], exponent: -1): an integer to a negative power is no integer; convert the base to a float");
}

TEST_CASE("extremes let NaN win; clamp lets it pass") {
    const Tensor x = tensor({-1.0, 0.5, kNan});
    CHECK(close(maximum(x, 0), {0, 0.5, kNan}));
    CHECK(close(minimum(0, x), {-1, 0, kNan}));
    CHECK(close(clamp(x, 0, 0.25), {0, 0.25, kNan}));
    CHECK(values(clamp_min(tensor({-5, 5}), 0)) == Doubles{0, 5});
    CHECK(values(clamp_max(tensor({-5, 5}), 0)) == Doubles{-5, 0});
    CHECK(clamp(tensor({1, 2}), 0.5, 1.5).dtype() == f32);
    CHECK(values(clamp(tensor({1, 2, 3}), tensor({2, 2, 2}), 2)) == Doubles{2, 2, 2});
}

TEST_CASE("comparisons and logic") {
    const Tensor x = tensor({1.0, 2.0, kNan});
    CHECK(values(x == 1) == Doubles{1, 0, 0});
    CHECK(values(x != x) == Doubles{0, 0, 1});
    CHECK(values(x < 2) == Doubles{1, 0, 0});
    CHECK(values(x >= 1) == Doubles{1, 1, 0});
    CHECK(values(2 > x) == Doubles{1, 0, 0});
    CHECK(values(isnan(x)) == Doubles{0, 0, 1});
    CHECK(values(isinf(tensor({-kInf, 1.0, kNan}))) == Doubles{1, 0, 0});
    CHECK(values(isfinite(tensor({-kInf, 1.0, kNan}))) == Doubles{0, 1, 0});
    CHECK(values(isnan(tensor({1, 2}))) == Doubles{0, 0});
    CHECK(values(logical_and(tensor({0.5, 0.0}), 1)) == Doubles{1, 0});
    CHECK(values(logical_or(tensor({0, 3}), false)) == Doubles{0, 1});
    CHECK(values(logical_xor(tensor({2, 0}), tensor({3, 1}))) == Doubles{0, 1});
    CHECK(values(logical_not(tensor({0.0, -2.0}))) == Doubles{1, 0});
}

TEST_CASE("bits and shifts") {
    const Tensor x = tensor({12, 10});
    CHECK(values(x & 6) == Doubles{4 + 0, 2});
    CHECK(values(x | 1) == Doubles{13, 11});
    CHECK(values(x ^ tensor({10, 10})) == Doubles{6, 0});
    CHECK(values(~x) == Doubles{-13, -11});
    CHECK(values(~tensor({true, false})) == Doubles{0, 1});
    CHECK(values(~tensor({1}, u8)) == Doubles{254});
    CHECK(values(x << 1) == Doubles{24, 20});
    CHECK(values(tensor({-8, 8}) >> 2) == Doubles{-2, 2});
    CHECK(values(tensor({-8, 8}) >> 70) == Doubles{-1, 0});
    CHECK(values(tensor({-8, 8}) << 64) == Doubles{0, 0});
}

TEST_CASE("rounding") {
    const Tensor x = tensor({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6, kInf, kNan});
    CHECK(close(round(x), {-2, -2, 0, 0, 2, 2, 2, -3, kInf, kNan}));
    CHECK(close(floor(x), {-3, -2, -1, 0, 1, 2, 2, -3, kInf, kNan}));
    CHECK(close(ceil(x), {-2, -1, 0, 1, 2, 3, 3, -2, kInf, kNan}));
    CHECK(close(trunc(x), {-2, -1, 0, 0, 1, 2, 2, -2, kInf, kNan}));
    CHECK(values(round(tensor({16777217.0, 8388609.0}))) == Doubles{16777216, 8388609});
    CHECK(values(sign(tensor({-3.0, 0.0, 2.0, kNan}))) == Doubles{-1, 0, 1, 0});
    CHECK(values(sign(tensor({3, 0}, u8))) == Doubles{1, 0});
    CHECK(floor(tensor({3})).dtype() == i64);
}

TEST_CASE("float functions agree with <cmath>, and compute integers in f32") {
    struct Row {
        Tensor (*op)(const Tensor&);
        double (*expected)(double);
        double low, high;
    };
    const Row rows[] = {
        {sqrt, std::sqrt, 0, 9},
        {exp, std::exp, -5, 5},
        {exp2, std::exp2, -5, 5},
        {expm1, std::expm1, -1, 1},
        {log, std::log, 0.1, 9},
        {log2, std::log2, 0.1, 9},
        {log10, std::log10, 0.1, 2000},
        {log1p, std::log1p, -0.5, 3},
        {sin, std::sin, -9, 9},
        {cos, std::cos, -9, 9},
        {tan, std::tan, -1.5, 1.5},
        {asin, std::asin, -1, 1},
        {acos, std::acos, -1, 1},
        {atan, std::atan, -9, 9},
        {sinh, std::sinh, -3, 3},
        {cosh, std::cosh, -3, 3},
        {tanh, std::tanh, -3, 3},
        {erf, std::erf, -3, 3},
        {abs, std::fabs, -3, 3},
        {reciprocal, [](double v) { return 1 / v; }, 0.1, 9},
        {rsqrt, [](double v) { return 1 / std::sqrt(v); }, 0.1, 9},
        {square, [](double v) { return v * v; }, -3, 3},
        {sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }, -9, 9},
        {log_sigmoid, [](double v) { return -std::log1p(std::exp(-v)); }, -9, 9},
        {silu, [](double v) { return v / (1 + std::exp(-v)); }, -9, 9},
    };
    for (const Row& row : rows) {
        CAPTURE(&row - rows);
        const Tensor x = linspace(row.low, row.high, 17);
        Doubles expected = values(x);
        for (double& v : expected) v = row.expected(v);
        CHECK(close(row.op(x), expected, 4e-6));
        CHECK(row.op(x).dtype() == f32);
        CHECK(row.op(x.to(f16)).dtype() == f16);
    }
    CHECK(exp(tensor({1, 2})).dtype() == f32);
    CHECK(sqrt(tensor({true})).dtype() == f32);
}

TEST_CASE("where and masked_fill") {
    const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
    CHECK(values(where(x > 2, x, 0)) == Doubles{0, 0, 3, 4});
    CHECK(values(where(tensor({true, false}), x, -x)) == Doubles{1, -2, 3, -4});
    CHECK(where(x > 2, tensor({1}, i8), 2.5).dtype() == f32);
    CHECK(values(masked_fill(x, x > 2, -kInf)) == Doubles{1, 2, -kInf, -kInf});
    CHECK(masked_fill(x.to(f16), x > 2, 0.5).dtype() == f16);
    for (const Operand& yes : {Operand(1), Operand(0.5), Operand(true), Operand(-1)})
        CHECK(values(masked_fill(x > 3, x > 2, yes)) == Doubles{0, 0, 1, 1});
    CHECK(values(masked_fill(x > 1, x > 2, 0)) == Doubles{0, 1, 0, 0});
    CHECK(values(masked_fill(x > 3, x > 2, tensor(0.5))) == Doubles{0, 0, 1, 1});
    CHECK(masked_fill(x > 3, x > 2, 1).dtype() == bool_);
}

TEST_CASE("mistakes name the call") {
    const Tensor a = zeros({2, 3}), b = zeros({4});
    CHECK(error_of<ShapeError>([&] { a + b; }) ==
          "add(a: f32[2, 3], b: f32[4]): sizes 3 and 4 at axis -1 do not broadcast: they must be equal, or one of them "
          "1");
    CHECK(error_of<DTypeError>([] { ones({2}, bool_) - ones({2}, bool_); }) ==
          "sub(a: bool[2], b: bool[2]): bools cannot be subtracted; use ^ or logical_not");
    CHECK(error_of<DTypeError>([&] { a & 1; }) ==
          "bitwise_and(a: f32[2, 3], b: 1): bits of f32 are not defined; both operands must be integers or bools");
    CHECK(error_of<DTypeError>([&] { ones({2}, i32) << 1.5; }) ==
          "shift_left(a: i32[2], b: 1.5): both operands must be integers, not f32");
    CHECK(error_of<DTypeError>([&] { where(a, a, 0); }) ==
          "where(condition: f32[2, 3], a: f32[2, 3], b: 0): the condition must be bool, not f32; did you mean "
          "condition != 0?");
    CHECK(error_of<ValueError>([] { ones({2}, u8) + 300; }) == "add(a: u8[2], b: 300): 300 does not fit u8");
    CHECK(error_of<ValueError>([] { ones({2}, i8) < -200; }) == "lt(a: i8[2], b: -200): -200 does not fit i8");
    CHECK(error_of<ValueError>([] { Tensor() + 1; }) == "add(a: undefined, b: 1): a is undefined");
    CHECK(error_of<DTypeError>([] { -ones({2}, bool_); }) ==
          "neg(x: bool[2]): bools have no sign; use logical_not or ~");
    CHECK(error_of<DTypeError>([] { masked_fill(ones({2}, i32), ones({2}, bool_), 0.5); }) ==
          "masked_fill(x: i32[2], mask: bool[2], value: 0.5): the value does not fit x's type i32");
}
