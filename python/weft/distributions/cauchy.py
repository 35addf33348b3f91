"""The Cauchy distribution."""

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

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy(loc, scale): the ratio of two normal numbers, which has no mean and no variance."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("loc", "scale"))

    @property
    def mean(self) -> Tensor:
        return weft.full_like(self.loc, weft.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return weft.full_like(self.loc, weft.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        uniform = rand_at(self.loc, self._extended_shape(sample_shape))
        return self.loc + self.scale * weft.tan((uniform - 0.5) * math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        z = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - weft.log1p(z.square())

    def cdf(self, value: Tensor) -> Tensor:
        return weft.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * weft.tan(math.pi * (value - 0.5))

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
