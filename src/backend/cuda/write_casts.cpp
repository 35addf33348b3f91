// backend/cuda/write_casts.cpp: conversions, as cast_word() and bitcast_word() define them (core/word.h).
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "core/str.h"

namespace weft::backend::cuda {

Value Writer::cast(const Node& node, int level) {
    const DType from = node.source().dtype, to = node.dtype;
    const Value given = value(node.source());
    if (given.narrow && is_float(to) && !is_half(to))  // exact in 32 bits, too
        return {op(kind_of(to), level, to == DType::F32 ? "cvt.rn.f32.s32" : "cvt.rn.f64.s32",
                   as_register(given.text, "r", level))};
    if (to == DType::I64 && fits(NodeRef(&node)) && is_int(from) && size_of(from) <= 4)
        return {as_register(given.text, "r", level), true};
    return {convert(from, to, wide(given, level), level)};
}

std::string Writer::convert(DType from, DType to, const std::string& value, int level) {
    if (from == to) return value;
    const std::string given = as_register(value, kind_of(from), level);
    if (from == DType::F16) return convert(DType::F32, to, op("f", level, "cvt.f32.f16", given), level);
    if (from == DType::BF16) {  // the upper half of an f32
        const std::string bits = op("r", level, "cvt.u32.u16", given);
        const std::string upper = op("r", level, "shl.b32", bits, std::string("16"));
        return convert(DType::F32, to, op("f", level, "mov.b32", upper), level);
    }
    if (is_half(to)) {
        const std::string single = convert(from, DType::F32, given, level);
        return op("h", level, to == DType::F16 ? "cvt.rn.f16.f32" : "cvt.rn.bf16.f32", single);
    }
    if (is_bool(from)) {
        const std::string one = is_float(to) ? literal(to, cast_word(DType::I64, to, 1)) : "1";
        return op(kind_of(to), level, str("selp.", register_type(to)), one, zero_of(to), given);
    }
    if (is_bool(to)) {
        if (!is_float(from)) return compare("ne", from, given, "0", level).text;
        return compare("neu", from, given, literal(from, 0), level).text;
    }
    if (is_float(from) && is_float(to))
        return to == DType::F64 ? op("d", level, str("cvt", ftz_, ".f64.f32"), given)
                                : op("f", level, str("cvt.rn", ftz_, ".f32.f64"), given);
    if (is_float(from)) return float_to_int(from, to, given, level);
    if (is_float(to))
        return op(kind_of(to), level, str("cvt.rn.", to == DType::F32 ? "f32." : "f64.", int_type(from)), given);
    return int_to_int(from, to, given, level);
}

// Truncates and saturates; NaN gives 0.
std::string Writer::float_to_int(DType from, DType to, const std::string& value, int level) {
    const std::string_view type = int_type(to);
    const std::string source = from == DType::F32 ? "f32" : "f64";
    std::string result =
        op(kind_of(to), level, str("cvt.rzi", from == DType::F32 ? ftz_ : std::string_view(), ".", type, ".", source),
           value);
    const std::string nan = op("p", level, "setp.nan." + source, value, value);
    result = op(kind_of(to), level, str("selp.", bits_type(to)), std::string("0"), result, nan);
    if (size_of(to) >= 4) return result;
    const std::int64_t most =
        is_signed_int(to) ? (std::int64_t{1} << (8 * size_of(to) - 1)) - 1 : (std::int64_t{1} << 8 * size_of(to)) - 1;
    result = op("r", level, str("min.", type), result, str(most));
    return is_signed_int(to) ? op("r", level, "max.s32", result, str(-most - 1)) : result;
}

std::string Writer::int_to_int(DType from, DType to, const std::string& value, int level) {
    if (size_of(from) == 8 && size_of(to) == 8) return value;
    if (size_of(to) == 8) return op("l", level, is_signed_int(from) ? "cvt.s64.s32" : "cvt.u64.u32", value);
    const std::string low = size_of(from) == 8 ? op("r", level, "cvt.u32.u64", value) : value;
    return in_bits(to, low, level);
}

Value Writer::bitcast(const Node& node, int level) {
    const DType from = node.source().dtype, to = node.dtype;
    const std::string given = operand(node.source(), level);
    if (from == to) return {given};
    const std::string value = as_register(given, kind_of(from), level);
    if (is_bool(from)) return {op("r", level, "selp.b32", std::string("1"), std::string("0"), value)};
    if (is_bool(to)) return compare("ne", from, value, "0", level);
    if (is_half(from) && is_half(to)) return {value};
    if (is_half(from)) return {in_bits(to, op("r", level, "cvt.u32.u16", value), level)};
    if (is_half(to)) return {op("h", level, "cvt.u16.u32", value)};
    if (is_int(from) && is_int(to)) return {in_bits(to, value, level)};
    return {op(kind_of(to), level, str("mov.", bits_type(to)), value)};
}

}  // namespace weft::backend::cuda
