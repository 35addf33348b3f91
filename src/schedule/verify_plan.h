// schedule/verify_plan.h: what every plan must keep, so that a run computes each value from the right memory:
// - Places: what a step may touch of a value lies inside its memory: the arena, its whole, the leaf, or memory of its own.
// - Reads: a step reads leaves that nobody has written yet, and values that earlier steps have written, all parts of them.
// - Writes: each value is written by one step at most. Parts of one whole that steps write have no element in common.
// - Reuse: temporaries that are alive at the same time, from their first use to their last, lie in different parts of the arena.
// - Donation: a donated leaf is donatable, is dense, shares its storage with no other leaf, is as large as what is stored there, and
//   is given away once. It is no output, and no step reads it after the step that writes it; that step reads it through the parameter
//   that it writes, or not at all (kernel/verify.h proves the order inside the kernel). No step that may raise comes with it or later.
// - Outputs: each has the shape and type that was asked for, and outputs that are different values have different memory, which
//   outlives the run.
#pragma once

#include "schedule/plan.h"

#include <span>

namespace weft::schedule {

// Throws InternalError. `roots`: per output, the simplified graph's node.
void verify_plan(const Plan& plan, const Captured& captured, std::span<const NodeRef> roots);

}  // namespace weft::schedule
