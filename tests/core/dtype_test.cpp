// tests/core/dtype_test.cpp: promotion, half precision and words.
#include "core/word.h"

#include <weft/error.h>
#include <weft/shape.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>

using namespace weft;

TEST_CASE("promotion within and across kinds") {
    CHECK(promote(i32, i32) == i32);
    CHECK(promote(u8, i8) == i16);
    CHECK(promote(u8, i64) == i64);
    CHECK(promote(u32, i32) == i64);
    CHECK(promote(bool_, u8) == u8);
    CHECK(promote(i64, f16) == f16);
    CHECK(promote(f16, bf16) == f32);
    CHECK(promote(f32, f64) == f64);
    CHECK(promote(f16, Scalar(2.5)) == f16);
    CHECK(promote(i8, Scalar(2.5)) == f32);
    CHECK(promote(bool_, Scalar(3)) == i64);
    CHECK(promote(u8, Scalar(true)) == u8);
}

TEST_CASE("every half converts to f32 and back to the same bits, NaNs to NaNs") {
    for (int bits = 0; bits < 0x10000; ++bits) {
        const Half half{static_cast<std::uint16_t>(bits)};
        const BFloat16 brain{static_cast<std::uint16_t>(bits)};
        if (std::isnan(to_float(half))) CHECK(std::isnan(to_float(to_half(to_float(half)))));
        else CHECK(to_half(to_float(half)) == half);
        if (std::isnan(to_float(brain))) CHECK(std::isnan(to_float(to_bfloat16(to_float(brain)))));
        else CHECK(to_bfloat16(to_float(brain)) == brain);
    }
}

TEST_CASE("halves round to nearest, ties to even, and overflow to infinity") {
    CHECK(to_half(1 + 0x1p-11f).bits == 0x3c00);      // a tie: down to even
    CHECK(to_half(1 + 3 * 0x1p-11f).bits == 0x3c02);  // a tie: up to even
    CHECK(to_half(65519.0f).bits == 0x7bff);
    CHECK(to_half(65520.0f).bits == 0x7c00);
    CHECK(to_half(0x1p-25f).bits == 0);  // half of the smallest: to even
    CHECK(to_half(0x1.8p-25f).bits == 1);
    CHECK(to_bfloat16(1 + 0x1p-8f).bits == 0x3f80);
    CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
}

TEST_CASE("floats become integers by truncation, saturate at the ends, and NaN is 0") {
    const auto cast = [](double value, DType to) {
        return static_cast<std::int64_t>(cast_word(f64, to, to_word(value)));
    };
    CHECK(cast(-2.9, i32) == -2);
    CHECK(cast(1e30, i8) == 127);
    CHECK(cast(-1e30, i8) == -128);
    CHECK(cast(-1.0, u8) == 0);
    CHECK(cast(std::nan(""), i64) == 0);
    CHECK(cast(9.3e18, i64) == INT64_MAX);
    CHECK(cast_word(f64, u64, to_word(1.9e19)) == UINT64_MAX);
    CHECK(cast_word(f64, bool_, to_word(std::nan(""))) == 1);
    CHECK(static_cast<std::int64_t>(cast_word(i64, i8, to_word(std::int64_t{200}))) == -56);
}

TEST_CASE("sizes that do not fit 64 bits are refused; an axis of size 0 makes a tensor empty") {
    CHECK(numel({}) == 1);
    CHECK(numel({3, 0, INT64_MAX}) == 0);
    CHECK_THROWS_AS(numel({INT64_MAX, 2}), ValueError);
    CHECK(row_major_strides({2, 3, 4}) == Dims{12, 4, 1});
}

TEST_CASE("an inline vector grows beyond its room, copies and moves") {
    Dims dims;
    for (int i = 0; i < 20; ++i) dims.push_back(i);
    Dims copy = dims, moved = std::move(dims);
    CHECK(copy == moved);
    CHECK(dims.empty());
    copy.erase(copy.begin() + 3);
    copy.insert(copy.begin(), 7);
    CHECK(copy[0] == 7);
    CHECK(copy[4] == 4);
    CHECK(copy.size() == 20);
    const Dims small{1, 2};
    copy = small;
    CHECK(copy == small);
}

// Shape(3, 1) would be read as [3, 1] and be three ones.
static_assert(!std::is_constructible_v<Shape, int, int> && !std::is_constructible_v<Shape, std::size_t>);

TEST_CASE("a shape of equal sizes is made by name") {
    CHECK(Shape::filled(3, 1) == Shape{1, 1, 1});
    CHECK(Dims::filled(2) == Dims{0, 0});
    CHECK(Shape::filled(0, 7).empty());
    CHECK(Dims::filled(9, -1).size() == 9);  // more than fit inline
}
