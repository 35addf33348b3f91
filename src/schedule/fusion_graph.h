// schedule/fusion_graph.h: what fuse() knows of a graph before it groups nodes. Nothing here changes afterwards.
#pragma once

#include "ir/node.h"
#include "schedule/boxes.h"
#include "schedule/fuse.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft::schedule {

struct FusionGraph {
    std::span<const NodeRef> roots;
    std::vector<const ir::Node*> order;  // sources first
    std::unordered_map<const ir::Node*, std::size_t> position;
    std::vector<int> uses;  // by position
    std::unordered_set<const ir::Node*> is_root;
    std::unordered_set<const ir::Node*>
        factors;  // expansions and casts that the contractions make, whose factors they are
    std::unordered_map<const ir::Node*, std::vector<Part>> parts;  // of concatenated arrays, by their topmost Insert
    std::unordered_set<const ir::Node*> inner_inserts;             // the other Inserts of such an array
    std::unordered_set<const ir::Node*> read_by_custom;            // must be dense
    std::unordered_map<const ir::Node*, const ir::Node*> written;  // memory of which a root is a box
    std::unordered_map<const ir::Node*, Dims> box_strides;         // of these roots

    int uses_of(const ir::Node& node) const { return uses[position.at(&node)]; }
};

FusionGraph inspect_graph(std::span<const NodeRef> roots, const RootBoxes& boxes);

// The sources of a node; those of a concatenated array are all its parts.
InlineVector<const ir::Node*, 3> operands_of(const FusionGraph& graph, const ir::Node& node);

}  // namespace weft::schedule
