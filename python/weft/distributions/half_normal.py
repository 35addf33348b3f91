"""The half-normal distribution."""

from __future__ import annotations

import math

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, randn_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["HalfNormal"]


class HalfNormal(Distribution):
    """HalfNormal(scale): the magnitude of a normal number with mean 0 and standard deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("scale",))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return weft.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return randn_at(self.scale, self._extended_shape(sample_shape)).abs() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._checked(value) / self.scale
        inside = 0.5 * math.log(2 / math.pi) - self.scale.log() - 0.5 * z.square()
        return weft.where(value >= 0, inside, -weft.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return weft.erf(self._checked(value) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * weft.erfinv(value)

    def entropy(self) -> Tensor:
        return 0.5 * math.log(math.pi / 2) + 0.5 + self.scale.log()
