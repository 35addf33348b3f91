// weft/ops.h: every op as a free function. An op checks shapes and types at the call, and throws an error that opens with
// the call as it was made; the arithmetic is recorded and runs later. Types promote as in PyTorch, shapes broadcast.
#pragma once

#include <weft/creation.h>
#include <weft/functional.h>
#include <weft/products.h>
#include <weft/random.h>
#include <weft/tensor.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace weft {

// ---- arithmetic ------------------------------------------------------------------------------------------------------
// Either side may be a number, which takes the tensor's type: add(x, 1) of an i8 tensor is i8.

Tensor add(const Operand& a, const Operand& b);  // bools: or
Tensor sub(const Operand& a, const Operand& b);  // not for bools
Tensor mul(const Operand& a, const Operand& b);  // bools: and
Tensor div(const Operand& a, const Operand& b);  // true division: integers give f32

// Division rounded down, and what it leaves, with the divisor's sign: a == floor_divide(a, b) * b + remainder(a, b).
// Of integers by 0 both are 0.
//
//     floor_divide(tensor({-7, 7}), 2);            // -4 3
//     remainder(tensor({-7, 7}), 2);               // 1 1
Tensor floor_divide(const Operand& a, const Operand& b);
Tensor remainder(const Operand& a, const Operand& b);
Tensor fmod(const Operand& a, const Operand& b);  // the rest with the dividend's sign: fmod(-7, 2) is -1

// Small whole exponents become multiplications: pow(x, 2) is x * x, exactly. An integer tensor and a negative whole number
// throw; an integer tensor and a float give f32.
//
//     pow(x, 3);  pow(2, x);  pow(x, y);
Tensor pow(const Operand& base, const Operand& exponent);

Tensor maximum(const Operand& a, const Operand& b);  // NaN if either is
Tensor minimum(const Operand& a, const Operand& b);

// x, but no less than `low` and no more than `high`. The gradient passes where x is within the limits, ends included.
//
//     clamp(x, 0, 1);  clamp_min(x, 0);
Tensor clamp(const Tensor& x, const Operand& low, const Operand& high);
Tensor clamp_min(const Tensor& x, const Operand& low);
Tensor clamp_max(const Tensor& x, const Operand& high);

// a where the condition holds, else b. The condition is bool; all three broadcast.
//
//     where(x > 0, x, 0);
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);  // where(mask, value, x), of x's type

// ---- comparisons give bool; NaN equals nothing -----------------------------------------------------------------------

Tensor eq(const Operand& a, const Operand& b);
Tensor ne(const Operand& a, const Operand& b);
Tensor lt(const Operand& a, const Operand& b);
Tensor le(const Operand& a, const Operand& b);
Tensor gt(const Operand& a, const Operand& b);
Tensor ge(const Operand& a, const Operand& b);
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

// ---- logic: any type, "not 0" is true; gives bool --------------------------------------------------------------------

Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_not(const Tensor& x);

// ---- bits: integers and bools; shifts: integers. Shifting too far gives 0, or -1 for a negative value shifted right --

Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor bitwise_not(const Tensor& x);
Tensor shift_left(const Operand& a, const Operand& b);
Tensor shift_right(const Operand& a, const Operand& b);

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
inline Tensor operator==(const Operand& a, const Operand& b) { return eq(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return ne(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return lt(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return le(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return gt(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return ge(a, b); }
inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator<<(const Operand& a, const Operand& b) { return shift_left(a, b); }
inline Tensor operator>>(const Operand& a, const Operand& b) { return shift_right(a, b); }
Tensor operator-(const Tensor& x);
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }

// ---- one operand, any number: the result has its type ----------------------------------------------------------------

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);  // -1, 0 or 1
Tensor square(const Tensor& x);
Tensor trunc(const Tensor& x);  // towards 0
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);  // to the nearest; halves to even: 0.5 gives 0, 1.5 gives 2

// ---- one operand, float functions: integers and bools are computed in f32 --------------------------------------------

Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);       // 1 / sqrt(x)
Tensor reciprocal(const Tensor& x);  // 1 / x
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);  // exp(x) - 1, accurate near 0
Tensor log(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor log1p(const Tensor& x);  // log(1 + x), accurate near 0
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);

// ---- types and memory ------------------------------------------------------------------------------------------------

Tensor cast(const Tensor& x, DType dtype);  // floats to integers truncate and saturate, NaN gives 0
Tensor clone(const Tensor& x);              // a value of its own: writing to it leaves x alone
Tensor contiguous(const Tensor& x);         // the same value, stored densely when it runs

