"""The Weibull distribution."""

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

__all__ = ["Weibull"]


class Weibull(Distribution):
    """Weibull(scale, concentration): lifetimes whose risk grows with age where the concentration is above 1."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("scale", "concentration"))

    def _moment(self, n: int) -> Tensor:
        """The mean of (value / scale)^n."""
        return weft.lgamma(1 + n / self.concentration).exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        return self.scale * ((a - 1) / a) ** a.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        limits = weft.finfo(self.scale.dtype)
        uniform = rand_at(self.scale, self._extended_shape(sample_shape)).clamp(limits.tiny, 1 - limits.eps)
        return self.scale * (-weft.log1p(-uniform)) ** self.concentration.reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        z, a = self._checked(value) / self.scale, self.concentration
        return (a / self.scale).log() + weft.xlogy(a - 1, z) - z**a

    def cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(-((self._checked(value) / self.scale) ** self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-weft.log1p(-value)) ** self.concentration.reciprocal()

    def entropy(self) -> Tensor:
        return euler_constant * (1 - self.concentration.reciprocal()) + (self.scale / self.concentration).log() + 1
