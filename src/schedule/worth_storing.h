// schedule/worth_storing.h: the one rule of what a run stores for later besides what it was asked for. The fuser decides by the same
// numbers what is computed again in each kernel that reads it.
#pragma once

#include "ir/node.h"

#include <vector>

namespace weft::schedule {

inline constexpr int kCheapRecompute =
    40;  // per element, in additions: cheaper values are computed again by who uses them

// Is this node computed by a kernel of its own kind, whose result cannot be had for the price of a load: a reduction, a product, a scan, a
// scatter, a function on whole arrays, a copy?
bool is_barrier(const ir::Node& node);

// What to store so that `value`, which somebody may read later, is cheap to compute then:
//   the value itself, if it is a barrier, is expensive, or stands on barriers;
//   the barriers below it, if it is cheap and they are less than half of its bytes (x - x.mean());
//   nothing, if it is cheap to compute from memory. Views count as what they look at.
// The caller holds the graph lock.
std::vector<const ir::Node*> worth_storing(const ir::Node& value);

}  // namespace weft::schedule
