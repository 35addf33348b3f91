"""Whether ops record gradients: context managers that are decorators too."""

from __future__ import annotations

import functools

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])
    _Self = TypeVar("_Self", bound="_Scope")

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


class _Scope:
    """A mode that holds inside a `with` block or a decorated function."""

    mode: bool

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self: _Self) -> _Self:
        self.before.append(_weft._set_grad_enabled(self.mode))
        return self

    def __exit__(self, *_: object) -> None:
        _weft._set_grad_enabled(self.before.pop())

    def __call__(self, function: _F) -> _F:
        mode = self.mode

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = _weft._set_grad_enabled(mode)
            try:
                return function(*args, **kwargs)
            finally:
                _weft._set_grad_enabled(before)

        return wrapped  # type: ignore[return-value]


class set_grad_enabled(_Scope):
    """Sets whether ops on this thread record gradients: at once, and until a `with` block of it ends.

    >>> with weft.set_grad_enabled(False):
    ...     y = x * 2
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.before = [_weft._set_grad_enabled(self.mode)]

    def __enter__(self: _Self) -> _Self:
        _weft._set_grad_enabled(self.mode)
        return self

    def __call__(self, function: _F) -> _F:
        _weft._set_grad_enabled(self.before[0])  # above a function it sets nothing now
        return super().__call__(function)


class _Parenthesised(_Scope):
    """A mode that may stand above a function without parentheses."""

    if not TYPE_CHECKING:

        def __new__(cls, function=None):
            return super().__new__(cls) if function is None else cls()(function)


class no_grad(_Parenthesised):
    """Ops record no gradient: `with weft.no_grad(): …`, or `@weft.no_grad()` above a function."""

    mode = False


class enable_grad(_Parenthesised):
    """Ops record gradients again, inside a no_grad block."""

    mode = True


class inference_mode(_Scope):
    """The same as no_grad; `inference_mode(False)` changes nothing that was asked for outside."""

    if not TYPE_CHECKING:

        def __new__(cls, mode=True):
            return cls()(mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = False if mode else _weft.is_grad_enabled()
