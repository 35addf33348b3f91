"""The geometric distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, given, lazy_property, logits_to_probs, probs_to_logits, set_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Geometric"]


class Geometric(Distribution):
    """Geometric(probs) or Geometric(logits=...): the number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None
    ) -> None:
        set_parameter(self, probs, logits)
        super().__init__(given(self).shape, validate_args=validate_args)
        if self._checks() and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError("Geometric(): argument 'probs' must be greater than 0")

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("probs", "logits"))

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def mean(self) -> Tensor:
        return self.probs.reciprocal() - 1

    @property
    def mode(self) -> Tensor:
        return weft.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (self.probs.reciprocal() - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs.detach()
        uniform = 1 - weft.rand(shape, dtype=weft.float64, device=probs.device)  # in (0, 1]
        tries = weft.floor(uniform.log() / weft.log1p(-probs.double().clamp(max=1 - 1e-300)))
        return weft.where(probs == 1, 0.0, tries).to(probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(self._checked(value), self.probs)
        return weft.special.xlog1py(value.to(probs.dtype), -probs) + probs.log()

    def entropy(self) -> Tensor:
        binary = weft.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return binary / self.probs
