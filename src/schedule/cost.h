// schedule/cost.h: how long a plan may take, roughly: within a factor of three of what two threads of a common processor need.
#pragma once

#include "schedule/plan.h"

namespace weft::schedule {

// From the first step that writes donated memory to the end: a run cannot be interrupted there.
double seconds_after_donation(const Plan& plan);

}  // namespace weft::schedule
