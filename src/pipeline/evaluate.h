// pipeline/evaluate.h: the one door from cells to the compiler: computes a set of nodes in one plan.
#pragma once

#include "ir/node.h"
#include "schedule/capture.h"

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::pipeline {

struct Request {
    std::vector<ir::NodeRef> roots;  // what to compute; repeats allowed
    schedule::Dies dies;             // only what no reference is left to after the run; empty: nothing is donated
    std::vector<ir::NodeRef>
        keep;  // below these, values that the plan stores anyway are handed back, for a gradient to use
};

struct Result {
    std::vector<ir::NodeRef> values;                        // a Buffer per root
    std::vector<std::pair<ir::NodeRef, ir::NodeRef>> kept;  // node of the requested graph, Buffer with its value
};

// Computes a request in place of the compiler: the oracle that tests compare it with. Empty: the compiler.
using Evaluator = std::function<Result(const Request&)>;
void replace_evaluator(Evaluator evaluator);

// Throws what a user may see (IndexError of a Check, MemoryError, BackendError, Interrupted); then nothing has changed.
// The caller holds the run lock, and the graph lock once, by `graph`: it is let go while kernels run.
Result evaluate(const Request& request, std::unique_lock<std::recursive_mutex>& graph);

}  // namespace weft::pipeline
