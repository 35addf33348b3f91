"""Student's t-distribution."""

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

__all__ = ["StudentT"]


class StudentT(Distribution):
    """StudentT(df, loc, scale): like a normal distribution, with heavier tails the smaller `df` is."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("df", "loc", "scale"))

    @property
    def mean(self) -> Tensor:
        return weft.where(self.df <= 1, weft.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = weft.where(self.df > 2, self.df, 3.0)
        finite = self.scale.square() * df / (df - 2)
        return weft.where(self.df > 2, finite, weft.where(self.df > 1, weft.inf, weft.nan))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = randn_at(self.df, shape)
        log_half_chi2 = weft._weft._log_standard_gamma(self.df.expand(shape) * 0.5)
        ratio = (0.5 * ((0.5 * self.df.double()).log() - log_half_chi2)).exp()  # √(df / chi²)
        return self.loc + self.scale * (normal * ratio).to(self.df.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        z = (self._checked(value) - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        norm = norm + weft.lgamma(0.5 * self.df) - weft.lgamma(0.5 * (self.df + 1))
        return -0.5 * (self.df + 1) * weft.log1p(z.square() / self.df) - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = weft.lgamma(half) + math.lgamma(0.5) - weft.lgamma(more)
        return self.scale.log() + more * (weft.digamma(more) - weft.digamma(half)) + 0.5 * self.df.log() + log_beta
