// ir/strided.h: strides: where the elements of a view lie in the array that it is a view of.
#pragma once

#include "ir/node.h"

#include <cstdint>

namespace weft::ir {

// An element's position is offset + sum of index * stride.
struct StridedView {
    Shape shape;
    std::int64_t offset = 0;
    Dims strides;
};

// What a movement op shows of a strided view; false: that is not strided.
bool apply_view(const Node& movement, StridedView& view);
// The strides of the same elements in another shape; false: there are none.
bool reshape_strides(const Shape& from, const Dims& strides, const Shape& to, Dims& result);
bool is_dense(const StridedView& view);               // row-major without gaps
std::int64_t lowest_offset(const StridedView& view);  // of the element with the smallest address

}  // namespace weft::ir
