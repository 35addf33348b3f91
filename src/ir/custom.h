// ir/custom.h: what WithGrad and Custom nodes carry: a derivative of their own, and a C++ function as an op.
#pragma once

#include "core/cpu.h"
#include "ir/node.h"

#include <functional>
#include <memory>
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

// One run of a Custom function: dense sources to read, dense results to write.
struct CustomCall {
    const Node& node;
    std::span<const void* const> sources;
    std::span<void* const> results;
    // Calls f(0) … f(count - 1), each once, on all threads; between calls an interrupt may end it. Subnormals are flushed inside.
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& f)> for_each;
    CpuLevel level = CpuLevel::Baseline;  // instructions that it may use

    template <class T>
    const T* source(std::size_t i) const {
        return static_cast<const T*>(sources[i]);
    }
    template <class T>
    T* result(std::size_t i) const {
        return static_cast<T*>(results[i]);
    }
};

// A plan step of its own. The same code serves every backend. Equal name, parameters and results mean the same function: what it does
// may depend on these and on the call's node (the shapes of its sources), and on nothing else.
struct CustomFunction {
    std::string name;
    std::string parameters;                        // whatever else decides the results
    std::vector<std::pair<DType, Shape>> results;  // what PART(i) picks from
    std::function<void(const CustomCall& call)> run;
    // The gradients of the sources, given that of one result: `out` is the Custom, or the Part of several. Empty: not differentiable.
    std::function<Grads(const NodeRef& out, const NodeRef& gradient)> gradient;
};

// The function of this name, parameters and results that is in use already, or this one: so that equal calls are equal nodes, and
// the plan made for one serves the next.
std::shared_ptr<const CustomFunction> shared(CustomFunction function);

}  // namespace weft::ir
