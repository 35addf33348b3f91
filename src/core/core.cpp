// core/core.cpp: the out-of-line parts of the value headers: names, promotion, half-precision conversion, words, shapes.
#include "core/checked.h"
#include "core/str.h"
#include "core/word.h"

#include <weft/error.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>

namespace weft {

// ---- dtypes ----------------------------------------------------------------------------------------------------------

std::string_view name_of(DType t) {
    constexpr std::string_view kNames[kDTypeCount] = {"bool", "u8",  "u16", "u32",  "u64", "i8", "i16",
                                                      "i32",  "i64", "f16", "bf16", "f32", "f64"};
    return kNames[static_cast<int>(t)];
}

std::ostream& operator<<(std::ostream& out, DType t) { return out << name_of(t); }

DType promote(DType a, DType b) {
    if (a == b) return a;
    if (is_float(a) && is_float(b)) {
        if (is_half(a) && is_half(b)) return DType::F32;  // f16 and bf16: neither holds the other
        return std::max(a, b);
    }
    if (is_float(a)) return a;
    if (is_float(b)) return b;
    if (is_bool(a)) return b;
    if (is_bool(b)) return a;
    if (is_unsigned(a) == is_unsigned(b)) return std::max(a, b);
    const DType signed_type = is_unsigned(a) ? b : a, unsigned_type = is_unsigned(a) ? a : b;
    if (size_of(signed_type) > size_of(unsigned_type)) return signed_type;
    // PyTorch has no common type for u64 and a signed integer but a float; Weft keeps i64, which wraps.
    const std::size_t wanted = std::min<std::size_t>(8, 2 * size_of(unsigned_type));
    return wanted == 2 ? DType::I16 : wanted == 4 ? DType::I32 : DType::I64;
}

DType promote(DType tensor, const Scalar& scalar) {
    switch (scalar.kind()) {
        case Scalar::Kind::Bool: return tensor;
        case Scalar::Kind::Int: return is_bool(tensor) ? DType::I64 : tensor;
        case Scalar::Kind::Float: return is_float(tensor) ? tensor : default_dtype();
    }
    __builtin_unreachable();
}

namespace {
std::atomic<DType> default_float = DType::F32;
}

DType default_dtype() { return default_float.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
    if (!is_float(dtype)) throw DTypeError(str("set_default_dtype(dtype: ", dtype, "): it must be a float type"));
    default_float.store(dtype, std::memory_order_relaxed);
}

// ---- half precision --------------------------------------------------------------------------------------------------

float to_float(BFloat16 b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }

BFloat16 to_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};  // stay a NaN, made quiet
    return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

float to_float(Half h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000) << 16, magnitude = h.bits & 0x7fff;
    if (magnitude >= 0x7c00) {  // infinity, or a NaN (made quiet, as the hardware conversion does)
        const std::uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
        return std::bit_cast<float>(sign | 0x7f800000 | quiet | ((magnitude & 0x3ff) << 13));
    }
    if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + ((127 - 15) << 23)));
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

Half to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff))};
    if (magnitude >= 0x477ff000) return {static_cast<std::uint16_t>(sign | 0x7c00)};  // rounds to 65536 or more
    if (magnitude < 0x38800000) {  // subnormal in f16: integer arithmetic, so that FTZ and DAZ do not matter
        const std::uint32_t exponent = magnitude >> 23;
        if (exponent < 102) return {sign};  // below half of the smallest
        const std::uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000, shift = 126 - exponent;
        const std::uint32_t kept = mantissa >> shift, dropped = mantissa & ((1u << shift) - 1),
                            half = 1u << (shift - 1);
        return {static_cast<std::uint16_t>(sign | (kept + (dropped > half || (dropped == half && (kept & 1)))))};
    }
    const std::uint32_t rounded = magnitude - ((127 - 15) << 23) + 0xfff + ((magnitude >> 13) & 1);
    return {static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

// ---- words -----------------------------------------------------------------------------------------------------------

Word load_word(DType t, const void* from) {
    return visit_dtype(t, [&](auto zero) {
        if constexpr (std::is_same_v<decltype(zero), bool>)
            return to_word(*static_cast<const std::uint8_t*>(from) != 0);
        else {
            std::memcpy(&zero, from, sizeof zero);
            return to_word(zero);
        }
    });
}

void store_word(DType t, void* to, Word word) {
    visit_dtype(t, [&](auto zero) {
        const auto value = from_word<decltype(zero)>(word);
        std::memcpy(to, &value, sizeof value);
    });
}

namespace {

template <class To, class From>
To saturate(From value) {
    if (value != value) return 0;
    // The limits as floats: the lower one is exact, the upper one is one past the largest integer.
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kEnd = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (value <= kLow) return std::numeric_limits<To>::min();
    if (value >= kEnd) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
}

template <class To, class From>
Word convert(From value) {
    if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) return convert<To>(to_float(value));
    else if constexpr (std::is_same_v<To, Half>) return to_word(to_half(static_cast<float>(value)));
    else if constexpr (std::is_same_v<To, BFloat16>) return to_word(to_bfloat16(static_cast<float>(value)));
    else if constexpr (std::is_same_v<To, bool>) return value != From(0);
    else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) return to_word(saturate<To>(value));
    else return to_word(static_cast<To>(value));
}

}  // namespace

Word cast_word(DType from, DType to, Word word) {
    if (from == to) return word;
    return visit_dtype(from, [&](auto source) {
        const auto value = from_word<decltype(source)>(word);
        return visit_dtype(to, [&](auto target) { return convert<decltype(target)>(value); });
    });
}

Word bitcast_word(DType from, DType to, Word word) {
    std::uint64_t bits = 0;
    store_word(from, &bits, word);
    return load_word(to, &bits);
}

Word scalar_word(DType t, const Scalar& scalar) {
    if (scalar.kind() == Scalar::Kind::Float) return cast_word(DType::F64, t, to_word(scalar.as_double()));
    if (is_float(t)) return cast_word(DType::F64, t, to_word(scalar.as_double()));
    return cast_word(DType::I64, t, to_word(scalar.as_int()));
}

double word_to_double(DType t, Word word) { return from_word<double>(cast_word(t, DType::F64, word)); }

std::string word_to_string(DType t, Word word) {
    if (is_bool(t)) return word ? "true" : "false";
    if (t == DType::U64) return str(word);
    if (is_int(t)) return str(static_cast<std::int64_t>(word));
    char text[64];
    const double value = word_to_double(t, word);
    const auto end = t == DType::F64 ? std::to_chars(text, text + sizeof text, value).ptr
                                     : std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr;
    return {text, end};
}

// ---- shapes ----------------------------------------------------------------------------------------------------------

std::string to_string(const Dims& dims) { return str(dims); }

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
    out << '[';
    for (std::size_t d = 0; d < dims.size(); ++d) out << (d ? ", " : "") << dims[d];
    return out << ']';
}

constinit thread_local const Call* Call::current_ = nullptr;

void throw_too_large(const std::string& what) {
    throw ValueError(Call::current_ ? str(Call::current_->call(), ": ", what) : what);
}

bool bytes_fit(const Shape& shape) {
    std::int64_t bytes = 8;
    bool fits = true;
    for (const std::int64_t size : shape) {
        if (size == 0) return true;
        fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
    }
    return fits;
}

std::int64_t numel(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        if (size == 0) return 0;
    for (const std::int64_t size : shape) count = checked_mul(count, size);
    return count;
}

Dims row_major_strides(const Shape& shape) {
    Dims strides = Dims::filled(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(1, shape[d]);
    return strides;
}

}  // namespace weft
