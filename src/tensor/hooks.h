// tensor/hooks.h: what is called when a gradient has been built. A leaf's hooks are its cell's. Those of a computed tensor stand in the
// graph, in a WithGrad around its value, so that they live as long as somebody was computed from it; only where that came first are
// they the cell's, too.
#pragma once

#include "ir/node.h"

#include <weft/autograd.h>

#include <utility>

namespace weft {

struct GradHooks {  // under the graph lock
    std::vector<std::pair<std::uint64_t, std::function<Tensor(const Tensor&)>>>
        before;  // .grad is added to, or g handed on
    std::vector<std::pair<std::uint64_t, std::function<void(const Tensor&)>>> after;
};

struct CellHooks {
    std::shared_ptr<GradHooks> own;
    std::weak_ptr<GradHooks> in_graph;  // held by the WithGrad in the cell's node
};

// The gradient after all hooks. Neither is called with the graph lock: hooks are a user's.
ir::NodeRef call_hooks(const std::shared_ptr<GradHooks>& hooks, const ir::NodeRef& gradient);
void call_after_hooks(const std::shared_ptr<GradHooks>& hooks, const Tensor& leaf);

}  // namespace weft
