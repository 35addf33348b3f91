// pipeline/plan_cache.h: finds the plan of a captured graph. The whole key is compared. A constant that arrives with
// a second value becomes a scalar of the plan, which then serves all later values.
#pragma once

#include "backend/device.h"
#include "ir/custom.h"
#include "pipeline/programs.h"
#include "schedule/capture.h"
#include "schedule/plan.h"

#include <map>
#include <memory>
#include <vector>

namespace weft::pipeline {

struct CachedPlan {
    schedule::Plan plan;
    std::vector<std::shared_ptr<const Compiled>> kernels;  // per step; null for custom functions
    std::size_t scratch_bytes = 0;                         // that any of them needs, per thread
    std::vector<std::uint64_t> key;
    std::vector<std::shared_ptr<const ir::CustomFunction>>
        functions;  // named by the key, by address: also those that no step runs
    TargetRef target = nullptr;
    std::vector<Word> constants;
    mutable std::map<std::uint8_t, std::unique_ptr<device::PlanState>> states;  // by device; under the run lock
};

// All under the graph lock.
struct Found {
    std::shared_ptr<const CachedPlan> plan;  // null: there is none, and …
    std::vector<int> run_time_constants;     // … these constants differ from those of plans that are equal otherwise
};
Found find_plan(const schedule::Captured& captured, TargetRef target);
void keep_plan(const std::shared_ptr<const CachedPlan>& made);
void clear_plan_cache();

}  // namespace weft::pipeline
