"""The multinomial distribution."""

from __future__ import annotations

import math

import weft

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Multinomial(total_count, probs) or Multinomial(total_count, logits=...): how often each class is drawn in `total_count` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(f"Multinomial(): argument 'total_count' must be an int, not {type(total_count).__name__}")
        if total_count < 0:
            raise ValueError(f"Multinomial(): argument 'total_count' must not be negative, but is {total_count}")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=False)
        self._validate_args = self._categorical._validate_args

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ())
        new.total_count, new._categorical = self.total_count, self._categorical.expand(batch_shape)
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        draws = self._categorical.sample((*sample_shape, self.total_count))  # the draws stand before the batch shape
        draws = draws.movedim(len(shape) - 1 - len(self._batch_shape), -1)
        counts = self.probs.new_zeros(shape)
        return counts.scatter_add(-1, draws, counts.new_ones(draws.shape))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        value = value.to(logits.dtype)
        impossible = (value == 0) & (logits == -weft.inf)
        terms = weft.where(impossible, 0.0, weft.where(impossible, 0.0, logits) * value)
        return weft.lgamma(value.sum(-1) + 1) - weft.lgamma(value + 1).sum(-1) + terms.sum(-1)

    def entropy(self) -> Tensor:
        """From the entropy of one draw, and the mean of log(count!) of each class, whose count is binomial."""
        n = self.total_count
        counts = weft.arange(n + 1, dtype=self.probs.dtype, device=self.probs.device).reshape(-1, *[1] * self.probs.dim())
        log_factorials = weft.lgamma(counts + 1)
        log_choose = math.lgamma(n + 1) - log_factorials - weft.lgamma(n - counts + 1)
        chances = (log_choose + weft.xlogy(counts, self.probs) + weft.special.xlog1py(n - counts, -self.probs)).exp()
        means = (chances * log_factorials).sum(0).sum(-1)
        return n * self._categorical.entropy() - math.lgamma(n + 1) + means

    def __repr__(self) -> str:
        return repr(self._categorical).replace("Categorical(", f"Multinomial(total_count: {self.total_count}, ", 1)
