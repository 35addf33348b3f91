// weft/products.h: sums of products: of matrices, of vectors, along any axes. Types promote as in PyTorch;
// f16 and bf16 multiply and add in f32 and round once.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace WEFT_API weft {

// ---- products of any ranks ------------------------------------------------------------------------------------------

// The matrix product of the last two axes; the axes before them broadcast. A 1-d tensor is a row on the left and a column
// on the right, and that axis is dropped from the result. f16 and bf16 multiply and add in f32 and round once.
//
//     matmul(zeros({2, 3}), zeros({3, 4}));         // f32[2, 4]
//     matmul(zeros({5, 1, 2, 3}), zeros({7, 3, 4}));  // f32[5, 7, 2, 4]
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b);    // of two 1-d tensors of one length
Tensor outer(const Tensor& a, const Tensor& b);  // of two 1-d tensors: [n] and [m] give [n, m]

// Products of matrices of f32 on a GPU: exact, which is the default, or of factors that are rounded to tf32 (10 bits behind the point, as many as
// f16 has) and summed in f32. Tensor cores multiply those many times as fast. What is called afterwards follows, and its gradients do as it did.
void set_tf32_products(bool on);
bool tf32_products();

// ---- linear maps ----------------------------------------------------------------------------------------------------

// x times weight transposed, plus bias: x is […, in], weight [out, in], bias [out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// aᵀ W b + bias for each W of weight [out, in1, in2]: a is […, in1], b […, in2], with the same sizes in front.
Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias = {});

// ---- matrices and vectors, with exactly these ranks ------------------------------------------------------------------

Tensor mm(const Tensor& a, const Tensor& b);    // [n, k] and [k, m] give [n, m]
Tensor bmm(const Tensor& a, const Tensor& b);   // [B, n, k] and [B, k, m] give [B, n, m]; batches do not broadcast
Tensor mv(const Tensor& a, const Tensor& x);    // [n, k] and [k] give [n]
Tensor vdot(const Tensor& a, const Tensor& b);  // of two 1-d tensors of one length; the same as dot, since all are real

// ---- along chosen axes -----------------------------------------------------------------------------------------------

// The sum of products along one axis, of tensors that broadcast.
Tensor vecdot(const Tensor& a, const Tensor& b, int axis = -1);

// The sum of products along the last axis of both: […, k] and [___, k] give […, ___]. A 0-d tensor multiplies.
Tensor inner(const Tensor& a, const Tensor& b);

// Sums over pairs of axes: axes_a[i] of a with axes_b[i] of b; the result has the other axes of a, then those of b. A number: the last so many of
// a with the first of b.
//
//     tensordot(zeros({3, 4, 5}), zeros({4, 5, 6}), 2);             // f32[3, 6]
//     tensordot(zeros({3, 4, 5}), zeros({5, 4}), {1, 2}, {1, 0});   // f32[3]
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& axes_a, const Dims& axes_b);

// Einstein's sum: a letter for each axis; a letter that the result lacks is summed over. A letter twice in one operand
// means its diagonal, "..." axes that broadcast; without "->" the result has the letters that occur once, sorted (capitals first), after
// those of "...". Three operands and more are multiplied in the order that needs the fewest multiplications (up to
// 8 operands; beyond, a greedy choice).
//
//     einsum("bij,bjk->bik", {a, b});  einsum("ii", {x});  einsum("...ij->...ji", {x});
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
    return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

// The vector product of 3-vectors along an axis; the tensors broadcast. Without an axis: the first one of size 3.
Tensor cross(const Tensor& a, const Tensor& b, std::optional<int> axis = {});

// The sum of the diagonal of a matrix; integers and bools give i64.
Tensor trace(const Tensor& x);

// ---- beta * x + alpha * product --------------------------------------------------------------------------------------
// x broadcasts to the product. With beta = 0 it is not looked at: its NaNs do not count.

struct ScaleOptions {
    Scalar beta = 1, alpha = 1;  // integers where the result is
};
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const ScaleOptions& options = {});
Tensor addmv(const Tensor& x, const Tensor& a, const Tensor& v, const ScaleOptions& options = {});
Tensor addr(const Tensor& x, const Tensor& u, const Tensor& v, const ScaleOptions& options = {});  // the outer product
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const ScaleOptions& options = {});
Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b,
              const ScaleOptions& options = {});  // summed over the batch

}  // namespace weft
