// kernel/math_trig.cpp: sin, cos and tan as kernel expressions, right for every finite x; called through
// kernel/math.cpp.
//
// |x| = (4 k + q + f) pi/2 with a quadrant q in 0 … 3 and |f| <= 1/2; then r = f pi/2, and sin(r) and cos(r) are short
// polynomials. All the art is in f: x 2/pi needs as many bits of 2/pi as x has exponent, but those that make multiples
// of 4 of the product need not be there. No float or double is so close to a multiple of pi/2 that f is below 2^-30
// (2^-62).
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <iterator>

namespace weft::kernel {

Value sin_polynomial(const Value& r) {
    const Value z = r * r;
    return fma(r * z, polynomial(z, format_of(r).pick(kSinF32, kSinF64)), r);
}

Value cos_polynomial(const Value& r) {
    const Value z = r * r;
    return fma(z * z, polynomial(z, format_of(r).pick(kCosF32, kCosF64)), fma(z, -0.5, 1));
}

namespace {

struct Angle {
    Value r;  // |r| <= pi/4, and a little
    Value q;  // an unsigned integer of the same width; its two low bits count quadrants
};

// f32 of any size, in f64. The range of a says which bits of 2/pi matter, as c0 + c1: a >= 2^start is a multiple of 2^(start-23),
// so what stands at 2^(25-start) and above in 2/pi is left out. A range spans 21 binades, hence a c0 < 2^46. It is high
// + low exactly; round(high) is q plus a multiple of 4 (in the low bits of the magic sum), and f = (high - round(high))
// + low + a c1, where only the last two sums round. |low| < 2^-8 takes |f| a little beyond 1/2. a c1 < 2^-7, and c1
// ends 2^-54 below that, so the error of f is at most 2^-60 + 2^-53 |f|: against |f| > 2^-30 far below an ulp. Infinity
// and NaN give NaN.
Angle reduce_narrow(const Value& x) {
    const Value a = abs(cast(x, DType::F64));
    Value c0 = constant(a, kTwoOverPiHighF32[0]), c1 = constant(a, kTwoOverPiLowF32[0]);
    for (std::size_t i = 0; i < std::size(kTwoOverPiStartsF32); ++i) {
        const Value before = a < kTwoOverPiStartsF32[i];
        c0 = where(before, c0, kTwoOverPiHighF32[i + 1]);
        c1 = where(before, c1, kTwoOverPiLowF32[i + 1]);
    }
    const Value high = a * c0, low = fma(a, c0, -high);
    const Value shifted = high + kFormat64.magic();
    const Value f = fma(a, c1, (high - (shifted - kFormat64.magic())) + low);
    return {cast(f * kHalfPiF64[0], DType::F32), cast(bitcast(shifted, DType::U64), DType::U32)};
}

// |x| < 2^17 (2^20 of f64): r = a - n pi/2 with pi/2 in three parts. By the same argument as for exp the first step is
// exact; the second rounds at ulp(r)/2, and the third is below 2^-32 (2^-86): less than r, which is above 2^-30 (2^-62).
Angle reduce_moderate(const Value& a) {
    const Format& format = format_of(a);
    const Value shifted = fma(a, 0x1.45f306dc9c883p-1, format.magic());
    const Value n = shifted - format.magic();
    Value r = a;
    for (const double part : format.pick(kHalfPiF32, kHalfPiF64)) r = fma(n, -part, r);
    return {r, bitcast(shifted, format.bits)};
}

// The high 64 bits of a 53-bit m times a 64-bit w, from products of 32-bit halves.
Value high_product(const Value& m, const Value& w) {
    const Value m0 = m & 0xffffffff, m1 = m >> 32, w0 = w & 0xffffffff, w1 = w >> 32;
    const Value t = m0 * w1 + ((m0 * w0) >> 32);  // at most (2^32 - 1)^2 + 2^32 - 1: no carry
    const Value s = m1 * w0 + (t & 0xffffffff);
    return m1 * w1 + (t >> 32) + (s >> 32);
}

// f64, |x| >= 2^20: a = m 2^e, m a 53-bit integer. The product m (2^e 2/pi mod 4) is made in fixed point: of the words
// of 2/pi, three (A B C, 192 bits) from the bit on that stands for 2^(1-e), so that the product's two top bits, modulo
// 2^192, are q. Bits below the third word would change the product's top 128 bits, P1 P0, by one or two at the end:
// |error(f)| < 2^-124, against |f| > 2^-62.
Angle reduce_large(const Value& a) {
    const Value bits = bitcast(a, DType::U64);
    const Value m = (bits & 0xfffffffffffff) | 0x10000000000000;
    const Value offset = (bits >> 52) - (kFormat64.bias + 20);  // in bits, 0 … 1003: 2^20 starts with the first word
    // Four words from word offset/64 on: a barrel shifter over the constants, 8 words, then 4, 2 and 1.
    Value words[19] = {m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m};
    for (int i = 0; i < 19; ++i) words[i] = constant(m, kTwoOverPiWords[i]);
    for (int step = 8; step > 0; step /= 2) {
        const Value stay = (offset & (64 * step)) == 0;
        for (int i = 0; i < step + 3; ++i) words[i] = where(stay, words[i], words[i + step]);
    }
    const Value left = offset & 63, right = 64 - left;  // a shift by 64 gives 0, as it should
    const Value A = (words[0] << left) | (words[1] >> right);
    const Value B = (words[1] << left) | (words[2] >> right);
    const Value C = (words[2] << left) | (words[3] >> right);
    const Value middle = m * B;
    const Value p0 = middle + high_product(m, C);
    const Value carry = where(p0 < middle, constant(p0, 1), 0);
    const Value p1 = m * A + high_product(m, B) + carry;
    // f is what follows the two top bits, as a signed fraction; q is rounded up where that is negative. 53 bits of f
    // convert exactly, the next 64 nearly so, and r = f pi/2 is rounded once.
    const Value f1 = (p1 << 2) | (p0 >> 62), f0 = p0 << 2;
    const Value high = cast(bitcast(f1 & ~std::uint64_t{2047}, DType::I64), DType::F64);
    const Value low = cast((f1 << 53) | (f0 >> 11), DType::F64);
    const Value tail = fma(low, kHalfPiF64[0] * 0x1p-117, high * (kHalfPiF64[1] * 0x1p-64));
    const Value r = fma(high, kHalfPiF64[0] * 0x1p-64, tail);
    return {r, (p1 + (std::uint64_t{1} << 61)) >> 62};
}

// f(angle of x). For f64, large x are left to a branch of their own; infinity times 0 makes NaN of what would be a number.
template <class F>
Value by_angle(const Value& x, const F& f) {
    const Value a = abs(x);
    if (x.type() == DType::F32) return rarely(a > 0x1.fffffep16, f(reduce_narrow(x)), f(reduce_moderate(a)));
    const Angle large = reduce_large(a);
    return rarely(a > 0x1.fffffffffffffp19, f(Angle{fma(a, 0, large.r), large.q}), f(reduce_moderate(a)));
}

// sin of (q + f) quadrants, with its sign flipped by the top bit of `flip`: quadrants 1 and 3 take the cosine, 2 and 3
// change the sign.
Value sine(const Value& r, const Value& q, const Value* flip) {
    const Format& format = format_of(r);
    const Value value = where((q & 1) == 0, sin_polynomial(r), cos_polynomial(r));
    Value sign = q << (format.narrow() ? 30 : 62);
    if (flip) sign = sign ^ *flip;
    return bitcast(bitcast(value, format.bits) ^ (sign & format.sign), r.type());
}

}  // namespace

// The error is that of r, up to 1 ulp, plus that of the polynomial, up to 0.8 ulp.
Value make_sin(const Value& x) {
    const Value flip = bitcast(x, format_of(x).bits);
    return by_angle(x, [&](const Angle& angle) { return sine(angle.r, angle.q, &flip); });
}

// cos(x) = sin(|x| + one quadrant).
Value make_cos(const Value& x) {
    return by_angle(x, [](const Angle& angle) { return sine(angle.r, angle.q + 1, nullptr); });
}

// tan(r) = sin(r) / cos(r), and a quadrant on -cos(r) / sin(r).
Value make_tan(const Value& x) {
    const Format& format = format_of(x);
    return by_angle(x, [&](const Angle& angle) {
        const Value s = sin_polynomial(angle.r), c = cos_polynomial(angle.r), even = (angle.q & 1) == 0;
        const Value quotient = where(even, s, c) / where(even, c, s);
        const Value sign = ((angle.q << (format.narrow() ? 31 : 63)) ^ bitcast(x, format.bits)) & format.sign;
        return bitcast(bitcast(quotient, format.bits) ^ sign, x.type());
    });
}

}  // namespace weft::kernel
