"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, rand_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(Distribution):
    """HalfCauchy(scale): the magnitude of a Cauchy number around 0."""

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
        return weft.full_like(self.scale, weft.inf)

    @property
    def mode(self) -> Tensor:
        return weft.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return weft.full_like(self.scale, weft.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        uniform = rand_at(self.scale, self._extended_shape(sample_shape))
        return self.scale * weft.tan(uniform * (math.pi / 2))

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._checked(value) / self.scale
        inside = math.log(2 / math.pi) - self.scale.log() - weft.log1p(z.square())
        return weft.where(value >= 0, inside, -weft.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return weft.atan(self._checked(value) / self.scale) * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * weft.tan(value * (math.pi / 2))

    def entropy(self) -> Tensor:
        return math.log(2 * math.pi) + self.scale.log()
