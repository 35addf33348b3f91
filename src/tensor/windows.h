// tensor/windows.h: what convolution and pooling share: sizes for each spatial axis, and inputs with or without a
// batch.
#pragma once

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"

#include <weft/convolution.h>

namespace weft {

// One number for each spatial axis; none is below `least`.
Dims each_axis(const Checker& check, std::string_view name, const Sizes& sizes, int spatial, std::int64_t least);

// "[n, in, h, w] or [in, h, w]", for messages; `front` is what stands before the spatial axes, without the batch.
std::string layout(std::string_view front, int spatial);

// x as [n, channels, spatial…]: a batch of one where there is none. Checks the rank.
ir::NodeRef with_batch(const Checker& check, const Tensor& x, int spatial, std::string_view front);
ir::NodeRef without_batch(const ir::NodeRef& y, const Tensor& x, int spatial);  // y as x was

// x with zeros around its last axes.
ir::NodeRef zero_padded(const ir::NodeRef& x, const Dims& before, const Dims& after);

}  // namespace weft
