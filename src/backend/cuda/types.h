// backend/cuda/types.h: types and constants as PTX spells them.
#pragma once

#include "core/str.h"
#include "core/word.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace weft::backend::cuda {

inline std::string literal(DType t, Word word) {
    char text[24];
    if (t == DType::F32) std::snprintf(text, sizeof text, "0f%08X", static_cast<unsigned>(word));
    else if (t == DType::F64) std::snprintf(text, sizeof text, "0d%016llX", static_cast<unsigned long long>(word));
    else if (t == DType::U64) std::snprintf(text, sizeof text, "0x%llxU", static_cast<unsigned long long>(word));
    else if (static_cast<std::int64_t>(word) == INT64_MIN) return "0x8000000000000000";
    else return str(static_cast<std::int64_t>(word));
    return text;
}

// The type of an instruction on an int: those of less than 32 bits are held in 32, sign- or zero-extended.
inline std::string_view int_type(DType t) {
    if (size_of(t) == 8) return is_signed_int(t) ? "s64" : "u64";
    return is_signed_int(t) ? "s32" : "u32";
}

inline std::string_view bits_type(DType t) { return is_half(t) ? "b16" : size_of(t) == 8 ? "b64" : "b32"; }

// As it lies in memory: ints of less than 32 bits are extended when they are loaded, bools are bytes.
inline std::string_view memory_type(DType t) {
    switch (t) {
        case DType::Bool:
        case DType::U8: return "u8";
        case DType::I8: return "s8";
        case DType::U16: return "u16";
        case DType::I16: return "s16";
        case DType::F16:
        case DType::BF16: return "b16";
        case DType::F32: return "f32";
        case DType::F64: return "f64";
        case DType::U64:
        case DType::I64: return "b64";
        default: return "b32";
    }
}

// Of what a register holds: floats as floats, all else as bits.
inline std::string_view register_type(DType t) {
    if (is_bool(t)) return "pred";
    return t == DType::F32 ? "f32" : t == DType::F64 ? "f64" : bits_type(t);
}

// Zero, as an operand of that type.
inline std::string zero_of(DType t) { return is_float(t) && !is_half(t) ? literal(t, 0) : "0"; }

}  // namespace weft::backend::cuda
