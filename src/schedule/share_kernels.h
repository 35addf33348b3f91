// schedule/share_kernels.h: kernels of a plan that differ in nothing but numbers become one kernel, which takes the numbers as scalars: a
// loop that was recorded whole, and whose steps have constants of their own, compiles one step.
#pragma once

#include "schedule/plan.h"

namespace weft::schedule {

// `scalars`: how many the plan has so far; its literals come after those.
void share_kernels(Plan& plan, int scalars);

}  // namespace weft::schedule
