// backend/x86/emit_variables.cpp: loads and stores of locals that live in registers and need no memory: scalars,
// vectors, and blocks that are transposed.
#include "backend/x86/emit_internal.h"

#include "core/str.h"

#include <weft/error.h>

namespace weft::backend::x86 {

using kernel::Store;

Value Emitter::variable_load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const DType t = node.dtype;
    Value result;
    const Linear index = linear(node.source(0));
    if (lowered.transposed) {
        result = lanes_in(column(b, index.constant), lane_bytes(t));
        return is_bool(t) ? mask_of(result) : result;
    }
    const Reg r = variable(b, index.constant / lowered.unit);
    if (lowered.form == LoweredBuffer::Scalars) result = {r};
    else {
        result = lanes_in(r, lane_bytes(t));
        const int at = static_cast<int>(index.constant % lowered.unit);
        if (lowered.form == LoweredBuffer::Vectors && index.terms.empty()) result = one_lane(result, t, at);
        else if (at) result = upper_lanes(result, at);
        if (result.vector && is_bool(t)) result = mask_of(result);
    }
    if (node.sources.size() == 1) return result;
    if (!result.vector && facts(node).lane < 0) {
        const Reg open = value(node.source(1)).reg;
        const bool floats = is_float(t) && !is_half(t);
        const Value gated{floats ? vec_reg(16) : gp_reg()};
        const int closed = new_label();
        if (floats) move(gated.reg, constant_vector(0, 4, 16));
        else put(Id::kIdMov, {gp(gated.reg), imm(0)});
        put_store(Id::kIdTest, {gp(open), gp(open)});
        put_store(Id::kIdJz, {label(closed)});
        move(gated.reg, result.reg);
        bind(closed);
        return gated;
    }
    throw InternalError(str("kernel ", kernel_.name, ": a gate on a local in registers"));
}

// Gives a variable a value; if an instruction just made it and nothing else uses it, that instruction writes the variable itself.
void Emitter::assign(Reg to, const Value& v, const Node& node) {
    if (facts(node).level <= level() && consumed(node, v) && redirect(v.reg, to)) return;
    move(to, v.reg);
}

void Emitter::variable_store(const Store& store, const Value& stored) {
    const int b = store.buffer;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const DType t = store.value->dtype;
    const Linear index = linear(*store.index);
    forget_columns(b);
    const Reg to = variable(b, index.constant / lowered.unit);
    const int at = static_cast<int>(index.constant % lowered.unit);
    if (lowered.form == LoweredBuffer::Scalars) {
        if (!stored.vector) return assign(to, stored, *store.value);
        return move(to, last_lane(stored, t, used_lanes(facts(*store.value).lane)).reg);
    }
    if (lowered.form == LoweredBuffer::Vectors && index.terms.empty()) {  // one lane of a vector
        Value v = stored;
        if (v.vector) v = last_lane(v, t, used_lanes(facts(*store.value).lane));
        const int lane = lane_bytes(t);
        const bool floats = is_float(t) && !is_half(t);
        const bool alone = covers(lowered, index.constant / lowered.unit, at, 1);
        if (floats) {
            const int bytes = width(lane);
            const Reg spread = wide_ || alone ? to : vec_reg(bytes);
            Ins& ins = put(lane == 4     ? Id::kIdVbroadcastss
                           : bytes == 16 ? Id::kIdVmovddup
                                         : Id::kIdVbroadcastsd,
                           {vec(spread, bytes), vec(v.reg, 16)});
            if (wide_ && !alone) ins.lanes = constant_mask(1u << at);
            if (!wide_ && !alone)
                put(lane == 4 ? Id::kIdVblendps : Id::kIdVblendpd,
                    {vec(to, bytes), vec(to, bytes), vec(spread, bytes), imm(1 << at)});
            return;
        }
        const std::int64_t slot = lane_slot(0);
        put_store(Id::kIdVmovups, {frame(slot, width(lane)), vec(to, width(lane))});
        scalar_store(floats ? t : lane == 8 ? DType::I64 : DType::I32, frame(slot + at * lane), v);
        put(Id::kIdVmovups, {vec(to, width(lane)), frame(slot, width(lane))});
        return;
    }
    const Value v = vector_value(*store.value), whole = v.is_mask ? numbers(v) : v;
    if (size_of(t) == 8 && whole.lane == 4) throw TooWide();
    if (lowered.form == LoweredBuffer::LaneVectors) return assign(to, whole, *store.value);
    const int used = used_lanes(facts(*store.index).lane);
    if (covers(lowered, index.constant / lowered.unit, at, used)) assign(to, whole, *store.value);
    else put_lanes(to, whole, t, at, used);
}

}  // namespace weft::backend::x86
