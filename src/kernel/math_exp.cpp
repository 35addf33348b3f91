// kernel/math_exp.cpp: exp, exp2, expm1, sinh, cosh and tanh as kernel expressions; called through kernel/math.cpp.
//
// All start from x = n ln 2 + r, so that exp(x) = 2^n exp(r) with |r| <= ln(2)/2 and a short polynomial for exp(r).
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace weft::kernel {

namespace {
constexpr double kPerLn2 = 0x1.71547652b82fep+0;  // 1 / ln 2
}

// n = round(x / ln 2), by the magic number. r = x - n ln 2 takes ln 2 in two parts. With a fused multiply-add the first
// step is exact: n*high is a multiple of ulp(high), as x is or nearly is, and the difference is at most 0.35, so it
// fits. The second step rounds once: |error(r)| <= ulp(r)/2. One part is enough where exp(x) is a small part of the
// result.
Reduced reduce_exp(const Value& x, int parts) {
    const Format& format = format_of(x);
    const std::span<const double> ln2 = format.pick(kLn2F32, kLn2F64);
    const Value shifted = fma(x, kPerLn2, format.magic());
    const Value n = shifted - format.magic();
    const Value r = fma(n, -ln2[0], x);
    return {parts == 1 ? r : fma(n, -ln2[1], r), n, shifted};
}

Reduced reduce_exp2(const Value& x) {
    const Format& format = format_of(x);
    const Value shifted = x + format.magic();
    const Value n = shifted - format.magic();
    return {x - n, n, shifted};
}

// Horner with the two leading ones: the last two steps are 1 + r(1 + r P), error <= 1/2 + |r|/2 + … < 0.8 ulp.
Value exp_polynomial(const Value& r) {
    return fma(fma(polynomial(r, format_of(r).pick(kExpF32, kExpF64)), r, 1), r, 1);
}

Value exp2_polynomial(const Value& r) { return fma(polynomial(r, format_of(r).pick(kExp2F32, kExp2F64)), r, 1); }

// The low bits of `shifted` are n in two's complement; shifting them into the exponent field drops all the others.
Value power_of_two(const Value& shifted, int plus) {
    const Format& format = format_of(shifted);
    return bitcast((bitcast(shifted, format.bits) << format.mantissa) + format.exponent(plus), shifted.type());
}

namespace {

// exp(sign x) in f32, for a sign of 1 or -1, which give the same bits: constants have the other sign instead. x = n ln 2 + r with a whole
// number n of eighths, |r| <= ln(2)/16, and exp = 2^n exp(r). The table has 2^n for each eighth; what n has beside it is
// added to the exponent. So n ends below 128. What little is left up to the largest number has a larger r, and the
// polynomial allows for it; beyond, it overflows.
//
// Below 2^-126 flushing makes a zero. Where subnormals are kept, the exponent is added last, by an instruction that rounds.
Value near_exp(const Value& x, int sign) {
    constexpr double kMagic = 0x1.8p20;  // leaves eighths in the low bits
    constexpr auto kLast = std::bit_cast<std::uint32_t>(static_cast<float>(kMagic)) + 128 * 8 - 1;
    const bool keep = x.kernel->numerics.keep_subnormals;
    const double least = keep ? -104 : -88;  // of sign x, where the result surely is zero
    const Value clamped = sign > 0 ? max(x, least) : min(x, -least);
    const Value eighths = min(bitcast(fma(clamped, sign * kPerLn2, kMagic), DType::U32), std::uint64_t{kLast});
    const Value n = bitcast(eighths, DType::F32) - kMagic;
    const Value r = fma(n, -sign * kLn2F32[1], fma(n, -sign * kLn2F32[0], clamped));  // sign r, in fact
    const Value power =
        bitcast(bitcast(lookup(eighths, kEighths), DType::U32) + ((keep ? eighths & 7 : eighths) << 20), DType::F32);
    const auto& c = kExpNearF32;
    const Value q = polynomial(r, std::array{sign * c[0], c[1], sign * c[2], c[3]}) * r;
    const Value result = fma(power, q, power);
    return keep ? scale(result, n) : result;
}

// exp(-x), with the bits that make_exp has for -x: constants have the other sign instead.
Value make_exp_of_negative(const Value& x) {
    if (format_of(x).narrow()) return near_exp(x, -1);
    const double magic = format_of(x).magic();
    const Value clamped = max(min(x, 746.0), -710.0);
    const Value n = magic - fma(clamped, kPerLn2, magic);
    const Value r = fma(n, kLn2F64[1], fma(n, kLn2F64[0], clamped));
    std::vector<double> c{1, -1};
    for (const double next : kExpF64) c.push_back(c.size() % 2 ? -next : next);
    return scale(polynomial(r, c), n);
}

}  // namespace

// Clamped to where the result surely is 0 or infinite; NaN stays NaN, since it wins in Min and Max. Below 1 ulp.
Value make_exp(const Value& x) {
    if (x.node->op == ir::Op::Neg) return make_exp_of_negative({x.kernel, x.node->sources[0]});
    if (format_of(x).narrow()) return near_exp(x, 1);
    const Reduced reduced = reduce_exp(min(max(x, -746.0), 710.0));
    return scale(exp_polynomial(reduced.r), reduced.n);
}

// As exp, but r = x - n is exact.
Value make_exp2(const Value& x) {
    const Format& format = format_of(x);
    const Value clamped = min(max(x, format.pick(-152.0, -1080.0)), format.pick(129.0, 1025.0));
    const Reduced reduced = reduce_exp2(clamped);
    return scale(exp2_polynomial(reduced.r), reduced.n);
}

// expm1(x) = 2^n q + (2^n - 1) with q = expm1(r), at half the size, since 2^n may overflow: 2 (s q + (s - 1/2)), s =
// 2^(n-1). n = 0 leaves q alone. Otherwise the sum cannot cancel by more than 2: 2^n q <= 0.42 2^n and |2^n - 1| >= 2^n
// / 2 or 1/2. Tiny x are their own result: s q might be subnormal, and zeros would lose their sign.
Value make_expm1(const Value& x) {
    const Format& format = format_of(x);
    const Value clamped = min(max(x, format.pick(-18.0, -40.0)), format.pick(89.0, 710.0));
    const Reduced reduced = reduce_exp(clamped);
    const Value& r = reduced.r;
    const Value q = fma(r * r, polynomial(r, format.pick(kExpm1F32, kExpm1F64)), r);
    const Value s = power_of_two(reduced.shifted, -1);
    return where(abs(x) < format.pick(0x1p-26, 0x1p-55), x, fma(q, s, s - 0.5) * 2);
}

namespace {

// exp(a) / 4 for 0 <= a: a quarter, because cosh and sinh overflow later than exp does.
Value quarter_exp(const Value& a) {
    const Reduced reduced = reduce_exp(min(a, format_of(a).pick(89.5, 710.6)));
    return exp_polynomial(reduced.r) * power_of_two(reduced.shifted, -2);
}

}  // namespace

// sinh(x) = (e^x - e^-x)/2 = 2 (g - 1/(16 g)) with g = e^|x|/4; below 1, where that cancels, an odd polynomial.
Value make_sinh(const Value& x) {
    const Value a = abs(x), g = quarter_exp(a), z = a * a;
    const Value large = (g - 0.0625 / g) * 2;
    const Value small = fma(a * z, polynomial(z, format_of(x).pick(kSinhF32, kSinhF64)), a);
    return with_sign_of(x, where(a < 1, small, large));
}

// cosh(x) = (e^x + e^-x)/2 = 2 (g + 1/(16 g)).
Value make_cosh(const Value& x) {
    const Value g = quarter_exp(abs(x));
    return (g + 0.0625 / g) * 2;
}

// f32: a polynomial for each of 16 pieces, four to an octave of 1 + 1.62 |x|, picked by its bits; no division, and a third of
// the instructions that an exponential takes. From 9.2 on the result is 1. The first piece is x + …, with no constant term.
//
// f64: tanh(x) = 1 - 2/(e^2x + 1) from 0.5625 on, where the fraction is below a half: its error of about 1.5 ulp becomes
// less than 1 ulp of the result; leaving out the low part of ln 2 adds 0.15 to that. Below, an odd polynomial. From 20
// on the result is 1.
Value make_tanh(const Value& x) {
    if (format_of(x).narrow()) {
        const Value a = min(abs(x), 9.2), piece = bitcast(fma(a, 1.62, 1), DType::U32) >> 21;
        return with_sign_of(x, piecewise(a, piece, kTanhPieces, lookup(piece, kTanhPieces[1])));
    }
    const Value a = min(abs(x), 20.0), z = a * a;
    const Reduced reduced = reduce_exp(a + a, 1);
    const Value large = 1 - 2 / fma(exp_polynomial(reduced.r), power_of_two(reduced.shifted), 1);
    const Value small = fma(a * z, polynomial(z, kTanhF64), a);
    return with_sign_of(x, where(a < 0.5625, small, large));
}

}  // namespace weft::kernel
