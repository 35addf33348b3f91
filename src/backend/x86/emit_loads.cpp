// backend/x86/emit_loads.cpp: loads of scalars and of lanes: whole vectors, gathers, and lane by lane where the machine has no instruction.
#include "backend/x86/emit_internal.h"

namespace weft::backend::x86 {

void Emitter::load_into(Reg r, DType t, const Operand& from) {
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

Value Emitter::scalar_load(DType t, const Operand& from, const Node* gate) {
    const bool floats = t == DType::F32 || t == DType::F64;
    const Value result{floats ? vec_reg(16) : gp_reg()};
    if (!gate) {
        load_into(result.reg, t, from);
        return result;
    }
    const Reg open = value(*gate).reg;
    const int closed = new_label();
    if (floats) move(result.reg, constant_vector(0, 4, 16));
    else put(Id::kIdMov, {gp(result.reg), imm(0)});
    put_store(Id::kIdTest, {gp(open), gp(open)});
    put_store(Id::kIdJz, {label(closed)});
    load_into(result.reg, t, from);
    bind(closed);
    return result;
}

Value Emitter::load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer;
    if (in_variables(b)) return variable_load(node);
    if (facts(node).lane >= 0) return lane_load(node);
    const Node* gate = node.sources.size() > 1 ? &node.source(1) : nullptr;
    if (gate) value(*gate);  // before the address: both may be emitted here
    return scalar_load(node.dtype, address(b, node.source(0), static_cast<int>(size_of(node.dtype))), gate);
}

// Into the second cache: much is read until it is wanted, and would drive it out of the first. Once for the parts of a line.
void Emitter::emit(const kernel::Prefetch& prefetch) {
    at_ = innermost();
    const Node& load = *prefetch.load;
    const int b = load.as<ir::LoadArg>().buffer;
    const LaneIndex at = lane_index(load.source(0), facts(load).lane);
    if (!at.affine) return;
    Operand m = address(b, at.base, static_cast<int>(size_of(load.dtype)));
    m.bytes = 0;
    constexpr std::int64_t kLine = 64;
    const Operand& last = last_hint_;
    if (m.reg == last.reg && m.index == last.index && m.value > last.value && m.value < last.value + kLine) return;
    put_store(Id::kIdPrefetcht1, {m});
    last_hint_ = m;
}

int Emitter::stored_lane(DType t) const { return lane_bytes(t); }

Reg Emitter::used_mask(int used, int lane, const Value* gate) {
    if (!gate) return used == lanes_ ? kNone : lane_mask(used, lane);
    const Reg m = mask_for(*gate, lane);
    if (used == lanes_) return m;
    const Reg some = lane_mask(used, lane);
    const Reg both = wide_ ? mask_reg() : vec_reg(width(lane));
    if (wide_) put(Id::kIdKandw, {mask(both), mask(m), mask(some)});
    else put(Id::kIdVpand, {vec(both, width(lane)), vec(m, width(lane)), vec(some, width(lane))});
    return both;
}

Value Emitter::lane_load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer, lane = facts(node).lane;
    const DType t = node.dtype;
    const bool is_private = expanded_.buffers[b].form == LoweredBuffer::LaneArray;
    Value gate;
    if (node.sources.size() > 1) gate = vector_value(node.source(1));
    const Value* open = gate.vector ? &gate : nullptr;
    std::vector<Reg> same;  // for all lanes: parts of the gate that stand or fall together
    if (open) uniform_parts(node.source(1), same);
    if (const LaneIndex at = lane_index(node.source(0), lane); !is_private && !(at.affine && at.stride == 1))
        if (const Value found = window_load(t, b, node.source(0), lane, open ? &node.source(1) : nullptr, same);
            found.vector)
            return is_bool(t) ? mask_of(found) : found;
    const Lanes at = lanes_at(b, node.source(0), lane, is_private);
    const Value numbers = at.index.vector ? gather(t, at, open) : whole_load(t, at.base, at.used, open, same);
    return is_bool(t) ? mask_of(numbers) : numbers;
}

// The conversions of f16 read and write memory as it is: no need to make lanes of 4 bytes of it.
Value Emitter::half_load(const Node& cast) {
    const Node& load = cast.source();
    if (cast.dtype != DType::F32 || load.dtype != DType::F16 || load.op != Op::Load || load.sources.size() > 1)
        return {};
    const auto from = whole_lanes(load.as<ir::LoadArg>().buffer, load.source(0), facts(load).lane);
    if (!from) return {};
    const Value result = new_vector(4);
    put(Id::kIdVcvtph2ps, {vec(result.reg, width(4)), *from});
    return result;
}

void Emitter::uniform_parts(const Node& gate, std::vector<Reg>& parts) {
    if (facts(gate).lane < 0) {
        if (gate.op != Op::Const) parts.push_back(value(gate).reg);
    } else if (gate.op == Op::And) {
        for (const NodeRef& part : gate.sources) uniform_parts(*part, parts);
    }
}

// Where no lane is open the address may be anywhere: a load without lanes from there costs hundreds of cycles. So what closes all
// lanes at once is a branch.
Value Emitter::whole_load(DType t, const Operand& from, int used, const Value* gate, std::span<const Reg> same) {
    const int element = static_cast<int>(size_of(t)), lane = stored_lane(t);
    Operand m = from;
    m.bytes = static_cast<std::uint8_t>(element * lanes_);
    const bool masked = gate || used < lanes_;
    if (masked && !wide_ && element < 4) {
        std::vector<std::int64_t> lanes;
        for (int l = 0; l < lanes_; ++l) lanes.push_back(l);
        return lane_by_lane_load(t, {plain(from), {constant_lanes(lanes, 4), true, false, 4}, used}, gate);
    }
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

Value Emitter::gather(DType t, const Lanes& at, const Value* gate) {
    const int element = static_cast<int>(size_of(t)), lane = stored_lane(t);
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

void Emitter::for_lanes(int used, const std::function<void(Reg)>& body) {
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
Value Emitter::lane_by_lane_load(DType t, const Lanes& at, const Value* gate) {
    const int element = static_cast<int>(size_of(t)), lane = stored_lane(t), shift = lane == 8 ? 3 : 2;
    const std::int64_t indices = lane_slot(0), gates = lane_slot(1), results = lane_slot(2);
    const Value zero{constant_vector(0, 4, width(lane)), true, false, static_cast<std::int8_t>(lane)};
    const Operand base = plain(at.base);
    put_store(Id::kIdVmovups, {frame(indices, width(at.index)), vec(at.index.reg, width(at.index))});
    put_store(Id::kIdVmovups, {frame(results, width(lane)), vec(zero.reg, width(lane))});
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

}  // namespace weft::backend::x86
