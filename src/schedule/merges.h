// schedule/merges.h: sorted runs, merged as ordinary ops. Each element of a merged row finds by itself which element of the two runs it is: element d is
// one of those behind the first d, of which i are the first run's and d - i the second's. i is the least for which a[i] comes after b[d - 1 - i], so it is
// found by halving. Nothing is written out of order, and no two threads write one place.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <functional>

namespace weft::schedule {

// i32 or i64 positions: the first one in [low, high) of which `is_before` does not hold, or high. No interval is wider than `widest`.
ir::NodeRef first_not_before(ir::NodeRef low, ir::NodeRef high, std::int64_t widest,
                             const std::function<ir::NodeRef(const ir::NodeRef& at)>& is_before);

// The last axis of `key` consists of sorted runs of `run` elements (a power of two), the last of which may be shorter. `position` is where its elements
// were, and becomes where those of the sorted row were; both i32 of fewer than 2^30 elements.
ir::NodeRef merge_runs(ir::NodeRef key, ir::NodeRef position, std::int64_t run);

}  // namespace weft::schedule
