"""Distribution: what all distributions have in common."""

from __future__ import annotations

import weft
from weft._jit import is_tracing

from . import constraints
from .utils import lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from weft import Size, Tensor

    from .constraints import Constraint

__all__ = ["Distribution"]


class Distribution:
    """A distribution, or a batch of them: samples have the shape sample_shape + batch_shape + event_shape.

    Parameters are checked when a distribution is made, and values when `log_prob`, `cdf` or `icdf` gets them, which reads them.
    With ``validate_args=False``, and in a function that `jit` traces, nothing is read, and wrong parameters give NaN.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    arg_constraints: ClassVar[dict[str, Any]] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check what they get, unless they are told."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): argument 'value' must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = weft.Size(batch_shape), weft.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._checks():
            self._check_parameters()

    def _checks(self) -> bool:
        return self._validate_args and not is_tracing()

    def _check_parameters(self) -> None:
        checked: list[tuple[str, Constraint, Tensor, Tensor]] = []
        for name in self.arg_constraints:
            constraint = getattr(self, f"_{name}_constraint", self.arg_constraints[name])
            computed = isinstance(getattr(type(self), name, None), lazy_property) and name not in self.__dict__
            if computed or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if isinstance(value, weft.Tensor):
                fits = constraint.check(value)
                checked.append((name, constraint, value, fits))
        if not checked or bool(weft.stack([fits.all() for *_, fits in checked]).all()):  # one run for all of them
            return
        for name, constraint, value, fits in checked:
            if not bool(fits.all()):
                raise ValueError(f"{type(self).__name__}(): argument '{name}' must {constraint.words}, but holds {_wrong(value, fits)}")

    # ---- shapes ------------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of a batch of distributions, each with parameters of its own."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution, or batch, repeated to a larger batch shape."""
        raise NotImplementedError(f"expand(): {type(self).__name__} cannot be expanded")

    def _expanded(self, batch_shape: Sequence[int], instance: Any, names: Sequence[str], event_dims: int = 0) -> Any:
        """A copy whose parameters, those that there are, are expanded; `event_dims` of their dimensions stay."""
        new = self._get_checked_instance(type(self), instance)
        size = weft.Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                kept = value.shape[value.dim() - event_dims :] if event_dims else weft.Size()
                new.__dict__[name] = value.expand(size + kept)
        Distribution.__init__(new, size, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"expand(): {type(self).__name__} has an __init__ of its own, so it needs an expand() of its own that hands over _instance"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        if isinstance(sample_shape, int) or not hasattr(sample_shape, "__iter__"):
            shown = f"({sample_shape},)" if isinstance(sample_shape, int) else "(3,)"
            raise TypeError(f"sample(): argument 'sample_shape' must be a tuple of ints such as {shown}, not {type(sample_shape).__name__}")
        return weft.Size(sample_shape) + self._batch_shape + self._event_shape

    # ---- what is known of it -----------------------------------------------------------------------------------------

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError(f"support: {type(self).__name__} does not say what its samples are")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"mean: {type(self).__name__} has no formula for it")

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"mode: {type(self).__name__} has no formula for it")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"variance: {type(self).__name__} has no formula for it")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Random samples, without gradients."""
        with weft.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Random samples through which gradients reach the parameters."""
        raise NotImplementedError(f"rsample(): samples of {type(self).__name__} have no gradients; use sample()")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError(f"log_prob(): {type(self).__name__} has no formula for it")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample that is not above a value."""
        raise NotImplementedError(f"cdf(): {type(self).__name__} has no formula for it")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of cdf: a quantile."""
        raise NotImplementedError(f"icdf(): {type(self).__name__} has no formula for it")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a discrete distribution has, along a first dimension."""
        raise NotImplementedError(f"enumerate_support(): {type(self).__name__} has no list of its values")

    def entropy(self) -> Tensor:
        """The entropy."""
        raise NotImplementedError(f"entropy(): {type(self).__name__} has no formula for it")

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return weft.exp(self.entropy())

    # ---- checks ------------------------------------------------------------------------------------------------------

    def _validate_sample(self, value: Tensor) -> None:
        name = type(self).__name__
        if not isinstance(value, weft.Tensor):
            raise TypeError(f"{name}.log_prob(): argument 'value' must be a Tensor, not {type(value).__name__}")
        expected, event = self._batch_shape + self._event_shape, len(self._event_shape)
        if value.dim() < event or (event and any(v not in (1, e) for v, e in zip(value.shape[-event:], self._event_shape))):
            raise ValueError(
                f"{name}.log_prob(): a value of shape {list(value.shape)} does not end with the event shape {list(self._event_shape)}"
            )
        for got, want in zip(reversed(value.shape), reversed(expected)):
            if 1 not in (got, want) and got != want:
                raise ValueError(
                    f"{name}.log_prob(): a value of shape {list(value.shape)} does not broadcast with the distribution's {list(expected)}"
                )
        try:
            support = self.support
        except NotImplementedError:
            return
        fits = support.check(value)
        if not bool(fits.all()):
            raise ValueError(f"{name}.log_prob(): argument 'value' must {support.words}, but holds {_wrong(value, fits)}")

    def _checked(self, value: Tensor) -> Tensor:
        if self._checks():
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        parts = [f"{name}: {v if v.numel() == 1 else v.size()}" for name in names if isinstance(v := self.__dict__[name], weft.Tensor)]
        return f"{type(self).__name__}({', '.join(parts)})"


def _wrong(value: Tensor, fits: Tensor) -> str:
    """The first sample that does not fit, for a message."""
    value = value.detach()
    if fits.shape == value.shape:
        return f"{value.reshape(-1)[int((~fits).reshape(-1).int().argmax())].item():g}"
    kept = value.dim() - fits.dim()
    flat = value.reshape(-1, *value.shape[value.dim() - kept :])
    return str(flat[int((~fits).reshape(-1).int().argmax())].tolist())


def event_sum(value: Tensor, dims: int) -> Tensor:
    """The sum over the last dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value
