"""The inverse gamma distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(Distribution):
    """InverseGamma(concentration, rate): 1 / x of gamma samples x."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("concentration", "rate"))

    @property
    def mean(self) -> Tensor:
        return weft.where(self.concentration > 1, self.rate / (self.concentration - 1), weft.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return weft.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), weft.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        log_gamma = weft._weft._log_standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return (self.rate.double() * (-log_gamma).exp()).to(self.rate.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        a, value = self.concentration, self._checked(value)
        return a * self.rate.log() - weft.lgamma(a) - (a + 1) * value.log() - self.rate / value

    def cdf(self, value: Tensor) -> Tensor:
        return weft.special.gammaincc(self.concentration, self.rate / self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + weft.lgamma(a) - (1 + a) * weft.digamma(a)
