"""Distributions of transformed samples."""

from __future__ import annotations

import weft

from . import constraints
from .distribution import Distribution, event_sum
from .independent import Independent
from .transforms import ComposeTransform, Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from weft import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """TransformedDistribution(base_distribution, transforms): what becomes of samples that transforms are applied to, in order.

    >>> d = weft.distributions
    >>> log_normal = d.TransformedDistribution(d.Normal(0.0, 1.0), d.ExpTransform())
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, base_distribution: Distribution, transforms: Transform | list[Transform], validate_args: bool | None = None
    ) -> None:
        self.transforms: list[Any] = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("TransformedDistribution(): argument 'transforms' must be a Transform or a list of them")
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution(): argument 'base_distribution' needs at least {transform.domain.event_dim} dimensions, "
                f"but has the shape {list(base_shape)}"
            )
        shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(shape)
        if base_shape != expanded:  # the parameters of a transform may have a larger batch shape
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_event])
        reinterpreted = transform.domain.event_dim - base_event
        if reinterpreted > 0:
            base_distribution = Independent(base_distribution, reinterpreted)
        self.base_dist = base_distribution
        event = transform.codomain.event_dim + max(base_event - transform.domain.event_dim, 0)
        cut = len(shape) - event
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ())
        new.transforms = self.transforms
        shape = ComposeTransform(self.transforms).inverse_shape(weft.Size(batch_shape) + self._event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    if not TYPE_CHECKING:

        @property
        def has_rsample(self):
            return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self._event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with weft.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._checked(value)
        event, total = len(self._event_shape), None
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event += transform.domain.event_dim - transform.codomain.event_dim
            term = event_sum(transform.log_abs_det_jacobian(x, y), event - transform.domain.event_dim)
            total = term if total is None else total + term
            y = x
        base = event_sum(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))
        return base if total is None else base - total

    def _monotone(self, share: Tensor) -> Tensor:
        """A falling transform turns shares below into shares above."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotone(value)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"
