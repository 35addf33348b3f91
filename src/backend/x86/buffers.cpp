// backend/x86/buffers.cpp: pointers are read before all loops, arrays of the function's own have their places in the
// frame.
#include "backend/x86/buffers.h"

#include "backend/x86/instructions.h"

#include <algorithm>

namespace weft::backend::x86 {

Buffers::Buffers(const kernel::Kernel& kernel, Expanded expanded, bool wide)
    : Arithmetic(wide, expanded.lanes ? expanded.lanes : 4),
      kernel_(kernel),
      expanded_(std::move(expanded)),
      pointers_(kernel.buffers.size()),
      frame_places_(kernel.buffers.size(), -1) {
    for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
        const LoweredBuffer& lowered = expanded_.buffers[b];
        if (!lowered.used || (lowered.form != LoweredBuffer::Array && lowered.form != LoweredBuffer::LaneArray))
            continue;
        const std::int64_t copies = lowered.form == LoweredBuffer::LaneArray ? lanes_
                                    : lowered.lane_var >= 0                  ? lowered.unit
                                                                             : 1;
        const auto element = static_cast<std::int64_t>(size_of(kernel.buffers[b].dtype));
        frame_places_[b] = frame_space(std::max<std::int64_t>(1, kernel.buffers[b].size) * copies * element);
    }
}

bool Buffers::in_scratch(int b) const {
    return kernel_.buffers[b].role == kernel::Buffer::Role::Local && frame_places_[static_cast<std::size_t>(b)] < 0;
}

bool Buffers::is_lane_array(int b) const { return expanded_.buffers[b].form == LoweredBuffer::LaneArray; }

// Scratch locals share one pointer; their places are offsets from it.
Reg Buffers::pointer(int b) {
    const bool scratch = in_scratch(b);
    if (scratch)
        for (std::size_t other = 0; other < pointers_.size(); ++other)
            if (pointers_[other].id >= 0 && in_scratch(static_cast<int>(other))) return pointers_[b] = pointers_[other];
    if (pointers_[b].id >= 0) return pointers_[b];
    const AtLevel level(*this, kBefore);
    const Reg r = gp_reg();
    if (frame_places_[b] >= 0) put(Id::kIdLea, {gp(r), frame(frame_places_[b])});
    else if (scratch) put(Id::kIdMov, {gp(r), frame(kArgScratch, 8)});
    else {
        put(Id::kIdMov, {gp(r), frame(kArgBuffers, 8)});
        put(Id::kIdMov, {gp(r), memory(r, 8 * b, 8)});
    }
    return pointers_[b] = r;
}

bool Buffers::in_variables(int b) const {
    const LoweredBuffer::Form form = expanded_.buffers[b].form;
    return form == LoweredBuffer::Scalars || form == LoweredBuffer::Vectors || form == LoweredBuffer::LaneVectors;
}

Reg Buffers::variable(int b, std::int64_t number) {
    const auto [found, fresh] = variables_.try_emplace({b, number});
    if (fresh) {
        const DType t = kernel_.buffers[b].dtype;
        if (expanded_.buffers[b].form == LoweredBuffer::Scalars)
            found->second = is_plain_float(t) ? vec_reg(16) : gp_reg();
        else found->second = vec_reg(width(lane_bytes(t)));
    }
    return found->second;
}

// A block's columns, from all its rows at once: first elements change places within 16 bytes, then pieces of 16 bytes
// do.
Reg Buffers::column(int b, std::int64_t number) {
    std::vector<Reg>& columns = columns_[b];
    if (!columns.empty()) return columns[static_cast<std::size_t>(number)];
    const int lane = lane_bytes(kernel_.buffers[b].dtype), bytes = width(lane), across = 16 / lane, groups = bytes / 16;
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

}  // namespace weft::backend::x86
