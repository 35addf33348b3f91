// schedule/arena.h: where the temporaries of a plan lie: one block of memory, shared by lifetime.
#pragma once

#include "schedule/plan.h"

namespace weft::schedule {

void lay_out_arena(Plan& plan);

}  // namespace weft::schedule
