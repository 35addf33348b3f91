"""The Laplace distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, rand_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace(loc, scale): the density falls exponentially on both sides of `loc`."""

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
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        uniform = rand_at(self.loc, self._extended_shape(sample_shape))
        side = 1 - 2 * uniform  # in (-1, 1], the magnitude's logarithm must be finite
        return self.loc - self.scale * side.sign() * weft.log1p(-side.abs().clamp(max=1 - weft.finfo(side.dtype).eps / 2))

    def log_prob(self, value: Tensor) -> Tensor:
        return -weft.log(2 * self.scale) - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        z = (self._checked(value) - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * weft.expm1(-z.abs())

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * weft.log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        return 1 + weft.log(2 * self.scale)
