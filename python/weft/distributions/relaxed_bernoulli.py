"""Bernoulli samples made continuous, so that gradients go through them."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, given, lazy_property, logits_to_probs, number_at, probs_to_logits, rand_at, set_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Distribution):
    """LogitRelaxedBernoulli(temperature, probs) or (temperature, logits=...): logits of RelaxedBernoulli's samples."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        set_parameter(self, probs, logits)
        self.temperature = number_at(given(self), temperature)
        super().__init__(given(self).shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ("probs", "logits"))
        new.temperature = self.temperature
        return new

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return given(self).shape

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = probs_to_logits(rand_at(given(self), self._extended_shape(sample_shape)), is_binary=True)
        own = probs_to_logits(clamp_probs(self.probs), is_binary=True) if "probs" in self.__dict__ else self.logits
        return (noise + own) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        difference = self.logits - self._checked(value) * self.temperature
        return self.temperature.log() + difference - 2 * weft.nn.functional.softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """RelaxedBernoulli(temperature, probs) or (temperature, logits=...): numbers between 0 and 1, nearer to the ends the lower the
    temperature is. At a temperature of 0 it would be Bernoulli."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
