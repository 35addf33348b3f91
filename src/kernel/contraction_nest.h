// kernel/contraction_nest.h: a contraction as lowering found it. The plain loops and the tiled ones are both built from this, so both
// add the same products in the same order.
#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace weft::kernel {

struct ContractionNest {
    enum class Side : std::uint8_t { Batch, M, N };

    std::vector<NodeRef> rows;  // loop variables of the output, outermost first
    std::vector<Side> sides;    // … and which factor each one belongs to: both, the left, the right
    // acc = sum over `inner` (one chain of fused multiply-adds), total = sum over `outer` of acc. No outer: total is acc.
    std::vector<NodeRef> outer, inner;
    NodeRef inner_count;  // the first inner loop's count (its last block may be shorter), or null
    NodeRef left, right;  // the factors, as functions of the variables above
    DType accumulate = DType::F32;
    int acc = -1, total = -1;  // locals; equal if there is no outer
    Body epilogue;             // reads `total`, stores the outputs
};

// The loops as they are written in ContractionNest's comment, without any tiling.
Body plain_loops(const Kernel& kernel, const ContractionNest& nest);

}  // namespace weft::kernel
