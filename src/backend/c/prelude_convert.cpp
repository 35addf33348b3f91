// backend/c/prelude_convert.cpp: helpers that convert between element types, with the bits of core's cast_word.
#include "backend/c/prelude.h"

#include "core/str.h"

#include <limits>

namespace weft::backend::c {
namespace {

DType int_of_size(bool is_signed, std::size_t bytes) {
    const DType t = mask_dtype(bytes);
    return is_signed
               ? t
               : static_cast<DType>(static_cast<int>(t) - static_cast<int>(DType::I8) + static_cast<int>(DType::U8));
}

// Vector instructions double or halve a width: gcc takes conversions over a wider gap apart, lane by lane.
void append_int_steps(std::vector<DType>& path, DType to) {
    DType at = path.back();
    while (size_of(at) * 2 < size_of(to)) path.push_back(at = int_of_size(is_signed_int(at), size_of(at) * 2));
    while (size_of(at) > size_of(to) * 2) path.push_back(at = int_of_size(is_signed_int(at), size_of(at) / 2));
    path.push_back(to);
}

std::string range_end(DType from, DType to,
                      bool upper) {  // as core's saturate(): the upper one is one past the largest integer
    const int bits = static_cast<int>(8 * size_of(to)) - (is_signed_int(to) ? 1 : 0);
    const std::string power = str("0x1p", bits, from == DType::F32 ? "f" : "");
    return upper ? power : is_signed_int(to) ? "-" + power : from == DType::F32 ? "0.0f" : "0.0";
}

Word extreme(DType t, bool upper) {
    return visit_dtype(t, [&](auto zero) {
        using Limits = std::numeric_limits<decltype(zero)>;
        return to_word(upper ? Limits::max() : Limits::min());
    });
}

constexpr std::string_view kHalfToFloat = R"(HELPER f32 f16_to_f32(u16 h) {
    const u32 sign = (u32)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00)  // infinity, or a NaN, made quiet
        return bits_u32_f32(sign | 0x7f800000 | (magnitude > 0x7c00 ? 0x400000 : 0) | ((magnitude & 0x3ff) << 13));
    if (magnitude >= 0x400) return bits_u32_f32(sign | ((magnitude << 13) + (112 << 23)));
    return bits_u32_f32(sign | bits_f32_u32((f32)magnitude * 0x1p-24f));
}
)";
constexpr std::string_view kFloatToHalf = R"(HELPER u16 f32_to_f16(f32 x) {
    const u32 bits = bits_f32_u32(x), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (u16)(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
    if (magnitude >= 0x477ff000) return (u16)(sign | 0x7c00);
    if (magnitude < 0x38800000) {  // subnormal
        const u32 exponent = magnitude >> 23;
        if (exponent < 102) return (u16)sign;
        const u32 mantissa = (magnitude & 0x7fffff) | 0x800000, shift = 126 - exponent;
        const u32 kept = mantissa >> shift, dropped = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
        return (u16)(sign | (kept + (dropped > half || (dropped == half && (kept & 1)))));
    }
    return (u16)(sign | ((magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13));
}
)";
constexpr std::string_view kBrainToFloat = "HELPER f32 bf16_to_f32(u16 h) { return bits_u32_f32((u32)h << 16); }\n";
constexpr std::string_view kFloatToBrain = R"(HELPER u16 f32_to_bf16(f32 x) {
    const u32 bits = bits_f32_u32(x);
    if (x != x) return (u16)((bits >> 16) | 0x40);
    return (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
)";

// The same on vectors: $H u16, $U u32, $I i32, $F f32. `native` is the machine's own instruction, if it has one.
constexpr std::string_view kHalvesToFloats = R"(HELPER $F $N($H h) {
$A    const $U x = __builtin_convertvector(h, $U), sign = (x & 0x8000) << 16, magnitude = x & 0x7fff;
    const $U nan = ($U)(magnitude > 0x7c00) & 0x400000, top = 0x7f800000 | nan | ((magnitude & 0x3ff) << 13);
    const $U normal = (magnitude << 13) + (112 << 23);
    const $U small = ($U)(__builtin_convertvector(($I)magnitude, $F) * 0x1p-24f);
    return ($F)(sign | select_$U(magnitude >= 0x7c00, top, select_$U(magnitude >= 0x400, normal, small)));
