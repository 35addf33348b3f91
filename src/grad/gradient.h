// grad/gradient.h: differentiation as a graph transformation: nodes in, nodes out, so the backward pass is simplified,
// fused and scheduled like any other graph, and derivatives of derivatives come for free.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::grad {

using ir::NodeRef;

struct LeafGradient {
    std::uint64_t cell;
    NodeRef gradient;
};

struct Gradients {
    std::vector<NodeRef> targets;      // one per target; null where the output does not depend on it
    std::vector<LeafGradient> leaves;  // one per cell, in the order in which the reverse walk first meets them
};

// Calls back when the whole gradient of a node is known; what it returns is noted and handed on instead.
struct Hook {
    NodeRef node;
    std::function<NodeRef(const NodeRef& gradient)> call;
};

// What to differentiate for. A target may be any node: the gradient is noted there and flows on. At a Leaf it stops.
struct Wanted {
    std::span<const NodeRef> targets = {};
    bool leaves = false;  // collect for every Leaf that the output depends on
    std::span<const Hook> hooks = {};
};

// Where the walk starts. `seed` is d(loss)/d(node), of the node's shape and dtype; null stands for ones.
struct Start {
    NodeRef node, seed;
};

// The one reverse walk, from all outputs at once: of d(sum of outputs · seeds). Where an
// output depends on a target but every derivative on the way is zero (trunc), the gradient is zeros, not null.
// Throws GradError for an output that is no float and for a Custom without a derivative. Rules run without the graph
// lock: a user's own may wait for other locks.
Gradients differentiate(std::span<const Start> outputs, const Wanted& wanted);

std::vector<NodeRef> gradient(const NodeRef& output, std::span<const NodeRef> targets, const NodeRef& seed = nullptr);
std::vector<LeafGradient> leaf_gradients(const NodeRef& output, const NodeRef& seed = nullptr);

}  // namespace weft::grad
