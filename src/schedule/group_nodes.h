// schedule/group_nodes.h: the forward pass of fuse(): which kernel computes which nodes. Emission reads the result and decides nothing.
#pragma once

#include "schedule/concatenate.h"
#include "schedule/groups.h"

namespace weft::schedule {

struct Grouping {
    Groups groups;                                          // every root has a home
    std::unordered_map<const ir::Node*, Subview> subviews;  // what is stored as a part of another value
    std::unordered_map<const ir::Node*, NodeRef> copies;    // nodes of `groups` that are not in the graph
};

Grouping group_nodes(const FusionGraph& graph);  // which must outlive the result

}  // namespace weft::schedule
