// tensor/indices.h: what ops with indices share: checked index values, and the part of a tensor that an index reaches.
#pragma once

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"

#include <string_view>

namespace weft {

// A scalar as a vector of one element, as PyTorch counts it for all ops with indices.
ir::NodeRef lifted(const ir::NodeRef& x);
inline int lifted_rank(const Tensor& x) { return std::max(1, x.rank()); }

// The index as i64, within [0, size); negative ones are refused.
ir::NodeRef checked_index(const Checker& check, std::string_view name, const Tensor& index, std::int64_t size);
// The same, but negative ones count from the end.
ir::NodeRef wrapped_index(const Checker& check, const Tensor& index, int axis, std::int64_t size);

// A 1-d index for whole slices along an axis of a tensor of this shape.
ir::NodeRef spread_index(const ir::NodeRef& index, int axis, Shape shape);
ir::NodeRef select(const ir::NodeRef& x, const ir::NodeRef& index, int axis);  // the slices at a 1-d index

// The part of x at its low end that an index of this shape reaches: all of the axis, and index's sizes elsewhere.
Shape reached(const Shape& x, const Shape& index, int axis);
void check_reach(const Checker& check, const Shape& x, const Shape& index, int axis);

inline Dims zeros_for(const Shape& shape) { return Dims::filled(shape.size(), 0); }
Shape replaced(const Shape& shape, int axis, const Shape& by);  // one size replaced by several

// x[positions…], taken apart: x's axes with the picked ones first and flattened to one, and which of its places are picked.
struct Picked {
    Dims order;           // of x's axes: the picked ones first
    std::int64_t places;  // how many there are to choose from
    Shape block, rest;    // what the positions broadcast to, and the sizes of the axes that are not picked
    Dims front;           // axes of the result, with the block's first
    ir::NodeRef place;    // i64[numel(block)]

    Shape result() const;  // the shape of x[positions…]
};
Picked picked(const Checker& check, const Shape& shape, std::span<const Tensor> positions);
Dims inverse_order(const Dims& order);

}  // namespace weft
