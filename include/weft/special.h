// weft/special.h: special functions beyond those of weft/elementwise.h. All are computed in f64 and rounded once. Operands broadcast;
// integers give f32.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>

namespace WEFT_API weft {
namespace special {

// ---- around the normal distribution ----------------------------------------------------------------------------------

Tensor erfcx(const Tensor& x);     // exp(x²) erfc(x), which neither overflows nor vanishes for large x
Tensor ndtr(const Tensor& x);      // the share of a standard normal distribution below x
Tensor log_ndtr(const Tensor& x);  // its logarithm, also where the share itself is 0
Tensor ndtri(const Tensor& p);     // the inverse of ndtr: -∞ at 0, ∞ at 1, NaN outside

// ---- around the gamma function ---------------------------------------------------------------------------------------

// The shares of a gamma distribution with shape `a` below and above x; NaN for negative numbers.
//
//     gammainc(tensor({2.0}), tensor({1.0}));    // 1 - 2/e = 0.264
Tensor gammainc(const Operand& a, const Operand& x);
Tensor gammaincc(const Operand& a, const Operand& x);
Tensor igamma(const Operand& a, const Operand& x);  // other names of both
Tensor igammac(const Operand& a, const Operand& x);
Tensor mvlgamma(const Tensor& x, std::int64_t p);  // log of the multivariate gamma function of dimension p
Tensor zeta(const Operand& s, const Operand& q);   // sum(k >= 0) (q + k)^-s, for s > 1

// ---- Bessel functions ------------------------------------------------------------------------------------------------

Tensor bessel_j(const Tensor& x, int order);   // of the first kind, order 0, 1, …
Tensor bessel_y(const Tensor& x, int order);   // of the second kind; NaN below 0
Tensor bessel_i(const Tensor& x, int order);   // modified, of the first kind
Tensor bessel_ie(const Tensor& x, int order);  // exp(-|x|) times that
Tensor bessel_k(const Tensor& x, int order);   // modified, of the second kind; NaN below 0
Tensor bessel_ke(const Tensor& x, int order);  // exp(x) times that
Tensor spherical_bessel_j0(const Tensor& x);   // sin(x) / x
Tensor airy_ai(const Tensor& x);               // without a derivative

// ---- orthogonal polynomials in x, of a degree for each element; 0 below degree 0; without derivatives ------------------

enum class Polynomial : std::uint8_t {
    ChebyshevT,
    ChebyshevU,
    ChebyshevV,
    ChebyshevW,
    ShiftedChebyshevT,
    ShiftedChebyshevU,
    ShiftedChebyshevV,
    ShiftedChebyshevW,
    HermiteH,   // the physicists'
    HermiteHe,  // the probabilists'
    LaguerreL,
    LegendreP,
};
// polynomial(Polynomial::LegendreP, x, 3);    // (5x³ - 3x) / 2
Tensor polynomial(Polynomial kind, const Operand& x, const Operand& degree);

}  // namespace special
}  // namespace weft
