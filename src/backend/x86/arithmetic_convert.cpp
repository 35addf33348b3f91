// backend/x86/arithmetic_convert.cpp: conversions between lanes of different types, with the bits of core's cast_word.
#include "backend/x86/arithmetic.h"

#include "backend/x86/instructions.h"

#include <algorithm>
#include <limits>

namespace weft::backend::x86 {

namespace {

// ± 2^power as an element of a float type.
Word power_of_two(DType t, int power, bool negative = false) {
    const double value = negative ? -static_cast<double>(std::uint64_t(1) << (power - 1)) * 2
                                  : static_cast<double>(std::uint64_t(1) << (power - 1)) * 2;
    return t == DType::F32 ? to_word(static_cast<float>(value)) : to_word(value);
}

}  // namespace

Value Arithmetic::cast_by_helper(const Value& from, DType source, DType target, int target_lane) {
    const LaneCall call{.op = Op::Cast, .operand = source, .result = target, .lanes = 0};
    return call_helper(call, {from},
                       {kNone, from.vector, from.vector && is_bool(target), static_cast<std::int8_t>(target_lane)});
}

Value Arithmetic::half_to_float(const Value& from, DType source) {
    const Value result = new_vector(4);
    const Operand to = vec(result.reg, width(4)), x = vec(from.reg, width(4));
    if (source == DType::BF16) {
        put(Id::kIdVpslld, {to, x, imm(16)});
        return result;
    }
    const int half = std::max(16, width(4) / 2);
    const Reg packed = vec_reg(half);
    if (wide_) put(Id::kIdVpmovdw, {vec(packed, half), x});
    else {
        const Reg both = vec_reg(width(4));
        put(Id::kIdVpackusdw, {vec(both, width(4)), x, x});
        if (width(4) == 32) {
            const Reg ordered = vec_reg(32);
            put(Id::kIdVpermq, {vec(ordered, 32), vec(both, 32), imm(8)});
            put(kMove, {vec(packed, 16), vec(ordered, 16)});
        } else move(packed, both);
    }
    put(Id::kIdVcvtph2ps, {to, vec(packed, half)});
    return result;
}

Value Arithmetic::float_to_half(const Value& from, DType target) {
    const int bytes = width(4);
    const Operand x = vec(from.reg, bytes);
    if (target == DType::F16) {
        const int half = std::max(16, bytes / 2);
        const Reg packed = vec_reg(half);
        const Value result = new_vector(4);
        put(Id::kIdVcvtps2ph, {vec(packed, half), x, imm(0)});
        put(Id::kIdVpmovzxwd, {vec(result.reg, bytes), vec(packed, half)});
        return result;
    }
    // Rounded to the nearest, to even: bits + 0x7fff + bit 16, cut. A NaN keeps its top bits and is made quiet.
    const auto constant = [&](Word bits) { return vec(constant_vector(bits, 4, bytes), bytes); };
    const Value upper = new_vector(4), odd = new_vector(4), sum = new_vector(4), more = new_vector(4),
                rounded = new_vector(4), quiet = new_vector(4);
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    put(Id::kIdVpsrld, {reg(upper), x, imm(16)});
    put(bits_id(Op::And), {reg(odd), reg(upper), constant(1)});
    put(Id::kIdVpaddd, {reg(sum), x, constant(0x7fff)});
    put(Id::kIdVpaddd, {reg(more), reg(sum), reg(odd)});
    put(Id::kIdVpsrld, {reg(rounded), reg(more), imm(16)});
    put(bits_id(Op::Or), {reg(quiet), reg(upper), constant(0x40)});
    return select(compare_lanes(kEq, from, from, DType::F32), rounded, quiet);
}

// AVX2 has no instruction for u32. f32: of two halves, both of which are exact; their sum rounds once.
Value Arithmetic::unsigned_to_float(const Value& from, int lane) {
    const int bytes = width(lane);
    const auto fresh = [&] { return vec(vec_reg(bytes), bytes); };
    const auto number = [&](Word bits) { return vec(constant_vector(bits, lane, bytes), bytes); };
    const Value result = new_vector(lane);
    const Operand to = vec(result.reg, bytes), x = vec(from.reg, width(4));
    if (lane == 8) {
        unsigned_to_doubles(result.reg, from.reg, bytes);
        return result;
    }
    const Operand upper = fresh(), lower = fresh(), high = fresh();
    put(Id::kIdVpsrld, {upper, x, imm(16)});
    put(Id::kIdVpand, {lower, x, number(0xffff)});
    put(Id::kIdVcvtdq2ps, {high, upper});
    put(Id::kIdVcvtdq2ps, {to, lower});
    put(Id::kIdVfmadd231ps, {to, high, number(to_word(0x1p16f))}).reads_first = true;
    return result;
}

Value Arithmetic::int_to_float(const Value& from, DType source, DType target) {
    const int lane = static_cast<int>(size_of(target));
    const bool unsigned_wide = is_unsigned(source) && size_of(source) >= 4, eight = from.lane == 8;
    if (!wide_ && eight)
        return lane == 8 ? longs_to_doubles(from, is_unsigned(source)) : longs_to_floats(from, is_unsigned(source));
    const Value result = new_vector(lane);
    if (!wide_ && unsigned_wide) return unsigned_to_float(from, lane);
    const std::uint32_t ids[2][2][2] = {{{Id::kIdVcvtdq2ps, Id::kIdVcvtdq2pd}, {Id::kIdVcvtudq2ps, Id::kIdVcvtudq2pd}},
                                        {{Id::kIdVcvtqq2ps, Id::kIdVcvtqq2pd}, {Id::kIdVcvtuqq2ps, Id::kIdVcvtuqq2pd}}};
    put(ids[eight][unsigned_wide][lane == 8], {vec(result.reg, width(lane)), vec(from.reg, width(from))});
    return result;
}

// AVX2 has no instructions for these. As float_to_int.
Value Arithmetic::float_to_long(const Value& from, DType target) {
    const bool is_unsigned_type = is_unsigned(target);
    const Value low = constant_like(from, DType::F64, is_unsigned_type ? 0 : power_of_two(DType::F64, 63, true));
    const Value above = long_op(Id::kIdVmaxpd, from, long_reg(low));  // for a NaN too
    Value result = doubles_to_longs(above, is_unsigned_type);
    const auto limit = [&](const Value& where, Word word) {
        result = select(where, constant_like(result, target, word), result);
    };
    const Value end = constant_like(from, DType::F64, to_word(is_unsigned_type ? 0x1p64 : 0x1p63));
    limit(compare_lanes(kLe, end, from, DType::F64),
          is_unsigned_type ? ~Word(0) : to_word(std::numeric_limits<std::int64_t>::max()));
    if (!is_unsigned_type) limit(invert(compare_lanes(kEq, from, from, DType::F64)), 0);
    return result;
}

Value Arithmetic::float_to_unsigned(const Value& from, DType source) {
    const int lane = source == DType::F64 ? 8 : 4, bytes = width(lane);
    const auto number = [&](double value) {
        const Word bits = lane == 8 ? to_word(value) : to_word(static_cast<float>(value));
        return constant_like(from, source, bits);
    };
    const auto op = [&](std::uint32_t id, const Value& x, const Operand& y) {
        const Value result = new_vector(lane);
        put(id, {vec(result.reg, bytes), vec(x.reg, bytes), y});
        return result;
    };
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    if (lane == 8) {
        const Value inside = op(Id::kIdVminpd, op(Id::kIdVmaxpd, from, reg(number(0))), reg(number(0xffffffffp0)));
        const Value result = new_vector(4);
        doubles_to_unsigned(result.reg, op(Id::kIdVroundpd, inside, imm(kTruncate)).reg);
        return result;
    }
    // From 2^31 on: without 2^31, which comes back as a bit.
    const Value inside = op(Id::kIdVmaxps, from, reg(number(0)));
    const Value low = new_vector(4), high = new_vector(4);
    put(Id::kIdVcvttps2dq, {reg(low), reg(inside)});
    put(Id::kIdVcvttps2dq, {reg(high), reg(op(Id::kIdVsubps, inside, reg(number(0x1p31))))});
    const Value upper = op(Id::kIdVpxor, high, reg(constant_like(high, DType::U32, 0x80000000)));
    const Value result = select(compare_lanes(kLe, number(0x1p31), inside, source), upper, low);
    const Value all = constant_like(result, DType::U32, 0xffffffff);
    return select(compare_lanes(kLe, number(0x1p32), inside, source), all, result);
}

// Truncates; what is out of range becomes the nearest end of it, NaN becomes 0.
Value Arithmetic::float_to_int(const Value& from, DType source, DType target, int target_lane) {
    const bool eight = size_of(target) == 8, is_wide_unsigned = is_unsigned(target) && size_of(target) >= 4;
    if (eight && target_lane == 4) throw TooWide();
    const bool doubles = source == DType::F64;
    if (!wide_ && eight) return float_to_long(doubles ? from : vector_cast(from, source, DType::F64, 8), target);
    if (!wide_ && is_wide_unsigned) return float_to_unsigned(from, source);
    const std::uint32_t ids[2][2][2] = {
        {{Id::kIdVcvttps2dq, Id::kIdVcvttpd2dq}, {Id::kIdVcvttps2udq, Id::kIdVcvttpd2udq}},
        {{Id::kIdVcvttps2qq, Id::kIdVcvttpd2qq}, {Id::kIdVcvttps2uqq, Id::kIdVcvttpd2uqq}}};
    Value result = new_vector(target_lane);
    put(ids[eight][is_wide_unsigned][doubles], {vec(result.reg, width(target_lane)), vec(from.reg, width(from))});
    const auto limit = [&](const Value& where, Word word) {
        result = select(where, constant_like(result, target, word), result);
    };
    const auto number = [&](Word word) { return constant_like(from, source, word); };
    if (is_wide_unsigned) limit(compare_lanes(kLe, from, number(0), source), 0);  // too large: all ones already
    else {
        const int bits = eight ? 63 : 31;
        limit(compare_lanes(kLe, number(power_of_two(source, bits)), from, source),
              eight ? to_word(std::numeric_limits<std::int64_t>::max())
                    : to_word(std::numeric_limits<std::int32_t>::max()));
    }
    limit(invert(compare_lanes(kEq, from, from, source)), 0);
    if (size_of(target) >= 4) return result;
    const bool is_signed_type = is_signed_int(target);
    const std::int64_t range = std::int64_t(1) << (8 * size_of(target) - (is_signed_type ? 1 : 0));
    const Value above = new_vector(4), inside = new_vector(4);
    const Operand low =
                      vec(constant_like(result, target, static_cast<Word>(is_signed_type ? -range : 0)).reg, width(4)),
                  high = vec(constant_like(result, target, static_cast<Word>(range - 1)).reg, width(4));
    put(Id::kIdVpmaxsd, {vec(above.reg, width(4)), vec(result.reg, width(4)), low});
    put(Id::kIdVpminsd, {vec(inside.reg, width(4)), vec(above.reg, width(4)), high});
    return inside;
}

Value Arithmetic::vector_cast(const Value& from, DType source, DType target, int target_lane) {
    if (source == target) return copy(from);
    if (is_bool(source)) {
        Value like;
        like.vector = true;
        like.lane = static_cast<std::int8_t>(target_lane);
        const auto number = [&](Word flag) {
            return constant_like(like, target, cast_word(DType::Bool, target, flag));
        };
        return select(from, number(1), number(0));
    }
    if (is_half(source)) {
        const Value number = half_to_float(from, source);
        return target == DType::F32 ? number : vector_cast(number, DType::F32, target, target_lane);
    }
    if (is_bool(target)) return invert(compare_lanes(kEq, from, constant_like(from, source, 0), source));
    if (is_half(target))
        return float_to_half(source == DType::F32 ? from : vector_cast(from, source, DType::F32, 4), target);
    if (is_plain_float(source) && is_plain_float(target)) {
        const Value result = new_vector(target_lane);
        put(target == DType::F64 ? Id::kIdVcvtps2pd : Id::kIdVcvtpd2ps,
            {vec(result.reg, width(target_lane)), vec(from.reg, width(from))});
        return result;
    }
    if (is_plain_float(source)) return float_to_int(from, source, target, target_lane);
    if (is_plain_float(target)) return int_to_float(from, source, target);
    const bool extends_sign = !is_unsigned(source);
    if (from.lane != target_lane) return wrapped(resize_lanes(from, target_lane, extends_sign), target);
    return wrapped(copy(from), target);
}

Value Arithmetic::vector_bitcast(const Value& from, DType source, DType target) {
    if (is_bool(source) && is_bool(target)) return copy(from);
    if (is_bool(source)) return numbers(from);
    if (is_bool(target)) return mask_of(from);
    if (size_of(target) == 8 && from.lane == 4) throw TooWide();
    return wrapped(copy(from), target);
}

}  // namespace weft::backend::x86
