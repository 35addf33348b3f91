// schedule/scatter_sums.h: scatters that add, for processors with thousands of threads: the gradient of a small embedding, a histogram. A scatter adds
// its values one after the other; only columns beside each other can have threads of their own. Where it has few results, each of them looks through all
// indices instead:
//
//     out[index[t, c], c] += value[t, c]        becomes        out[r, c] = sum over t of (index[t, c] == r ? value[t, c] : -0)
//
// in the order of the scatter (SumOrder::Sequence), from zero; integers in any order. An added -0 changes no value, so the bits stay.
#pragma once

#include "core/target.h"
#include "ir/node.h"

namespace weft::schedule {

// Null: the node is no such scatter, or is faster as it is.
ir::NodeRef sum_of_scatter(const ir::Node& scatter, const Target& target);

}  // namespace weft::schedule
