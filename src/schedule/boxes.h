// schedule/boxes.h: rules about arrays that are put together from boxes: what a cut of one needs, and sums of which each element has
// one term. Steps of a recurrent network are such boxes, and so are their gradients.
#pragma once

#include "ir/rewrite.h"

#include <cstdint>
#include <vector>

namespace weft::schedule {

// Shrink(Insert(base, value)) -> a Shrink of the one that it lies in; likewise of a Pad, and through Permutes.
ir::NodeRef shrink_of_boxes(const ir::Match& match);

// Pad(a) + Pad(b) + … -> Inserts into zeros, where no two overlap.
ir::NodeRef sum_of_boxes(const ir::Match& match);

// One of the arrays that Inserts concatenate along an axis (cat, stack).
struct Part {
    ir::NodeRef value;
    Dims starts;
};

// Its parts in their order along the axis, if they are all that is seen of the result; else none.
std::vector<Part> concatenated_parts(const ir::Node& insert);

// How many neighbours in the whole's memory are neighbours in the part's.
std::int64_t run_length(const Part& part, const Shape& whole);

}  // namespace weft::schedule
