"""out= for functions that are Python."""

from __future__ import annotations

import functools

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])


def takes_out(function: _F) -> _F:
    """The function with `out`, a tensor (or a tuple of them) that its result is written into."""

    @functools.wraps(function)
    def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else _weft._write_out(function.__name__.removeprefix("_old_").lstrip("_"), result, out)

    return wrapped  # type: ignore[return-value]
