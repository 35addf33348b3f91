// schedule/fuse.h: the "schedule" arrow: a simplified graph becomes kernels.
#pragma once

#include "ir/kernel_graph.h"
#include "ir/node.h"

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::schedule {

using ir::NodeRef;

// One kernel of a schedule. Its KernelGraph has its own slot numbers; `inputs[slot]` says what each Param is bound to: a leaf of
// the graph (a Param of the plan) or the value of another kernel's output.
struct ScheduledKernel {
    ir::KernelGraph graph;
    std::vector<NodeRef> values;    // per param: the plan's Param node, or the stored node
    std::vector<int> scalar_slots;  // per kernel scalar: the plan's ScalarParam slot
    NodeRef custom;                 // not null: this step is a Custom function instead of a kernel
    bool contraction = false;
    bool checks = false;  // contains a Check: may raise
};

// A value that lies inside another one's memory: concatenated arrays are written by the kernels that compute them.
struct PlacedValue {
    NodeRef value, whole;
    std::int64_t offset = 0;  // of its first element in the whole, in elements
    Dims strides;             // of its axes
};

struct Schedule {
    std::vector<ScheduledKernel> kernels;  // in run order
    std::vector<PlacedValue> placed;       // a whole comes before what lies in it
    // Slices of stored values that kernels read as arrays of their own: so the steps of a loop over slices are one kernel. `value` is a
    // stand-in that nobody computes.
    std::vector<PlacedValue> slices;
};

// A root that is stored as a box of memory that is there, by the Insert that it belongs to. Where the box begins is known only when the
// plan runs, so who reads the Insert reads that memory afterwards, and nobody computes it.
struct RootBox {
    NodeRef insert;
    Dims strides;
    friend bool operator==(const RootBox&, const RootBox&) = default;
};
using RootBoxes = std::unordered_map<const ir::Node*, RootBox>;

// In: roots, no two equal, none a leaf. Out: every root is an output of exactly one kernel, or is all that was placed in it.
Schedule fuse(std::span<const NodeRef> roots, const RootBoxes& boxes = {});

}  // namespace weft::schedule
