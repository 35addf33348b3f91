// weft/arithmetic.h: arithmetic, comparisons, logic and bits, with their operators, and the usual functions of one number. Operands
// broadcast, types promote as in PyTorch, and either side may be a number, which takes the tensor's type.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>

namespace WEFT_API weft {

// ---- arithmetic ------------------------------------------------------------------------------------------------------
// A number takes the tensor's type: add(x, 1) of an i8 tensor is i8.

Tensor add(const Operand& a, const Operand& b);  // bools: or
Tensor sub(const Operand& a, const Operand& b);  // not for bools
Tensor mul(const Operand& a, const Operand& b);  // bools: and
Tensor div(const Operand& a, const Operand& b);  // true division: integers give f32

Tensor add(const Operand& a, const Operand& b, const Scalar& alpha);  // a + alpha b; alpha is an integer where they are
Tensor sub(const Operand& a, const Operand& b, const Scalar& alpha);  // a - alpha b, likewise

// The quotient rounded down or towards 0; of integers it is an integer.
//
//     div(tensor({-7, 7}), 2, Rounding::Trunc);     // -3 3
enum class Rounding : std::uint8_t { Floor, Trunc };
Tensor div(const Operand& a, const Operand& b, Rounding rounding);

// Division rounded down, and what it leaves, with the divisor's sign: a == floor_divide(a, b) * b + remainder(a, b).
// Of integers by 0 both are 0.
//
//     floor_divide(tensor({-7, 7}), 2);            // -4 3
//     remainder(tensor({-7, 7}), 2);               // 1 1
Tensor floor_divide(const Operand& a, const Operand& b);
Tensor remainder(const Operand& a, const Operand& b);
Tensor fmod(const Operand& a, const Operand& b);  // the remainder with the dividend's sign: fmod(-7, 2) is -1

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

// To `decimals` places after the point, halves to even; negative: before it.
//
//     round(tensor({1.25, 2.75}), 1);       // 1.2 2.8
//     round(tensor({125., 15.}), -1);       // 120 20
Tensor round(const Tensor& x, int decimals);

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

}  // namespace weft
