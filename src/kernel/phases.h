// kernel/phases.h: splits a sum that a stride thins out. A gradient with a stride s reads in[(h - k) / s] where s divides h - k, and
// nothing elsewhere. With h = s*q + p and k = s*j + r just one r fits each phase p: a sum per phase has no gate for the stride and
// no term that is surely zero.
#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace weft::kernel {

struct Phase {
    std::vector<NodeRef> rows, sums;  // the loops of this phase, in the order of those that were split
    NodeRef left, right;              // the factors, as functions of these
    Substitution with;                // the variables that were split, for whatever else uses them
    bool empty = false;               // no term is left: the sum is zero
};

// The phases of a sum over `sums` of left * right, for each of `rows`. One, if there is no stride to split by. Together they have every
// element of the rows once.
std::vector<Phase> split_phases(Kernel& kernel, const std::vector<NodeRef>& rows, const std::vector<NodeRef>& sums,
                                const NodeRef& left, const NodeRef& right);

}  // namespace weft::kernel
