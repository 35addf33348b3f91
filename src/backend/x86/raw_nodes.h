// backend/x86/raw_nodes.h: the expressions whose very bits can be seen: something other than arithmetic uses them.
// Arithmetic and comparisons take a subnormal for zero, so of what only they use either will do.
#pragma once

#include "kernel/kernel.h"

#include <unordered_set>

namespace weft::backend::x86 {

std::unordered_set<const ir::Node*> raw_nodes(const kernel::Body& body);

}  // namespace weft::backend::x86
