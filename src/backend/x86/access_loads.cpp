// backend/x86/access_loads.cpp: loads of scalars and of lanes: whole vectors, gathers, and lane by lane where the
// machine has no instruction; calls of helpers.
#include "backend/x86/accesses.h"

#include "backend/x86/instructions.h"

#include <algorithm>

namespace weft::backend::x86 {

Operand Accesses::plain(const Operand& at) {
    if (at.index == kNone) return at;
    const Reg r = gp_reg();
    Operand whole = at;
    whole.bytes = 0;
    put(Id::kIdLea, {gp(r), whole});
    Operand result = memory(r, 0, at.bytes);
    result.local = at.local;
    return result;
}

Operand Accesses::lane_addresses(const Lanes& at, int element) {
    Operand m = plain(at.base);
    m.index = at.index.reg;
    m.shift = element == 8 ? 3 : 2;
    m.bytes = 0;
    return m;
}

// ---- scalars --------------------------------------------------------------------------------------------------------

void Accesses::load_into(Reg r, DType t, const Operand& from) {
    Operand m = from;
    m.bytes = static_cast<std::uint8_t>(size_of(t));
    const auto reload = [&](std::uint32_t id, int bytes) { put(id, {gp(r, bytes), m}); };
    switch (t) {
        case DType::F32: return reload(Id::kIdVmovss, 16);
        case DType::F64: return reload(Id::kIdVmovsd, 16);
        case DType::I8:
        case DType::I16: return reload(Id::kIdMovsx, 8);
        case DType::I32: return reload(Id::kIdMovsxd, 8);
        case DType::U32: return reload(Id::kIdMov, 4);
        case DType::I64:
        case DType::U64: return reload(Id::kIdMov, 8);
        case DType::Bool:
            put_store(Id::kIdCmp, {m, imm(0)});
            put(Id::kIdSetne, {gp(r, 1)});
            put(Id::kIdMovzx, {gp(r, 4), gp(r, 1)});
            return;
        default: return reload(Id::kIdMovzx, 4);
    }
}

Value Accesses::scalar_load(DType t, const Operand& from, Reg gate) {
    const bool floats = is_plain_float(t);
    const Value result{floats ? vec_reg(16) : gp_reg()};
    if (gate == kNone) {
        load_into(result.reg, t, from);
        return result;
    }
    const int closed = new_label();
    if (floats) move(result.reg, constant_vector(0, 4, 16));
    else put(Id::kIdMov, {gp(result.reg), imm(0)});
    put_store(Id::kIdTest, {gp(gate), gp(gate)});
    put_store(Id::kIdJz, {label(closed)});
    load_into(result.reg, t, from);
    bind(closed);
    return result;
}

// ---- lanes ----------------------------------------------------------------------------------------------------------

// Where no lane is open the address may be anywhere: a load without lanes from there costs hundreds of cycles. So what
// closes all lanes at once is a branch.
Value Accesses::whole_load(DType t, const Operand& from, int used, const Value* gate, std::span<const Reg> same) {
    const int element = static_cast<int>(size_of(t)), lane = lane_bytes(t);
    Operand m = from;
    m.bytes = static_cast<std::uint8_t>(element * lanes_);
    const bool masked = gate || used < lanes_;
    if (masked && !wide_ && element < 4)
        return lane_by_lane_load(t, {plain(from), lanes_in(lane_numbers(4), 4), used}, gate);
    const Value result = new_vector(lane);
    const Operand to = vec(result.reg, width(lane));
    const Reg lanes = used_mask(used, lane, gate);
    const int closed = same.empty() ? -1 : new_label();
    if (closed >= 0) {
        move(result.reg, constant_vector(0, 4, width(lane)));
        for (const Reg part : same) {
            put_store(Id::kIdTest, {gp(part), gp(part)});
            put_store(Id::kIdJz, {label(closed)});
        }
    }
    if (!wide_ && lanes.id >= 0) {
        put(lane == 4 ? Id::kIdVpmaskmovd : Id::kIdVpmaskmovq, {to, vec(lanes, width(lane)), m});
        if (closed >= 0) bind(closed);
        return result;
    }
    std::uint32_t id = lane == 4 ? Id::kIdVmovups : Id::kIdVmovupd;
    if (element == 1) id = is_signed_int(t) ? Id::kIdVpmovsxbd : Id::kIdVpmovzxbd;
    if (element == 2) id = is_signed_int(t) ? Id::kIdVpmovsxwd : Id::kIdVpmovzxwd;
    Ins& ins = put(id, {to, m});
    ins.lanes = lanes;
    ins.zeroes = lanes.id >= 0;
    if (closed >= 0) bind(closed);
    return result;
}

Value Accesses::gather(DType t, const Lanes& at, const Value* gate) {
    const int element = static_cast<int>(size_of(t)), lane = lane_bytes(t);
    if (element < 4) return lane_by_lane_load(t, at, gate);
    const Value result = new_vector(lane);
    move(result.reg, constant_vector(0, 4, width(lane)));
    const Operand m = lane_addresses(at, element);
    const std::uint32_t id = at.index.lane == 4 ? (lane == 4 ? Id::kIdVgatherdps : Id::kIdVgatherdpd)
                                                : (lane == 4 ? Id::kIdVgatherqps : Id::kIdVgatherqpd);
    const Reg some = used_mask(at.used, lane, gate);
    if (wide_) {  // the instruction uses its mask up
        const Reg lanes = mask_reg();
        move(lanes, some.id >= 0 ? some : lane_mask(lanes_, lane));
        Ins& ins = put(id, {vec(result.reg, width(lane)), m});
        ins.lanes = lanes;
        put_store(kKeep, {mask(lanes), vec(at.index.reg, width(at.index))});
    } else {
        const Reg lanes = vec_reg(width(lane));
        move(lanes, some.id >= 0 ? some : lane_mask(lanes_, lane));
        put(id, {vec(result.reg, width(lane)), m, vec(lanes, width(lane))}).reads_first = true;
        put_store(kKeep, {vec(lanes, width(lane)), vec(at.index.reg, width(at.index))});
    }
    return result;
}

// ---- lane by lane, through the frame --------------------------------------------------------------------------------

void Accesses::for_lanes(int used, const std::function<void(Reg)>& body) {
    const Reg lane = gp_reg();
    const int head = new_label();
    put(Id::kIdMov, {gp(lane), imm(0)});
    put_store(kLoopBegin, {imm(lanes_)});
    bind(head);
    body(lane);
    put(Id::kIdAdd, {gp(lane), imm(1)}).reads_first = true;
    put_store(Id::kIdCmp, {gp(lane), imm(used)});
    put_store(Id::kIdJl, {label(head)});
    put(kLoopEnd, {});
}

// Types and machines without the instructions: through the frame.
Value Accesses::lane_by_lane_load(DType t, const Lanes& at, const Value* gate) {
    const int element = static_cast<int>(size_of(t)), lane = lane_bytes(t), shift = lane == 8 ? 3 : 2;
    const std::int64_t indices = lane_slot(0), gates = lane_slot(1), results = lane_slot(2);
    const Reg zero = constant_vector(0, 4, width(lane));
    const Operand base = plain(at.base);
    put_store(Id::kIdVmovups, {frame(indices, width(at.index)), vec(at.index.reg, width(at.index))});
    put_store(Id::kIdVmovups, {frame(results, width(lane)), vec(zero, width(lane))});
    if (gate) {
        const Value open = numbers(*gate);
        put_store(Id::kIdVmovups, {frame(gates, width(4)), vec(open.reg, width(4))});
    }
    for_lanes(at.used, [&](Reg l) {
        const int closed = new_label();
        if (gate) {
            put_store(Id::kIdCmp, {frame(gates, 4, l, 2), imm(0)});
            put_store(Id::kIdJe, {label(closed)});
        }
        const Reg i = gp_reg(), x = gp_reg();
        if (at.index.lane == 4) put(Id::kIdMovsxd, {gp(i), frame(indices, 4, l, 2)});
        else put(Id::kIdMov, {gp(i), frame(indices, 8, l, 3)});
        Operand m = base;
        m.index = i;
        m.shift = static_cast<std::uint8_t>(element == 8 ? 3 : element / 2);
        load_into(x, t == DType::F32 ? DType::I32 : t == DType::F64 ? DType::I64 : t, m);
        put_store(Id::kIdMov, {frame(results, lane, l, shift), gp(x, lane)});
        if (gate) bind(closed);
    });
    const Value result = new_vector(lane);
    put(Id::kIdVmovups, {vec(result.reg, width(lane)), frame(results, width(lane))});
    return result;
}

Value Accesses::one_lane(const Value& stored, DType t, int lane) {
    const Value v = stored.is_mask ? numbers(stored) : stored;
    if (is_float(t) && !is_half(t)) {
        const Value first = lane ? upper_lanes(v, lane) : v, result{vec_reg(16)};
        put(Id::kIdVmovaps, {vec(result.reg, 16), vec(first.reg, 16)});
        return result;
    }
    const std::int64_t slot = lane_slot(0);
    put_store(Id::kIdVmovups, {frame(slot, width(v)), vec(v.reg, width(v))});
    DType held = t;  // as lanes hold it
    if (!is_float(t) || is_half(t))
        held = v.lane == 8 ? DType::I64 : is_unsigned(t) || is_half(t) ? DType::U32 : DType::I32;
    return scalar_load(held, frame(slot + lane * v.lane));
}

// ---- helpers --------------------------------------------------------------------------------------------------------

Value Accesses::call_helper(LaneCall call, std::initializer_list<Value> operands, const Value& like) {
    int i = 0;
    for (const Value& v : operands) {
        const Value passed = v.is_mask ? numbers(v) : v;
        const bool floats = info(passed.reg).cls == Class::Vec;
        const std::int64_t at = kCallArea + i++ * kCallOperand;
        call.operand_bytes = static_cast<std::int8_t>(passed.vector ? passed.lane
                                                      : floats      ? static_cast<int>(size_of(call.operand))
                                                                    : 8);
        if (floats) put_store(Id::kIdVmovups, {frame(at, width(passed)), vec(passed.reg, width(passed))});
        else put_store(Id::kIdMov, {frame(at, 8), gp(passed.reg)});
    }
    const DType t = call.result;
    const bool float_result = is_float(t) && !is_half(t);
    call.arity = static_cast<std::int8_t>(operands.size());
    call.result_bytes = static_cast<std::int8_t>(like.vector    ? (like.is_mask ? 4 : like.lane)
                                                 : float_result ? static_cast<int>(size_of(t))
                                                                : 8);
    if (call.lanes == 0) call.lanes = static_cast<std::int8_t>(like.vector ? lanes_ : 1);
    auto known = std::find(calls_.begin(), calls_.end(), call);
    if (known == calls_.end()) known = calls_.insert(calls_.end(), call);
    put_call(&*known);
    const std::int64_t at = kCallArea + kCallResult;
    if (!like.vector) return scalar_load(float_result ? t : DType::I64, frame(at, float_result ? 0 : 8));
    const Value loaded = new_vector(like.is_mask ? 4 : like.lane);
    put(Id::kIdVmovups, {vec(loaded.reg, width(loaded)), frame(at, width(loaded))});
    return like.is_mask ? mask_of(loaded) : loaded;
}

}  // namespace weft::backend::x86
