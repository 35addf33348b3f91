// pipeline/pipeline.h: the one way from cells to the compiler: computes a set of nodes in one plan.
#pragma once

#include "ir/node.h"
#include "pipeline/plan_cache.h"
#include "schedule/capture.h"

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::pipeline {

class Observer;

using NodeRefs = InlineVector<ir::NodeRef, 4>;  // most runs compute one value, and allocate nothing for it

struct Request {
    NodeRefs roots;                 // what to compute; repeats allowed
    schedule::Donatable donatable;  // only what no reference is left to after the run; empty: nothing is donated
    std::vector<ir::NodeRef>
        keep;          // below these, values that the plan stores anyway are handed back, for a gradient to use
    bool wait = true;  // else a device may tell of a failed check later: nobody reads what is computed now
    std::vector<ir::NodeRef>
        before;  // without `wait`, of the first roots: the Buffers that they take the place of, or null
};

struct Result {
    NodeRefs values;                                        // a Buffer per root
    std::vector<std::pair<ir::NodeRef, ir::NodeRef>> kept;  // node of the requested graph, Buffer with its value
};

// Computes a request in place of the compiler: the oracle that tests compare it with. Empty: the compiler.
using Evaluator = std::function<Result(const Request&)>;
void replace_evaluator(Evaluator evaluator);

// The Buffer that a node is whose ops only view memory; null for others, and for all where an oracle evaluates: it follows views by itself.
ir::NodeRef viewed_memory(const ir::NodeRef& node);

// Throws what a user may see (IndexError of a Check, MemoryError, BackendError, Interrupted); then nothing has changed.
// The caller holds the run lock, and the graph lock once, by `graph`: it is let go while kernels run.
Result evaluate(const Request& request, std::unique_lock<std::recursive_mutex>& graph);

// The same for one whose values are all on this device: one run of one plan.
Result evaluate_on(std::uint8_t device, const Request& request, std::unique_lock<std::recursive_mutex>& graph);

TargetRef target_of(std::uint8_t device);  // what code for it is made for now

// The plan of a captured graph, from the cache or made: simplify → fuse → plan → lower → optimise → compile. The caller holds the graph lock,
// and `graph` gives it back while kernels are compiled.
std::shared_ptr<const CachedPlan> plan_for(const schedule::Captured& captured, TargetRef target,
                                           std::unique_lock<std::recursive_mutex>& graph);

// … up to plan: kernels are not compiled.
schedule::Plan make_plan(const schedule::Captured& captured, std::vector<int> run_time_constants, const Target& target,
                         const schedule::PlanOptions& options);

}  // namespace weft::pipeline
