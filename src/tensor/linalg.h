// tensor/linalg.h: what the files of weft/linalg.h share: checks, small composites, and solving with its derivative. Inside, all is f64.
#pragma once

#include "tensor/check.h"
#include "tensor/linalg_nodes.h"

#include <weft/ops.h>

#include <string>
#include <string_view>

namespace weft::linalg {

// The argument in f64. f32 and f64 only; two axes at least; square if asked for.
Tensor wide_matrix(const Checker& check, std::string_view name, const Tensor& a);
Tensor wide_square(const Checker& check, std::string_view name, const Tensor& a);
Shape batch_of(const Tensor& a);                         // the axes before the last two
Tensor with_batch(const Tensor& a, const Shape& batch);  // stretched to these batches

inline Tensor transpose_of(const Tensor& a) { return a.transpose(-2, -1); }
Tensor diagonal_of(const Tensor& a);      // […, n, n] to […, n]
Tensor diagonal_matrix(const Tensor& d);  // […, n] to […, n, n]
bool is_differentiated(const Tensor& a);  // something will want a derivative

// a⁻¹ b or a⁻ᵀ b, of matrices with the same batches; differentiable by a and b. With a `call`, a singular matrix raises.
Tensor solved(const Tensor& a, const nodes::LuNode& factors, const Tensor& b, bool transposed,
              const std::string& call = {});

// t⁻¹ b, the same for a triangle.
Tensor solved_triangular(const Tensor& t, const Tensor& b, bool upper, bool unit = false);

}  // namespace weft::linalg
