// kernel/matrix_product.h: products of slices in shared memory, as tensor cores want them. A slice lies in pieces of eight times eight elements: eight
// rows of 16 bytes, one behind the other. Between groups of pieces there are 16 bytes, so that copies go to other banks.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

inline constexpr std::int64_t kPiece = 8;

std::int64_t slice_size(const MatrixProduct::Operand& operand, std::int64_t depth);  // in elements
// Where element (at, step) of a slice is: at a row of the left factor or a column of the right one.
NodeRef place_in_slice(const Kernel& kernel, const MatrixProduct::Operand& operand, std::int64_t depth,
                       const NodeRef& at, const NodeRef& step);
// In elements, between pieces that follow each other along the sum, and along rows or columns.
std::int64_t piece_stride_along_sum(const MatrixProduct::Operand& operand, std::int64_t depth);
std::int64_t piece_stride_across(const MatrixProduct::Operand& operand, std::int64_t depth);

// Element (i, j) of thread (y, x): two rows, and pairs of columns.
NodeRef tensor_row(const Kernel& kernel, const NodeRef& y, std::int64_t i);
NodeRef tensor_column(const Kernel& kernel, const NodeRef& x, std::int64_t j);

// What the loop with this variable computes, one step of the sum for each of its iterations.
Body steps_of(const Kernel& kernel, const MatrixProduct& product, const NodeRef& step);

}  // namespace weft::kernel
