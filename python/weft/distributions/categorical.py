"""The categorical distribution."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Categorical(probs) or Categorical(logits=...): the number of a class; the classes are along the last dimension.

    `probs` are divided by their sum; `logits` are logarithms of probabilities, up to a constant.

    >>> weft.distributions.Categorical(weft.tensor([1.0, 1.0, 2.0])).probs
    tensor([0.2500, 0.2500, 0.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Categorical(): give either 'probs' or 'logits', and not both")
        self._param: Any = probs if logits is None else logits
        if not isinstance(self._param, weft.Tensor) or self._param.dim() < 1:
            name = "probs" if logits is None else "logits"
            raise ValueError(f"Categorical(): argument '{name}' must be a Tensor with at least one dimension")
        self._num_events = self._param.shape[-1]
        if probs is not None:
            self.__dict__["probs"] = self._param / self._param.sum(-1, True)
        else:
            self.__dict__["logits"] = self._param - self._param.logsumexp(-1, True)
        self._param = self.__dict__["probs" if logits is None else "logits"]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ("probs", "logits", "_param"), event_dims=1)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        return weft.Size(self._param.shape)

    @property
    def mean(self) -> Tensor:
        return weft.full_like(self.probs[..., 0], weft.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return weft.full_like(self.probs[..., 0], weft.nan)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The class whose part of the running sum of the probabilities a uniform number falls into; in float64."""
        shape = self._extended_shape(sample_shape)
        samples = weft.Size(sample_shape)
        running = self.probs.detach().double().reshape(-1, self._num_events).cumsum(-1)
        total = running[:, -1:]
        last = (running == total).int().argmax(-1, True)  # the last that can be drawn, if a product rounds up to the total
        places = weft.rand(running.shape[0], samples.numel(), dtype=weft.float64, device=total.device) * total
        return weft.minimum(weft.searchsorted(running, places, right=True), last).t().reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        index = self._checked(value).long().unsqueeze(-1)
        shape = weft.broadcast_shapes(index.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand(*shape, self._num_events)
        return logits.gather(-1, index.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=weft.finfo(self.logits.dtype).min)  # -inf times 0 would be NaN
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = weft.arange(self._num_events, device=self._param.device).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(self._num_events, *self._batch_shape) if expand else values
