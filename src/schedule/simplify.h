// schedule/simplify.h: the rules of the "simplify" arrow (schedule/simplified_graph.h). Every rule keeps the bits, but for sums that it
// regroups before their order is decided (a split of a long reduction).
#pragma once

#include "ir/rewrite.h"

namespace weft::schedule {

ir::Rewritten simplify(std::span<const ir::NodeRef> roots);

}  // namespace weft::schedule
