// kernel/math_log.cpp: log, log2 and log1p as kernel expressions; called through kernel/math.cpp.
//
// All start from x = 2^e m with sqrt(1/2) <= m < sqrt(2), so that log(x) = e ln 2 + log(1 + f), f = m - 1 exactly.
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <limits>

namespace weft::kernel {

// Adding bits(1) - bits(sqrt(1/2)) carries into the exponent field exactly if m would be sqrt(2) or more, up to
// scaling: so the field is that of 2^e, and what is left is m's distance from sqrt(1/2), counted in units of the
// mantissa.
Value split_bits(const Value& x) {
    const Format& format = format_of(x);
    return bitcast(x, format.bits) + (format.exponent(0) - format.root);
}

// An integer below 2^mantissa, put under the exponent of 2^mantissa, is the float 2^mantissa + integer.
Value exponent_plus_bias(const Value& u, const Format& format) {
    return bitcast((u >> format.mantissa) | format.exponent(format.mantissa),
                   format.narrow() ? DType::F32 : DType::F64);
}

Value mantissa_of(const Value& u, const Format& format) {
    const std::uint64_t mask = (std::uint64_t{1} << format.mantissa) - 1;
    return bitcast((u & mask) + format.root, format.narrow() ? DType::F32 : DType::F64);
}

namespace {

// log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2).
// f32: f + f^2 (f P(f) - 1/2): the second term is at most 0.2 |f|, its rounding errors count for as much less.
// f64: with s = f/(2 + f), log(1 + f) = log((1 + s)/(1 - s)) = 2s + s R, R = z P(z), z = s^2; and since 2s = f - s f =
// f - f^2/2 + s f^2/2, it is f - (h - s (h + R)) with h = f^2/2: s only matters in a small correction.
Value log_of_one_plus(const Value& f) {
    const Value square = f * f;
    if (f.type() == DType::F32) return fma(square, fma(polynomial(f, kLogF32), f, -0.5), f);
    const Value s = f / (f + 2), z = s * s, half = square * 0.5;
    return f - (half - s * fma(z, polynomial(z, kLogF64), half));
}

struct LogParts {
    Value e, l;  // log(x) = e ln 2 + l
};

// Subnormal x are scaled by 2^64 first (flushed ones are zero here, as everywhere).
LogParts log_parts(const Value& x) {
    const Format& format = format_of(x);
    const Value subnormal = x < (format.narrow() ? 0x1p-126 : 0x1p-1022);
    const Value u = split_bits(where(subnormal, x * 0x1p64, x));
    const double offset = format.pick(0x1p23, 0x1p52) + format.bias;
    const Value e = exponent_plus_bias(u, format) - where(subnormal, constant(x, offset + 64), offset);
    return {e, log_of_one_plus(mantissa_of(u, format) - 1)};
}

// e ln 2 + l, with ln 2 in two parts: the low one joins l, and the last step rounds once.
Value join(const Value& e, const Value& l) {
    const std::span<const double> ln2 = format_of(e).pick(kLn2F32, kLn2F64);
    return fma(e, ln2[0], fma(e, ln2[1], l));
}

// What a logarithm is at and beyond the ends of its domain (`low` < x < infinity): log(low) = -infinity.
Value with_special_values(const Value& x, double low, const Value& inside) {
    const Value below = where(x == low, constant(x, -kInfinity), kNaN);  // NaN comes here too
    return where(x > low, where(x < kInfinity, inside, x), below);
}

}  // namespace

Value make_log(const Value& x) {
    const LogParts parts = log_parts(x);
    return with_special_values(x, 0, join(parts.e, parts.l));
}

// log2(x) = e + l / ln 2. The product is not rounded before the sum; exact for powers of two, where l = 0.
Value make_log2(const Value& x) {
    const LogParts parts = log_parts(x);
    return with_special_values(x, 0, fma(parts.l, 0x1.71547652b82fep+0, parts.e));
}

// log1p(x): e is taken from the rounded sum 1 + x, but f = (1 + x)/2^e - 1 = x s + (s - 1), s = 2^-e, from x itself,
// with one rounding; for e = 0 it is x. Since s underflows for the largest x, it is t = 4s that is built, and met by
// x/4.
// Tiny x are their own result: x/4 might be subnormal, and a zero would lose its sign.
Value make_log1p(const Value& x) {
    const Format& format = format_of(x);
    const Value u = split_bits(x + 1);
    const std::uint64_t field = ~((std::uint64_t{1} << format.mantissa) - 1) & (format.sign | (format.sign - 1));
    const Value t = bitcast(format.exponent(2) + format.exponent(0) - (u & field), x.type());
    const Value f = fma(t, x * 0.25, fma(t, 0.25, -1));
    const Value e = exponent_plus_bias(u, format) - (format.pick(0x1p23, 0x1p52) + format.bias);
    const Value result = with_special_values(x, -1, join(e, log_of_one_plus(f)));
    return where(abs(x) < format.pick(0x1p-26, 0x1p-55), x, result);
}

}  // namespace weft::kernel
