"""Special functions under PyTorch's names (torch.special): some are functions of weft as well."""

from __future__ import annotations

from . import _weft
from ._weft import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    exp2 as exp2,
    expm1 as expm1,
    i0 as i0,
    log1p as log1p,
    log_softmax as log_softmax,
    logit as logit,
    logsumexp as logsumexp,
    polygamma as polygamma,
    round as round,
    sinc as sinc,
    softmax as softmax,
    xlogy as xlogy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._tensor import Tensor

psi, gammaln, expit, entr = _weft.digamma, _weft.lgamma, _weft.sigmoid, _weft._entr
gammainc, gammaincc, multigammaln = _weft._gammainc, _weft._gammaincc, _weft.mvlgamma
erfcx, ndtr, log_ndtr, ndtri, zeta = _weft._erfcx, _weft._ndtr, _weft._log_ndtr, _weft._ndtri, _weft._zeta
i0e, i1, i1e, airy_ai = _weft._i0e, _weft._i1, _weft._i1e, _weft._airy_ai
bessel_j0, bessel_j1, bessel_y0, bessel_y1 = _weft._bessel_j0, _weft._bessel_j1, _weft._bessel_y0, _weft._bessel_y1
spherical_bessel_j0 = _weft._spherical_bessel_j0
modified_bessel_i0, modified_bessel_i1 = _weft.i0, _weft._i1
modified_bessel_k0, modified_bessel_k1 = _weft._modified_bessel_k0, _weft._modified_bessel_k1
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _weft._scaled_modified_bessel_k0, _weft._scaled_modified_bessel_k1
chebyshev_polynomial_t, chebyshev_polynomial_u = _weft._chebyshev_polynomial_t, _weft._chebyshev_polynomial_u
chebyshev_polynomial_v, chebyshev_polynomial_w = _weft._chebyshev_polynomial_v, _weft._chebyshev_polynomial_w
shifted_chebyshev_polynomial_t = _weft._shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u = _weft._shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v = _weft._shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w = _weft._shifted_chebyshev_polynomial_w
hermite_polynomial_h, hermite_polynomial_he = _weft._hermite_polynomial_h, _weft._hermite_polynomial_he
laguerre_polynomial_l, legendre_polynomial_p = _weft._laguerre_polynomial_l, _weft._legendre_polynomial_p


def xlog1py(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input * log1p(other), and 0 for an input of 0 unless the other is NaN."""
    if isinstance(input, _weft.Tensor):
        x, y = input, other if isinstance(other, _weft.Tensor) else _weft.full_like(input, other)
    elif isinstance(other, _weft.Tensor):
        x, y = _weft.full_like(other, input), other
    else:
        raise TypeError("xlog1py(): one of the arguments 'input' and 'other' must be a Tensor")
    zero = (x == 0) & (y == y)
    return _weft.where(zero, 0.0, x * _weft.log1p(_weft.where(zero, 0.0, y)))
