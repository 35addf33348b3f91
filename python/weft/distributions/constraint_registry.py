"""biject_to and transform_to: transforms from all numbers to what a constraint allows, for parameters that an optimiser changes."""

from __future__ import annotations

from . import constraints, transforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Kinds of constraints, each with a function that makes a transform onto one."""

    def __init__(self, name: str = "transform_to") -> None:
        self._name = name
        self._registry: dict[type, Any] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Adds a kind of constraint; without `factory` it is a decorator of one."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"register(): argument 'constraint' must be a Constraint, not {constraint!r}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        for kind in type(constraint).__mro__:
            if kind in self._registry:
                return self._registry[kind](constraint)
        raise NotImplementedError(f"{self._name}(): there is no transform onto {constraint!r}; register() adds one")


biject_to, transform_to = ConstraintRegistry("biject_to"), ConstraintRegistry("transform_to")


def _for_both(*kinds: Any) -> Callable[[Any], Any]:
    def decorator(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorator


@_for_both(constraints.real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


@_for_both(constraints.positive, constraints.nonnegative)
def _greater(constraint: Any) -> Any:
    if not isinstance(constraint.lower_bound, (int, float)) or constraint.lower_bound != 0:
        return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])
    return transforms.ExpTransform()


@_for_both(constraints.less_than)
def _less(constraint: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_for_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_for_both(constraints.lower_cholesky)
def _cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@_for_both(constraints.positive_definite, constraints.positive_semidefinite)
def _definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())


def _independent(registry: ConstraintRegistry) -> Callable[[Any], Any]:
    return lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))