// ---- movement: views of x, writable through, unless they say "copy" --------------------------------------------------

Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1
Tensor permute(const Tensor& x, const Dims& axes);    // permute(x, {2, 0, 1})
Tensor transpose(const Tensor& x, int a, int b);
Tensor expand(const Tensor& x, const Shape& shape);  // -1 keeps a size; cannot be written through
Tensor squeeze(const Tensor& x);                     // drops every axis of size 1
Tensor squeeze(const Tensor& x, int axis);           // drops this one, if its size is 1
Tensor unsqueeze(const Tensor& x, int axis);
Tensor flatten(const Tensor& x, int first = 0, int last = -1);  // joins the axes first … last
Tensor flip(const Tensor& x, const Axes& axes);
Tensor slice(const Tensor& x, int axis, Slice range);  // slice(x, 0, {1, 9, 2}) is x[1:9:2]
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor moveaxis(const Tensor& x, int from, int to);

// Pieces along an axis: of this size each (the last may be smaller), of these sizes, or so many pieces.
//
//     split(x, 2);  split_with_sizes(x, {1, 3}, -1);  chunk(x, 4);
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& sizes, int axis = 0);
std::vector<Tensor> chunk(const Tensor& x, std::int64_t pieces, int axis = 0);

// Copy: tensors one after the other along an axis, and along a new axis.
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

// Copy: x with elements around it. The widths are pairs (before, after), the last axis first, as in PyTorch; a negative
// width cuts off.
//
//     pad(x, {1, 1});                  // one column left and right
//     pad(x, {0, 0, 2, 0}, -1);        // two rows of -1 on top
Tensor pad(const Tensor& x, const Dims& widths, const Scalar& value = 0);

// The same with elements of x: mirrored at its ends (1 2 3 → 2 1 2 3 2), its ends again (1 1 2 3 3), or from the other
// end (3 1 2 3 1).
enum class PadMode : std::uint8_t { Reflect, Replicate, Circular };
Tensor pad(const Tensor& x, const Dims& widths, PadMode mode);

Tensor tile(const Tensor& x, const Dims& repeats);    // copy: tile(x, {2, 3}): twice down, three times across
Tensor repeat(const Tensor& x, const Dims& repeats);  // the same, with a number for each axis of x at least
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis);  // copy: a b → a a b b
Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes);       // copy: what leaves at the end comes in first

// ---- reductions ------------------------------------------------------------------------------------------------------
// Axes may be negative; none means all of them. keepdim keeps them with size 1.
//
//     sum(x);  sum(x, 0);  mean(x, {-2, -1}, true);

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // integers and bools give i64
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // integers and bools give i64
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // floats only
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // the value; NaN wins; not of no elements
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // bool
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// The position of the largest (smallest) element, the first of equal ones; i64. A NaN counts as the largest (smallest).
// Without an axis: the position in the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdim = false);

// Mean square distance from the mean, with n - correction in the denominator; stddev is its root.
Tensor var(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);
Tensor stddev(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);

// (sum of |x|^p)^(1/p). p = infinity: the largest |x|; p = 0: how many are not 0.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // log(sum(exp(x))), without overflow
Tensor cumsum(const Tensor& x, int axis);                                        // integers and bools give i64
Tensor cumprod(const Tensor& x, int axis);

// ---- products --------------------------------------------------------------------------------------------------------

// The matrix product of the last two axes; the axes before them broadcast. A 1-d tensor is a row on the left and a column
// on the right, and that axis is dropped from the result. f16 and bf16 multiply and add in f32 and round once.
//
//     matmul(zeros({2, 3}), zeros({3, 4}));         // f32[2, 4]
//     matmul(zeros({5, 1, 2, 3}), zeros({7, 3, 4}));  // f32[5, 7, 2, 4]
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b);    // of two 1-d tensors of one length
Tensor outer(const Tensor& a, const Tensor& b);  // of two 1-d tensors: [n] and [m] give [n, m]

// ---- indices that are data -------------------------------------------------------------------------------------------
// Index tensors are integers. A bad index throws IndexError when the graph runs; negative ones are bad, except for index(),
// take() and take_along_dim(), where they count from the end.

// x[positions] along an axis; the result has the positions' shape in place of that axis.
//
//     take(tensor({10, 20, 30}), tensor({2, -1, 0}));    // 30 30 10
Tensor take(const Tensor& x, const Tensor& positions, int axis = 0);

// x[i, j, …]: one tensor for each of the first axes; they broadcast.
//
//     index(logits, {arange(n), labels});
Tensor index(const Tensor& x, std::span<const Tensor> positions);
inline Tensor index(const Tensor& x, std::initializer_list<Tensor> positions) {
    return index(x, std::span<const Tensor>(positions.begin(), positions.size()));
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index);  // `index` is 1-d: picks rows, columns …

// out[i][j][k] = x[i][index[i][j][k]][k] for axis 1. take_along_dim broadcasts x and index against each other first.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
Tensor take_along_dim(const Tensor& x, const Tensor& index, int axis);

// x with out[i][index[i][j][k]][k] = source[i][j][k] for axis 1 (of several, the last one wins), or += for scatter_add.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Operand& source);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

// x with source's slices added at `index` (1-d) along an axis.
//
//     index_add(counts, 0, labels, ones({n}));
Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

Tensor one_hot(const Tensor& index, std::int64_t classes);  // i64[…, classes]: 1 at the index, else 0

}  // namespace weft
