// weft/indexing.h: reading by indices that are data, and by masks; writing is in weft/scatter.h. Index tensors are integers. A bad index
// throws IndexError when the graph runs; negative ones are bad, except where it says that they count from the end. A scalar counts as a
// vector of one element.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace WEFT_API weft {

// x[positions] along an axis; the result has the positions' shape in place of that axis. Negative ones count from the end.
//
//     take(tensor({10, 20, 30}), tensor({2, -1, 0}));    // 30 30 10
//     take(x.flatten(), positions);                      // PyTorch's take
Tensor take(const Tensor& x, const Tensor& positions, int axis = 0);

// x[i, j, …]: one tensor for each of the first axes; they broadcast, and their axes stand where the first of them stood. An
// undefined tensor takes a whole axis; if it parts two others, their axes come first. A mask (bools) picks where it holds, for
// as many axes as it has, and runs the graph. Negative indices count from the end.
//
//     index(logits, {arange(n), labels});
Tensor index(const Tensor& x, std::span<const Tensor> positions);
inline Tensor index(const Tensor& x, std::initializer_list<Tensor> positions) {
    return index(x, std::span<const Tensor>(positions.begin(), positions.size()));
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index);  // `index` is 1-d: picks rows, columns …

// out[i][j][k] = x[i][index[i][j][k]][k] for axis 1. take_along_dim broadcasts x and index against each other first, and
// negative indices count from the end.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
Tensor take_along_dim(const Tensor& x, const Tensor& index, int axis);

Tensor one_hot(const Tensor& index, std::int64_t classes);  // i64[…, classes]: 1 at the index, else 0

// ---- results whose size depends on values: these run the graph at the call ------------------------------------------

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
