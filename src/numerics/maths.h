// numerics/maths.h: special functions of one f64 element, which src/tensor/special.cpp makes ops of. Each is within a few ulp of
// the right value over its domain, but near zeros of the oscillating ones, where the error is small beside the values around.
#pragma once

#include <cstdint>
#include <limits>

namespace weft::maths {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                        kNaN = std::numeric_limits<double>::quiet_NaN();

// ---- around the normal distribution ----------------------------------------------------------------------------------

double erfcx(double x);           // exp(x²) erfc(x)
double erfcx_slope(double x);     // its derivative
double ndtr(double x);            // the share of a standard normal distribution below x
double log_ndtr(double x);        // its logarithm
double log_ndtr_slope(double x);  // the derivative of that
double ndtri(double p);           // the inverse of ndtr

// ---- Bessel functions ------------------------------------------------------------------------------------------------

double bessel_j(int order, double x);
double bessel_y(int order, double x);
double bessel_i(int order, double x);
double bessel_ie(int order, double x);  // exp(-|x|) I(x)
double bessel_k(int order, double x);
double bessel_ke(int order, double x);  // exp(x) K(x)
double spherical_j0(double x);          // sin(x) / x
double spherical_j0_slope(double x);
double airy_ai(double x);

// ---- around the gamma function ---------------------------------------------------------------------------------------

double log_gamma(double x);                 // of positive x; std::lgamma writes a global, which other threads see
double digamma(double x);                   // of positive x
double gammainc(double a, double x);        // the share of a gamma distribution with shape a that lies below x
double gammaincc(double a, double x);       // and above
double gammainc_slope(double a, double x);  // the derivative of gammainc in a
double gamma_density(double a, double x);   // the derivative of gammainc in x

// How the logarithm of a sample of the gamma distribution moves with its shape a while its quantile stays: d log(x) / da.
double gamma_sample_slope(double a, double log_x);

double zeta(double s, double q);        // sum(k >= 0) (q + k)^-s
double zeta_slope(double s, double q);  // the derivative in s

// ---- orthogonal polynomials of degree n, 0 below degree 0 ------------------------------------------------------------

double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);
double hermite_h(double x, double n);   // the physicists'
double hermite_he(double x, double n);  // the probabilists'
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

}  // namespace weft::maths
