"""The Kumaraswamy distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, euler_constant, rand_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Kumaraswamy"]


class Kumaraswamy(Distribution):
    """Kumaraswamy(concentration1, concentration0): much like Beta, with a distribution function in closed form."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("concentration1", "concentration0"))

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return (b.log() + weft.lgamma(a) + weft.lgamma(b) - weft.lgamma(a + b)).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        value = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return weft.where((a < 1) | (b < 1), weft.nan, value)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        limits = weft.finfo(self.concentration1.dtype)
        uniform = rand_at(self.concentration1, self._extended_shape(sample_shape)).clamp(limits.tiny, 1 - limits.eps)
        return self.icdf(uniform)

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.concentration1, self.concentration0, self._checked(value)
        return (a * b).log() + weft.xlogy(a - 1, value) + weft.special.xlog1py(b - 1, -(value**a))

    def cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(self.concentration0 * weft.log1p(-(self._checked(value) ** self.concentration1)))

    def icdf(self, value: Tensor) -> Tensor:
        return (-weft.expm1(weft.log1p(-value) / self.concentration0)) ** self.concentration1.reciprocal()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = weft.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - (a * b).log()
