// backend/x86/emit_scalar.cpp: ops on scalars: integers and bools in general registers, floats in lane 0 of a vector register.
#include "backend/x86/emit_internal.h"

#include "ir/symbolic.h"

#include <bit>

namespace weft::backend::x86 {

namespace {

std::int64_t number_of(const ir::Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); }

}  // namespace

Operand Emitter::int_operand(const Node& node) {
    if (is_constant(node) && fits32(number_of(node))) return imm(number_of(node));
    return gp(value(node).reg);
}

Value Emitter::scalar_op(const Node& node) {
    const DType t = node.sources.back()->dtype;
    if (node.op == Op::Cast) return scalar_cast(value(node.source()), node.source().dtype, node.dtype);
    if (node.op == Op::Bitcast) return scalar_bitcast(value(node.source()), node.source().dtype, node.dtype);
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

}  // namespace weft::backend::x86
