// backend/x86/emit_windows.cpp: loads and stores of lanes that lie near each other at distances known now: every second element, each
// element twice, an axis reversed. They are a few whole loads (or stores) and permutations, several times faster than a gather, and also
// serve elements of 1 and 2 bytes, for which there is no gather.
#include "backend/x86/emit_internal.h"

#include "core/checked.h"

#include <algorithm>
#include <functional>

namespace weft::backend::x86 {

namespace {

constexpr std::int64_t kMostWindows = 4;  // loads; a gather of 16 elements takes as long as ten of them or more

}  // namespace

// How far each lane is from `base`, which becomes the index without the lane's part; empty if that is not constant.
std::vector<std::int64_t> Emitter::lane_offsets(const Node& index, int lane, Linear& base) {
    base = linear(index);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(lanes_), 0);
    const auto used = static_cast<std::size_t>(used_lanes(lane));
    for (const auto& [node, by] : base.terms) {
        if (facts(*node).lane < 0) continue;
        if (facts(*node).buffers) return {};
        for (std::size_t l = 0; l < used; ++l) {
            const NodeRef at =
                kernel::substitute(kernel_, NodeRef(node), {{lane, kernel_.index(static_cast<std::int64_t>(l))}});
            if (at->op != Op::Const) return {};
            offsets[l] += by * static_cast<std::int64_t>(at->as<ir::ConstArg>().value);
        }
    }
    std::fill(offsets.begin() + static_cast<std::ptrdiff_t>(used), offsets.end(), offsets[0]);
    std::erase_if(base.terms, [&](const auto& term) { return facts(*term.first).lane >= 0; });
    return offsets;
}

// All elements between the lowest and the highest lane's are the buffer's, so windows lie within these two. Under a gate that holds
// for open lanes only: a window is loaded under a mask of the elements that they want.
Value Emitter::window_load(DType t, int buffer, const Node& index, int lane, const Node* gate,
                           std::span<const Reg> same) {
    const int element = static_cast<int>(size_of(t)), bytes = lane_bytes(t);
    if (width(bytes) < 32 || (gate && !wide_ && element != 4)) return {};
    Linear base;
    std::vector<std::int64_t> offsets = lane_offsets(index, lane, base);
    if (offsets.empty()) return {};
    const auto used = offsets.begin() + used_lanes(lane);
    if (gate && std::adjacent_find(offsets.begin(), used, std::greater_equal<>()) != used) return {};
    const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
    const std::int64_t lowest = *low, span = *high - lowest + 1;
    if (span > kMostWindows * lanes_ || (span < lanes_ && element < 4 && !wide_)) return {};
    base.constant += lowest;
    for (std::int64_t& offset : offsets) offset -= lowest;

    const Operand first = address(buffer, base, element);
    if (!fits32(first.value + span * element)) return {};
    std::vector<std::int64_t> places(offsets.size(), -1);  // of the lanes, in two windows, concatenated
    std::vector<bool> done(offsets.size(), false);
    Value result;
    Value half;  // the even window of a pair
    const auto finish = [&](const Value& even, const Value* odd) {
        const Value pair = permuted(even, odd, places);
        std::vector<bool> mine;
        for (const std::int64_t place : places) mine.push_back(place >= 0);
        result = result.vector ? blended(result, pair, mine) : pair;
        std::fill(places.begin(), places.end(), -1);
        half = {};
    };
    for (std::int64_t w = 0; w < ceil_div(span, std::int64_t{lanes_}); ++w) {
        const std::int64_t start = std::clamp<std::int64_t>(span - lanes_, 0, w * lanes_);
        const bool odd = half.vector;
        bool any = false;
        std::uint64_t wanted = 0;  // elements of this window
        std::size_t lowest_lane = offsets.size();
        for (std::size_t l = 0; l < offsets.size(); ++l) {
            if (done[l] || offsets[l] >= start + lanes_) continue;
            places[l] = offsets[l] - start + (odd ? lanes_ : 0);
            wanted |= std::uint64_t{1} << (offsets[l] - start);
            lowest_lane = std::min(lowest_lane, l);
            any = done[l] = true;
        }
        if (!any) continue;
        Operand from = first;
        from.value += start * element;
        Value open;
        if (gate) open = window_gate(*gate, static_cast<int>(lowest_lane), wanted);
        const Value window =
            whole_load(t, from, static_cast<int>(std::min<std::int64_t>(span, lanes_)), gate ? &open : nullptr, same);
        if (odd) finish(half, &window);
        else half = window;
    }
    if (half.vector) finish(half, nullptr);
    return result;
}

// The elements of a window that open lanes want, from the lane `first` on, in the lanes' order. It is known where the gate is.
Value Emitter::window_gate(const Node& gate, int first, std::uint64_t wanted) {
    const AtLevel level(*this, level_of(gate));
    const Value mask_value = vector_value(gate), result = new_mask();
    if (!wide_) {
        std::vector<std::int64_t> lanes, ones;
        for (int e = 0; e < lanes_; ++e) {
            const bool is_wanted = wanted >> e & 1;
            lanes.push_back(is_wanted ? first++ : 0);
            ones.push_back(-is_wanted);
        }
        const Reg moved = vec_reg(32);
        put(Id::kIdVpermd, {vec(moved, 32), vec(constant_lanes(lanes, 4), 32), vec(mask_for(mask_value, 4), 32)});
        put(Id::kIdVpand, {vec(result.reg, 32), vec(moved, 32), vec(constant_lanes(ones, 4), 32)});
        return result;
    }
    const Reg open = gp_reg(), pattern = gp_reg(), elements = gp_reg();
    put(Id::kIdKmovd, {gp(open, 4), mask(mask_for(mask_value, 4))});
    if (first > 0) put(Id::kIdShr, {gp(open, 4), imm(first)}).reads_first = true;
    put(Id::kIdMov, {gp(pattern), imm(static_cast<std::int64_t>(wanted))});
    put(Id::kIdPdep, {gp(elements), gp(open), gp(pattern)});
    put(Id::kIdKmovd, {mask(result.reg), gp(elements, 4)});
    return result;
}

// Lanes are moved to where they lie in each window, which is stored under a mask.
bool Emitter::window_store(DType t, int buffer, const Node& index, int lane, const Value& v) {
    const int element = static_cast<int>(size_of(t));
    if (!wide_ || width(v) < 32) return false;
    Linear base;
    std::vector<std::int64_t> offsets = lane_offsets(index, lane, base);
    if (offsets.empty()) return false;
    offsets.resize(static_cast<std::size_t>(used_lanes(lane)));
    if (std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>()) != offsets.end()) return false;
    const std::int64_t first = offsets.front(), span = offsets.back() - first + 1;
    if (span > kMostWindows * lanes_) return false;
    base.constant += first;
    Operand to = address(buffer, base, element);
    if (!fits32(to.value + span * element)) return false;
    for (std::int64_t start = 0; start < span; start += lanes_, to.value += lanes_ * element) {
        std::vector<std::int64_t> places(static_cast<std::size_t>(lanes_), -1);
        std::uint32_t wanted = 0;
        for (std::size_t l = 0; l < offsets.size(); ++l) {
            const std::int64_t at = offsets[l] - first - start;
            if (at < 0 || at >= lanes_) continue;
            places[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(l);
            wanted |= 1u << at;
        }
        if (wanted) masked_store(t, to, permuted(v, nullptr, places), constant_mask(wanted));
    }
    return true;
}

}  // namespace weft::backend::x86
