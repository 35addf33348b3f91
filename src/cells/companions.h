// cells/companions.h: what a run computes besides what it is asked for, so that nothing expensive is computed twice: values that it
// computes on the way, and that a live handle can reach.
//
// A pending tensor that stands on values of this run is computed along with it, as PyTorch would have computed it long ago: then it needs
// nothing of the graph, and keeps no old parameters alive. So is one that reads memory which this run writes anew. One that needs a gradient
// keeps its history, so only what it stands on is stored, and what the plan stores anyway below that is kept for its gradient.
#pragma once

#include "tensor/cell.h"

#include <memory>
#include <span>
#include <vector>

namespace weft::cells {

struct Companions {
    std::vector<std::shared_ptr<Cell>> first;    // pending tensors to compute before: the run reads slices of them
    std::vector<std::shared_ptr<Cell>> cells;    // … to compute along
    std::vector<ir::NodeRef> values;             // to store: others stand on them
    std::vector<ir::NodeRef> histories;          // of tensors that need a gradient: what they stand on
    std::vector<std::shared_ptr<Cell>> rebuilt;  // stand on `values` alone, once those are stored
    std::vector<std::shared_ptr<Cell>> after;    // small ones, made of slices of what the run stores
};

// Whether a cell waits to be computed that is not of this run: else it has no companions.
bool others_pending(std::uint64_t run);

// `roots`: what the run computes; `replaced`: the values before of what it writes; cells whose Cell::run is `run` belong to it. The caller
// holds the graph lock.
Companions find_companions(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced,
                           std::uint64_t run);

// Every pending tensor that keeps more memory alive than it takes itself, needs no gradient and cannot raise. The caller holds the graph lock.
std::vector<Tensor> worth_computing();

// The node with computed nodes below it replaced by their memory: it holds nothing of their history. It needs no gradient.
ir::NodeRef on_memory(const ir::NodeRef& node);

}  // namespace weft::cells
