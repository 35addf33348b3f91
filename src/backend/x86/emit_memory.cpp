// backend/x86/emit_memory.cpp: addresses, loads and stores. Along the lanes an index has stride 1 (a vector), another stride or
// none at all (a gather); locals in variables need no memory.
#include "backend/x86/emit_internal.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::backend::x86 {

using kernel::Buffer;
using kernel::Store;

// ---- addresses -------------------------------------------------------------------------------------------------------

// Scratch locals share one pointer; their places are offsets from it.
Reg Emitter::pointer(int b) {
    const Buffer& buffer = kernel_.buffers[b];
    const bool scratch = buffer.role == Buffer::Role::Local && stack_arrays_[b] < 0;
    if (scratch)
        for (std::size_t other = 0; other < pointers_.size(); ++other)
            if (pointers_[other].id >= 0 && kernel_.buffers[other].role == Buffer::Role::Local &&
                stack_arrays_[other] < 0)
                return pointers_[b] = pointers_[other];
    if (pointers_[b].id >= 0) return pointers_[b];
    const AtLevel level(*this, kBefore);
    const Reg r = gp_reg();
    if (stack_arrays_[b] >= 0) put(Id::kIdLea, {gp(r), frame(stack_arrays_[b])});
    else if (scratch) put(Id::kIdMov, {gp(r), frame(kArgScratch, 8)});
    else {
        put(Id::kIdMov, {gp(r), frame(kArgBuffers, 8)});
        put(Id::kIdMov, {gp(r), memory(r, 8 * b, 8)});
    }
    return pointers_[b] = r;
}

// The buffer's pointer plus terms (in bytes): a register per level, where the terms of that level are known.
Reg Emitter::address_sum(int b, std::span<const std::pair<const Node*, std::int64_t>> terms) {
    if (terms.empty()) return pointer(b);
    const auto level_at = [&](std::size_t i) { return terms[i].first ? level_of(*terms[i].first) : 0; };
    const int level = level_at(terms.size() - 1);
    std::size_t first = terms.size() - 1;
    while (first > 0 && level_at(first - 1) == level) --first;
    std::pair<int, std::vector<std::pair<const Node*, std::int64_t>>> key(b, {terms.begin(), terms.end()});
    if (const bool scratch = kernel_.buffers[b].role == Buffer::Role::Local && stack_arrays_[b] < 0; scratch)
        key.first = -1;
    Scope& scope = scopes_[static_cast<std::size_t>(level)];
    if (const auto found = scope.addresses.find(key); found != scope.addresses.end()) return found->second;
    const Reg before = address_sum(b, terms.first(first));
    const AtLevel at(*this, level);
    Reg sum = before;
    for (std::size_t i = first; i < terms.size(); ++i) {
        const auto [node, by] = terms[i];
        const Reg next = gp_reg();
        if (!node) {
            put(Id::kIdMov, {gp(next), imm(by)});
            put(Id::kIdAdd, {gp(next), gp(sum)}).reads_first = true;
        } else if (const Reg x = value(*node).reg; by == 1 || by == 2 || by == 4 || by == 8)
            put(Id::kIdLea, {gp(next), memory(sum, 0, 0, x, by == 8 ? 3 : static_cast<int>(by) / 2)});
        else {
            if (fits32(by)) put(Id::kIdImul, {gp(next), gp(x), imm(by)});
            else {
                put(Id::kIdMov, {gp(next), imm(by)});
                put(Id::kIdImul, {gp(next), gp(x)}).reads_first = true;
            }
            put(Id::kIdAdd, {gp(next), gp(sum)}).reads_first = true;
        }
        sum = next;
    }
    for (const auto& term : terms)
        if (term.first) loading_addresses_ |= facts(*term.first).buffers;
    scopes_[static_cast<std::size_t>(level)].addresses.emplace(std::move(key), sum);
    return sum;
}

Reg Emitter::induction(Scope& scope, std::int64_t unit) {
    if (unit == 1) return scope.var;
    for (const auto& [known, r] : scope.inductions)
        if (known == unit) return r;
    scope.inductions.emplace_back(unit, gp_reg());
    return scope.inductions.back().second;
}

