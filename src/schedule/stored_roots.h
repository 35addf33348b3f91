// schedule/stored_roots.h: the "fuse" arrow: what each output of a graph is stored as, and the kernels that store it.
#pragma once

#include "schedule/box_leaves.h"
#include "schedule/capture.h"
#include "schedule/fuse.h"
#include "schedule/plan.h"

#include <unordered_map>
#include <vector>

namespace weft::schedule {

struct StoredRoots {
    struct Output {
        NodeRef node;   // what is stored for it; or a Param, which is there already
        int leaf = -1;  // a box in this leaf's memory (x[i] = v), of the Insert `insert`
        NodeRef insert;
        int first_constant = -1;  // where it begins: constants[first_constant …], one per axis
    };
    std::vector<Output> outputs;  // of the graph, in its order
    std::vector<NodeRef> nodes;   // what kernels must store: no two equal
    RootBoxes boxes;
};

StoredRoots choose_stored_roots(const Captured& captured, const SimplifiedGraph& graph, const PlanOptions& options);

struct FusedGraph {
    StoredRoots roots;
    Schedule kernels;
};

// `before` is empty, or the same graph's for other options: its kernels are taken where the roots are stored as there. Without boxes they are.
FusedGraph fused(const Captured& captured, const SimplifiedGraph& graph, const PlanOptions& options,
                 FusedGraph before = {});

}  // namespace weft::schedule
