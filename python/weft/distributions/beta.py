"""The beta distribution."""

from __future__ import annotations

import weft

from . import constraints
from .dirichlet import dirichlet_sample
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Beta"]


class Beta(Distribution):
    """Beta(concentration1, concentration0): probabilities, with mean concentration1 / (concentration1 + concentration0)."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("concentration1", "concentration0"))

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return weft.where((a > 1) & (b > 1), (a - 1) / (a + b - 2), weft.where(a == b, weft.nan, (a > b).to(a.dtype)))

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        total = a + b
        return a * b / (total.square() * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        both = weft.stack([self.concentration1, self.concentration0], -1)
        return dirichlet_sample(both.expand(shape + (2,)))[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.concentration1, self.concentration0, self._checked(value)
        powers = weft.xlogy(a - 1, value) + weft.special.xlog1py(b - 1, -value)
        return powers + weft.lgamma(a + b) - weft.lgamma(a) - weft.lgamma(b)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        norm = weft.lgamma(a) + weft.lgamma(b) - weft.lgamma(a + b)
        return norm - (a - 1) * weft.digamma(a) - (b - 1) * weft.digamma(b) + (a + b - 2) * weft.digamma(a + b)
