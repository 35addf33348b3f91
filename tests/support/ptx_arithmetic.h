// tests/support/ptx_arithmetic.h: values of registers, and what the instructions of one thread compute, as the PTX manual defines it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::testing::ptx {

template <std::size_t kBytes>
using BitsOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using Doubled =
    std::conditional_t<std::is_signed_v<T>, std::make_signed_t<BitsOf<2 * sizeof(T)>>, BitsOf<2 * sizeof(T)>>;
__extension__ typedef unsigned __int128 Wide128;
__extension__ typedef __int128 SignedWide128;

inline constexpr std::uint32_t kNan32 = 0x7fffffff;  // what f32 instructions give for any NaN

// A slot has 64 bits; those above the type are zero.
template <class T>
T from_slot(std::uint64_t slot) {
    return std::bit_cast<T>(static_cast<BitsOf<sizeof(T)>>(slot));
}
template <class T>
std::uint64_t to_slot(T value) {
    if constexpr (std::is_same_v<T, float>) {
        if (value != value) return kNan32;
    }
    return std::bit_cast<BitsOf<sizeof(T)>>(value);
}

// Subnormal numbers become zeros of their sign, whatever the host does with them.
inline float flushed(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return (bits & 0x7f800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : x;
}

// ---- arithmetic: integers wrap ---------------------------------------------------------------------------------------

// Of less than 32 bits would be computed as int, which must not overflow.
template <class T>
using Wrapping = BitsOf<(sizeof(T) < 4 ? 4 : sizeof(T))>;

struct Add {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        else return a + b;
    }
};
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
        else return a - b;
    }
};
struct Multiply {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
        else return a * b;
    }
};
struct MultiplyHigh {
    template <std::integral T>
    T operator()(T a, T b) const {
        using Wide = std::conditional_t<std::is_signed_v<T>, SignedWide128, Wide128>;
        return static_cast<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T)));
    }
};
template <class Product>
struct MultiplyAdd {
    template <class T>
    T operator()(T a, T b, T c) const {
        return Add()(Product()(a, b), c);
    }
};
struct Fused {
    template <class T>
    T operator()(T a, T b, T c) const {
        return std::fma(a, b, c);
    }
};
struct Divide {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            if (b == 0) return 0;  // the caller marks it as undefined
            if (std::is_signed_v<T> && b == T(-1)) return Subtract()(T{0}, a);
        }
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <std::integral T>
    T operator()(T a, T b) const {
        if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
        return static_cast<T>(a % b);
    }
};
struct Negate {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_integral_v<T>) return Subtract()(T{0}, a);
        else return -a;
    }
};
struct Absolute {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_integral_v<T>) return a < 0 ? Subtract()(T{0}, a) : a;
        else return std::fabs(a);
    }
};
template <class F>
struct Flushed {  // f32 instructions that are no arithmetic to the host
    float operator()(float a) const { return F()(flushed(a)); }
    float operator()(float a, float b) const { return F()(flushed(a), flushed(b)); }
};
struct Reciprocal {
    template <class T>
    T operator()(T a) const {
        return T{1} / a;
    }
};
struct SquareRoot {
    template <class T>
    T operator()(T a) const {
        return std::sqrt(a);
    }
};
// -0 is less than +0. A NaN loses, or wins.
template <bool kMax, bool kNanWins = false>
struct Extreme {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            if (kNanWins && (a != a || b != b)) return std::numeric_limits<T>::quiet_NaN();
            if (a != a) return b;
            if (b != b) return a;
            if (a == b) return std::signbit(a) == kMax ? b : a;
        }
        return (kMax ? a > b : a < b) ? a : b;
    }
};

// ---- bits ------------------------------------------------------------------------------------------------------------

struct And {
    template <class T>
    T operator()(T a, T b) const {
        return a & b;
    }
};
struct Or {
    template <class T>
    T operator()(T a, T b) const {
        return a | b;
    }
};
struct Xor {
    template <class T>
    T operator()(T a, T b) const {
        return a ^ b;
    }
};
struct Not {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(~a);
    }
};
struct CountOnes {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(std::popcount(a));
    }
};
struct CountLeadingZeros {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(std::countl_zero(a));
    }
};
struct Reverse {
    template <class T>
    T operator()(T a) const {
        T result = 0;
        for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit)
            result = static_cast<T>(result | ((a >> bit) & 1) << (8 * sizeof(T) - 1 - bit));
        return result;
    }
};

