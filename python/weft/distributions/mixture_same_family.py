"""Mixtures of distributions of one family."""

from __future__ import annotations

import weft

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from weft import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """MixtureSameFamily(mixture, components): samples of one of the components, which a Categorical chooses.

    The components are the last batch dimension of `component_distribution`.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("MixtureSameFamily(): argument 'mixture_distribution' must be a Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("MixtureSameFamily(): argument 'component_distribution' must be a Distribution")
        if not component_distribution.batch_shape:
            raise ValueError("MixtureSameFamily(): argument 'component_distribution' must have a batch dimension, one element for each component")
        batch = component_distribution.batch_shape[:-1]
        for got, want in zip(reversed(mixture_distribution.batch_shape), reversed(batch)):
            if 1 not in (got, want) and got != want:
                raise ValueError(
                    f"MixtureSameFamily(): the batch shape {list(mixture_distribution.batch_shape)} of the mixture and {list(batch)} of the components differ"
                )
        choices, components = mixture_distribution.param_shape[-1], component_distribution.batch_shape[-1]
        if choices != components:
            raise ValueError(f"MixtureSameFamily(): the mixture chooses among {choices} components, but there are {components}")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = choices
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ())
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return self._component_distribution.support

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _padded(self, probs: Tensor) -> Tensor:
        return probs.reshape(*probs.shape, *[1] * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        probs = self._padded(self.mixture_distribution.probs)
        return (probs * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        probs, dim = self._padded(self.mixture_distribution.probs), -1 - self._event_ndims
        means = self.component_distribution.mean
        within = (probs * self.component_distribution.variance).sum(dim)
        between = (probs * (means - (probs * means).sum(dim, keepdim=True)).square()).sum(dim)
        return within + between

    def cdf(self, value: Tensor) -> Tensor:
        shares = self.component_distribution.cdf(self._checked(value).unsqueeze(-1 - self._event_ndims))
        return (shares * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        each = self.component_distribution.log_prob(self._checked(value).unsqueeze(-1 - self._event_ndims))
        return weft.logsumexp(each + weft.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with weft.no_grad():
            self._extended_shape(sample_shape)
            chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            dim = len(chosen.shape)
            index = self._padded(chosen.unsqueeze(-1)).expand(*chosen.shape, 1, *self._event_shape)
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
