// ir/custom.h: what WithGrad and Custom nodes carry: a derivative of their own, and a C++ function as an op.
#pragma once

#include "ir/node.h"

#include <functional>
#include <string>
#include <vector>

namespace weft::ir {

using Grads = std::vector<NodeRef>;  // one gradient per source, null where none flows

// Given the WithGrad node and d(loss)/d(node), the gradients of sources[1…]; sources[0] is the value and gets none.
struct GradRuleObject {
    std::string name;
    std::function<Grads(const NodeRef& out, const NodeRef& gradient)> rule;
};

// A plan step of its own: reads dense sources, writes one dense result. The same code serves every backend.
struct CustomFunction {
    std::string name;
    std::function<void(const Node& node, const void* const* sources, void* const* results)> run;
    std::function<Grads(const NodeRef& out, const NodeRef& gradient)> gradient;  // empty: not differentiable
    std::vector<std::pair<DType, Shape>> results;                                // what PART(i) picks from
};

}  // namespace weft::ir
