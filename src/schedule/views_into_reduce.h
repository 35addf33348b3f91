// schedule/views_into_reduce.h: moves views of a sum into the sum. With that a convolution's input gradient is one contraction, and no
// buffer of the shape of all windows ever exists.
#pragma once

#include "ir/rewrite.h"

namespace weft::schedule {

// Reduce(add)(views(Reduce(add)(x))) -> one Reduce, where the views only move, cut and zero-fill the inner sum (Unskew of stride 1):
// no multiply-add is done twice.
ir::NodeRef merge_sum_of_views(const ir::Match& match);

// Shrink(views(Reduce(x))) -> views(Reduce(Shrink(x))): what is cut off is not computed.
ir::NodeRef shrink_before_reduce(const ir::Match& match);

}  // namespace weft::schedule
