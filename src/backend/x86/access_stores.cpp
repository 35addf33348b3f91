// backend/x86/access_stores.cpp: stores of scalars and of lanes: whole vectors, parts of them, scatters, and lane by
// lane.
#include "backend/x86/accesses.h"

#include "backend/x86/instructions.h"

#include <array>

namespace weft::backend::x86 {

void Accesses::scalar_store(DType t, const Operand& to, const Value& v) {
    Operand m = to;
    m.bytes = static_cast<std::uint8_t>(size_of(t));
    if (t == DType::F32) put_store(Id::kIdVmovss, {m, vec(v.reg, 16)});
    else if (t == DType::F64) put_store(Id::kIdVmovsd, {m, vec(v.reg, 16)});
    else put_store(Id::kIdMov, {m, gp(v.reg, static_cast<int>(size_of(t)))});
}

void Accesses::whole_store(DType t, const Operand& to, const Value& v, int used) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane;
    if (element < 4 && !wide_ && used == lanes_) return packed_store(to, v, element);
    if (element < 4 && !wide_) return lane_by_lane_store(t, {plain(to), lanes_in(lane_numbers(4), 4), used}, v);
    if (!wide_ && used < lanes_) return short_store(to, v, used * element);
    masked_store(t, to, v, used_mask(used, lane, nullptr));
}

// AVX2: the first bytes of a vector, in pieces. A store under a mask may take as long as ten of them.
void Accesses::short_store(Operand to, const Value& v, int bytes) {
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
void Accesses::packed_store(Operand to, const Value& v, int element) {
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

void Accesses::masked_store(DType t, Operand to, const Value& v, Reg lanes) {
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

void Accesses::scatter(DType t, const Lanes& at, const Value& v) {
    const int element = static_cast<int>(size_of(t)), lane = v.lane;
    if (element < 4 || !wide_) return lane_by_lane_store(t, at, v);
    const Operand m = lane_addresses(at, element);
    const std::uint32_t id = at.index.lane == 4 ? (lane == 4 ? Id::kIdVscatterdps : Id::kIdVscatterdpd)
                                                : (lane == 4 ? Id::kIdVscatterqps : Id::kIdVscatterqpd);
    const Reg lanes = mask_reg();
    move(lanes, lane_mask(at.used, lane));
    Ins& ins = put(id, {m, vec(v.reg, width(lane))});
    ins.writes_first = false;
    ins.lanes = lanes;
    put_store(kKeep, {mask(lanes)});
}

void Accesses::lane_by_lane_store(DType t, const Lanes& at, const Value& v) {
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

void Accesses::put_lanes(Reg to, const Value& v, DType t, int first, int used) {
    const int lane = lane_bytes(t), bytes = width(lane);
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

}  // namespace weft::backend::x86
