"""The Pareto distribution."""

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

__all__ = ["Pareto"]


class Pareto(Distribution):
    """Pareto(scale, alpha): numbers above `scale` whose tail falls like a power."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("scale", "alpha"))

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)  # infinite up to 1
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)  # infinite up to 2
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        uniform = rand_at(self.scale, self._extended_shape(sample_shape))
        return self.scale * (-weft.log1p(-uniform) / self.alpha).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return self.alpha.log() - value.log() - self.alpha * (value / self.scale).log()

    def cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(-self.alpha * (self._checked(value) / self.scale).log())

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-weft.log1p(-value) / self.alpha).exp()

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()
