// backend/x86/builder.cpp: instructions go to the list of their level; constants stand before all of them.
#include "backend/x86/builder.h"

#include "backend/x86/instructions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace weft::backend::x86 {

namespace {

constexpr std::int64_t kLaneSlot = 128;  // a vector, and room to read beyond its end

}  // namespace

Builder::Builder(bool wide, int lanes) : wide_(wide), lanes_(lanes), levels_(1) { code_.frame_bytes = kFrameFree; }

Code Builder::finish() {
    code_.list = std::move(before_);
    code_.list.insert(code_.list.end(), levels_.front().begin(), levels_.front().end());
    return std::move(code_);
}

// ---- levels ---------------------------------------------------------------------------------------------------------

void Builder::open_level() { levels_.emplace_back().reserve(64); }

std::vector<Ins> Builder::close_level() {
    std::vector<Ins> code = std::move(levels_.back());
    levels_.pop_back();
    return code;
}

void Builder::append(std::vector<Ins> code) {
    std::vector<Ins>& to = instructions();
    to.insert(to.end(), std::make_move_iterator(code.begin()), std::make_move_iterator(code.end()));
}

// ---- instructions ---------------------------------------------------------------------------------------------------

Ins& Builder::put(std::uint32_t id, std::initializer_list<Operand> operands) {
    Ins& ins = instructions().emplace_back();
    ins.id = id;
    for (const Operand& o : operands) ins.o[ins.count++] = o;
    return ins;
}

Ins& Builder::arithmetic(std::uint32_t id, int element, std::initializer_list<Operand> operands) {
    Ins& ins = put(id, operands);
    ins.element = static_cast<std::uint8_t>(element);
    return ins;
}

void Builder::put_store(std::uint32_t id, std::initializer_list<Operand> operands) {
    put(id, operands).writes_first = false;
}

void Builder::put_stream(std::uint32_t id, std::initializer_list<Operand> operands) {
    code_.streams = true;
    put_store(id, operands);
}

void Builder::put_call(const void* argument) {
    code_.calls = true;
    put_store(kCall, {imm(reinterpret_cast<std::int64_t>(argument))});
}

void Builder::move(Reg to, Reg from) {
    const int bytes = to.id >= 0 ? code_.regs[to.id].bytes : 8;
    put(kMove, {gp(to, bytes), gp(from, bytes)});
}

void Builder::bind(int number) { put_store(kBind, {label(number)}); }

// An instruction that changes its first operand does so too if that is a copy of `to`, made just before.
bool Builder::redirect(Reg from, Reg to) {
    std::vector<Ins>& code = instructions();
    if (code.empty()) return false;
    Ins& last = code.back();
    const bool makes = last.count > 0 && last.writes_first && last.o[0].kind == Operand::Kind::Register &&
                       last.o[0].reg == from && (last.lanes.id < 0 || last.blends) &&
                       info(to).bytes == info(from).bytes;
    if (!makes) return false;
    if (!last.reads_first) {
        last.o[0].reg = to;
        return true;
    }
    if (code.size() == 1) return false;
    const Ins& before = code[code.size() - 2];
    if (before.id != kMove || !(before.o[0].reg == from) || !(before.o[1].reg == to)) return false;
    last.o[0].reg = to;
    code.erase(code.end() - 2);
    return true;
}

// ---- the frame ------------------------------------------------------------------------------------------------------

std::int64_t Builder::frame_space(std::int64_t bytes) {
    const std::int64_t at = code_.frame_bytes;
    code_.frame_bytes += (bytes + 63) / 64 * 64;
    return at;
}

std::int64_t Builder::lane_slot(int number) {
    if (lane_slot_ < 0) lane_slot_ = frame_space(3 * kLaneSlot);
    return lane_slot_ + number * kLaneSlot;
}

// ---- constants: made before all loops; see kConstant ----------------------------------------------------------------

std::int32_t Builder::pool_bytes(const void* data, std::size_t size) {
    std::size_t at = (code_.constants.size() + size - 1) / size * size;
    code_.constants.resize(at + size);
    std::memcpy(code_.constants.data() + at, data, size);
    return static_cast<std::int32_t>(at);
}

Reg Builder::constant(std::vector<std::int64_t> key, Class cls, int bytes, const void* data, int size) {
    const auto [found, fresh] = constants_.try_emplace(std::move(key));
    if (!fresh) return found->second;
    const Reg r = code_.make(cls, bytes);
    RegInfo& info = code_.regs[r.id];
    info.constant = true;
    if (cls == Class::Mask) std::memcpy(&info.pool_offset, data, 4);
    else {
        info.pool_bytes = static_cast<std::uint8_t>(size);
        if (size) info.pool_offset = pool_bytes(data, static_cast<std::size_t>(size));
    }
    const AtLevel level(*this, kBefore);
    put(kConstant, {gp(r, bytes)});
    return found->second = r;
}

Reg Builder::constant_vector(Word bits, int lane_bytes, int bytes) {
    if (lane_bytes == 4) bits &= 0xffffffff;
    if (!wide_ && bits) {  // whole, since AVX2 has no operands that are broadcast from memory
        const Word both = lane_bytes == 4 ? bits << 32 | bits : bits;
        const std::array<Word, 4> whole{both, both, both, both};
        return constant({0, static_cast<std::int64_t>(bits), lane_bytes, bytes}, Class::Vec, bytes, whole.data(),
                        bytes);
    }
    return constant({0, static_cast<std::int64_t>(bits), lane_bytes, bytes}, Class::Vec, bytes, &bits,
                    bits ? lane_bytes : 0);
}

Reg Builder::constant_lanes(const std::vector<std::int64_t>& lanes, int lane_bytes) {
    std::vector<std::int64_t> key = lanes;
    key.push_back(lane_bytes);
    key.push_back(1);
    std::byte data[64] = {};
    for (std::size_t i = 0; i < lanes.size(); ++i)
        std::memcpy(data + i * static_cast<std::size_t>(lane_bytes), &lanes[i], static_cast<std::size_t>(lane_bytes));
    const int bytes = width(lane_bytes);
    return constant(std::move(key), Class::Vec, bytes, data, bytes);
}

Reg Builder::lane_numbers(int lane_bytes) {
    std::vector<std::int64_t> lanes;
    for (int l = 0; l < lanes_; ++l) lanes.push_back(l);
    return constant_lanes(lanes, lane_bytes);
}

Reg Builder::lane_mask(int used, int lane_bytes) {
    if (wide_) return constant_mask((1u << used) - 1);
    std::vector<std::int64_t> ones(static_cast<std::size_t>(lanes_), 0);
    std::fill(ones.begin(), ones.begin() + used, -1);
    return constant_lanes(ones, lane_bytes);
}

Reg Builder::constant_mask(std::uint32_t lanes) { return constant({2, lanes}, Class::Mask, 8, &lanes, 4); }

Reg Builder::constant_gp(std::int64_t number) {
    const Reg r = gp_reg();
    put(Id::kIdMov, {gp(r), imm(number)});
    return r;
}

}  // namespace weft::backend::x86
