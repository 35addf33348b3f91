// ir/custom.h: what WithGrad and Custom nodes carry: a derivative of their own, and a C++ function as an op.
#pragma once

#include "ir/node.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::ir {

using Grads = std::vector<NodeRef>;  // one gradient per source, null where none flows

// Given the WithGrad node and d(loss)/d(node), the gradients of sources[1…]; sources[0] is the value and gets none.
struct GradRuleObject {
    std::string name;
    std::function<Grads(const NodeRef& out, const NodeRef& gradient)> rule;

    // Several results with one derivative: each is a WithGrad that is a `part` of its only input, a WithGrad with a `joint`. That one
    // gets the gradients of all parts at once, null where none has arrived, and gives those of its own sources[1…].
    std::function<Grads(const NodeRef& joint, std::span<const NodeRef> gradients)> joint = {};
    int part = -1, parts = 0;

    // Sees the gradient that has arrived at the node, and may replace it, before it is noted and handed on.
    std::function<NodeRef(const NodeRef& gradient)> hook = {};
};

// A plan step of its own: reads dense sources, writes one dense result. The same code serves every backend.
struct CustomFunction {
    std::string name;
    std::function<void(const Node& node, const void* const* sources, void* const* results)> run;
    std::function<Grads(const NodeRef& out, const NodeRef& gradient)> gradient;  // empty: not differentiable
    std::vector<std::pair<DType, Shape>> results;                                // what PART(i) picks from
};

}  // namespace weft::ir
