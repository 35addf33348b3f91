"""The binomial distribution."""

from __future__ import annotations

import weft

from . import constraints
from .dirichlet import dirichlet_sample
from .distribution import Distribution
from .utils import broadcast_all, given, lazy_property, logits_to_probs, probs_to_logits, set_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

__all__ = ["Binomial"]


class Binomial(Distribution):
    """Binomial(total_count, probs) or Binomial(total_count, logits=...): the number of successes in `total_count` tries.

    A sample is exact: the middle one of the sorted uniform numbers of all tries is a beta sample, and tells how half of the tries went;
    so the tries that are left are halved until there are none.
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        set_parameter(self, probs, logits)
        name = "logits" if probs is None else "probs"
        self._most = total_count if isinstance(total_count, int) else None  # known without a read
        self.total_count, self.__dict__[name] = broadcast_all(total_count, given(self))
        self.total_count = self.total_count.to(given(self).dtype)
        super().__init__(given(self).shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ("total_count", "probs", "logits"))
        new._most = self._most
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

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
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _largest(self) -> int:
        if self._most is None:
            self._most = int(self.total_count.max()) if self.total_count.numel() else 0
        return self._most

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            left, p = self.total_count.double().expand(shape), self.probs.double().expand(shape)
            successes = weft.zeros_like(p)
            for _ in range(self._largest().bit_length()):
                half = ((left + 1) / 2).floor().clamp(min=1)
                middle = dirichlet_sample(weft.stack([half, (left + 1 - half).clamp(min=1)], -1))[..., 0]
                below, some = middle <= p, left > 0
                successes = successes + weft.where(some & below, half, 0.0)
                rest = weft.where(below, left - half, half - 1)
                p = weft.where(below, (p - middle) / (1 - middle), p / middle).clamp(0, 1)
                left = weft.where(some, rest, 0.0)
            return successes.to(given(self).dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        n, value = self.total_count, self._checked(value)
        choose = weft.lgamma(n + 1) - weft.lgamma(value + 1) - weft.lgamma(n - value + 1)
        return choose + value * self.logits - n * weft.nn.functional.softplus(self.logits)

    def entropy(self) -> Tensor:
        if self.total_count.numel() and not bool((self.total_count == self._largest()).all()):
            raise NotImplementedError("entropy(): the elements of 'total_count' must be equal")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        most = self._largest()
        if self.total_count.numel() and not bool((self.total_count == most).all()):
            raise NotImplementedError("enumerate_support(): the elements of 'total_count' must be equal")
        values = weft.arange(1 + most, dtype=given(self).dtype, device=given(self).device).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(1 + most, *self._batch_shape) if expand else values
