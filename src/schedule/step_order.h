// schedule/step_order.h: in which order the steps of a plan run.
#pragma once

#include "schedule/plan.h"

#include <unordered_map>
#include <vector>

namespace weft::schedule {

// How values lie in each other: what a reader of one waits for.
struct Nesting {
    std::unordered_map<int, std::vector<int>> parts;  // of a value that has no kernel of its own: what lies in it
    std::unordered_map<int, int> slice_of;            // of a slice: the value that it reads
};

// Each step directly before the first that needs it: values between them live as briefly as they can, which is what blocks are for. The order
// in which steps are made, level by level, has the most to run in parallel.
void run_depth_first(Plan& plan, const Nesting& nesting);

// A run can be interrupted until it first writes donated memory: those steps come as late as their readers allow. They overtake no
// other step, so whoever reads what they overwrite still comes before them.
void write_donated_last(Plan& plan, const Nesting& nesting);

}  // namespace weft::schedule
