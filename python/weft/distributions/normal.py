"""The normal distribution."""

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

__all__ = ["Normal"]

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


class Normal(Distribution):
    """Normal(loc, scale): with mean `loc` and standard deviation `scale`.

    >>> weft.distributions.Normal(0.0, 1.0).log_prob(weft.tensor(0.0))
    tensor(-0.9189)
    """

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
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = randn_at(self.loc, self._extended_shape(sample_shape))
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        z = (self._checked(value) - self.loc) / self.scale
        return z.square() * -0.5 - self.scale.log() - _LOG_ROOT_TWO_PI

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * weft.erfc((self.loc - self._checked(value)) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * weft.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + _LOG_ROOT_TWO_PI + self.scale.log()