// An amount beyond the width shifts everything out.
template <class T>
T shift_left(T a, std::uint32_t by) {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
}
template <class T>
T shift_right(T a, std::uint32_t by) {
    const auto most = static_cast<std::uint32_t>(8 * sizeof(T));
    if (by >= most) return std::is_signed_v<T> && a < 0 ? T(-1) : T{0};
    return static_cast<T>(a >> by);
}

// What is beyond the register is the last bit of the field, of signed numbers; else zero.
template <class T>
T extract_bits(T a, std::uint32_t from, std::uint32_t count) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    from &= 0xff;
    count &= 0xff;
    const bool fill =
        std::is_signed_v<T> && count > 0 && (static_cast<U>(a) >> std::min(from + count - 1, kBits - 1) & 1);
    const std::uint32_t there = std::min(count, from < kBits ? kBits - from : 0);
    if (there == kBits) return a;
    const U above = static_cast<U>(~U{0} << there);
    const U field = there ? static_cast<U>(a) >> from & ~above : 0;
    return static_cast<T>(fill ? field | above : field);
}

template <class T>
T insert_bits(T from, T into, std::uint32_t at, std::uint32_t count) {
    at &= 0xff;
    count &= 0xff;
    for (std::uint32_t bit = 0; bit < count && at + bit < 8 * sizeof(T); ++bit) {
        const T one = static_cast<T>(T{1} << (at + bit));
        into = (from >> bit) & 1 ? into | one : into & ~one;
    }
    return into;
}

// Four bytes out of the eight of b:a; bit 3 of a choice repeats the sign of its byte.
inline std::uint32_t permute_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t choices) {
    const std::uint64_t from = static_cast<std::uint64_t>(b) << 32 | a;
    std::uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
        const std::uint32_t choice = choices >> (4 * k);
        auto byte = static_cast<std::uint8_t>(from >> (8 * (choice & 7)));
        if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= static_cast<std::uint32_t>(byte) << (8 * k);
    }
    return result;
}

inline std::uint32_t by_table(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint8_t table) {
    std::uint32_t result = 0;
    for (int row = 0; row < 8; ++row)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}

// ---- comparisons -----------------------------------------------------------------------------------------------------

enum class Compare : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <class T>
bool compared(Compare how, T a, T b) {
    const bool unordered = a != a || b != b;
    switch (how) {
        case Compare::Eq: return a == b;
        case Compare::Ne: return a != b && !unordered;
        case Compare::Lt: return a < b;
        case Compare::Le: return a <= b;
        case Compare::Gt: return a > b;
        case Compare::Ge: return a >= b;
        case Compare::Equ: return a == b || unordered;
        case Compare::Neu: return a != b;
        case Compare::Ltu: return a < b || unordered;
        case Compare::Leu: return a <= b || unordered;
        case Compare::Gtu: return a > b || unordered;
        case Compare::Geu: return a >= b || unordered;
        case Compare::Num: return !unordered;
        case Compare::Nan: return unordered;
    }
    return false;
}

// ---- floats of 16 bits -----------------------------------------------------------------------------------------------

inline float from_half(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    if (exponent == 31) return fraction ? std::bit_cast<float>(kNan32) : std::bit_cast<float>(sign | 0x7f800000);
    if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}
inline float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// To the nearest, ties to even: drops `count` bits of a magnitude.
inline std::uint32_t rounded(std::uint32_t bits, int count) {
    return (bits + (1u << (count - 1)) - 1 + (bits >> count & 1)) >> count;
}

inline std::uint16_t to_half(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and more
    if (magnitude >= 0x38800000) return static_cast<std::uint16_t>(sign | rounded(magnitude - (112u << 23), 13));
    const int shift = 126 - static_cast<int>(magnitude >> 23);  // subnormal: in units of 2^-24
    if (shift > 24) return sign;
    return static_cast<std::uint16_t>(sign | rounded((magnitude & 0x7fffff) | 0x800000, shift));
}

inline std::uint16_t to_bfloat(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return static_cast<std::uint16_t>(rounded(bits, 16));
}

// To ten bits of fraction; ties away from zero.
inline std::uint32_t to_tf32(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffff) >= 0x7f800000) return (bits & 0x7fffffff) > 0x7f800000 ? kNan32 : bits;
    return (bits + 0x1000) & ~0x1fffu;
}

}  // namespace weft::testing::ptx
