// backend/x86/emit_scalar.cpp: ops on scalars: integers and bools in general registers, floats in lane 0 of a vector register.
#include "backend/x86/emit_internal.h"

#include "ir/symbolic.h"

#include <bit>

namespace weft::backend::x86 {

namespace {

std::int64_t number_of(const ir::Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); }

}  // namespace

void Emitter::extend(Reg r, DType t) {
    switch (t) {
        case DType::I8: put(Id::kIdMovsx, {gp(r), gp(r, 1)}); break;
        case DType::I16: put(Id::kIdMovsx, {gp(r), gp(r, 2)}); break;
        case DType::I32: put(Id::kIdMovsxd, {gp(r), gp(r, 4)}); break;
        case DType::U8: put(Id::kIdMovzx, {gp(r, 4), gp(r, 1)}); break;
        case DType::U16:
        case DType::F16:
        case DType::BF16: put(Id::kIdMovzx, {gp(r, 4), gp(r, 2)}); break;
        case DType::U32: put(Id::kIdMov, {gp(r, 4), gp(r, 4)}); break;
        default: break;
    }
}

Operand Emitter::int_operand(const Node& node) {
    if (is_constant(node) && fits32(number_of(node))) return imm(number_of(node));
    return gp(value(node).reg);
}

Reg Emitter::flag_reg(std::uint32_t set) {
    const Reg r = gp_reg();
    put(set, {gp(r, 1)});
    put(Id::kIdMovzx, {gp(r, 4), gp(r, 1)});
    return r;
}

Value Emitter::scalar_op(const Node& node) {
    const DType t = node.sources.back()->dtype;
    if (node.op == Op::Cast) return scalar_cast(value(node.source()), node.source().dtype, node.dtype);
    if (node.op == Op::Bitcast) return scalar_bitcast(node);
    if (node.op == Op::Lookup) return lookup(node);
    if (node.op == Op::Where) return scalar_where(node);
    if (ir::info(node.op).kind == ir::OpKind::Compare) return scalar_compare(node);
    return is_plain_float(t) ? float_op(node) : scalar_int(node);
}

Value Emitter::scalar_int(const Node& node) {
    const DType t = node.dtype;
    const bool is_unsigned_type = is_unsigned(t) || is_bool(t);
    const auto binary = [&](std::uint32_t id) {
        const Reg a = value(node.source(0)).reg;
        const Operand b = int_operand(node.source(1));
        const Reg r = gp_reg();
        if (id == Id::kIdImul && b.kind == Operand::Kind::Immediate) put(id, {gp(r), gp(a), b});
        else {
            move(r, a);
            put(id, {gp(r), b}).reads_first = true;
        }
        extend(r, t);
        return Value{r};
    };
    switch (node.op) {
        case Op::Add: return binary(Id::kIdAdd);
        case Op::Sub: return binary(Id::kIdSub);
        case Op::Mul: return binary(Id::kIdImul);
        case Op::And: return binary(Id::kIdAnd);
        case Op::Or: return binary(Id::kIdOr);
        case Op::Xor: return binary(Id::kIdXor);
        case Op::Max:
        case Op::Min: {
            const Reg a = value(node.source(0)).reg, b = value(node.source(1)).reg, r = gp_reg();
            move(r, b);
            put_store(Id::kIdCmp, {gp(a), gp(b)});
            const bool max = node.op == Op::Max;
            put(is_unsigned_type ? (max ? Id::kIdCmova : Id::kIdCmovb) : (max ? Id::kIdCmovg : Id::kIdCmovl),
                {gp(r), gp(a)})
                .reads_first = true;
            return {r};
        }
        case Op::Neg:
        case Op::Abs: {
            const Value a = value(node.source());
            if (node.op == Op::Abs && is_unsigned_type) return copy(a);
            const Reg r = gp_reg();
            move(r, a.reg);
            put(Id::kIdNeg, {gp(r)}).reads_first = true;
            if (node.op == Op::Abs) put(Id::kIdCmovs, {gp(r), gp(a.reg)}).reads_first = true;
            extend(r, t);
            return {r};
        }
        case Op::Trunc: return copy(value(node.source()));
        case Op::Shl:
        case Op::Shr: {
            if (!is_constant(node.source(1))) break;
            const Word amount = node.source(1).as<ir::ConstArg>().value;
            if (amount >= 8 * size_of(t)) break;
            const Reg a = value(node.source(0)).reg, r = gp_reg();
            move(r, a);
            put(node.op == Op::Shl ? Id::kIdShl
                : is_unsigned_type ? Id::kIdShr
                                   : Id::kIdSar,
                {gp(r), imm(static_cast<std::int64_t>(amount))})
                .reads_first = true;
            if (node.op == Op::Shl) extend(r, t);
            return {r};
        }
        case Op::IDiv:
        case Op::Mod: return scalar_division(node);
        default: break;
    }
    return helper_op(node);
}

