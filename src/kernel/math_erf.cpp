// kernel/math_erf.cpp: erf as a kernel expression; called through kernel/math.cpp.
#include "kernel/math_build.h"
#include "kernel/math_tables.h"

namespace weft::kernel {

// Below 1: x + x P(x^2). Above: 1 - erfc(x) = 1 - exp(Q(x - 1)), with Q fitted to log(erfc), weighed by erfc: since
// that is 0.157 and falling fast, a relative error in it counts for little, and Q may be a plain polynomial. exp needs
// neither its clamps, nor subnormal results, nor the low part of ln 2: -18 < Q < -1.8 (f64: -39). From 4 (f64: 6) on
// the result is 1.
Value make_erf(const Value& x) {
    const Format& format = format_of(x);
    const Value a = min(abs(x), format.pick(4.0, 6.0)), z = a * a;
    const Value small = fma(polynomial(z, format.pick(kErfF32, kErfF64)), a, a);
    const Reduced reduced = reduce_exp(polynomial(a - 1, format.pick(kErfcF32, kErfcF64)), 1);
    const Value large = 1 - exp_polynomial(reduced.r) * power_of_two(reduced.shifted);
    return with_sign_of(x, where(a < 1, small, large));
}

}  // namespace weft::kernel