Operand Emitter::address(int b, const Node& index, int element) {
    Linear sum = linear(index);
    if (const Place& place = expanded_.places[b]; place.lane_var >= 0) {  // element [index][lane]
        for (auto& term : sum.terms) term.second *= place.unit;
        sum.constant *= place.unit;
        Operand at = plain(address(b, sum, element));
        const Reg lane = scopes_[static_cast<std::size_t>(placement_.depth_of(place.lane_var))].var;
        at.index = lane;
        at.shift = static_cast<std::uint8_t>(element == 8 ? 3 : element / 2);
        return at;
    }
    return address(b, sum, element);
}

Operand Emitter::address(int b, Linear sum, int element) {
    for (auto& term : sum.terms) term.second *= element;
    std::int64_t offset = sum.constant * element;
    const bool local = kernel_.buffers[b].role == Buffer::Role::Local;
    if (local && stack_arrays_[b] < 0) offset += kernel_.buffers[b].scratch_offset;
    const auto at = [&](Reg base, Reg index = kNone, int shift = 0) {
        Operand result = memory(base, offset, element, index, shift);
        result.local = local;
        return result;
    };
    std::stable_sort(sum.terms.begin(), sum.terms.end(), [&](const auto& x, const auto& y) {
        const int a = level_of(*x.first), c = level_of(*y.first);
        if (a != c) return a < c;
        // A loop's own counter last: it becomes the index register.
        return x.first->op != Op::LoopVar && y.first->op == Op::LoopVar;
    });
    if (!fits32(offset)) {
        sum.terms.insert(sum.terms.begin(), {nullptr, offset});
        offset = 0;
    }
    if (sum.terms.empty() || !sum.terms.back().first) return at(address_sum(b, sum.terms));
    const auto [node, by] = sum.terms.back();
    const std::span<const std::pair<const Node*, std::int64_t>> others(sum.terms.data(), sum.terms.size() - 1);
    const auto shift_of = [](std::int64_t unit) { return unit == 8 ? 3 : static_cast<int>(unit) / 2; };
    if (by == 1 || by == 2 || by == 4 || by == 8) {
        const Reg index = value(*node).reg;
        return at(address_sum(b, others), index, shift_of(by));
    }
    if (node->op == Op::LoopVar && fits32(by) && level_of(*node) == innermost() && by > 0) {
        std::int64_t scale = 1;
        while (scale < 8 && by % (2 * scale) == 0) scale *= 2;
        const Reg base = address_sum(b, others);
        return at(base, induction(scopes_.back(), by / scale), shift_of(scale));
    }
    return at(address_sum(b, sum.terms));
}

Operand Emitter::plain(const Operand& at) {
    if (at.index == kNone) return at;
    const Reg r = gp_reg();
    Operand whole = at;
    whole.bytes = 0;
    put(Id::kIdLea, {gp(r), whole});
    Operand result = memory(r, 0, at.bytes);
    result.local = at.local;
    return result;
}

Emitter::LaneIndex Emitter::lane_index(const Node& index, int lane) {
    LaneIndex result{true, 0, linear(index)};
    for (const auto& [node, by] : result.base.terms) {
        if (node->op == Op::LoopVar && node->as<ir::LoopArg>().id == lane) result.stride = by;
        else if (facts(*node).lane >= 0) return {};
    }
    std::erase_if(result.base.terms, [&](const auto& term) {
        return term.first->op == Op::LoopVar && term.first->template as<ir::LoopArg>().id == lane;
    });
    return result;
}

bool Emitter::whole_lines(const Linear& index, std::int64_t element) const {
    return index.constant * element % 64 == 0 &&
           std::all_of(index.terms.begin(), index.terms.end(),
                       [&](const auto& term) { return term.second * element % 64 == 0; });
}

// ---- scalars ---------------------------------------------------------------------------------------------------------

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

