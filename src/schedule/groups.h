// schedule/groups.h: what fuse() knows of a node and of a group of nodes that becomes a kernel, and what it asks of single nodes.
#pragma once

#include "ir/kernel_graph.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace weft::schedule {

struct Group {
    ir::KernelGraph::Kind kind = ir::KernelGraph::Kind::Rows;
    Shape rows, inner;
    std::int64_t row_count = 1, inner_count = 1;
    int level = 1;
    bool contraction = false;
    bool has_dependents = false;  // somebody reads a stored value: the level is fixed
    bool stores_full = false;     // a root is at full level: `inner` is fixed
    int nodes = 0, reduces = 0;
    int again = 0;  // values stored once more, as parts of arrays
    std::unordered_set<const ir::Node*> leaves;
    std::vector<const ir::Node*> stored;
    const ir::Node* anchor = nullptr;
    bool parts = false;  // no kernel: other groups store the parts of the anchor, each in its place
    std::string reason;
};

// Where a value lies that is part of another one.
struct Place {
    const ir::Node* whole = nullptr;
    Dims starts;
    const ir::Node* part = nullptr;  // what was inserted: the value, but for axes of size 1
};

struct Facts {
    int group = -1;     // the group that computes this node; -1: free
    bool full = false;  // in a row group: one element per row and inner position
    int level = 0;      // the highest level this node's value depends on
    int nodes = 0;      // upper bound on the expression nodes of its free cone: views and constants are none
    int cost = 0;       // per element, of its free cone, in additions
    int leaves = 0;     // upper bound on buffers read by its free cone
    int uses = 0;
    int tangles = 0;     // in its free cone: reshapes of axes that were moved before
    bool moved = false;  // … and whether axes were moved since the last of them
};

inline Shape squeezed(const Shape& shape) {
    Shape result;
    for (const std::int64_t size : shape)
        if (size != 1) result.push_back(size);
    return result;
}

// Does the node appear in the kernel's expressions? Views only change indices.
inline bool is_expression(const ir::Node& node) { return !ir::is_movement(node.op) || node.op == ir::Op::Insert; }

inline bool is_free_kind(const ir::Node& node) {
    return ir::is_elementwise(node.op) || node.op == ir::Op::Check || node.op == ir::Op::Gather ||
           node.op == ir::Op::Insert;
}

// Are all stretched axes behind the axes that the source really has? Then element (row, i) of the result is element row.
inline bool expands_trailing(const ir::Node& expand) {
    bool stretched = false;
    for (std::size_t d = 0; d < expand.shape.size(); ++d) {
        const std::int64_t from = expand.source().shape[d], to = expand.shape[d];
        if (from != to) stretched = true;
        else if (from != 1 && stretched) return false;
    }
    return true;
}

// Does the reduce sum exactly over the trailing axes (those of size 1 aside)?
inline bool reduces_trailing(const ir::Node& reduce) {
    bool reduced = false;
    for (std::size_t d = 0; d < reduce.shape.size(); ++d) {
        if (reduce.source().shape[d] != reduce.shape[d]) reduced = true;
        else if (reduce.shape[d] != 1 && reduced) return false;
    }
    return true;
}

}  // namespace weft::schedule
