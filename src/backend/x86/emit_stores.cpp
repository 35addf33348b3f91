// backend/x86/emit_stores.cpp: how the lanes of a store lie decides which store it is: whole, near each other, or
// scattered.
#include "backend/x86/emit_internal.h"

#include <algorithm>

namespace weft::backend::x86 {

using kernel::Store;

namespace {

// Whether such an index leads to the beginning of a line, if the buffer does.
bool whole_lines(const Linear& index, std::int64_t element) {
    return index.constant * element % 64 == 0 &&
           std::all_of(index.terms.begin(), index.terms.end(),
                       [&](const auto& term) { return term.second * element % 64 == 0; });
}

}  // namespace

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

void Emitter::lane_store(const Store& store, int lane, const Value& stored) {
    const int b = store.buffer;
    const DType t = store.value->dtype;
    const Value v = stored.is_mask ? numbers(stored) : stored;
    if (size_of(t) == 8 && v.lane == 4) throw TooWide();
    const bool is_private = is_lane_array(b);
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
    const int unaligned = new_label(), done = new_label();
    Operand m = at.base;
    m.bytes = static_cast<std::uint8_t>(width(v));
    put_store(Id::kIdTest, {gp(pointer(b), 4), imm(width(v) - 1)});
    put_store(Id::kIdJnz, {label(unaligned)});
    put_stream(v.lane == 4 ? Id::kIdVmovntps : Id::kIdVmovntpd, {m, vec(v.reg, width(v))});
    put_store(Id::kIdJmp, {label(done)});
    bind(unaligned);
    whole_store(t, at.base, v, at.used);
    bind(done);
}

}  // namespace weft::backend::x86
