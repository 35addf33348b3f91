// core/word.h: one element of any dtype in 64 bits. Constants, the op table's evaluators and `ref` compute on words.
// f64: its bits. f32: its bits in the low half. f16/bf16: the low 16 bits. Integers: sign- or zero-extended. bool: 0, 1.
#pragma once

#include <weft/dtype.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace weft {

using Word = std::uint64_t;

template <class T>
constexpr Word to_word(T value) {
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
    else if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return value.bits;
    else if constexpr (std::is_signed_v<T>) return static_cast<Word>(static_cast<std::int64_t>(value));
    else return static_cast<Word>(value);
}

template <class T>
constexpr T from_word(Word word) {
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(word);
    else if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(word));
    else if constexpr (std::is_same_v<T, Half>) return Half{static_cast<std::uint16_t>(word)};
    else if constexpr (std::is_same_v<T, BFloat16>) return BFloat16{static_cast<std::uint16_t>(word)};
    else if constexpr (std::is_same_v<T, bool>) return word != 0;
    else return static_cast<T>(word);
}

// Calls f with a value of the C++ type behind a dtype: `visit_dtype(t, [&](auto zero) { using T = decltype(zero); … })`.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
    switch (t) {
        case DType::Bool: return f(bool{});
        case DType::U8: return f(std::uint8_t{});
        case DType::U16: return f(std::uint16_t{});
        case DType::U32: return f(std::uint32_t{});
        case DType::U64: return f(std::uint64_t{});
        case DType::I8: return f(std::int8_t{});
        case DType::I16: return f(std::int16_t{});
        case DType::I32: return f(std::int32_t{});
        case DType::I64: return f(std::int64_t{});
        case DType::F16: return f(Half{});
        case DType::BF16: return f(BFloat16{});
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
    }
    __builtin_unreachable();
}

Word load_word(DType t, const void* from);
void store_word(DType t, void* to, Word word);

// Conversion between dtypes. Float to integer truncates and saturates, NaN gives 0; integer to integer wraps;
// anything to bool is "!= 0"; f64 to f16/bf16 goes through f32.
Word cast_word(DType from, DType to, Word word);

// The same bits read as another dtype of the same width.
Word bitcast_word(DType from, DType to, Word word);

Word scalar_word(DType t, const Scalar& scalar);  // the scalar as an element of dtype t
double word_to_double(DType t, Word word);
std::string word_to_string(DType t, Word word);  // shortest text that reads back as the same value

}  // namespace weft
