// weft/scatter.h: writing at indices that are data. Each gives a copy of x with something written. Index tensors are integers. A bad index
// throws IndexError when the graph runs; negative ones are bad, except where it says that they count from the end. A scalar counts as a vector
// of one element.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <initializer_list>
#include <span>

namespace WEFT_API weft {

// out[i][index[i][j][k]][k] = source[i][j][k] for axis 1 (of several, the last one wins), or += for scatter_add.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Operand& source);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

// The same, with all that meet in one place joined: without include_self what x had there does not take part. The mean of
// integers is rounded down. Equal maxima share the gradient.
//
//     scatter_reduce(x, 0, labels, values, ScatterReduce::Max);
enum class ScatterReduce : std::uint8_t { Sum, Prod, Mean, Max, Min };
Tensor scatter_reduce(const Tensor& x, int axis, const Tensor& index, const Tensor& source, ScatterReduce how,
                      bool include_self = true);

// Whole slices of x along an axis, at `index` (1-d), with source's slices added, joined, put in their place, or a number.
//
//     index_add(counts, 0, labels, ones({n}));
Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source, const Scalar& alpha = 1);
Tensor index_reduce(const Tensor& x, int axis, const Tensor& index, const Tensor& source, ScatterReduce how,
                    bool include_self = true);
Tensor index_copy(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, int axis, const Tensor& index, const Operand& value);

// x[i, j, …] = values, which broadcast to what index() would give; with accumulate they are added. Of several values for one
// place the last one wins.
//
//     index_put(x, {rows, columns}, 0);
Tensor index_put(const Tensor& x, std::span<const Tensor> positions, const Operand& values, bool accumulate = false);
inline Tensor index_put(const Tensor& x, std::initializer_list<Tensor> positions, const Operand& values,
                        bool accumulate = false) {
    return index_put(x, std::span<const Tensor>(positions.begin(), positions.size()), values, accumulate);
}

// The same for positions in the flattened tensor, with one value each. Negative positions count from the end.
Tensor put(const Tensor& x, const Tensor& positions, const Tensor& values, bool accumulate = false);

// Where the mask holds, the elements of source, in row-major order. Too few of them throw IndexError when the graph runs.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

// A part of x (as select, slice and diagonal view it) replaced by source, which has that part's shape.
Tensor select_scatter(const Tensor& x, const Tensor& source, int axis, std::int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& source, int axis, Slice range);
Tensor diagonal_scatter(const Tensor& x, const Tensor& source, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);

}  // namespace weft
