// kernel/math_erf.cpp: erf, erfc and the inverse of erf as kernel expressions; called through kernel/math.cpp.
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

#include <limits>

namespace weft::kernel {

// f32: a polynomial for each of 16 pieces, as for tanh; the first one is x + (erf(x) - x). From 4 on the result is 1.
//
// f64, below 1: x + x P(x^2). Above: 1 - erfc(x) = 1 - exp(Q(x - 1)), with Q fitted to log(erfc), weighed by erfc: since
// that is 0.157 and falling fast, a relative error in it counts for little, and Q may be a plain polynomial. exp needs
// neither its clamps, nor subnormal results, nor the low part of ln 2: -39 < Q < -1.8. From 6 on the result is 1.
Value make_erf(const Value& x) {
    if (format_of(x).narrow()) {
        const Value a = min(abs(x), 4.0), u = fma(a, 3.7, 1), piece = bitcast(u, DType::U32) >> 21;
        const Value at_centre = where(u < 1.25, a, lookup(piece, kErfPieces[1]));
        return with_sign_of(x, piecewise(a, piece, kErfPieces, at_centre));
    }
    const Value a = min(abs(x), 6.0), z = a * a;
    const Value small = fma(polynomial(z, kErfF64), a, a);
    const Reduced reduced = reduce_exp(polynomial(a - 1, kErfcF64), 1);
    const Value large = 1 - exp_polynomial(reduced.r) * power_of_two(reduced.shifted);
    return with_sign_of(x, where(a < 1, small, large));
}

// erfc(a) = exp(-a^2) P(q) / (1 + 2a), where q = (a - k)/(a + k) goes from -1 to 1 as a goes from 0 to infinity: one polynomial
// serves all a. The rounding error of a^2 would be multiplied by a^2 in the result; it is taken from the fused multiply-add and
// put into a factor of its own. erfc(-a) = 2 - erfc(a).
Value make_erfc(const Value& x) {
    const Format& format = format_of(x);
    const double k = format.pick(2.0, 4.0);
    const Value a = min(abs(x), format.pick(11.0, 28.0)), square = a * a, lost = fma(a, a, -square);
    const Value p = polynomial((a - k) / (a + k), format.pick(kErfcxF32, kErfcxF64));
    const Reduced reduced = reduce_exp(-square);
    const Value scaled = exp_polynomial(reduced.r) * (p / fma(a, 2, 1));
    const Value result = scale(fma(scaled, -lost, scaled), reduced.n);
    return where(x < 0, 2 - result, result);
}

// x P(t), with a polynomial for small w = -log(1 - x^2) and others, of sqrt(w), for large ones, where erfinv(x) grows like it.
// (1 - a)(1 + a) keeps w exact near 1; near 0, where it does not, P is level.
Value make_erfinv(const Value& x) {
    const Format& format = format_of(x);
    const Value a = abs(x), w = -make_log((1 - a) * (1 + a)), root = sqrt(w);
    Value p = x;
    if (format.narrow()) {
        p = where(w < 5, polynomial(w - 2.5, kErfinvF32), polynomial(root - 3, kErfinvTailF32));
    } else {
        const Value far =
            where(w < 16, polynomial(root - 3.25, kErfinvMiddleF64), polynomial(root - 5, kErfinvTailF64));
        p = where(w < 6.25, polynomial(w - 3.125, kErfinvF64), far);
    }
    return x * where(a == 1, constant(x, std::numeric_limits<double>::infinity()), p);
}

}  // namespace weft::kernel
