// ir/walk.h: iterative walks over a graph. None recurses: a chain of a million nodes needs no stack.
#pragma once

#include "ir/node.h"

#include <functional>
#include <span>
#include <vector>

namespace weft::ir {

// Every node reachable from the roots, sources before users, each once. `enter` false: the node is listed, its sources are not
// visited through it. The order depends on the graph alone. Holds no lock: callers hold the graph lock (or own the interner).
std::vector<const Node*> topological_order(std::span<const NodeRef> roots);
std::vector<const Node*> topological_order(std::span<const NodeRef> roots,
                                           const std::function<bool(const Node&)>& enter);

// Whether no memory and no run-time scalar is below it. Such a node is the same in every graph, so nothing may be remembered with it.
bool is_made_of_constants(const Node& root);

// Rebuilds a graph bottom-up: `replace(node, new sources)` gives each node's replacement, sources first.
std::vector<NodeRef> rebuild(std::span<const NodeRef> roots,
                             const std::function<NodeRef(const Node&, const Sources&)>& replace);

}  // namespace weft::ir