void Emitter::scalar_store(DType t, const Operand& to, const Value& v) {
    Operand m = to;
    m.bytes = static_cast<std::uint8_t>(size_of(t));
    if (t == DType::F32) put_store(Id::kIdVmovss, {m, vec(v.reg, 16)});
    else if (t == DType::F64) put_store(Id::kIdVmovsd, {m, vec(v.reg, 16)});
    else put_store(Id::kIdMov, {m, gp(v.reg, static_cast<int>(size_of(t)))});
}

// ---- loads -----------------------------------------------------------------------------------------------------------

Value Emitter::load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer;
    if (in_variables(b)) return variable_load(node);
    if (facts(node).lane >= 0) return lane_load(node);
    const Node* gate = node.sources.size() > 1 ? &node.source(1) : nullptr;
    if (gate) value(*gate);  // before the address: both may be emitted here
    return scalar_load(node.dtype, address(b, node.source(0), static_cast<int>(size_of(node.dtype))), gate);
}

// Into the second cache: much is read until it is wanted, and would drive it out of the first. Once for the parts of a line.
void Emitter::prefetch(const Node& load) {
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

Emitter::Lanes Emitter::lanes_at(int b, const Node& index, int lane, bool is_private) {
    const int element = static_cast<int>(size_of(kernel_.buffers[b].dtype));
    const int used = expanded_.lane_vars.at(lane);
    LaneIndex at = lane_index(index, lane);
    if (is_private && at.affine) {  // element [index][lane]
        for (auto& term : at.base.terms) term.second *= lanes_;
        at.base.constant *= lanes_;
        at.stride = at.stride * lanes_ + 1;
    }
    if (at.affine && at.stride == 1) return {address(b, at.base, element), {}, used};
    if (at.affine) {
        std::vector<std::int64_t> offsets;
        for (int l = 0; l < lanes_; ++l) offsets.push_back(l < used ? l * at.stride : 0);
        const bool small = fits32(offsets[static_cast<std::size_t>(used) - 1]);
        const int bytes = small ? 4 : lane_bytes(DType::I64);
        Value v{constant_lanes(offsets, bytes), true, false, static_cast<std::int8_t>(bytes)};
        return {plain(address(b, at.base, element)), v, used};
    }
    Value v = vector_value(index);
    if (is_private) {
        const Value scaled = new_vector(v.lane), own = new_vector(v.lane);
        std::vector<std::int64_t> lanes;
        for (int l = 0; l < lanes_; ++l) lanes.push_back(l);
        const int bits = lanes_ == 16 ? 4 : lanes_ == 8 ? 3 : 2;
        put(v.lane == 4 ? Id::kIdVpslld : Id::kIdVpsllq, {vec(scaled.reg, width(v)), vec(v.reg, width(v)), imm(bits)});
        put(v.lane == 4 ? Id::kIdVpaddd : Id::kIdVpaddq,
            {vec(own.reg, width(v)), vec(scaled.reg, width(v)), vec(constant_lanes(lanes, v.lane), width(v))});
        v = own;
    }
    return {address(b, Linear{}, element), v, used};
}

Value Emitter::lane_load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer, lane = facts(node).lane;
    const DType t = node.dtype;
    const bool is_private = expanded_.places[b].form == Place::LaneArray;
    Value gate;
    if (node.sources.size() > 1) gate = vector_value(node.source(1));
    const Value* open = gate.vector ? &gate : nullptr;
    std::vector<Reg> same;  // for all lanes: parts of the gate that stand or fall together
    if (open) uniform_parts(node.source(1), same);
    if (const LaneIndex at = lane_index(node.source(0), lane); !is_private && !(at.affine && at.stride == 1))
        if (const Value found = window_load(t, b, node.source(0), lane, open ? &node.source(1) : nullptr, same);
            found.vector)
            return is_bool(t) ? truth_of(found) : found;
    const Lanes at = lanes_at(b, node.source(0), lane, is_private);
    const Value numbers = at.index.vector ? gather(t, at, open) : whole_load(t, at.base, at.used, open, same);
    return is_bool(t) ? truth_of(numbers) : numbers;
}

