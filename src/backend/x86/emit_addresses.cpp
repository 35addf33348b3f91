// backend/x86/emit_addresses.cpp: sums of index terms at the outermost level where they are known, and the places of lanes.
// Along the lanes an index has stride 1 (a vector), another stride or none at all (a gather).
#include "backend/x86/emit_internal.h"

#include <algorithm>

namespace weft::backend::x86 {

// The buffer's pointer plus terms (in bytes): a register per level, where the terms of that level are known.
Reg Emitter::address_sum(int b, std::span<const std::pair<const Node*, std::int64_t>> terms) {
    if (terms.empty()) return pointer(b);
    const auto level_at = [&](std::size_t i) { return terms[i].first ? level_of(*terms[i].first) : 0; };
    const int level = level_at(terms.size() - 1);
    std::size_t first = terms.size() - 1;
    while (first > 0 && level_at(first - 1) == level) --first;
    AddressSum key(in_scratch(b) ? -1 : b, {terms.begin(), terms.end()});
    if (const Reg* found = known_.find_address(level, key)) return *found;
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
    std::uint64_t loads_from = 0;
    for (const auto& term : terms)
        if (term.first) loads_from |= facts(*term.first).buffers;
    known_.remember_address(level, std::move(key), sum, loads_from);
    return sum;
}

Reg Emitter::induction(std::int64_t unit) {
    LoopRegs& loop = loops_.back();
    if (unit == 1) return loop.counter;
    for (const auto& [known, r] : loop.inductions)
        if (known == unit) return r;
    loop.inductions.emplace_back(unit, gp_reg());
    return loop.inductions.back().second;
}

Operand Emitter::address(int b, const Node& index, int element) {
    Linear sum = linear(index);
    if (const LoweredBuffer& lowered = expanded_.buffers[b]; lowered.lane_var >= 0) {  // element [index][lane]
        for (auto& term : sum.terms) term.second *= lowered.unit;
        sum.constant *= lowered.unit;
        Operand at = plain(address(b, sum, element));
        const Reg lane = loops_[static_cast<std::size_t>(placement_.depth_of(lowered.lane_var))].counter;
        at.index = lane;
        at.shift = static_cast<std::uint8_t>(element == 8 ? 3 : element / 2);
        return at;
    }
    return address(b, sum, element);
}

Operand Emitter::address(int b, Linear sum, int element) {
    for (auto& term : sum.terms) term.second *= element;
    std::int64_t offset = sum.constant * element;
    const bool local = kernel_.buffers[b].role == kernel::Buffer::Role::Local;
    if (in_scratch(b)) offset += kernel_.buffers[b].scratch_offset;
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
        return at(base, induction(by / scale), shift_of(scale));
    }
    return at(address_sum(b, sum.terms));
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

Lanes Emitter::lanes_at(int b, const Node& index, int lane, bool is_private) {
    const int element = element_bytes(b), used = used_lanes(lane);
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
        const Value v = lanes_in(constant_lanes(offsets, bytes), bytes);
        return {plain(address(b, at.base, element)), v, used};
    }
    Value v = vector_value(index);
    if (is_private) {
        const Value scaled = new_vector(v.lane), own = new_vector(v.lane);
        const int bits = lanes_ == 16 ? 4 : lanes_ == 8 ? 3 : 2;
        put(v.lane == 4 ? Id::kIdVpslld : Id::kIdVpsllq, {vec(scaled.reg, width(v)), vec(v.reg, width(v)), imm(bits)});
        put(v.lane == 4 ? Id::kIdVpaddd : Id::kIdVpaddq,
            {vec(own.reg, width(v)), vec(scaled.reg, width(v)), vec(lane_numbers(v.lane), width(v))});
        v = own;
    }
    return {address(b, Linear{}, element), v, used};
}

std::optional<Operand> Emitter::whole_lanes(int b, const Node& index, int lane) {
    if (lane < 0 || in_variables(b) || is_lane_array(b)) return {};
    const LaneIndex at = lane_index(index, lane);
    if (!at.affine || at.stride != 1 || used_lanes(lane) != lanes_) return {};
    const int element = element_bytes(b);
    Operand m = address(b, at.base, element);
    m.bytes = static_cast<std::uint8_t>(element * lanes_);
    return m;
}

}  // namespace weft::backend::x86
