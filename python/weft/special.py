"""Special functions under PyTorch's names (torch.special): most are functions of weft as well."""

from __future__ import annotations

from . import _weft
from ._weft import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    exp2 as exp2,
    expm1 as expm1,
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


def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the normal distribution."""
    return _weft.erfc(input * -(0.5**0.5)) * 0.5


def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """input * log1p(other), and 0 for an input of 0 unless the other is NaN."""
    zero = (input == 0) & (other == other)
    return _weft.where(zero, 0.0, input * _weft.log1p(_weft.where(zero, 0.0, other)))
