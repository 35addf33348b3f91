// backend/x86/lane_ops.cpp: masks, choices, and lanes that are resized, moved or wrapped.
#include "backend/x86/lane_ops.h"

#include "backend/x86/instructions.h"

#include <algorithm>

namespace weft::backend::x86 {

namespace {

constexpr int kFloatPredicate[] = {0, 17, 18};  // ordered, quiet

}  // namespace

int LaneOps::lane_bytes(DType t) const {
    if (size_of(t) < 8) return 4;
    if (8 * lanes_ > most_bytes()) throw TooWide();
    return 8;
}

Value LaneOps::copy(const Value& v) {
    const Reg r = reg_like(v.reg);
    move(r, v.reg);
    return like(v, r);
}

Value LaneOps::new_mask() {
    if (wide_) return {mask_reg(), true, true, 0};
    return {vec_reg(width(4)), true, true, 4};
}

Value LaneOps::constant_like(const Value& v, DType t, Word word) {
    const int lane = v.vector ? v.lane : static_cast<int>(size_of(t));
    return like(v, constant_vector(word, lane, width(v)));
}

std::uint32_t LaneOps::bits_id(Op op) const {
    switch (op) {
        case Op::And: return wide_ ? Id::kIdVpandd : Id::kIdVpand;
        case Op::Or: return wide_ ? Id::kIdVpord : Id::kIdVpor;
        default: return wide_ ? Id::kIdVpxord : Id::kIdVpxor;
    }
}

// ---- masks ----------------------------------------------------------------------------------------------------------

Value LaneOps::compare_lanes(Predicate predicate, const Value& a, const Value& b, DType t) {
    const int lane = a.lane, bytes = width(lane);
    const bool floats = is_float(t), is_unsigned_type = is_unsigned(t) && size_of(t) >= 4;
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    if (wide_) {
        const Value result = new_mask();
        const std::uint32_t id = floats ? kCmpF(lane) : (is_unsigned_type ? kCmpU : kCmpS)(lane);
        arithmetic(id, lane, {mask(result.reg), reg(a), reg(b), imm(floats ? kFloatPredicate[predicate] : predicate)});
        return result;
    }
    Value m = new_vector(lane);
    if (floats) put(kCmpF(lane), {reg(m), reg(a), reg(b), imm(kFloatPredicate[predicate])});
    else if (predicate == kEq) put(kEqual(lane), {reg(m), reg(a), reg(b)});
    else {
        Value x = a, y = b;
        if (is_unsigned_type) {
            const Value sign = constant_like(a, t, lane == 4 ? Word(1) << 31 : Word(1) << 63);
            x = new_vector(lane), y = new_vector(lane);
            put(Id::kIdVpxor, {reg(x), reg(a), reg(sign)});
            put(Id::kIdVpxor, {reg(y), reg(b), reg(sign)});
        }
        if (predicate == kLt) put(kGreater(lane), {reg(m), reg(y), reg(x)});
        else {
            const Value greater = new_vector(lane);
            put(kGreater(lane), {reg(greater), reg(x), reg(y)});
            put(Id::kIdVpxor, {reg(m), reg(greater), reg(constant_like(a, t, ~Word(0)))});
        }
    }
    Value result = lane == 4 ? m : resize_lanes(m, 4, true);
    result.is_mask = true;
    return result;
}

Reg LaneOps::mask_for(const Value& mask_value, int lane) {
    if (wide_ || lane == 4) return mask_value.reg;
    const Reg r = vec_reg(width(8));
    put(Id::kIdVpmovsxdq, {vec(r, width(8)), vec(mask_value.reg, width(4))});
    return r;
}

Value LaneOps::select(const Value& mask_value, const Value& yes, const Value& no) {
    const int bytes = width(yes);
    const Value result = like(yes, vec_reg(bytes));
    const Reg m = mask_for(mask_value, yes.lane);
    if (wide_) {
        Ins& ins = put(kBlendMask(yes.lane), {vec(result.reg, bytes), vec(no.reg, bytes), vec(yes.reg, bytes)});
        ins.lanes = m;
        ins.blends = true;
    } else
        put(kBlendVector(yes.lane), {vec(result.reg, bytes), vec(no.reg, bytes), vec(yes.reg, bytes), vec(m, bytes)});
    return result;
}

Value LaneOps::invert(const Value& mask_value) {
    const Value result = new_mask();
    if (wide_) put(Id::kIdKnotw, {mask(result.reg), mask(mask_value.reg)});
    else
        put(Id::kIdVpxor, {vec(result.reg, width(4)), vec(mask_value.reg, width(4)),
                           vec(constant_vector(~Word(0), 4, width(4)), width(4))});
    return result;
}

Value LaneOps::combine(ir::Op op, const Value& a, const Value& b) {
    const Value result = new_mask();
    if (wide_)
        put(op == Op::And  ? Id::kIdKandw
            : op == Op::Or ? Id::kIdKorw
                           : Id::kIdKxorw,
            {mask(result.reg), mask(a.reg), mask(b.reg)});
    else put(bits_id(op), {vec(result.reg, width(4)), vec(a.reg, width(4)), vec(b.reg, width(4))});
    return result;
}

Value LaneOps::numbers(const Value& mask_value) {
    const Value result = new_vector(4);
    const Operand ones = vec(constant_vector(1, 4, width(4)), width(4)), to = vec(result.reg, width(4));
    if (wide_) {
        Ins& ins = put(Id::kIdVmovdqa32, {to, ones});
        ins.lanes = mask_value.reg;
        ins.zeroes = true;
    } else put(Id::kIdVpand, {to, vec(mask_value.reg, width(4)), ones});
    return result;
}

Value LaneOps::mask_of(const Value& v) {
    const Operand x = vec(v.reg, width(4));
    if (!wide_) return invert(compare_lanes(kEq, v, constant_like(v, DType::I32, 0), DType::I32));
    const Value result = new_mask();
    put(Id::kIdVptestmd, {mask(result.reg), x, x});
    return result;
}

Reg LaneOps::used_mask(int used, int lane, const Value* gate) {
    if (!gate) return used == lanes_ ? kNone : lane_mask(used, lane);
    const Reg m = mask_for(*gate, lane);
    if (used == lanes_) return m;
    const Reg some = lane_mask(used, lane);
    const Reg both = wide_ ? mask_reg() : vec_reg(width(lane));
    if (wide_) put(Id::kIdKandw, {mask(both), mask(m), mask(some)});
    else put(Id::kIdVpand, {vec(both, width(lane)), vec(m, width(lane)), vec(some, width(lane))});
    return both;
}

void LaneOps::jump_if_none(const Value& mask_value, int to) {
    if (wide_ && lanes_ == 16) put_store(Id::kIdKortestw, {mask(mask_value.reg), mask(mask_value.reg)});
    else if (wide_) {
        const Value low = new_mask();  // only as many bits as there are lanes
        put(Id::kIdKandw, {mask(low.reg), mask(mask_value.reg), mask(lane_mask(lanes_, 4))});
        put_store(Id::kIdKortestw, {mask(low.reg), mask(low.reg)});
    } else put_store(Id::kIdVptest, {vec(mask_value.reg, width(4)), vec(mask_value.reg, width(4))});
    put_store(Id::kIdJz, {label(to)});
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

Value LaneOps::wrapped(Value v, DType t) {
    const int bytes = width(v);
    const auto shifts = [&](int by) {
        put(Id::kIdVpslld, {vec(v.reg, bytes), vec(v.reg, bytes), imm(by)});
        put(Id::kIdVpsrad, {vec(v.reg, bytes), vec(v.reg, bytes), imm(by)});
    };
    const auto cut = [&](Word bits) {
        put(bits_id(Op::And), {vec(v.reg, bytes), vec(v.reg, bytes), vec(constant_vector(bits, 4, bytes), bytes)});
    };
    switch (t) {
        case DType::I8: shifts(24); break;
        case DType::I16: shifts(16); break;
        case DType::U8: cut(0xff); break;
        case DType::U16:
        case DType::F16:
        case DType::BF16: cut(0xffff); break;
        default: break;
    }
    return v;
}

Value LaneOps::resize_lanes(const Value& v, int lane, bool sign) {
    if (v.lane == lane) return v;
    const Value result = new_vector(lane);
    const Operand from = vec(v.reg, width(v)), to = vec(result.reg, width(lane));
    if (lane == 8) put(sign ? Id::kIdVpmovsxdq : Id::kIdVpmovzxdq, {to, from});
    else if (wide_) put(Id::kIdVpmovqd, {to, from});
    else {
        const Reg upper = vec_reg(16);
        put(Id::kIdVextracti128, {vec(upper, 16), from, imm(1)});
        put(Id::kIdVshufps, {to, vec(v.reg, 16), vec(upper, 16), imm(0x88)});
    }
    return result;
}

Value LaneOps::upper_lanes(const Value& v, int by) {
    const Value result = like(v, vec_reg(width(v)));
    const Operand to = vec(result.reg, width(v)), from = vec(v.reg, width(v));
    if (wide_) put(v.lane == 4 ? Id::kIdValignd : Id::kIdValignq, {to, from, from, imm(by)});
    else if (width(v) == 32 && by * v.lane == 16) put(Id::kIdVextracti128, {vec(result.reg, 16), from, imm(1)});
    else if (width(v) == 32 && v.lane == 4) {
        std::vector<std::int64_t> places;
        for (int i = 0; i < 8; ++i) places.push_back((i + by) % 8);
        put(Id::kIdVpermd, {to, vec(constant_lanes(places, 4), 32), from});
    } else {  // four lanes, of 4 or 8 bytes
        int places = 0;
        for (int i = 0; i < 4; ++i) places |= (i + by) % 4 << (2 * i);
        put(width(v) == 16 ? Id::kIdVpshufd : Id::kIdVpermq, {to, from, imm(places)});
    }
    return result;
}

// Lane l is the places[l]-th of the lanes of `even` and `odd`; what a negative place gives does not matter.
Value LaneOps::permuted(const Value& even, const Value* odd, std::vector<std::int64_t> places) {
    const int bytes = width(even);
    for (std::int64_t& place : places) place = std::max<std::int64_t>(place, 0);
    if (wide_ && odd) {
        put(even.lane == 4 ? Id::kIdVpermt2d : Id::kIdVpermt2q,
            {vec(even.reg, bytes), vec(constant_lanes(places, even.lane), bytes), vec(odd->reg, bytes)})
            .reads_first = true;
        return even;
    }
    const auto one = [&](const Value& from, std::int64_t start) {
        std::vector<std::int64_t> within = places;
        for (std::int64_t& place : within) place = std::clamp<std::int64_t>(place - start, 0, lanes_ - 1);
        const Value to = new_vector(from.lane);
        if (wide_ || from.lane == 4) {
            put(from.lane == 4 ? Id::kIdVpermd : Id::kIdVpermq,
                {vec(to.reg, bytes), vec(constant_lanes(within, from.lane), bytes), vec(from.reg, bytes)});
        } else {
            std::int64_t choice = 0;
            for (std::size_t l = 0; l < within.size(); ++l) choice |= within[l] << (2 * l);
            put(Id::kIdVpermq, {vec(to.reg, bytes), vec(from.reg, bytes), imm(choice)});
        }
        return to;
    };
    const Value low = one(even, 0);
    if (!odd) return low;
    std::vector<bool> from_odd;
    for (const std::int64_t place : places) from_odd.push_back(place >= lanes_);
    return blended(low, one(*odd, lanes_), from_odd);
}

Value LaneOps::blended(const Value& a, const Value& b, const std::vector<bool>& from_b) {
    const int bytes = width(a);
    std::uint32_t lanes = 0;
    for (std::size_t l = 0; l < from_b.size(); ++l)
        if (from_b[l]) lanes |= (wide_ || a.lane == 4 ? 1u : 3u) << (wide_ || a.lane == 4 ? l : 2 * l);
    if (wide_) {
        put(a.lane == 4 ? Id::kIdVmovaps : Id::kIdVmovapd, {vec(a.reg, bytes), vec(b.reg, bytes)}).lanes =
            constant_mask(lanes);
        return a;
    }
    const Value to = new_vector(a.lane);
    put(Id::kIdVpblendd, {vec(to.reg, bytes), vec(a.reg, bytes), vec(b.reg, bytes), imm(lanes)});
    return to;
}

// ---- scalars --------------------------------------------------------------------------------------------------------

void LaneOps::extend(Reg r, DType t) {
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

Reg LaneOps::flag_reg(std::uint32_t set) {
    const Reg r = gp_reg();
    put(set, {gp(r, 1)});
    put(Id::kIdMovzx, {gp(r, 4), gp(r, 1)});
    return r;
}

}  // namespace weft::backend::x86