std::optional<Operand> Emitter::whole_lanes(int b, const Node& index, int lane) {
    if (lane < 0 || in_variables(b) || expanded_.places[b].form == Place::LaneArray) return {};
    const LaneIndex at = lane_index(index, lane);
    if (!at.affine || at.stride != 1 || expanded_.lane_vars.at(lane) != lanes_) return {};
    const int element = static_cast<int>(size_of(kernel_.buffers[b].dtype));
    Operand m = address(b, at.base, element);
    m.bytes = static_cast<std::uint8_t>(element * lanes_);
    return m;
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

bool Emitter::half_store(const Store& store) {
    const Node& cast = *store.value;
    if (cast.dtype != DType::F16 || cast.op != Op::Cast || cast.source().dtype != DType::F32) return false;
    if (facts(*store.index).lane < 0) return false;
    const Value v = vector_value(cast.source());
    const auto to = whole_lanes(store.buffer, *store.index, facts(*store.index).lane);
    if (!to) return false;
    put_store(Id::kIdVcvtps2ph, {*to, vec(v.reg, width(4)), imm(0)});
    return true;
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
    Operand m = plain(at.base);
    m.index = at.index.reg;
    m.shift = element == 8 ? 3 : 2;
    m.bytes = 0;
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

// ---- stores ----------------------------------------------------------------------------------------------------------

void Emitter::lane_store(const Store& store, int lane, const Value& stored) {
    const int b = store.buffer;
    const DType t = store.value->dtype;
    const Value v = stored.truth ? numbers(stored) : stored;
    if (size_of(t) == 8 && v.lane == 4) throw TooWide();
    const bool is_private = expanded_.places[b].form == Place::LaneArray;
    if (const LaneIndex at = lane_index(*store.index, lane); !is_private && !(at.affine && at.stride == 1))
        if (window_store(t, b, *store.index, lane, v)) return;
    const Lanes at = lanes_at(b, *store.index, lane, is_private);
    if (at.index.vector) return scatter(t, at, v);
    const bool stream =
        kernel_.buffers[b].stream && at.used == lanes_ && lanes_ * static_cast<int>(size_of(t)) >= 32 &&
        size_of(t) >= 4 &&
        whole_lines(lane_index(*store.index, lane).base,
                    static_cast<std::int64_t>(size_of(t)) * (64 / (lanes_ * static_cast<int>(size_of(t)))));
    if (!stream) return whole_store(t, at.base, v, at.used);
    // A memory's start may be anywhere; the branch always goes the same way.
    code_.streams = true;
    const int unaligned = new_label(), done = new_label();
    Operand m = at.base;
    m.bytes = static_cast<std::uint8_t>(width(v));
    put_store(Id::kIdTest, {gp(pointer(b), 4), imm(width(v) - 1)});
    put_store(Id::kIdJnz, {label(unaligned)});
    put_store(v.lane == 4 ? Id::kIdVmovntps : Id::kIdVmovntpd, {m, vec(v.reg, width(v))});
    put_store(Id::kIdJmp, {label(done)});
    bind(unaligned);
    whole_store(t, at.base, v, at.used);
    bind(done);
}

void Emitter::whole_store(DType t, const Operand& to, const Value& v, int used) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane;
    if (element < 4 && !wide_ && used == lanes_) return packed_store(to, v, element);
    if (element < 4 && !wide_) {
        std::vector<std::int64_t> lanes;
        for (int l = 0; l < lanes_; ++l) lanes.push_back(l);
        return lane_by_lane_store(t, {plain(to), {constant_lanes(lanes, 4), true, false, 4}, used}, v);
    }
    if (!wide_ && used < lanes_) return short_store(to, v, used * element);
    masked_store(t, to, v, used_mask(used, lane, nullptr));
}

// AVX2: the first bytes of a vector, in pieces. A store under a mask may take as long as ten of them.
void Emitter::short_store(Operand to, const Value& v, int bytes) {
    Reg part = v.reg;
    const auto piece = [&](std::uint32_t id, int size) {
        to.bytes = static_cast<std::uint8_t>(size);
        put_store(id, {to, vec(part, 16)});
        to.value += size;
        bytes -= size;
    };
    if (bytes >= 16) {
        piece(Id::kIdVmovups, 16);
        if (!bytes) return;
        part = vec_reg(16);
        put(Id::kIdVextracti128, {vec(part, 16), vec(v.reg, 32), imm(1)});
    }
    const bool three = bytes == 12;
    if (bytes >= 8) piece(Id::kIdVmovq, 8);
    if (!bytes) return;
    if (!three) return piece(Id::kIdVmovd, 4);
    to.bytes = 4;
    put_store(Id::kIdVpextrd, {to, vec(part, 16), imm(2)});
}

// AVX2: the low 1 or 2 bytes of all lanes, brought together within each half of the register, then from both.
void Emitter::packed_store(Operand to, const Value& v, int element) {
    const int bytes = width(4), each = 4 * element;
    std::array<std::int8_t, 32> places;
    for (int i = 0; i < 32; ++i)
        places[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(i % 16 < each ? i % 16 / element * 4 + i % element : -1);
    const Reg near = vec_reg(bytes);
    put(Id::kIdVpshufb, {vec(near, bytes), vec(v.reg, bytes),
                         vec(constant({6, element, bytes}, Class::Vec, bytes, places.data(), bytes), bytes)});
    Reg whole = near;
    if (bytes == 32) {
        const Reg upper = vec_reg(16);
        put(Id::kIdVextracti128, {vec(upper, 16), vec(near, 32), imm(1)});
        put(element == 1 ? Id::kIdVpunpckldq : Id::kIdVpunpcklqdq,
            {vec(whole = vec_reg(16), 16), vec(near, 16), vec(upper, 16)});
    }
    to.bytes = static_cast<std::uint8_t>(element * lanes_);
    const std::uint32_t ids[] = {Id::kIdVmovd, Id::kIdVmovq, Id::kIdVmovups};
    put_store(ids[to.bytes / 8], {to, vec(whole, 16)});
}

// kNone: all lanes.
void Emitter::masked_store(DType t, Operand to, const Value& v, Reg lanes) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane;
    const Operand x = vec(v.reg, width(lane));
    to.bytes = static_cast<std::uint8_t>(element * lanes_);
    if (!wide_ && lanes.id >= 0)
        return put_store(lane == 4 ? Id::kIdVpmaskmovd : Id::kIdVpmaskmovq, {to, vec(lanes, width(lane)), x});
    std::uint32_t id = lane == 4 ? Id::kIdVmovups : Id::kIdVmovupd;
    if (element == 1) id = Id::kIdVpmovdb;
    if (element == 2) id = Id::kIdVpmovdw;
    Ins& ins = put(id, {to, x});
    ins.writes_first = false;
    ins.lanes = lanes;
}

void Emitter::scatter(DType t, const Lanes& at, const Value& v) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane;
    if (element < 4 || !wide_) return lane_by_lane_store(t, at, v);
    Operand m = plain(at.base);
    m.index = at.index.reg;
    m.shift = element == 8 ? 3 : 2;
    m.bytes = 0;
    const std::uint32_t id = at.index.lane == 4 ? (lane == 4 ? Id::kIdVscatterdps : Id::kIdVscatterdpd)
                                                : (lane == 4 ? Id::kIdVscatterqps : Id::kIdVscatterqpd);
    const Reg lanes = mask_reg();
    move(lanes, lane_mask(at.used, lane));
    Ins& ins = put(id, {m, vec(v.reg, width(lane))});
    ins.writes_first = false;
    ins.lanes = lanes;
    put_store(kKeep, {mask(lanes)});
}

