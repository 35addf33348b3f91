// backend/x86/emit_internal.h: what the emitter's files share.
#pragma once

#include "backend/x86/emitter.h"

#include <asmjit/x86.h>

namespace weft::backend::x86 {

inline bool is_plain_float(DType t) { return t == DType::F32 || t == DType::F64; }
inline bool is_constant(const ir::Node& node) { return node.op == ir::Op::Const; }

namespace Id = asmjit::x86::Inst;

inline bool fits32(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

enum Predicate { kEq = 0, kLt = 1, kLe = 2 };    // of compare_lanes
inline constexpr int kFloor = 1, kTruncate = 3;  // of a rounding

// Instructions go to this level while the object lives.
struct Emitter::AtLevel {
    AtLevel(Emitter& emitter, int level) : emitter_(emitter), before_(emitter.at_) { emitter.at_ = level; }
    ~AtLevel() { emitter_.at_ = before_; }
    AtLevel(const AtLevel&) = delete;

private:
    Emitter& emitter_;
    const int before_;
};

inline constexpr std::int64_t kLaneSlot = 128;  // a vector, and room to read beyond its end

}  // namespace weft::backend::x86
