// tensor/contract.h: sums of products of nodes whose axes are named by labels: what einsum, tensordot and inner are made of.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <vector>

namespace weft {

using Labels = std::vector<int>;  // one per axis; below kMostLabels
inline constexpr int kMostLabels = 64;

struct Term {
    ir::NodeRef node;
    Labels labels;  // a label twice: the diagonal
};

// The sum over all labels that `output` lacks of the product of all terms (of one dtype; one at least). An axis of size 1 stretches. The
// output's labels occur in the terms.
ir::NodeRef contract(std::vector<Term> terms, const Labels& output);

}  // namespace weft