void Emitter::lane_by_lane_store(DType t, const Lanes& at, const Value& v) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane, shift = lane == 8 ? 3 : 2;
    const std::int64_t indices = lane_slot(0), values = lane_slot(1);
    const Operand base = plain(at.base);
    put_store(Id::kIdVmovups, {frame(indices, width(at.index)), vec(at.index.reg, width(at.index))});
    put_store(Id::kIdVmovups, {frame(values, width(lane)), vec(v.reg, width(lane))});
    for_lanes(at.used, [&](Reg l) {
        const Reg i = gp_reg(), x = gp_reg();
        if (at.index.lane == 4) put(Id::kIdMovsxd, {gp(i), frame(indices, 4, l, 2)});
        else put(Id::kIdMov, {gp(i), frame(indices, 8, l, 3)});
        put(Id::kIdMov, {gp(x, lane), frame(values, lane, l, shift)});
        Operand m = base;
        m.index = i;
        m.shift = static_cast<std::uint8_t>(element == 8 ? 3 : element / 2);
        m.bytes = static_cast<std::uint8_t>(element);
        put_store(Id::kIdMov, {m, gp(x, element)});
    });
}

// ---- variables -------------------------------------------------------------------------------------------------------

bool Emitter::in_variables(int buffer) const {
    const Place::Form form = expanded_.places[static_cast<std::size_t>(buffer)].form;
    return form == Place::Scalars || form == Place::Vectors || form == Place::LaneVectors;
}

