// io/storage_view.h: a tensor of a file that is a part of a storage, as a view of the storage's tensor.
#pragma once

#include <weft/tensor.h>

namespace weft::io {

// Elements offset + Σ index · stride of `storage`, a vector; the caller has checked that they lie within it. Written with slices and
// permutations where the strides are those of an array's part, since such views are memory and cost nothing to read; else as_strided().
Tensor storage_view(const Tensor& storage, const Shape& shape, const Dims& strides, std::int64_t offset);

}  // namespace weft::io