$E}
)";
constexpr std::string_view kFloatsToHalves = R"(HELPER $H $N($F x) {
$A    const $U bits = ($U)x, sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff, exponent = magnitude >> 23;
    const $U nan = 0x7e00 | ((magnitude >> 13) & 0x1ff), infinity = all_$U(0x7c00);
    const $U normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    const $U near = ($U)(exponent >= 102), shift = ((126 - exponent) & near & 31) | (1 & ~near);
    const $U mantissa = (magnitude & 0x7fffff) | 0x800000, kept = mantissa >> shift;
    const $U dropped = mantissa & ((all_$U(1) << shift) - 1), half = all_$U(1) << (shift - 1);
    const $U up = ($U)(dropped > half) | (($U)(dropped == half) & kept);
    const $U small = (kept + (up & 1)) & near;
    const $U finite = select_$U(magnitude < 0x38800000, small, select_$U(magnitude >= 0x477ff000, infinity, normal));
    return __builtin_convertvector(sign | select_$U(magnitude > 0x7f800000, nan, finite), $H);
$E}
)";
constexpr std::string_view kBrainsToFloats =
    "HELPER $F $N($H h) { return ($F)(__builtin_convertvector(h, $U) << 16); }\n";
constexpr std::string_view kFloatsToBrains = R"(HELPER $H $N($F x) {
    const $U bits = ($U)x, rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return __builtin_convertvector(select_$U(x != x, (bits >> 16) | 0x40, rounded), $H);
}
)";

std::string native_half(bool to_float, int lanes) {
    if (lanes == 16)
        return to_float ? "#if defined(__AVX512F__)\n    return __builtin_ia32_vcvtph2ps512_mask((i16x16)h, "
                          "(f32x16){0}, -1, 4);\n#else\n"
                        : "#if defined(__AVX512F__)\n    return (u16x16)__builtin_ia32_vcvtps2ph512_mask(x, 0, "
                          "(i16x16){0}, -1);\n#else\n";
    if (lanes == 8)
        return to_float ? "#if defined(__F16C__)\n    return __builtin_ia32_vcvtph2ps256((i16x8)h);\n#else\n"
                        : "#if defined(__F16C__)\n    return (u16x8)__builtin_ia32_vcvtps2ph256(x, 0);\n#else\n";
    return {};
}

}  // namespace

std::vector<DType> cast_path(DType from, DType to, bool vectors) {
    std::vector<DType> path{from};
    if (from == to) return path;
    if (is_half(from)) path.push_back(DType::F32);
    const DType target = is_half(to) ? DType::F32 : to;
    const DType at = path.back();
    if (at != target) {
        if (!vectors || is_float(at)) path.push_back(target);
        else if (is_int(target)) append_int_steps(path, target);
        else {
            if (size_of(at) < 4) append_int_steps(path, DType::I32);
            path.push_back(target);
        }
    }
    if (is_half(to)) path.push_back(to);
    return path;
}

std::string Prelude::widen_mask(std::size_t from, std::size_t to, int lanes) {
    const std::vector<DType> path = cast_path(mask_dtype(from), mask_dtype(to), true);
    const std::string source = vector(path.front(), lanes), target = vector(path.back(), lanes);
    const std::string name = str("mask_", source, "_", target);
    std::string text = "m";
    for (std::size_t i = 1; i < path.size(); ++i)
        text = str("__builtin_convertvector(", text, ", ", vector(path[i], lanes), ")");
    return define(name, str("HELPER ", target, " ", name, "(", source, " m) { return ", text, "; }\n"));
}

