"""What values may be: the constraints of parameters and of samples.

``constraint.check(value)`` tells for each sample in a batch whether it fits. The last ``event_dim`` dimensions of a value are one sample.
"""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

    Bound = Tensor | float

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq",
    "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values."""

    is_discrete = False
    event_dim = 0
    words = "satisfy its constraint"  # for messages: "must ..."

    def check(self, value: Tensor) -> Tensor:
        """For each sample, whether it is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in self.__dict__.items() if name.endswith("_bound")]
        return f"{type(self).__name__.lstrip('_')}({', '.join(bounds)})"


class _Dependent(Constraint):
    """The set depends on other parameters: see the instance's attribute."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("check(): this constraint depends on parameters; ask the distribution's own attribute for it")


def is_dependent(constraint: object) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


if TYPE_CHECKING:
    dependent_property = property
else:

    class dependent_property(property, _Dependent):
        """A property that gives a constraint, which depends on the instance's parameters; of the class it is a dependent one."""

        def __init__(self, function=None, *, is_discrete=False, event_dim=0):
            super().__init__(function)
            self.is_discrete, self.event_dim = is_discrete, event_dim

        def __call__(self, function):
            return dependent_property(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims
        self.words = base_constraint.words

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"check(): a value of {value.dim()} dimensions has no {self.event_dim} dimensions of one sample")
        if self.reinterpreted_batch_ndims == 0:
            return result
        kept = result.shape[: result.dim() - self.reinterpreted_batch_ndims]
        return result.reshape(*kept, -1).all(-1) if result.numel() else result.new_ones(kept)

    def __repr__(self) -> str:
        return f"Independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Boolean(Constraint):
    is_discrete = True
    words = "be 0 or 1"

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1
    words = "be 1 at one place of the last dimension and 0 elsewhere"

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(Constraint):
    is_discrete = True

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        self.words = f"be integers from {_shown(lower_bound)} to {_shown(upper_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.words = f"be integers of at least {_shown(lower_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return _whole(value) & (value >= self.lower_bound)


class _Real(Constraint):
    words = "be numbers, not NaN"

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.words = f"be greater than {_shown(lower_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(Constraint):
    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.words = f"be at least {_shown(lower_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(Constraint):
    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound
        self.words = f"be less than {_shown(upper_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        self.words = f"lie between {_shown(lower_bound)} and {_shown(upper_bound)}"

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1
    words = "be non-negative and sum to 1 along the last dimension"

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound
        self.words = f"be counts that sum to {_shown(upper_bound)} along the last dimension"

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2
    words = "be lower triangular matrices"

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(Constraint):
    event_dim = 2
    words = "be lower triangular matrices with a positive diagonal"

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2
    words = "be lower triangular matrices with a positive diagonal and rows of length 1"

    def check(self, value: Tensor) -> Tensor:
        near = weft.finfo(value.dtype).eps * value.size(-1) * 10
        return lower_cholesky.check(value) & ((value.square().sum(-1) - 1).abs() < near).all(-1)


class _Square(Constraint):
    event_dim = 2
    words = "be square matrices"

    def check(self, value: Tensor) -> Tensor:
        fits = value.shape[-2] == value.shape[-1]
        return weft.full(value.shape[:-2], fits, dtype=weft.bool, device=value.device)


class _Symmetric(_Square):
    words = "be symmetric matrices"

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return weft.isclose(value, value.transpose(-2, -1), atol=1e-6).all(-1).all(-1)


class _PositiveSemidefinite(_Symmetric):
    words = "be symmetric matrices without a negative eigenvalue"

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        smallest: Tensor = weft.linalg.eigvalsh(value).amin(-1)
        return smallest >= 0


class _PositiveDefinite(_Symmetric):
    words = "be symmetric, positive definite matrices"

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        info: Tensor = weft.linalg.cholesky_ex(value)[1]
        return info == 0


class _Cat(Constraint):
    """Constraints of the parts that a value is made of along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"cat(): {len(self.cseq)} constraints need as many lengths, not {len(self.lengths)}")
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max((c.event_dim for c in self.cseq), default=0)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return weft.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(Constraint):
    """Constraints of the slices of a value along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        dim = max((c.event_dim for c in self.cseq), default=0)
        self.event_dim = dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        slices = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        return weft.stack([c.check(v) for c, v in zip(self.cseq, slices)], self.dim)


def _whole(value: Tensor) -> Tensor:
    return value % 1 == 0 if value.is_floating_point() else value == value


def _shown(bound: Bound) -> str:
    return f"{bound:g}" if isinstance(bound, (int, float)) else "the bound of its element"


dependent = _Dependent()
independent: Callable[..., Any] = _IndependentConstraint
boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
integer_interval: Callable[..., Any] = _IntegerInterval
real_vector = _IndependentConstraint(real, 1)
positive, nonnegative = _GreaterThan(0.0), _GreaterThanEq(0.0)
greater_than: Callable[..., Any] = _GreaterThan
greater_than_eq: Callable[..., Any] = _GreaterThanEq
less_than: Callable[..., Any] = _LessThan
multinomial: Callable[..., Any] = _Multinomial
interval: Callable[..., Any] = _Interval
half_open_interval: Callable[..., Any] = _HalfOpenInterval
unit_interval = _Interval(0.0, 1.0)
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
cat: Callable[..., Any] = _Cat
stack: Callable[..., Any] = _Stack
