// tensor/cell.h: the cell behind a Tensor handle. Values are immutable nodes; a cell is a box that holds one and is rebound.
#pragma once

#include "ir/node.h"

#include <weft/tensor.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// How a view reads its base and writes through to it.
struct ViewOf {
    std::shared_ptr<Cell> base;                                // never itself a view: chains are composed
    std::function<ir::NodeRef(const ir::NodeRef& base)> read;  // the view of a base value
    std::function<ir::NodeRef(const ir::NodeRef& base, const ir::NodeRef& value)> write;  // base with the view replaced
    std::uint64_t base_version = 0;                            // re-derive when the base was written since
};

struct Cell {
    ir::NodeRef node;          // the value: pending, a Buffer, or Leaf(id, value) if a gradient is collected here
    std::uint64_t id = 0;      // fresh, given when first needed (Leaf)
    std::uint64_t version = 0; // counts writes
    bool requires_grad = false;  // this cell is a leaf
    bool retains_grad = false;
    Tensor grad;
    std::unique_ptr<ViewOf> view;  // null for a cell of its own
    // bookkeeping of the outbox and of live pending cells belongs to src/runtime
    Cell *previous = nullptr, *next = nullptr;
    bool in_outbox = false;

    Cell();
    ~Cell();
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;
};

// The node to compute with: a view whose base was written is derived anew. Throws ValueError for an undefined tensor.
ir::NodeRef node_of(const Tensor& tensor);

// A tensor with a new cell for an op's result. Under NoGrad a result that would need a gradient is wrapped in Detach.
Tensor make_tensor(ir::NodeRef node);

// A tensor that is a view of `base`: composed with base's own view, if it is one.
Tensor make_view(const Tensor& base, std::function<ir::NodeRef(const ir::NodeRef&)> read,
                 std::function<ir::NodeRef(const ir::NodeRef&, const ir::NodeRef&)> write);

bool needs_grad(const ir::NodeRef& node);  // a Leaf is reachable without passing a Detach

}  // namespace weft
