// schedule/views_into_reduce.h: moves views of a sum into the sum. With that a convolution's input gradient is one contraction, and no
// buffer of the shape of all windows ever exists.
#pragma once

#include "ir/rewrite.h"

namespace weft::schedule {

// Reduce(add)(views(Reduce(add)(x))) -> one Reduce, where the views only move, cut and zero-fill the inner sum (Unskew of stride 1):
// no multiply-add is done twice.
ir::NodeRef merge_sum_of_views(const ir::Match& match);

// Reduce(add, window)(Unskew(x)) -> a reshape of x, where windows do not overlap (stride >= window, as pools have it, or one window):
// every element gets at most one term. The gradient of a pool then only moves values.
ir::NodeRef sum_of_disjoint_windows(const ir::Match& match);

// Reduce(add)(a * b + c * d + …) -> Reduce(add)(a * b) + Reduce(add)(c * d) + …, where these are contractions: a weight's gradient, if
// the weight was used more than once.
ir::NodeRef sum_of_products(const ir::Match& match);

// View(views(Reduce(x))) -> Reduce(View(views(x))) for a Shrink (what is cut off is not computed) or a Permute (the result is written
// in its final order, so that what follows element by element can join).
ir::NodeRef view_before_reduce(const ir::Match& match);

}  // namespace weft::schedule
