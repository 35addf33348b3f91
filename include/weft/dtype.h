// weft/dtype.h: the element types, how they promote, and weak scalars. Every part of Weft may include this file.
#pragma once

#include <weft/api.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

namespace WEFT_API weft {

// The order is the promotion order within a kind: bool < unsigned < signed < float.
enum class DType : std::uint8_t { Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64 };
inline constexpr int kDTypeCount = 13;

inline constexpr DType bool_ = DType::Bool, u8 = DType::U8, u16 = DType::U16, u32 = DType::U32, u64 = DType::U64,
                       i8 = DType::I8, i16 = DType::I16, i32 = DType::I32, i64 = DType::I64, f16 = DType::F16,
                       bf16 = DType::BF16, f32 = DType::F32, f64 = DType::F64;

constexpr bool is_float(DType t) { return t >= DType::F16; }
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_unsigned(DType t) { return t >= DType::U8 && t <= DType::U64; }
constexpr bool is_signed_int(DType t) { return t >= DType::I8 && t <= DType::I64; }
constexpr bool is_int(DType t) { return is_unsigned(t) || is_signed_int(t); }  // bool is not an integer here

constexpr std::size_t size_of(DType t) {
    constexpr std::size_t kSizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    return kSizes[static_cast<int>(t)];
}

std::string_view name_of(DType t);  // "f32", "i64", "bool" …
std::ostream& operator<<(std::ostream& out, DType t);

// The type both operands are converted to, as in PyTorch: promote(i32, f16) == f16, promote(u8, i8) == i16.
DType promote(DType a, DType b);

// A half-precision float as it lies in memory; arithmetic happens in f32.
struct Half {
    std::uint16_t bits = 0;
    friend bool operator==(Half, Half) = default;
};
struct BFloat16 {
    std::uint16_t bits = 0;
    friend bool operator==(BFloat16, BFloat16) = default;
};
float to_float(Half h);
float to_float(BFloat16 b);
Half to_half(float value);          // round to nearest, ties to even; overflow gives infinity
BFloat16 to_bfloat16(float value);  // likewise

// The DType of a C++ element type: dtype_of<float>() == f32.
template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, bool>) return DType::Bool;
    else if constexpr (std::is_same_v<T, Half>) return DType::F16;
    else if constexpr (std::is_same_v<T, BFloat16>) return DType::BF16;
    else if constexpr (std::is_same_v<T, float>) return DType::F32;
    else if constexpr (std::is_same_v<T, double>) return DType::F64;
    else {
        static_assert(std::is_integral_v<T>, "not an element type of Weft");
        constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return static_cast<DType>(static_cast<int>(std::is_unsigned_v<T> ? DType::U8 : DType::I8) + kLog);
    }
}

// The type of floats that are given none: of numbers, of zeros(), rand() …, and of float functions of integers. f32 unless set.
DType default_dtype();
void set_default_dtype(DType dtype);  // DTypeError: it must be a float type

// A number written in the program (`x * 2`, `full({3}, true)`): it takes the type of the tensor it meets, and raises
// only the kind (bool < integer < float), never the width: `f16 tensor * 2.5` stays f16, `i8 tensor * 2.5` becomes f32.
class Scalar {
public:
    enum class Kind : std::uint8_t { Bool, Int, Float };

    constexpr Scalar(bool value) : kind_(Kind::Bool), int_(value) {}
    template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) constexpr Scalar(T value)
        : kind_(Kind::Int), int_(static_cast<std::int64_t>(value)), huge_(std::is_unsigned_v<T> && int_ < 0) {}
    template <class T>
    requires std::is_floating_point_v<T>
    constexpr Scalar(T value) : kind_(Kind::Float), float_(static_cast<double>(value)) {}

    constexpr Kind kind() const { return kind_; }
    constexpr double as_double() const {
        if (kind_ == Kind::Float) return float_;
        return huge_ ? static_cast<double>(static_cast<std::uint64_t>(int_)) : static_cast<double>(int_);
    }
    constexpr std::int64_t as_int() const { return int_; }  // only for Bool and Int
    DType dtype() const {
        return kind_ == Kind::Bool ? DType::Bool : kind_ == Kind::Int ? DType::I64 : default_dtype();
    }

private:
    Kind kind_;
    std::int64_t int_ = 0;
    double float_ = 0;
    bool huge_ = false;  // a uint64 above the int64 range
};

// The type of `tensor op scalar`.
DType promote(DType tensor, const Scalar& scalar);

}  // namespace weft
