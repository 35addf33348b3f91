"""jit: functions of tensors that are traced once and then only run."""

from __future__ import annotations

import functools
from _thread import get_ident

from . import _weft
from ._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["jit"]


def _flatten(value: Any, name: str) -> tuple[list[Tensor], Callable[[Iterator[Tensor]], Any]]:
    """The tensors of a result and how to put them back: None, a tensor, or a tuple, list or dict of those."""
    if value is None:
        return [], lambda tensors: None
    if isinstance(value, Tensor):
        return [value], lambda tensors: next(tensors)
    if isinstance(value, dict):
        named = {key: _flatten(each, name) for key, each in value.items()}
        rebuild = {key: part[1] for key, part in named.items()}
        return [t for part in named.values() for t in part[0]], lambda ts: {key: f(ts) for key, f in rebuild.items()}
    if isinstance(value, (tuple, list)):
        parts = [_flatten(each, name) for each in value]
        make = type(value)._make if hasattr(value, "_make") else type(value)
        return [t for part in parts for t in part[0]], lambda tensors: make([part[1](tensors) for part in parts])
    raise TypeError(f"jit: {name}() must return tensors, or tuples, lists or dicts of them, not {type(value).__name__}")


_tracing: set[int] = set()  # threads


def is_tracing() -> bool:
    """Whether this thread traces a function, where no value can be read."""
    return get_ident() in _tracing


def jit(function: _F) -> _F:
    """Traces a function of tensors: the first call with new shapes runs it and keeps its plan, later calls only launch kernels.

    Tensors that it closes over (parameters, an optimiser's state) are read and written at each call. Everything else that it
    does in Python happens only while it is traced, and it cannot read values: item(), numpy() and bool() raise.

    >>> @weft.jit
    ... def step(x, labels):
    ...     optimizer.zero_grad()
    ...     loss = F.cross_entropy(model(x), labels)
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    """
    rebuild: dict[int, Any] = {}  # by the number of results
    name = getattr(function, "__name__", "function")

    def flat(*tensors: Tensor) -> list[Tensor]:
        thread = get_ident()
        inside = thread in _tracing  # of another traced function
        _tracing.add(thread)
        try:
            results, back = _flatten(function(*tensors), name)
        finally:
            if not inside:
                _tracing.discard(thread)
        rebuild[len(results)] = back
        return results

    traced: dict[Any, Any] = {}  # by the types that autocast uses

    @functools.wraps(function)
    def call(*args: Tensor) -> Any:
        for arg in args:
            if not isinstance(arg, Tensor):
                raise TypeError(f"jit: the arguments of {name}() must be tensors, not {type(arg).__name__}")
        mode = _weft._autocast(), _weft._autocast("cuda")
        if mode not in traced:
            traced[mode] = _weft._Jit(flat)
        results = traced[mode](args)
        return rebuild[len(results)](iter(results))

    call._is_jit = True  # type: ignore[attr-defined]
    call.traces = lambda: sum(each.traces() for each in traced.values())  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
