// weft/selection.h: ops whose result has a size, or an order, that depends on values. They run the graph at the call.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <vector>

namespace WEFT_API weft {

// Where the elements are not 0 (NaN is not), in row-major order: i64[count, rank].
//
//     nonzero(tensor({0, 3, 4}))    // [[1], [2]]
Tensor nonzero(const Tensor& x);
std::vector<Tensor> nonzero_by_axis(const Tensor& x);  // the same, a 1-d tensor per axis: what index() takes

// x[mask]: the mask covers the axes of x from `axis` on, and one axis takes their place, with the elements where it holds.
//
//     select_by_mask(x, x > 0);
Tensor select_by_mask(const Tensor& x, const Tensor& mask, int axis = 0);

// The elements of x where the mask holds, in row-major order; both are broadcast. Gradients flow to the elements picked.
Tensor masked_select(const Tensor& x, const Tensor& mask);

}  // namespace weft
