// kernel/math_arc.cpp: asin, acos and atan as kernel expressions; called through kernel/math.cpp.
//
// Where pi/2 comes in, its first part is added exactly or rounded once, and its second is a fixed fraction of the first
// (kTail), so that multiples of pi/2 that were selected by Where bring their tail along.
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

namespace weft::kernel {
namespace {

double half_pi(const Format& format) { return format.pick(kHalfPiF32, kHalfPiF64)[0]; }
double tail(const Format& format) { return format.pick(kHalfPiF32, kHalfPiF64)[1] / half_pi(format); }

struct Arcsine {
    Value large;  // |x| > 1/2
    Value p;      // asin(x), or, if large, asin(sqrt((1 - |x|)/2)) = acos(|x|)/2
};

// asin(s) = s + s z P(z), z = s^2 <= 1/4. (1 - |x|)/2 is exact for large x, and its root NaN beyond 1.
Arcsine arcsine(const Value& x, const Value& a) {
    const Value large = a > 0.5;
    const Value z = where(large, fma(a, -0.5, 0.5), x * x), s = where(large, sqrt(z), x);
    return {large, fma(s * z, polynomial(z, format_of(x).pick(kAsinF32, kAsinF64)), s)};
}

}  // namespace

// asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|)/2)) for large x. At 1/2 that is pi/2 - pi/3, so the error of the second
// term, 1 ulp, doubles at most.
Value make_asin(const Value& x) {
    const Format& format = format_of(x);
    const Value a = abs(x);
    const Arcsine arc = arcsine(a, a);
    const Value large = fma(arc.p, -2, half_pi(format)) + half_pi(format) * tail(format);
    return with_sign_of(x, where(arc.large, large, arc.p));
}

// acos(x) = pi/2 - asin(x), or 2 p, or pi - 2 p for x < -1/2: always w p + c, with c one of pi/2, 0 and pi.
Value make_acos(const Value& x) {
    const Format& format = format_of(x);
    const Arcsine arc = arcsine(x, abs(x));
    const Value negative = x < 0;
    const Value w = where(arc.large, where(negative, constant(x, -2), 2), -1);
    const Value c = where(arc.large, where(negative, constant(x, 2 * half_pi(format)), 0), half_pi(format));
    return fma(c, tail(format), fma(arc.p, w, c));
}

// atan(a) = c + atan(t). f32: t = a up to 1, and -1/a, c = pi/2 above. f64, where the polynomial would be twice as
// long: t = a up to tan(pi/8), (a - 1)/(a + 1), c = pi/4 up to tan(3 pi/8), then -1/a, c = pi/2.
Value make_atan(const Value& x) {
    const Format& format = format_of(x);
    const Value a = abs(x), large = a > (format.narrow() ? 1 : 0x1.3504f333f9de6p+1);
    Value c = where(large, constant(x, half_pi(format)), 0), t = x;
    if (format.narrow()) {
        t = where(large, -1 / a, a);
    } else {
        const Value small = a < 0x1.a827999fcef32p-2;
        t = where(large, constant(x, -1), where(small, a, a - 1)) /
            where(large, a, where(small, constant(x, 1), a + 1));
        c = where(large, c, where(small, constant(x, 0), half_pi(format) / 2));
    }
    const Value z = t * t;
    const Value p = fma(t * z, polynomial(z, format.pick(kAtanF32, kAtanF64)), t);
    return with_sign_of(x, fma(c, tail(format), c + p));
}

}  // namespace weft::kernel
