// kernel/matrix_product.h: products of slices in shared memory, as tensor cores want them. Rows of 128 bytes lie below each other: 64 steps of the sum
// (32 of f32), or, where memory runs across, 64 rows of a factor. The eight pieces of 16 bytes in a row are swapped, by its number: so those of eight rows
// below each other are in different banks.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

inline constexpr std::int64_t kPieces = 8;       // of a row, and rows whose pieces are swapped differently
inline constexpr std::int64_t kPiece = 8;        // halves of 16 bytes
inline constexpr std::int64_t kSliceSteps = 64;  // … of 128: the depth of a slice

inline std::int64_t row_size(const MatrixProduct::Operand& operand) { return kPieces * operand.piece; }
inline std::int64_t slice_size(const MatrixProduct::Operand& operand) { return operand.width * row_size(operand); }
// Where element (at, step) of a slice is: at a row of the left factor or a column of the right one.
NodeRef place_in_slice(const Kernel& kernel, const MatrixProduct::Operand& operand, const NodeRef& at,
                       const NodeRef& step);

// Element (i, j) of thread (y, x): two rows, and pairs of columns.
NodeRef tensor_row(const Kernel& kernel, const NodeRef& y, std::int64_t i);
NodeRef tensor_column(const Kernel& kernel, const NodeRef& x, std::int64_t j);

// What the loop with this variable computes, one step of the sum for each of its iterations.
Body steps_of(const Kernel& kernel, const MatrixProduct& product, const NodeRef& step);

}  // namespace weft::kernel
