// tensor/activations_softmax.h: a softmax for rows of which everything may be masked.
#pragma once

#include <weft/tensor.h>

namespace weft {

// softmax along the last axis; a row of which every element is -infinity gives zeros, and no gradient. x is a float
// tensor.
Tensor masked_softmax(const Tensor& x);

}  // namespace weft
