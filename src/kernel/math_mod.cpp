// kernel/math_mod.cpp: the remainder of a division of floats as a kernel expression; called through kernel/math.cpp.
//
// With x = |a| and y = |b|, the remainder m = x - t y, 0 <= m < y, is exact: a multiple of the last place of x or of y. So are all
// x - t y on the way to it that are below some 2^k y, if t is a multiple of 2^k: a fused multiply-add computes them without
// an error, and only the quotient t is found by rounding.
#include "kernel/math_build.h"

#include <cmath>
#include <limits>

namespace weft::kernel {
namespace {

// f32, in f64: the quotient, below 2^277 with subnormals, is taken off from the top, 51 bits at a time. Adding 1.5 2^(52+k)
// rounds r/y to a multiple of 2^k, so with the error of 1/y at most 0.75 2^k stay: the remainder is below 2^k y and is a number of
// 26 bits. At last |r| is hardly above y/2. No x reaches 2^200, the quotient by which is 0; infinity times 0 would be NaN.
Value staged_remainder(const Value& a, const Value& b) {
    const Value x = abs(cast(a, DType::F64)), y = min(abs(cast(b, DType::F64)), 0x1p200);
    const Value inverse = constant(y, 1) / y, minus_y = -y;
    Value r = x;
    for (const int k : {226, 175, 124, 73, 22, 0}) {
        const double shift = std::ldexp(kFormat64.magic(), k);
        const Value t = fma(r, inverse, shift) - shift;
        r = fma(t, minus_y, r);
    }
    return cast(where(r < 0, r + y, r), DType::F32);
}

// x mod y for a quotient that the mantissa can hold: that rounds to one of the whole numbers beside it, so that trunc may be 1
// too large.
Value short_remainder(const Value& x, const Value& y) {
    const Value r = fma(trunc(x / y), -y, x);
    return where(r < 0, r + y, r);
}

// The library's fmod does not flush subnormals, which are 0 if compared, where others do.
Value library_remainder(const Value& x, const Value& y) {
    const Value remainder = binary(ir::Op::Mod, where(y == 0, constant(y, kNaN), x), y);
    return where(remainder == 0, constant(remainder, 0), remainder);
}

// f64: the remainder by 2^k y is at the same distance from multiples of y. A 2^k y that overflows is above x.
Value long_remainder(const Value& x, const Value& y, const Value& beyond) {
    Value r = x;
    for (const int k : {208, 156, 104, 52}) {
        const Value multiple = y * std::ldexp(1.0, k);
        r = where(multiple == kInfinity, r, short_remainder(r, multiple));
    }
    return rarely(beyond | (x > y * 0x1p260), library_remainder(x, y), short_remainder(r, y));
}

// Rare are larger quotients, divisors that would make the remainder subnormal, and infinite ones.
Value remainder_of(const Value& a, const Value& b) {
    const Format& format = format_of(a);
    const Value x = abs(a), y = abs(b);
    const double largest = std::ldexp(1.0, format.mantissa + 1) - 1;
    const double least = std::ldexp(1.0, 1 - format.bias + format.mantissa + 1);
    const Value beyond = (y < least) | (y == kInfinity), rare = (trunc(x / y) > largest) | beyond;
    return rarely(rare, format.narrow() ? staged_remainder(a, b) : long_remainder(x, y, beyond), short_remainder(x, y));
}

}  // namespace

// The remainder has the sign of a; where that is not b's and it is not 0, b is added, which may round.
Value make_mod(const Value& a, const Value& b) {
    const Value magnitude = remainder_of(a, b);
    const Value remainder = with_sign_of(a, magnitude);
    const Value keeps = (magnitude == 0) | ((remainder < 0) == (b < 0));
    return where(keeps, remainder, remainder + b);
}

}  // namespace weft::kernel
