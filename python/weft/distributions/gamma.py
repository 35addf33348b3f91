"""The gamma distribution."""

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

__all__ = ["Gamma"]


class Gamma(Distribution):
    """Gamma(concentration, rate): the time until the `concentration`-th of events that happen `rate` times in a unit of time.

    Samples are exact, by rejection. Their gradients are those of a sample whose quantile stays as the parameters move.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("concentration", "rate"))

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), self.concentration.dtype
        sample = weft._weft._log_standard_gamma(self.concentration.expand(shape)).exp() / self.rate.double()
        return sample.to(dtype).clamp(min=weft.finfo(dtype).tiny)  # 0 would have no logarithm

    def log_prob(self, value: Tensor) -> Tensor:
        a, rate, value = self.concentration, self.rate, self._checked(value)
        return weft.xlogy(a, rate) + weft.xlogy(a - 1, value) - rate * value - weft.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        return weft.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + weft.lgamma(a) + (1 - a) * weft.digamma(a)
