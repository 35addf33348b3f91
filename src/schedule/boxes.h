// schedule/boxes.h: rules about arrays that are put together from boxes: what a cut of one needs, and sums of which each element has
// one term. Steps of a recurrent network are such boxes, and so are their gradients.
#pragma once

#include "ir/rewrite.h"

namespace weft::schedule {

// Shrink(Insert(base, value)) -> a Shrink of the one that it lies in; likewise of a Pad, and through Permutes.
ir::NodeRef shrink_of_boxes(const ir::Match& match);

// Pad(a) + Pad(b) + … -> Inserts into zeros, where no two overlap.
ir::NodeRef sum_of_boxes(const ir::Match& match);

}  // namespace weft::schedule
