"""What functions that are Python share with those that are not: out=, and a first argument that must be a tensor."""

from __future__ import annotations

import functools

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])


def _check_first(name: str, parameter: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not args and parameter not in kwargs:
        raise TypeError(f"{name}() needs the argument '{parameter}'")
    first = args[0] if args else kwargs[parameter]
    if not isinstance(first, _weft.Tensor):
        raise TypeError(f"{name}(): argument '{parameter}' must be a Tensor, not {'None' if first is None else type(first).__name__}")


def takes_tensor(function: _F) -> _F:
    """The function, whose first argument must be a tensor."""
    name, parameter = _shown(function), function.__code__.co_varnames[0]

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_first(name, parameter, args, kwargs)
        return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]


def takes_out(function: _F) -> _F:
    """The same with `out`, a tensor (or a tuple of them) that the result is written into."""
    name, parameter = _shown(function), function.__code__.co_varnames[0]

    @functools.wraps(function)
    def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_first(name, parameter, args, kwargs)
        result = function(*args, **kwargs)
        return result if out is None else _weft._write_out(name, result, out)

    return wrapped  # type: ignore[return-value]


def _shown(function: Callable[..., Any]) -> str:
    return function.__name__.removeprefix("_old_").lstrip("_")
