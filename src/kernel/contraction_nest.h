// kernel/contraction_nest.h: a contraction as its parts. Lowering writes it as plain loops, each with its role; the tile pass reads the
// parts from the loops again and writes others, which add the same products in the same order.
#pragma once

#include "kernel/kernel.h"

#include <span>
#include <vector>

namespace weft::kernel {

struct ContractionNest {
    std::vector<NodeRef> rows;    // loop variables of the output, outermost first
    std::vector<LoopRole> sides;  // … and which factor each one belongs to: Batch, M or N
    // acc = sum over `inner` (one chain of fused multiply-adds), total = sum over `outer` of acc. No outer: total is acc.
    std::vector<NodeRef> outer, inner;
    NodeRef inner_count;  // the first inner loop's count (its last block may be shorter), or null
    NodeRef left, right;  // the factors, as functions of the variables above
    DType accumulate = DType::F32;
    int acc = -1, total = -1;  // locals; equal if there is no outer
    Body epilogue;             // reads `total`, stores the outputs
};

inline bool is_over_output(LoopRole role) {
    return role == LoopRole::Batch || role == LoopRole::M || role == LoopRole::N;
}

// The loops as they are written in ContractionNest's comment, without any tiling, and with their roles.
Body plain_loops(const Kernel& kernel, const ContractionNest& nest);

// What plain_loops() was given. Several: one per phase of a stride, of which each stores elements of its own. None: the body is no
// contraction, or its loops are not plain any more.
std::vector<ContractionNest> contractions_of(const Kernel& kernel);

// The roles of loops that stand alone in each other, outermost first.
void annotate(Body& loops, std::span<const LoopRole> roles);

bool has_contraction(const Body& body);  // plain or tiled

}  // namespace weft::kernel
