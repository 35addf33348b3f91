"""The F-distribution."""

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

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """FisherSnedecor(df1, df2): the ratio of two chi-squared numbers, each divided by its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("df1", "df2"))

    @property
    def mean(self) -> Tensor:
        return weft.where(self.df2 > 2, self.df2 / (self.df2 - 2), weft.nan)

    @property
    def mode(self) -> Tensor:
        return weft.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), weft.nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        return weft.where(b > 4, 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4)), weft.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        over, under = (weft._weft._log_standard_gamma((df * 0.5).expand(shape)) - df.double().log() for df in (self.df1, self.df2))
        return (over - under).exp().to(self.df1.dtype).clamp(min=weft.finfo(self.df1.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.df1 * 0.5, self.df2 * 0.5, self._checked(value)
        ratio = self.df1 / self.df2
        norm = weft.lgamma(a + b) - weft.lgamma(a) - weft.lgamma(b)
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * weft.log1p(ratio * value)
