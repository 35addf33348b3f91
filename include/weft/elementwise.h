// weft/elementwise.h: functions of single elements beyond those of weft/arithmetic.h. Operands broadcast, and numbers take the
// tensors' type; integers are computed in f32, f16 and bf16 in f32 with one rounding at the end.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace WEFT_API weft {

// ---- one operand -----------------------------------------------------------------------------------------------------

Tensor asinh(const Tensor& x);                      // the inverses of the hyperbolic functions
Tensor acosh(const Tensor& x);                      // NaN below 1
Tensor atanh(const Tensor& x);                      // NaN beyond ±1
Tensor cbrt(const Tensor& x);                       // the third root, negative for negative x
Tensor sinc(const Tensor& x);                       // sin(pi x) / (pi x), and 1 at 0
Tensor erfc(const Tensor& x);                       // 1 - erf(x), accurate where that is tiny
Tensor erfinv(const Tensor& x);                     // the inverse of erf
Tensor lgamma(const Tensor& x);                     // log|gamma(x)|
Tensor digamma(const Tensor& x);                    // the derivative of lgamma; NaN at negative whole numbers
Tensor polygamma(std::int64_t n, const Tensor& x);  // the n-th derivative of digamma
Tensor entr(const Tensor& x);                       // -x log(x), 0 at 0, -inf below
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
Tensor positive(const Tensor& x);  // x itself; not for bools
Tensor frac(const Tensor& x);      // x - trunc(x); floats only

// log(x / (1 - x)), the inverse of the sigmoid. With eps, x is first moved into [eps, 1 - eps].
Tensor logit(const Tensor& x, std::optional<double> eps = {});

// x with other numbers in place of NaN, infinity and -infinity; without one: the largest and the lowest number of x's type.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

Tensor signbit(const Tensor& x);  // bool: whether the sign is minus, of -0 too
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);
Tensor isreal(const Tensor& x);  // true: there are no complex numbers

// x = mantissa * 2^exponent with 1/2 <= |mantissa| < 1 and an i32 exponent; zeros, infinities and NaN have exponent 0.
//
//     frexp(tensor({12.}));                 // 0.75 and 4
std::pair<Tensor, Tensor> frexp(const Tensor& x);
Tensor ldexp(const Operand& x, const Operand& exponent);  // x * 2^exponent

// ---- two operands ----------------------------------------------------------------------------------------------------

Tensor atan2(const Operand& y, const Operand& x);       // the angle of the point (x, y), from -pi to pi
Tensor hypot(const Operand& a, const Operand& b);       // sqrt(a² + b²), without overflow
Tensor logaddexp(const Operand& a, const Operand& b);   // log(exp(a) + exp(b)), without overflow
Tensor logaddexp2(const Operand& a, const Operand& b);  // the same to base 2
Tensor xlogy(const Operand& x, const Operand& y);       // x log(y), and 0 for x = 0 unless y is NaN
Tensor copysign(const Operand& magnitude, const Operand& sign);
Tensor nextafter(const Operand& x, const Operand& towards);  // the float next to x, which gets the gradient
Tensor heaviside(const Operand& x, const Operand& values);   // 0 below 0 (and for NaN), 1 above, else the value
Tensor fmax(const Operand& a, const Operand& b);             // the larger one; a NaN only if both are
Tensor fmin(const Operand& a, const Operand& b);
Tensor float_power(const Operand& base, const Operand& exponent);  // pow in f64
Tensor gcd(const Operand& a, const Operand& b);                    // of integers, never negative; gcd(0, 0) is 0
Tensor lcm(const Operand& a, const Operand& b);                    // 0 if one of them is

// ---- three operands --------------------------------------------------------------------------------------------------

Tensor lerp(const Operand& start, const Operand& end, const Operand& weight);  // start + weight * (end - start)
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);  // x + value * a * b
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);  // x + value * a / b

// ---- alike -----------------------------------------------------------------------------------------------------------

// Whether |a - b| <= atol + rtol * |b|; an infinity is close to itself, NaN to NaN if asked for. allclose and equal run the
// graph; equal wants one shape, and takes 1 and 1.0 for the same.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
bool equal(const Tensor& a, const Tensor& b);

}  // namespace weft
