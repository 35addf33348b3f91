// pipeline/plan_cache.h: finds the plan of a captured graph, or makes it. The whole key is compared. A constant that arrives with
// a second value becomes a scalar of the plan, which then serves all later values.
#pragma once

#include "pipeline/programs.h"
#include "schedule/capture.h"
#include "schedule/plan.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weft::pipeline {

struct CachedPlan {
    schedule::Plan plan;
    std::vector<std::shared_ptr<const Compiled>> kernels;  // per step; null for custom functions
    std::size_t scratch_bytes = 0;                         // that any of them needs, per thread
    std::vector<std::uint64_t> key;
    TargetRef target;
    std::vector<Word> constants;
};

// The caller holds the graph lock, and `graph` gives it back while kernels are compiled.
std::shared_ptr<const CachedPlan> find_plan(const schedule::Captured& captured, const TargetRef& target,
                                            std::unique_lock<std::recursive_mutex>& graph);

void clear_plan_cache();

}  // namespace weft::pipeline
