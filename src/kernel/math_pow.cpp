// kernel/math_pow.cpp: pow for floats as a kernel expression; called through kernel/math.cpp.
//
// |x|^y = 2^(y log2 |x|). An error in the logarithm is multiplied by up to 1100 (f32: 150) in the exponent, so that
// needs some 11 bits more than the result: f32 computes in f64, f64 in pairs of numbers (high + low).
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <limits>

namespace weft::kernel {
namespace {

// log2 at the ends of its domain; NaN stays NaN.
Value with_ends(const Value& a, const Value& log2) {
    return where(a == 0, constant(a, -kInfinity), where(a < kInfinity, log2, a));
}

// f32: log2 with an error of 2^-37 of it, 2^r with one of 2^-34, and one rounding at the end.
Value pow_narrow(const Value& a, const Value& y) {
    const Value wide = cast(a, DType::F64), u = split_bits(wide);  // every f32 is a normal f64
    const Value m = mantissa_of(u, kFormat64), s = (m - 1) / (m + 1);
    const Value e = exponent_plus_bias(u, kFormat64) - (0x1p52 + kFormat64.bias);
    const Value log2 = fma(polynomial(s * s, kPowLogF32), s, e);
    const Value t = min(max(cast(y, DType::F64) * with_ends(wide, log2), -200), 200);
    const Reduced reduced = reduce_exp2(t);
    return cast(polynomial(reduced.r, kPowExpF32) * power_of_two(reduced.shifted), DType::F32);
}

struct Pair {
    Value high, low;
};
// a + b for |a| >= |b| (or a = 0), exactly; the rest joins the low part.
Pair sum(const Value& a, const Value& b, const Value& rest) {
    const Value high = a + b;
    return {high, ((a - high) + b) + rest};
}
// a b, with the low parts' product_of_pairs left out.
Pair product_of_pairs(const Pair& a, const Pair& b) {
    const Value high = a.high * b.high;
    return {high, fma(a.high, b.low, fma(a.low, b.high, fma(a.high, b.high, -high)))};
}
Pair pair(const Value& like, const double (&parts)[2]) { return {constant(like, parts[0]), constant(like, parts[1])}; }

// log2(2^e m) = e + 2/ln 2 atanh(s), s = (m - 1)/(m + 1), and atanh(s) = s + s (z/3 + z^2 P(z)), z = s^2 <= 0.03. z/3
// counts for 1 % of the sum and is kept in pairs; z^2 P(z) for 0.02 %, so that a double is enough: relative error
// 2^-63.
Pair log2_wide(const Value& a) {
    const Value subnormal = a < 0x1p-1022;
    const Value u = split_bits(where(subnormal, a * 0x1p64, a));
    const double offset = 0x1p52 + kFormat64.bias;
    const Value e = exponent_plus_bias(u, kFormat64) - where(subnormal, constant(a, offset + 64), offset);
    const Value m = mantissa_of(u, kFormat64);
    const Value f = m - 1, d = m + 1, d_low = m - (d - 1);  // m + 1 = d + d_low exactly
    const Value s_high = f / d;
    const Value remainder = fma(s_high, -d_low, fma(s_high, -d, f));  // f - s_high (d + d_low)
    const Pair s{s_high, remainder / d};
    const Pair z = product_of_pairs(s, s), third = product_of_pairs(z, pair(a, kThird));
    const Pair b = sum(third.high, z.high * z.high * polynomial(z.high, kPowLogF64), third.low);
    const Pair sb = product_of_pairs(s, b);
    const Pair atanh = sum(s.high, sb.high, sb.low + s.low);
    const Pair log2_m = product_of_pairs(atanh, pair(a, kTwoOverLn2));
    return sum(e, log2_m.high, log2_m.low);
}

// 2^(high + low) with high in the range of exp2; the low part is void where high was clamped.
Value pow_wide(const Value& a, const Value& y) {
    const Pair log2 = log2_wide(a);
    const Value high = y * with_ends(a, log2.high);
    const Value low = fma(y, log2.low, fma(y, log2.high, -high));
    const Value clamped = min(max(high, -1080), 1025);
    const Reduced reduced = reduce_exp2(clamped);
    const Value r = reduced.r + where(clamped == high, low, 0);
    return scale(exp2_polynomial(r), reduced.n);
}

}  // namespace

// The special cases are C's. Negative x: an odd y gives the sign, a y that is no integer gives NaN unless x is -0 or
// -infinity. Infinite y are even. |x| = 1 is 1 for every y, but (-1)^NaN is no integer power, hence NaN.
Value make_pow(const Value& x, const Value& y) {
    const Format& format = format_of(x);
    const Value a = abs(x);
    const Value magnitude = where(a == 1, constant(x, 1), format.narrow() ? pow_narrow(a, y) : pow_wide(a, y));
    const Value half = y * 0.5, integer = trunc(y) == y, even = trunc(half) == half;
    const Value flips = bitcast(x, format.bits) & where(even, constant(bitcast(x, format.bits), 0), format.sign);
    const Value with_sign = bitcast(bitcast(magnitude, format.bits) ^ flips, x.type());
    const Value finite_negative = (x < 0) & (a < kInfinity);
    const Value fraction = where(finite_negative, constant(x, std::numeric_limits<double>::quiet_NaN()), magnitude);
    return where((y == 0) | (x == 1), constant(x, 1), where(integer, with_sign, fraction));
}

}  // namespace weft::kernel
