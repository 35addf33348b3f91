// grad/rules.h: the table of derivatives, one row per op.
#pragma once

#include "ir/custom.h"

namespace weft::grad {

// Given out and g = d(loss)/d(out), the gradient of each source. Null for a float source says "depends, with derivative
// zero", except in a user's rule (WithGrad, Custom), where it says that nothing flows.
using Rule = ir::Grads (*)(const ir::NodeRef& out, const ir::NodeRef& g);

Rule rule_of(ir::Op op);  // null: no gradient passes this op

}  // namespace weft::grad