Reg Emitter::variable(int b, std::int64_t number) {
    const auto [found, fresh] = variables_.try_emplace({b, number});
    if (fresh) {
        const DType t = kernel_.buffers[b].dtype;
        if (expanded_.places[b].form == Place::Scalars)
            found->second = is_float(t) && !is_half(t) ? vec_reg(16) : gp_reg();
        else found->second = vec_reg(width(stored_lane(t)));
    }
    return found->second;
}

Value Emitter::one_lane(const Value& stored, DType t, int lane) {
    const Value v = stored.truth ? numbers(stored) : stored;
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
    const Place& place = expanded_.places[b];
    const DType t = node.dtype;
    Value result;
    const Linear index = linear(node.source(0));
    if (place.transposed) {
        result = {column(b, index.constant), true, false, static_cast<std::int8_t>(stored_lane(t))};
        return is_bool(t) ? truth_of(result) : result;
    }
    const Reg r = variable(b, index.constant / place.unit);
    if (place.form == Place::Scalars) result = {r};
    else {
        result = {r, true, false, static_cast<std::int8_t>(stored_lane(t))};
        const int at = static_cast<int>(index.constant % place.unit);
        if (place.form == Place::Vectors && index.terms.empty()) result = one_lane(result, t, at);
        else if (at) result = upper_lanes(result, at);
        if (result.vector && is_bool(t)) result = truth_of(result);
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
    const Place& place = expanded_.places[b];
    const DType t = store.value->dtype;
    const Linear index = linear(*store.index);
    columns_.erase(b);
    const Reg to = variable(b, index.constant / place.unit);
    const int at = static_cast<int>(index.constant % place.unit);
    if (place.form == Place::Scalars) {
        if (!stored.vector) return assign(to, stored, *store.value);
        return move(to, last_lane(stored, t, expanded_.lane_vars.at(facts(*store.value).lane)).reg);
    }
    if (place.form == Place::Vectors && index.terms.empty()) {  // one lane of a vector
        Value v = stored;
        if (v.vector) v = last_lane(v, t, expanded_.lane_vars.at(facts(*store.value).lane));
        const int lane = stored_lane(t);
        const bool floats = is_float(t) && !is_half(t);
        const bool alone = covers(place, index.constant / place.unit, at, 1);
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
    const Value v = vector_value(*store.value), whole = v.truth ? numbers(v) : v;
    if (size_of(t) == 8 && whole.lane == 4) throw TooWide();
    if (place.form == Place::LaneVectors) return assign(to, whole, *store.value);
    const int used = expanded_.lane_vars.at(facts(*store.index).lane);
    if (covers(place, index.constant / place.unit, at, used)) assign(to, whole, *store.value);
    else put_lanes(to, whole, t, at, used);
}

}  // namespace weft::backend::x86
