// runtime/evaluate.h: the one door from cells to the compiler: computes a set of nodes in one plan.
#pragma once

#include "ir/node.h"

#include <functional>
#include <utility>
#include <vector>

namespace weft::runtime {

struct Request {
    std::vector<ir::NodeRef> roots;  // what to compute; repeats allowed
    // May an output take this storage over? Only if no reference to it is left after the run. Null: nothing is donated.
    std::function<bool(const ir::Storage&)> dies;
    bool keep = false;  // also hand back intermediate values that the plan stores anyway, for a gradient to use
};

struct Result {
    std::vector<ir::NodeRef> values;                        // a Buffer per root
    std::vector<std::pair<ir::NodeRef, ir::NodeRef>> kept;  // node of the requested graph, Buffer with its value
};

// Throws what a user may see (IndexError of a Check, MemoryError, BackendError, Interrupted); then nothing has changed.
// The caller holds the run lock and not the graph lock.
Result evaluate(const Request& request);

}  // namespace weft::runtime
