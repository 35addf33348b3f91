// python/src/special.cpp: the functions of weft/special.h. Those that PyTorch has at the top level are bound so; the package's
// special.py has all of them.
#include "elementwise.h"
#include "topics.h"

#include <weft/special.h>

namespace weft::python {
namespace {

using special::Polynomial;

template <Tensor (*op)(const Tensor&)>
void plain(nb::module_& m, const char* name, const char* doc) {
    function(m, name, "input", doc, [](const Tensor& x) { return op(x); });
}
template <Tensor (*op)(const Tensor&, int), int order>
void bessel(nb::module_& m, const char* name, const char* doc) {
    function(m, name, "input", doc, [](const Tensor& x) { return op(x, order); });
}
template <Polynomial kind>
void polynomial(nb::module_& m, const char* name, const char* doc) {
    function(m, name, "input, n", doc,
             [](const Operand& x, const Operand& n) { return special::polynomial(kind, x, n); });
}

Tensor i0(const Tensor& x) { return special::bessel_i(x, 0); }

void bind_polynomials(nb::module_& m) {
    polynomial<Polynomial::ChebyshevT>(m, "_chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind.");
    polynomial<Polynomial::ChebyshevU>(m, "_chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind.");
    polynomial<Polynomial::ChebyshevV>(m, "_chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind.");
    polynomial<Polynomial::ChebyshevW>(m, "_chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind.");
    polynomial<Polynomial::ShiftedChebyshevT>(m, "_shifted_chebyshev_polynomial_t", "The first kind, of 2x - 1.");
    polynomial<Polynomial::ShiftedChebyshevU>(m, "_shifted_chebyshev_polynomial_u", "The second kind, of 2x - 1.");
    polynomial<Polynomial::ShiftedChebyshevV>(m, "_shifted_chebyshev_polynomial_v", "The third kind, of 2x - 1.");
    polynomial<Polynomial::ShiftedChebyshevW>(m, "_shifted_chebyshev_polynomial_w", "The fourth kind, of 2x - 1.");
    polynomial<Polynomial::HermiteH>(m, "_hermite_polynomial_h", "Hermite's polynomial, the physicists'.");
    polynomial<Polynomial::HermiteHe>(m, "_hermite_polynomial_he", "Hermite's polynomial, the probabilists'.");
    polynomial<Polynomial::LaguerreL>(m, "_laguerre_polynomial_l", "Laguerre's polynomial.");
    polynomial<Polynomial::LegendreP>(m, "_legendre_polynomial_p", "Legendre's polynomial.");
}

}  // namespace

void bind_special(nb::module_& m, nb::handle t) {
    plain<special::erfcx>(m, "_erfcx", "exp(x²) erfc(x).");
    plain<special::ndtr>(m, "_ndtr", "The share of a standard normal distribution below x.");
    plain<special::log_ndtr>(m, "_log_ndtr", "The logarithm of the share of a standard normal distribution below x.");
    plain<special::ndtri>(m, "_ndtri", "The inverse of ndtr.");
    plain<special::spherical_bessel_j0>(m, "_spherical_bessel_j0", "sin(x) / x.");
    plain<special::airy_ai>(m, "_airy_ai", "Airy's function Ai.");
    function(m, "_gammainc", "input, other", "The share of a gamma distribution of shape `input` below `other`.",
             [](const Operand& a, const Operand& x) { return special::gammainc(a, x); });
    function(m, "_gammaincc", "input, other", "The share of a gamma distribution of shape `input` above `other`.",
             [](const Operand& a, const Operand& x) { return special::gammaincc(a, x); });
    function(m, "_zeta", "input, other", "Hurwitz's zeta function: the sum of (other + k)^-input over k = 0, 1, …",
             [](const Operand& s, const Operand& q) { return special::zeta(s, q); });
    bessel<special::bessel_j, 0>(m, "_bessel_j0", "The Bessel function of the first kind of order 0.");
    bessel<special::bessel_j, 1>(m, "_bessel_j1", "The Bessel function of the first kind of order 1.");
    bessel<special::bessel_y, 0>(m, "_bessel_y0", "The Bessel function of the second kind of order 0.");
    bessel<special::bessel_y, 1>(m, "_bessel_y1", "The Bessel function of the second kind of order 1.");
    bessel<special::bessel_i, 1>(m, "_i1", "The modified Bessel function of the first kind of order 1.");
    bessel<special::bessel_ie, 0>(m, "_i0e", "exp(-|x|) i0(x).");
    bessel<special::bessel_ie, 1>(m, "_i1e", "exp(-|x|) i1(x).");
    bessel<special::bessel_k, 0>(m, "_modified_bessel_k0",
                                 "The modified Bessel function of the second kind of order 0.");
    bessel<special::bessel_k, 1>(m, "_modified_bessel_k1",
                                 "The modified Bessel function of the second kind of order 1.");
    bessel<special::bessel_ke, 0>(m, "_scaled_modified_bessel_k0", "exp(x) modified_bessel_k0(x).");
    bessel<special::bessel_ke, 1>(m, "_scaled_modified_bessel_k1", "exp(x) modified_bessel_k1(x).");
    bind_polynomials(m);
    unary<i0>(m, t, "i0", "The modified Bessel function of the first kind of order 0.");
    binary_both<special::igamma>(m, t, "igamma", "The share of a gamma distribution of shape `input` below `other`.");
    binary_both<special::igammac>(m, t, "igammac", "The share of a gamma distribution of shape `input` above `other`.");
    both(m, t, "mvlgamma", "p", "The logarithm of the multivariate gamma function of dimension p.",
         [](const Tensor& x, std::int64_t p) { return special::mvlgamma(x, p); });
    method(t, "mvlgamma_", "p", "The same, in place.",
           [](InPlace self, std::int64_t p) { return stored(self, special::mvlgamma(self.tensor(), p)); });
}

}  // namespace weft::python