std::string Prelude::convert(DType from, DType to, int lanes) {
    const std::string width = lanes ? str("x", lanes) : "";
    const std::string name = str(name_of(from), width, "_to_", name_of(to), width);
    if (defined(name)) return name;
    if (lanes) return define(name, conversion(from, to, lanes, name));
    if (is_half(from) || is_half(to)) {
        bits(DType::U32, DType::F32);
        bits(DType::F32, DType::U32);
        return define(name, std::string(from == DType::F16    ? kHalfToFloat
                                        : to == DType::F16    ? kFloatToHalf
                                        : from == DType::BF16 ? kBrainToFloat
                                                              : kFloatToBrain));
    }
    // only float to integer is more than a cast
    return define(name, fill("HELPER $T $N($F x) {  // saturates, NaN gives 0\n"
                             "    if (x != x) return 0;\n"
                             "    if (x <= $L) return $A;\n"
                             "    if (x >= $U) return $B;\n"
                             "    return ($T)x;\n"
                             "}\n",
                             {{'T', value_type(to)},
                              {'F', value_type(from)},
                              {'N', name},
                              {'L', range_end(from, to, false)},
                              {'U', range_end(from, to, true)},
                              {'A', literal(to, extreme(to, false))},
                              {'B', literal(to, extreme(to, true))}}));
}

std::string Prelude::conversion(DType from, DType to, int lanes, const std::string& name) {
    std::vector<std::pair<char, std::string>> values = {
        {'N', name}, {'F', vector(from, lanes)}, {'T', vector(to, lanes)}};
    if (is_half(from) || is_half(to)) {
        const bool up = is_half(from), brain = from == DType::BF16 || to == DType::BF16;
        const std::string native = native_half(up, lanes);
        vector(DType::I16, lanes);
        select(DType::U32, lanes);
        splat(DType::U32, lanes);
        values = {{'N', name},
                  {'H', vector(DType::U16, lanes)},
                  {'U', vector(DType::U32, lanes)},
                  {'I', vector(DType::I32, lanes)},
                  {'F', vector(DType::F32, lanes)},
                  {'A', native},
                  {'E', native.empty() ? "" : "#endif\n"}};
        return fill(brain ? (up ? kBrainsToFloats : kFloatsToBrains) : (up ? kHalvesToFloats : kFloatsToHalves),
                    values);
    }
    if (!is_float(from) || !is_int(to))
        return fill("HELPER $T $N($F v) { return __builtin_convertvector(v, $T); }\n", values);
    // Float to integer: small integers come from an i32 that is already within their limits.
    const DType wide = size_of(to) < 4 ? DType::I32 : to;
    const std::size_t mask = size_of(from), wide_mask = size_of(wide);
    const DType mask_type = mask_dtype(wide_mask);
    const auto as_mask = [&](const std::string& m) {
        return mask == wide_mask ? str("(", vector(mask_type, lanes), ")", m)
                                 : str(widen_mask(mask, wide_mask, lanes), "(", m, ")");
    };
    std::string narrow = "(result)";
    const std::vector<DType> path = cast_path(mask_type, to, true);
    for (std::size_t i = 1; i < path.size(); ++i)
        narrow = str("__builtin_convertvector(", narrow, ", ", vector(path[i], lanes), ")");
    splat(from, lanes);
    splat(mask_type, lanes);
    const std::string mask_vector = vector(mask_dtype(mask), lanes);
    values.insert(values.end(), {{'M', vector(mask_type, lanes)},
                                 {'W', vector(wide, lanes)},
                                 {'K', mask_vector},
                                 {'L', range_end(from, to, false)},
                                 {'U', range_end(from, to, true)},
                                 {'A', literal(DType::I64, extreme(to, false))},
                                 {'B', literal(DType::I64, extreme(to, true))},
                                 {'R', narrow},
                                 {'1', as_mask("(v >= end)")},
                                 {'2', as_mask("(v <= begin)")},
                                 {'3', as_mask("within")}});
    return fill(
        "HELPER $T $N($F v) {  // saturates, NaN gives 0\n"
        "    const $F begin = all_$F($L), end = all_$F($U);\n"
        "    const $K within = (v > begin) & (v < end);\n"
        "    const $M whole = ($M)__builtin_convertvector(($F)(($K)v & within), $W);\n"
        "    const $M result = (whole & $3) | ($1 & all_$M($B)) | ($2 & all_$M($A));\n"
        "    return ($T)$R;\n"
        "}\n",
        values);
}

}  // namespace weft::backend::c