// By a positive constant, as index arithmetic has it; the rest is the helper's.
Value Emitter::scalar_division(const Node& node) {
    const DType t = node.dtype;
    if (!is_constant(node.source(1)) || number_of(node.source(1)) <= 0) return helper_op(node);
    const std::int64_t divisor = number_of(node.source(1));
    const bool division = node.op == Op::IDiv;
    const Reg a = value(node.source(0)).reg;
    if (std::has_single_bit(static_cast<std::uint64_t>(divisor)) && fits32(divisor)) {
        const Reg r = gp_reg();
        move(r, a);
        if (!division) put(Id::kIdAnd, {gp(r), imm(divisor - 1)}).reads_first = true;
        else
            put(is_unsigned(t) ? Id::kIdShr : Id::kIdSar, {gp(r), imm(std::countr_zero(static_cast<Word>(divisor)))})
                .reads_first = true;
        return {r};
    }
    ir::Bounds bounds{INT64_MIN, INT64_MAX};
    if (t == DType::I64) bounds = ir::bounds(node.sources[0]);
    const Reg by = constant_gp(divisor), r = gp_reg();
    const bool positive = bounds.low >= 0 || is_unsigned(t);
    const bool is_small =
        positive && fits32(divisor) && (bounds.high <= UINT32_MAX || (is_unsigned(t) && size_of(t) <= 4));
    const int bytes = is_small ? 4 : 8;
    move(kRax, a);
    if (positive) {
        put(Id::kIdMov, {gp(kRdx, 4), imm(0)});
        put_store(Id::kIdDiv, {gp(kRdx, bytes), gp(kRax, bytes), gp(by, bytes)});
    } else {
        put_store(Id::kIdCqo, {gp(kRdx), gp(kRax)});
        put_store(Id::kIdIdiv, {gp(kRdx), gp(kRax), gp(by)});
    }
    if (positive) {
        move(r, division ? kRax : kRdx);
        return {r};
    }
    if (division) {  // floors: one less where the remainder is negative
        put(Id::kIdSar, {gp(kRdx), imm(63)}).reads_first = true;
        put(Id::kIdAdd, {gp(kRax), gp(kRdx)}).reads_first = true;
        move(r, kRax);
    } else {
        put(Id::kIdMov, {gp(kRax), gp(kRdx)});
        put(Id::kIdSar, {gp(kRax), imm(63)}).reads_first = true;
        put(Id::kIdAnd, {gp(kRax), gp(by)}).reads_first = true;
        put(Id::kIdAdd, {gp(kRdx), gp(kRax)}).reads_first = true;
        move(r, kRdx);
    }
    return {r};
}

Value Emitter::scalar_compare(const Node& node) {
    const DType t = node.source(0).dtype;
    if (is_plain_float(t)) {
        const Reg a = value(node.source(0)).reg, b = value(node.source(1)).reg;
        const auto id = t == DType::F32 ? Id::kIdVucomiss : Id::kIdVucomisd;
        if (node.op == Op::CmpEq) {
            put_store(id, {vec(a, 16), vec(b, 16)});
            const Reg equal = gp_reg(), ordered = gp_reg();
            put(Id::kIdSete, {gp(equal, 1)});
            put(Id::kIdSetnp, {gp(ordered, 1)});
            put(Id::kIdAnd, {gp(equal, 4), gp(ordered, 4)}).reads_first = true;
            put(Id::kIdMovzx, {gp(equal, 4), gp(equal, 1)});
            return {equal};
        }
        put_store(id, {vec(b, 16), vec(a, 16)});  // NaN sets the carry: neither above nor equal
        return {flag_reg(node.op == Op::CmpLt ? Id::kIdSeta : Id::kIdSetae)};
    }
    const bool is_unsigned_type = is_unsigned(t);
    const Reg a = value(node.source(0)).reg;
    const Operand b = int_operand(node.source(1));
    put_store(Id::kIdCmp, {gp(a), b});
    if (node.op == Op::CmpEq) return {flag_reg(Id::kIdSete)};
    if (node.op == Op::CmpLt) return {flag_reg(is_unsigned_type ? Id::kIdSetb : Id::kIdSetl)};
    return {flag_reg(is_unsigned_type ? Id::kIdSetbe : Id::kIdSetle)};
}

Value Emitter::scalar_where(const Node& node) {
    const Reg condition = value(node.source(0)).reg;
    const Value yes = value(node.source(1)), result = copy(value(node.source(2)));
    if (!is_plain_float(node.dtype)) {
        put_store(Id::kIdTest, {gp(condition), gp(condition)});
        put(Id::kIdCmovnz, {gp(result.reg), gp(yes.reg)}).reads_first = true;
        return result;
    }
    const int done = new_label();
    put_store(Id::kIdTest, {gp(condition), gp(condition)});
    put_store(Id::kIdJz, {label(done)});
    put(kMove, {vec(result.reg, 16), vec(yes.reg, 16)}).reads_first = true;
    bind(done);
    return result;
}

// ---- conversions -----------------------------------------------------------------------------------------------------

// The machine's result for NaN and what no i64 holds is the lowest number, from which nothing can be subtracted: that is left to the helper.
Value Emitter::scalar_float_to_int(const Value& from, DType source, DType target) {
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

Value Emitter::scalar_cast(const Value& from, DType source, DType target) {
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

Value Emitter::scalar_bitcast(const Node& node) {
    const DType source = node.source().dtype, target = node.dtype;
    const Value from = value(node.source());
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
