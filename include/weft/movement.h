// weft/movement.h: ops that move elements: views, pieces, joints, repetitions, padding, diagonals.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>
#include <weft/tensor_options.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace WEFT_API weft {

// ---- views of x, writable through ------------------------------------------------------------------------------------

Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1
Tensor permute(const Tensor& x, const Dims& axes);    // permute(x, {2, 0, 1})
Tensor transpose(const Tensor& x, int a, int b);
Tensor expand(const Tensor& x, const Shape& shape);  // -1 keeps a size; cannot be written through
Tensor squeeze(const Tensor& x);                     // drops every axis of size 1
Tensor squeeze(const Tensor& x, int axis);           // drops this one, if its size is 1
Tensor squeeze(const Tensor& x, const Dims& axes);   // drops these, where their size is 1
Tensor unsqueeze(const Tensor& x, int axis);
Tensor flatten(const Tensor& x, int first = 0, int last = -1);    // joins the axes first … last
Tensor unflatten(const Tensor& x, int axis, const Shape& sizes);  // one axis becomes several; one size may be -1
Tensor flip(const Tensor& x, const Axes& axes);                   // reversed along axes
Tensor fliplr(const Tensor& x);                                   // along axis 1
Tensor flipud(const Tensor& x);                                   // along axis 0
Tensor rot90(const Tensor& x, std::int64_t turns = 1, const Dims& axes = {0, 1});  // from the first axis to the second
Tensor slice(const Tensor& x, int axis, Slice range);                              // slice(x, 0, {1, 9, 2}) is x[1:9:2]
Tensor select(const Tensor& x, int axis, std::int64_t index);                      // one slice, without that axis
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor moveaxis(const Tensor& x, int from, int to);
Tensor moveaxis(const Tensor& x, const Dims& from, const Dims& to);  // the others keep their order
Tensor atleast_1d(const Tensor& x);  // with axes of size 1: [n] becomes [1, n] and [1, n, 1], [m, n] becomes [m, n, 1]
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);

// The elements whose index along axis2 is their index along axis1 plus offset; they are the last axis.
//
//     diagonal(x).assign(0);
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);

// Windows along an axis, `step` apart; what a window sees is a new last axis. Where windows overlap it cannot be written.
//
//     unfold(arange(5), 0, 3, 2);       // [[0, 1, 2], [2, 3, 4]]
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step);

// The elements at offset + Σ indexᵢ · strideᵢ of x in row-major order, whatever its order in memory is.
Tensor as_strided(const Tensor& x, const Shape& size, const Dims& strides, std::int64_t offset = 0);

Tensor bit_view(const Tensor& x, DType dtype);  // copy: the same bits as another type of the same size

// ---- pieces: views ---------------------------------------------------------------------------------------------------

// Along an axis: of this size each (the last may be smaller), of these sizes, or so many pieces.
//
//     split(x, 2);  split_with_sizes(x, {1, 3}, -1);  chunk(x, 4);
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& sizes, int axis = 0);
std::vector<Tensor> chunk(const Tensor& x, std::int64_t pieces, int axis = 0);

// Always so many pieces, whose sizes differ by one at most, the larger ones first; or cut in front of these indices, which
// work as in slices.
//
//     tensor_split(arange(7), 3);       // [0 1 2], [3 4], [5 6]
//     tensor_split_at(arange(7), {2, 5});  // [0 1], [2 3 4], [5 6]
std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t pieces, int axis = 0);
std::vector<Tensor> tensor_split_at(const Tensor& x, const Dims& indices, int axis = 0);
std::vector<Tensor> unbind(const Tensor& x, int axis = 0);  // all slices, without that axis

// ---- joints: copies --------------------------------------------------------------------------------------------------

// Tensors one after the other along an axis, and along a new axis.
//
//     cat({a, b}, 1);  stack({a, b});
Tensor cat(std::span<const Tensor> tensors, int axis = 0);
Tensor stack(std::span<const Tensor> tensors, int axis = 0);
inline Tensor cat(std::initializer_list<Tensor> tensors, int axis = 0) {
    return cat(std::span<const Tensor>(tensors.begin(), tensors.size()), axis);
}
inline Tensor stack(std::initializer_list<Tensor> tensors, int axis = 0) {
    return stack(std::span<const Tensor>(tensors.begin(), tensors.size()), axis);
}
Tensor hstack(std::span<const Tensor> tensors);        // along axis 1; vectors one after the other
Tensor vstack(std::span<const Tensor> tensors);        // along axis 0; vectors are rows
Tensor dstack(std::span<const Tensor> tensors);        // along axis 2
Tensor column_stack(std::span<const Tensor> tensors);  // along axis 1; vectors are columns
Tensor block_diag(std::span<const Tensor> tensors);    // matrices along the diagonal, zeros elsewhere

// The shape that all shapes broadcast to, and the tensors broadcast to it (views).
Shape broadcast_shapes(std::span<const Shape> shapes);
std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors);

// Of vectors: their coordinates on the grid that they span, a tensor each (views). With Indexing::XY the first two axes are
// exchanged. cartesian_prod has the grid's points as rows.
enum class Indexing : std::uint8_t { IJ, XY };
std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, Indexing indexing = Indexing::IJ);
Tensor cartesian_prod(std::span<const Tensor> tensors);

// All choices of `count` elements of a vector, in order, as rows.
Tensor combinations(const Tensor& x, std::int64_t count = 2, bool with_replacement = false);

// ---- repetitions, padding: copies ------------------------------------------------------------------------------------

Tensor tile(const Tensor& x, const Dims& repeats);    // tile(x, {2, 3}): twice down, three times across
Tensor repeat(const Tensor& x, const Dims& repeats);  // the same, with a number for each axis of x at least
Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes);  // what leaves at the end comes in first

// Each slice along an axis so many times: a b → a a b b. `counts` has one number for each slice (or one for all), and is read
// at the call: the result's size depends on it.
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis);
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int axis);

// x with elements around it. The widths are pairs (before, after), the last axis first, as in PyTorch; a negative width cuts
// off.
//
//     pad(x, {1, 1});                  // one column left and right
//     pad(x, {0, 0, 2, 0}, -1);        // two rows of -1 on top
Tensor pad(const Tensor& x, const Dims& widths, const Scalar& value = 0);

// The same with elements of x: mirrored at its ends (1 2 3 → 2 1 2 3 2), its ends again (1 1 2 3 3), or from the other
// end (3 1 2 3 1).
enum class PadMode : std::uint8_t { Reflect, Replicate, Circular };
Tensor pad(const Tensor& x, const Dims& widths, PadMode mode);

// ---- diagonals, products of places -----------------------------------------------------------------------------------

Tensor diag(const Tensor& x, std::int64_t offset = 0);      // of a vector: a matrix; of a matrix: its diagonal
Tensor diagflat(const Tensor& x, std::int64_t offset = 0);  // diag of all elements
// Zeros with x's last axis on a diagonal of two new axes.
Tensor diag_embed(const Tensor& x, std::int64_t offset = 0, int axis1 = -2, int axis2 = -1);

// Where the lower (upper) triangle is: i64[2, count], the rows and the columns.
Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                    const TensorOptions& options = {});
Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset = 0,
                    const TensorOptions& options = {});

Tensor kron(const Tensor& a, const Tensor& b);  // every element of a times all of b

}  // namespace weft
