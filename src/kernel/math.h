// kernel/math.h: exp, log, sin … as kernel expressions: range reduction and a polynomial, the same bits on every backend.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

// The expression for a maths op (OpKind::Math, or Pow or Mod on floats) on f32 or f64 operands, made of exact ops only.
NodeRef expand_math(const Kernel& kernel, ir::Op op, const NodeRef& x, const NodeRef& y = nullptr);

// The same for ThreefryX and ThreefryY: of the counter's words and the key. Both words of one counter share all but the last addition.
NodeRef expand_threefry(const Kernel& kernel, ir::Op op, const NodeRef& low, const NodeRef& high, const NodeRef& key);

}  // namespace weft::kernel
