// inspect/provenance.h: from the kernels of a plan back to the calls that they came from. Plans are shared by all runs with equal keys, so a plan
// has no calls: it has items of the captured graph, and each run knows who made its items.
#pragma once

#include "ir/origins.h"
#include "pipeline/plan_cache.h"
#include "schedule/capture.h"

#include <string>
#include <vector>

namespace weft::inspect {

// Of one plan: which items of the captured graph each step computes, and which one each value is.
struct PlanItems {
    std::vector<std::vector<int>> steps;  // ascending, so sources before users
    std::vector<int> values;              // per value of the plan; -1: none
};

// The stages run once more and hand each node's origin on: they are pure functions, so they come by the very nodes of the plan. The caller holds
// the graph lock.
PlanItems items_of(const schedule::Captured& captured, const pipeline::CachedPlan& plan);

// Of one run: the calls behind each item.
using ItemOrigins = std::vector<ir::OriginIds>;
ItemOrigins origins_of_items(const schedule::Captured& captured);

// The calls behind a step, in the program's order. Those of views and constants only where there are no others.
ir::OriginIds origins_of_step(const PlanItems& items, const schedule::Captured& captured, const ItemOrigins& origins,
                              std::size_t step);

std::vector<std::string> places_of(const schedule::Plan& plan, const schedule::PlanStep& step);
std::vector<std::string> reasons_to_store(const schedule::Plan& plan, const schedule::PlanStep& step);
std::vector<std::string> ops_behind(std::span<const ir::OriginId> origins);    // "linear", "grad relu": each once
std::vector<std::string> lines_behind(std::span<const ir::OriginId> origins);  // "train.py:12": each once

// "linear+relu 128×784×128", from the calls; without them from the kernel's own ops.
std::string name_of_step(const schedule::PlanStep& step, std::span<const ir::OriginId> origins);

}  // namespace weft::inspect
