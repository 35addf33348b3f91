// tensor/loss.h: what the losses share: operands in the type they are computed in, and the reduction of single losses.
#pragma once

#include "ir/node.h"
#include "tensor/check.h"

#include <weft/loss.h>

namespace weft {

// Input and target in the type of the arithmetic, and the type of the result.
struct WidePair {
    ir::NodeRef input, target;
    DType result;
};
WidePair widened(const Checker& check, const Tensor& input, const Tensor& target);  // of one shape

ir::NodeRef total(const ir::NodeRef& x);                   // the sum over all axes, 0-d
ir::NodeRef focus(const ir::NodeRef& miss, double gamma);  // miss^gamma; miss is 1 - the probability of what is right
Tensor reduced_loss(const ir::NodeRef& each, Reduction reduction, DType result);
Tensor reduced_loss(const Tensor& each, Reduction reduction, DType result);
Tensor at_least(const Tensor& x,
                double low);  // max(x, low), whose gradient passes everywhere, as if there were no limit

}  // namespace weft
