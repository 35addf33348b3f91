"""The negative binomial distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, given, lazy_property, logits_to_probs, probs_to_logits, set_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """NegativeBinomial(total_count, probs) or (total_count, logits=...): the successes, of probability `probs`, before `total_count` failures.

    A sample is a Poisson number whose rate is a gamma sample.
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        set_parameter(self, probs, logits)
        name = "logits" if probs is None else "probs"
        self.total_count, self.__dict__[name] = broadcast_all(total_count, given(self))
        self.total_count = self.total_count.to(given(self).dtype)
        super().__init__(given(self).shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("total_count", "probs", "logits"))

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return given(self).shape

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / weft.sigmoid(-self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            log_rate = weft._weft._log_standard_gamma(self.total_count.expand(shape)) + self.logits.double()
            return weft.poisson(log_rate.exp()).to(given(self).dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        n, value = self.total_count, self._checked(value)
        powers = n * weft.nn.functional.logsigmoid(-self.logits) + value * weft.nn.functional.logsigmoid(self.logits)
        choose = weft.lgamma(n + value) - weft.lgamma(value + 1) - weft.lgamma(n)
        return powers + weft.where(n + value == 0, 0.0, choose)
