// backend/x86/emit_variables.cpp: locals that live in registers and need no memory: scalars, vectors, and blocks that are transposed.
#include "backend/x86/emit_internal.h"

#include "core/str.h"

#include <weft/error.h>

namespace weft::backend::x86 {

using kernel::Store;

bool Emitter::in_variables(int buffer) const {
    const LoweredBuffer::Form form = expanded_.buffers[static_cast<std::size_t>(buffer)].form;
    return form == LoweredBuffer::Scalars || form == LoweredBuffer::Vectors || form == LoweredBuffer::LaneVectors;
}

Reg Emitter::variable(int b, std::int64_t number) {
    const auto [found, fresh] = variables_.try_emplace({b, number});
    if (fresh) {
        const DType t = kernel_.buffers[b].dtype;
        if (expanded_.buffers[b].form == LoweredBuffer::Scalars)
            found->second = is_float(t) && !is_half(t) ? vec_reg(16) : gp_reg();
        else found->second = vec_reg(width(stored_lane(t)));
    }
    return found->second;
}

Value Emitter::one_lane(const Value& stored, DType t, int lane) {
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
    return scalar_load(held, frame(slot + lane * v.lane), nullptr);
}

Value Emitter::upper_lanes(const Value& v, int by) {
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

Value Emitter::variable_load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const DType t = node.dtype;
    Value result;
    const Linear index = linear(node.source(0));
    if (lowered.transposed) {
        result = {column(b, index.constant), true, false, static_cast<std::int8_t>(stored_lane(t))};
        return is_bool(t) ? mask_of(result) : result;
    }
    const Reg r = variable(b, index.constant / lowered.unit);
    if (lowered.form == LoweredBuffer::Scalars) result = {r};
    else {
        result = {r, true, false, static_cast<std::int8_t>(stored_lane(t))};
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

// A block's columns, from all its rows at once: first elements change places within 16 bytes, then pieces of 16 bytes do.
Reg Emitter::column(int b, std::int64_t number) {
    std::vector<Reg>& columns = columns_[b];
    if (!columns.empty()) return columns[static_cast<std::size_t>(number)];
    const int lane = stored_lane(kernel_.buffers[b].dtype), bytes = width(lane), across = 16 / lane,
              groups = bytes / 16;
    const auto two = [&](std::uint32_t id, Reg x, Reg y, int choice = -1) {
        const Reg r = vec_reg(bytes);
        if (choice < 0) put(id, {vec(r, bytes), vec(x, bytes), vec(y, bytes)});
        else put(id, {vec(r, bytes), vec(x, bytes), vec(y, bytes), imm(choice)});
        return r;
    };
    // part[g][c]: for each 16 bytes of the rows g * across …, their elements c
    std::vector<std::vector<Reg>> part;
    for (int g = 0; g < groups; ++g) {
        const auto row = [&](int i) { return variable(b, g * across + i); };
        if (across == 2) part.push_back({two(Id::kIdVunpcklpd, row(0), row(1)), two(Id::kIdVunpckhpd, row(0), row(1))});
        else {
            const Reg low = two(Id::kIdVunpcklps, row(0), row(1)), high = two(Id::kIdVunpckhps, row(0), row(1)),
                      low2 = two(Id::kIdVunpcklps, row(2), row(3)), high2 = two(Id::kIdVunpckhps, row(2), row(3));
            part.push_back({two(Id::kIdVunpcklpd, low, low2), two(Id::kIdVunpckhpd, low, low2),
                            two(Id::kIdVunpcklpd, high, high2), two(Id::kIdVunpckhpd, high, high2)});
        }
    }
    columns.resize(static_cast<std::size_t>(groups * across));
    const auto column_at = [&](int g, int c) -> Reg& { return columns[static_cast<std::size_t>(g * across + c)]; };
    for (int c = 0; c < across; ++c) {
        const auto x = [&](int g) { return part[static_cast<std::size_t>(g)][static_cast<std::size_t>(c)]; };
        if (groups == 1) column_at(0, c) = x(0);
        else if (groups == 2) {
            const std::uint32_t id = wide_ ? Id::kIdVshuff32x4 : Id::kIdVperm2f128;
            column_at(0, c) = two(id, x(0), x(1), wide_ ? 0 : 0x20);
            column_at(1, c) = two(id, x(0), x(1), wide_ ? 3 : 0x31);
        } else {
            constexpr int kEven = 0x88, kOdd = 0xdd;
            const auto shuffle = [&](Reg a, Reg d, int choice) { return two(Id::kIdVshuff32x4, a, d, choice); };
            const Reg even = shuffle(x(0), x(1), kEven), even2 = shuffle(x(2), x(3), kEven);
            column_at(0, c) = shuffle(even, even2, kEven);
            column_at(2, c) = shuffle(even, even2, kOdd);
            const Reg odd = shuffle(x(0), x(1), kOdd), odd2 = shuffle(x(2), x(3), kOdd);
            column_at(1, c) = shuffle(odd, odd2, kEven);
            column_at(3, c) = shuffle(odd, odd2, kOdd);
        }
    }
    return columns[static_cast<std::size_t>(number)];
}

// Gives a variable a value; if an instruction just made it and nothing else uses it, that instruction writes the variable itself.
void Emitter::assign(Reg to, const Value& v, const Node& node) {
    std::vector<Ins>& code = scopes_[static_cast<std::size_t>(at_)].code;
    if (facts(node).level <= at_ && !code.empty() && consumed(node, v)) {
        Ins& last = code.back();
        const bool makes = last.count > 0 && last.writes_first && last.o[0].kind == Operand::Kind::Register &&
                           last.o[0].reg == v.reg && (last.lanes.id < 0 || last.blends) &&
                           code_.regs[to.id].bytes == code_.regs[v.reg.id].bytes;
        if (makes && !last.reads_first) {
            last.o[0].reg = to;
            return;
        }
        if (makes && code.size() > 1) {
            const Ins& before = code[code.size() - 2];
            if (before.id == kMove && before.o[0].reg == v.reg && before.o[1].reg == to) {
                last.o[0].reg = to;
                code.erase(code.end() - 2);
                return;
            }
        }
    }
    move(to, v.reg);
}

void Emitter::put_lanes(Reg to, const Value& v, DType t, int first, int used) {
    const int lane = stored_lane(t), bytes = width(lane);
    if (wide_ && first == 0) {
        put(lane == 4 ? Id::kIdVmovaps : Id::kIdVmovapd, {vec(to, bytes), vec(v.reg, bytes)}).lanes =
            lane_mask(used, lane);
        return;
    }
    if (!wide_ && first == 0) {
        put(lane == 4 ? Id::kIdVblendps : Id::kIdVblendpd,
            {vec(to, bytes), vec(to, bytes), vec(v.reg, bytes), imm((1 << used) - 1)});
        return;
    }
    const std::int64_t whole = lane_slot(0), part = lane_slot(1);
    put_store(Id::kIdVmovups, {frame(whole, bytes), vec(to, bytes)});
    put_store(Id::kIdVmovups, {frame(part, bytes), vec(v.reg, bytes)});
    for_lanes(used, [&](Reg l) {
        const Reg x = gp_reg();
        const int shift = lane == 8 ? 3 : 2;
        put(Id::kIdMov, {gp(x, lane), frame(part, lane, l, shift)});
        put_store(Id::kIdMov, {frame(whole + first * lane, lane, l, shift), gp(x, lane)});
    });
    put(Id::kIdVmovups, {vec(to, bytes), frame(whole, bytes)});
}

void Emitter::variable_store(const Store& store, const Value& stored) {
    const int b = store.buffer;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const DType t = store.value->dtype;
    const Linear index = linear(*store.index);
    columns_.erase(b);
    const Reg to = variable(b, index.constant / lowered.unit);
    const int at = static_cast<int>(index.constant % lowered.unit);
    if (lowered.form == LoweredBuffer::Scalars) {
        if (!stored.vector) return assign(to, stored, *store.value);
        return move(to, last_lane(stored, t, expanded_.lane_vars.at(facts(*store.value).lane)).reg);
    }
    if (lowered.form == LoweredBuffer::Vectors && index.terms.empty()) {  // one lane of a vector
        Value v = stored;
        if (v.vector) v = last_lane(v, t, expanded_.lane_vars.at(facts(*store.value).lane));
        const int lane = stored_lane(t);
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
    const int used = expanded_.lane_vars.at(facts(*store.index).lane);
    if (covers(lowered, index.constant / lowered.unit, at, used)) assign(to, whole, *store.value);
    else put_lanes(to, whole, t, at, used);
}

}  // namespace weft::backend::x86
