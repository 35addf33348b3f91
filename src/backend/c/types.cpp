// backend/c/types.cpp: spelling of types and constants in C.
#include "backend/c/types.h"

#include "core/str.h"

#include <cmath>
#include <limits>

namespace weft::backend::c {

std::string value_type(DType t) { return is_half(t) ? "u16" : std::string(name_of(t)); }

std::string memory_type(DType t) { return is_bool(t) ? "u8" : value_type(t); }

std::string vector_type(DType t, int lanes) { return str(memory_type(t), "x", lanes); }

DType mask_dtype(std::size_t bytes) {
    return bytes == 1 ? DType::I8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64;
}

namespace {

std::string float_literal(DType t, Word word) {
    const double value = word_to_double(t, word);
    if (!std::isfinite(value)) {
        if (std::isnan(value))  // by its bits: a NaN has a sign and a payload
            return t == DType::F32 ? str("((union { u32 bits; f32 value; }){", word, "u}).value")
                                   : str("((union { u64 bits; f64 value; }){", word, "ull}).value");
        return str(value < 0 ? "(-" : "", "__builtin_inf", t == DType::F32 ? "f()" : "()", value < 0 ? ")" : "");
    }
    std::string text = word_to_string(t, word);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (t == DType::F32) text += "f";
    return text[0] == '-' ? "(" + text + ")" : text;
}

}  // namespace

std::string literal(DType t, Word word) {
    if (is_bool(t)) return word ? "1" : "0";
    if (is_half(t)) return str(word);
    if (is_float(t)) return float_literal(t, word);
    const auto value = static_cast<std::int64_t>(word);
    switch (t) {
        case DType::U64: return str(word, "ull");
        case DType::U32: return str(word, "u");
        case DType::I64:
            if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
            return value < 0 ? str("(", value, "ll)") : std::abs(value) > 0x7fffffff ? str(value, "ll") : str(value);
        case DType::I32:
            if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
            [[fallthrough]];
        default: return value < 0 ? str("(", value, ")") : str(value);
    }
}

std::string fill(std::string_view text, const std::vector<std::pair<char, std::string>>& values) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string* value = nullptr;
        if (text[i] == '$' && i + 1 < text.size())
            for (const auto& [name, replacement] : values)
                if (name == text[i + 1]) value = &replacement;
        if (value) {
            result += *value;
            ++i;
        } else {
            result += text[i];
        }
    }
    return result;
}

}  // namespace weft::backend::c
