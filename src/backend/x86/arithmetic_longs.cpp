// backend/x86/arithmetic_longs.cpp: 64-bit integers in lanes: what AVX2 has no instructions for, and quotients, for
// which no processor has.
#include "backend/x86/arithmetic.h"

#include "backend/x86/instructions.h"

namespace weft::backend::x86 {

namespace {

constexpr int kUpperHalves = 0xaa;  // of a blend: every second element of 4 bytes

}  // namespace

Value Arithmetic::long_op(std::uint32_t id, const Value& a, const Operand& b) {
    const Value result = new_vector(8);
    put(id, {long_reg(result), long_reg(a), b});
    return result;
}

// low * low + ((high * low + low * high) << 32)
Value Arithmetic::long_product(const Value& a, const Value& b) {
    const auto op = [&](std::uint32_t id, const Value& x, const Value& y) { return long_op(id, x, long_reg(y)); };
    if (wide_) return op(Id::kIdVpmullq, a, b);
    const Value a_high = long_op(Id::kIdVpsrlq, a, imm(32)), b_high = long_op(Id::kIdVpsrlq, b, imm(32));
    const Value cross = op(Id::kIdVpaddq, op(Id::kIdVpmuludq, a_high, b), op(Id::kIdVpmuludq, a, b_high));
    return op(Id::kIdVpaddq, op(Id::kIdVpmuludq, a, b), long_op(Id::kIdVpsllq, cross, imm(32)));
}

// All ones in lanes below 0.
Value Arithmetic::long_sign(const Value& a) {
    return long_op(Id::kIdVpcmpgtq, constant_like(a, DType::I64, 0), long_reg(a));
}

Value Arithmetic::long_abs(const Value& a) {
    if (wide_) {
        const Value result = new_vector(8);
        put(Id::kIdVpabsq, {long_reg(result), long_reg(a)});
        return result;
    }
    const Value sign = long_sign(a);  // -x is ~x + 1
    return long_op(Id::kIdVpsubq, long_op(Id::kIdVpxor, a, long_reg(sign)), long_reg(sign));
}

// AVX2 alone: ~(~a >> by) where a is negative.
Value Arithmetic::long_shift(const Value& a, const Operand& by) {
    const Value sign = long_sign(a), positive = long_op(Id::kIdVpxor, a, long_reg(sign));
    const bool known = by.kind == Operand::Kind::Immediate;
    return long_op(Id::kIdVpxor, long_op(known ? Id::kIdVpsrlq : Id::kIdVpsrlvq, positive, by), long_reg(sign));
}

// With AVX2: 2^84 + upper half * 2^32 and 2^52 + lower half are doubles that have the halves in their mantissas. Taking
// 2^84 and 2^52 away again is exact, so only the last sum rounds. A signed upper half counts from -2^31.
Value Arithmetic::longs_to_doubles(const Value& from, bool is_unsigned_type) {
    if (wide_) {
        const Value result = new_vector(8);
        put(is_unsigned_type ? Id::kIdVcvtuqq2pd : Id::kIdVcvtqq2pd, {long_reg(result), long_reg(from)});
        return result;
    }
    const auto number = [&](Word bits) { return long_reg(constant_like(from, DType::I64, bits)); };
    const Value lower = new_vector(8);
    put(Id::kIdVpblendd, {long_reg(lower), long_reg(from), number(to_word(0x1p52)), imm(kUpperHalves)});
    const Word top = to_word(0x1p84) | (is_unsigned_type ? 0 : 0x80000000);
    const Value upper = long_op(Id::kIdVpxor, long_op(Id::kIdVpsrlq, from, imm(32)), number(top));
    const double surplus = 0x1p84 + 0x1p52 + (is_unsigned_type ? 0 : 0x1p63);
    return long_op(Id::kIdVaddpd, long_op(Id::kIdVsubpd, upper, number(to_word(surplus))), long_reg(lower));
}

// AVX2 alone, as the next one: a number below 2^32 is the low end of 2^52's mantissa.
void Arithmetic::unsigned_to_doubles(Reg to, Reg from, int bytes) {
    const Operand magic = vec(constant_vector(to_word(0x1p52), 8, bytes), bytes);
    const Reg longs = vec_reg(bytes), above = vec_reg(bytes);
    put(Id::kIdVpmovzxdq, {vec(longs, bytes), vec(from, bytes / 2)});
    put(Id::kIdVpor, {vec(above, bytes), vec(longs, bytes), magic});
    put(Id::kIdVsubpd, {vec(to, bytes), vec(above, bytes), magic});
}

// Whole numbers in range.
void Arithmetic::doubles_to_unsigned(Reg to, Reg from) {
    const Reg above = vec_reg(32), upper = vec_reg(16);
    put(Id::kIdVaddpd, {vec(above, 32), vec(from, 32), vec(constant_vector(to_word(0x1p52), 8, 32), 32)});
    put(Id::kIdVextracti128, {vec(upper, 16), vec(above, 32), imm(1)});
    put(Id::kIdVshufps, {vec(to, 16), vec(above, 16), vec(upper, 16), imm(0x88)});
}

// AVX2 alone. Rounded once, though there is a double between: from 2^53 on the last 11 bits are one, which says whether
// any of them was set. So the double is exact, and a float, which is much shorter, rounds as it would from all bits.
Value Arithmetic::longs_to_floats(const Value& from, bool is_unsigned_type) {
    constexpr Word kLast = 0x7ff;
    const auto number = [&](Word bits) { return long_reg(constant_like(from, DType::I64, bits)); };
    const Value carry = long_op(Id::kIdVpaddq, long_op(Id::kIdVpand, from, number(kLast)), number(kLast));
    const Value cut = long_op(Id::kIdVpand, long_op(Id::kIdVpor, carry, long_reg(from)), number(~kLast));
    const Value positive = is_unsigned_type ? from : long_op(Id::kIdVpxor, from, long_reg(long_sign(from)));
    const Value small = long_op(Id::kIdVpcmpeqq, long_op(Id::kIdVpsrlq, positive, imm(53)), number(0));
    const Value exact = new_vector(8), result = new_vector(4);
    put(Id::kIdVblendvpd, {long_reg(exact), long_reg(cut), long_reg(from), long_reg(small)});
    put(Id::kIdVcvtpd2ps, {vec(result.reg, width(4)), long_reg(longs_to_doubles(exact, is_unsigned_type))});
    return result;
}

// With AVX2: the reverse. The lower half is what the upper one, rounded down, leaves.
Value Arithmetic::doubles_to_longs(const Value& from, bool is_unsigned_type) {
    const Value result = new_vector(8);
    if (wide_) {
        put(is_unsigned_type ? Id::kIdVcvttpd2uqq : Id::kIdVcvttpd2qq, {long_reg(result), long_reg(from)});
        return result;
    }
    const auto number = [&](double value) { return long_reg(constant_like(from, DType::F64, to_word(value))); };
    const Value whole = long_op(Id::kIdVroundpd, from, imm(kTruncate));
    const Value upper = long_op(Id::kIdVroundpd, long_op(Id::kIdVmulpd, whole, number(0x1p-32)), imm(kFloor));
    const Value lower = copy(whole);
    put(Id::kIdVfnmadd231pd, {long_reg(lower), long_reg(upper), number(0x1p32)}).reads_first = true;
    const Value high = long_op(Id::kIdVaddpd, upper, number(is_unsigned_type ? 0x1p52 : 0x1.8p52));
    const Value low = long_op(Id::kIdVaddpd, lower, number(0x1p52));
    put(Id::kIdVpblendd,
        {long_reg(result), long_reg(low), long_reg(long_op(Id::kIdVpsllq, high, imm(32))), imm(kUpperHalves)});
    return result;
}

// Below 2^52 the ratio of doubles, rounded down, is the quotient (see Emitter::vector_division). Else, rarely, it
// leaves a remainder of less than 2^12 + |b|, modulo 2^64, and the floored ratio of that remainder one from a little
// below 0 to a little above b: at most one b off. The doubles are off by 3 2^-53 of the ratio, all told.
Value Arithmetic::long_division(const Value& a, const Value& b, bool division) {
    const auto op = [&](std::uint32_t id, const Value& x, const Value& y) { return long_op(id, x, long_reg(y)); };
    const auto number = [&](Word bits) { return constant_like(b, DType::I64, bits); };
    const Value zero = number(0), one = number(1);
    const Value dividend = longs_to_doubles(a, false), divisor = longs_to_doubles(b, false);
    const auto ratio = [&](const Value& x) {
        const Value exact = op(Id::kIdVdivpd, x, divisor);
        return doubles_to_longs(long_op(wide_ ? Id::kIdVrndscalepd : Id::kIdVroundpd, exact, imm(kFloor)), false);
    };
    const auto minus_multiple = [&](const Value& x, const Value& times) {
        return op(Id::kIdVpsubq, x, long_product(times, b));
    };
    const Value first = ratio(dividend), result = copy(division ? first : minus_multiple(a, first));
    const auto size = [&](const Value& x) { return op(bits_id(Op::And), x, number(~(Word(1) << 63))); };
    const Value larger = op(Id::kIdVmaxpd, size(dividend), size(divisor));
    const int done = new_label();
    jump_if_none(compare_lanes(kLe, number(to_word(0x1p52)), larger, DType::F64), done);
    const Value left = minus_multiple(a, first), second = ratio(longs_to_doubles(left, false));
    Value quotient = op(Id::kIdVpaddq, first, second), remainder = minus_multiple(left, second);
    // On the wrong side of 0: one b more. As large as b: one b less.
    const Value other_sign = compare_lanes(kLt, op(bits_id(Op::Xor), remainder, b), zero, DType::I64);
    const Value is_zero = compare_lanes(kEq, remainder, zero, DType::I64);
    const Value too_large = compare_lanes(kLe, long_abs(b), long_abs(remainder), DType::U64);
    const auto without = [&](const Value& x, const Value& y) {
        const Value mask_value = new_mask();
        if (wide_) put(Id::kIdKandnw, {mask(mask_value.reg), mask(y.reg), mask(x.reg)});
        else put(Id::kIdVpandn, {vec(mask_value.reg, width(4)), vec(y.reg, width(4)), vec(x.reg, width(4))});
        return mask_value;
    };
    const Value below = without(other_sign, is_zero), above = without(too_large, other_sign);
    if (division) {
        quotient = select(below, op(Id::kIdVpsubq, quotient, one), quotient);
        quotient = select(above, op(Id::kIdVpaddq, quotient, one), quotient);
    } else {
        remainder =
            select(below, op(Id::kIdVpaddq, remainder, b), select(above, op(Id::kIdVpsubq, remainder, b), remainder));
    }
    move(result.reg, (division ? quotient : remainder).reg);
    bind(done);
    return select(compare_lanes(kEq, b, zero, DType::I64), zero, result);
}

}  // namespace weft::backend::x86
