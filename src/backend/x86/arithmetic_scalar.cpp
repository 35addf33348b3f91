// backend/x86/arithmetic_scalar.cpp: conversions of scalars, with the bits of core's cast_word.
#include "backend/x86/arithmetic.h"

#include "backend/x86/instructions.h"

namespace weft::backend::x86 {

// The machine's result for NaN and what no i64 holds is the lowest number, from which nothing can be subtracted: that
// is left to the helper.
Value Arithmetic::scalar_float_to_int(const Value& from, DType source, DType target) {
    const Reg r = gp_reg();
    const int done = new_label();
    put(source == DType::F32 ? Id::kIdVcvttss2si : Id::kIdVcvttsd2si, {gp(r), vec(from.reg, 16)});
    put_store(Id::kIdCmp, {gp(r), imm(1)});
    put_store(Id::kIdJno, {label(done)});
    move(r, cast_by_helper(from, source, target, 0).reg);
    bind(done);
    if (size_of(target) == 8) return {r};
    const std::int64_t range = std::int64_t(1) << (8 * size_of(target) - (is_signed_int(target) ? 1 : 0));
    const Reg low = constant_gp(is_signed_int(target) ? -range : 0), high = constant_gp(range - 1);
    put_store(Id::kIdCmp, {gp(r), gp(low)});
    put(Id::kIdCmovl, {gp(r), gp(low)}).reads_first = true;
    put_store(Id::kIdCmp, {gp(r), gp(high)});
    put(Id::kIdCmovg, {gp(r), gp(high)}).reads_first = true;
    return {r};
}

Value Arithmetic::scalar_cast(const Value& from, DType source, DType target) {
    if (source == target) return copy(from);
    if (is_half(source)) {
        const Reg bits = gp_reg();
        const Value number{vec_reg(16)};
        move(bits, from.reg);
        if (source == DType::BF16) put(Id::kIdShl, {gp(bits), imm(16)}).reads_first = true;
        put(Id::kIdVmovd, {vec(number.reg, 16), gp(bits, 4)});
        if (source == DType::F16) put(Id::kIdVcvtph2ps, {vec(number.reg, 16), vec(number.reg, 16)});
        return target == DType::F32 ? number : scalar_cast(number, DType::F32, target);
    }
    if (is_half(target) && source != DType::F32)
        return scalar_cast(scalar_cast(from, source, DType::F32), DType::F32, target);
    const Operand zero = vec(constant_vector(0, 4, 16), 16);
    if (is_plain_float(source)) {
        const Operand x = vec(from.reg, 16);
        if (is_plain_float(target)) {
            const Value result{vec_reg(16)};
            put(target == DType::F64 ? Id::kIdVcvtss2sd : Id::kIdVcvtsd2ss, {vec(result.reg, 16), zero, x});
            return result;
        }
        if (is_bool(target)) {
            put_store(source == DType::F32 ? Id::kIdVucomiss : Id::kIdVucomisd, {x, zero});
            const Reg other = gp_reg(), unordered = gp_reg();
            put(Id::kIdSetne, {gp(other, 1)});
            put(Id::kIdSetp, {gp(unordered, 1)});
            put(Id::kIdOr, {gp(other, 4), gp(unordered, 4)}).reads_first = true;
            put(Id::kIdMovzx, {gp(other, 4), gp(other, 1)});
            return {other};
        }
        if (target == DType::F16) {
            const Reg packed = vec_reg(16), bits = gp_reg();
            put(Id::kIdVcvtps2ph, {vec(packed, 16), x, imm(0)});
            put(Id::kIdVmovd, {gp(bits, 4), vec(packed, 16)});
            extend(bits, DType::U16);
            return {bits};
        }
        if (!is_int(target) || target == DType::U64) return cast_by_helper(from, source, target, 0);
        return scalar_float_to_int(from, source, target);
    }
    if (is_plain_float(target)) {
        if (source == DType::U64) return cast_by_helper(from, source, target, 0);
        const Value result{vec_reg(16)};
        put(target == DType::F32 ? Id::kIdVcvtsi2ss : Id::kIdVcvtsi2sd, {vec(result.reg, 16), zero, gp(from.reg)});
        return result;
    }
    if (is_bool(target)) {
        put_store(Id::kIdTest, {gp(from.reg), gp(from.reg)});
        return {flag_reg(Id::kIdSetne)};
    }
    const Value result = copy(from);
    extend(result.reg, target);
    return result;
}

Value Arithmetic::scalar_bitcast(const Value& from, DType source, DType target) {
    const bool from_vec = is_plain_float(source), to_vec = is_plain_float(target);
    const int bytes = static_cast<int>(size_of(target));
    if (from_vec == to_vec) {
        if (is_bool(target)) return scalar_cast(from, DType::U8, DType::Bool);
        const Value result = copy(from);
        if (!to_vec) extend(result.reg, target);
        return result;
    }
    const auto id = bytes == 4 ? Id::kIdVmovd : Id::kIdVmovq;
    if (to_vec) {
        const Value result{vec_reg(16)};
        put(id, {vec(result.reg, 16), gp(from.reg, bytes)});
        return result;
    }
    const Value result{gp_reg()};
    put(id, {gp(result.reg, bytes), vec(from.reg, 16)});
    extend(result.reg, target);
    return result;
}

}  // namespace weft::backend::x86
