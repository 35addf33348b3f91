// kernel/math_mod.cpp: the rest of a division of floats as a kernel expression; called through kernel/math.cpp.
//
// With x = |a| and y = |b|, the rest m = x - t y, 0 <= m < y, is exact: a multiple of the last place of x or of y. So are all
// x - t y on the way to it that are below some 2^k y, if t is a multiple of 2^k: a fused multiply-add computes them without
// an error, and only the quotient t is found by rounding.
#include "kernel/math_build.h"

#include <cmath>
#include <limits>

namespace weft::kernel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// f32, in f64: the quotient, below 2^277 with subnormals, is taken off from the top, 51 bits at a time. Adding 1.5 2^(52+k)
// rounds r/y to a multiple of 2^k, so with the error of 1/y at most 0.75 2^k stay: the rest is below 2^k y and is a number of
// 26 bits. At last |r| is hardly above y/2. No x reaches 2^200, the quotient by which is 0; infinity times 0 would be NaN.
Value rest_narrow(const Value& a, const Value& b) {
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

// f64: a quotient below 2^53 rounds to one of the whole numbers beside it, so that trunc may be 1 too large. What is left to
// the library's fmod, and rare: larger quotients, and divisors that would make the rest subnormal. Where nothing is left,
// x < y, that is x itself, and backends need not ask (NaN neither).
Value rest_wide(const Value& a, const Value& b) {
    const Value x = abs(a), y = abs(b);
    const Value t = trunc(x / y), r = fma(t, -y, x);
    const Value left = (t > 0x1p53 - 1) | (y < 0x1p-969) | (y == kInfinity);
    const Value reduced = where(left, x, where(r < 0, r + y, r));
    const Value rest = binary(ir::Op::Mod, where(y == 0, constant(y, kNaN), reduced), y);
    return where(rest == 0, constant(rest, 0), rest);  // a subnormal one, if those are flushed
}

}  // namespace

// The rest has the sign of a; where that is not b's and it is not 0, b is added, which may round.
Value make_mod(const Value& a, const Value& b) {
    const Value magnitude = format_of(a).narrow() ? rest_narrow(a, b) : rest_wide(a, b);
    const Value rest = with_sign_of(a, magnitude);
    const Value keeps = (magnitude == 0) | ((rest < 0) == (b < 0));
    return where(keeps, rest, rest + b);
}

}  // namespace weft::kernel
