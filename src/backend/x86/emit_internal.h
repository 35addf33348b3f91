// backend/x86/emit_internal.h: what the emitter's files share.
#pragma once

#include "backend/x86/emitter.h"
#include "backend/x86/instructions.h"

namespace weft::backend::x86 {

inline bool is_constant(const ir::Node& node) { return node.op == ir::Op::Const; }

}  // namespace weft::backend::x86
