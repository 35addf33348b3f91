// schedule/simplify.h: the "simplify" arrow: graph in, smaller graph out. Every rule keeps the bits, but for sums that it regroups
// before their order is decided (a split of a long reduction).
#pragma once

#include "ir/rewrite.h"

namespace weft::schedule {

ir::Rewritten simplify(std::span<const ir::NodeRef> roots);

}  // namespace weft::schedule
