"""The Dirichlet distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Dirichlet"]


def dirichlet_sample(concentration: Tensor) -> Tensor:
    """Gamma samples divided by their sum: as a softmax of logarithms, since those of small concentrations may all be below the
    smallest number."""
    return weft.softmax(weft._weft._log_standard_gamma(concentration), -1).to(concentration.dtype)


class Dirichlet(Distribution):
    """Dirichlet(concentration): probabilities of the classes along the last dimension, which sum to 1."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if not isinstance(concentration, weft.Tensor) or concentration.dim() < 1:
            raise ValueError("Dirichlet(): argument 'concentration' must be a Tensor with at least one dimension")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, ("concentration",), event_dims=1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0)
        total = less.sum(-1, True)
        inner = less / weft.where(total == 0, 1.0, total)
        largest = self.concentration.argmax(-1)
        corner = weft.nn.functional.one_hot(largest, self.concentration.shape[-1]).to(less.dtype)
        return weft.where((self.concentration < 1).all(-1, True), corner, weft.where(total == 0, weft.nan, inner))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return dirichlet_sample(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return weft.xlogy(a - 1, self._checked(value)).sum(-1) + weft.lgamma(a.sum(-1)) - weft.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = self._event_shape.numel(), a.sum(-1)
        norm = weft.lgamma(a).sum(-1) - weft.lgamma(total)
        return norm - (k - total) * weft.digamma(total) - ((a - 1) * weft.digamma(a)).sum(-1)
