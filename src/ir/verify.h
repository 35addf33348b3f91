// ir/verify.h: the rules of a well-formed tensor graph. Every stage that rewrites nodes checks its result here.
#pragma once

#include "ir/node.h"

#include <span>
#include <string>
#include <string_view>

namespace weft::ir {

// Throws InternalError with the stage's name and the offending node's line.
void verify_graph(std::span<const NodeRef> roots, std::string_view after);

// What is wrong with one node, seen with its sources; empty if nothing is.
std::string problem_of(const Node& node);

// Whether an elementwise op computes on operands of this dtype. Halves are computed in f32, so only Where, Cast and
// Bitcast, which do no arithmetic, take them.
bool accepts(Op op, DType operand);

}  // namespace weft::ir
