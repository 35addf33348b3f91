"""weft.fx: Weft records graphs by itself; what marks functions for torch.fx hands them back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


Target = Argument = object  # in annotations


def wrap(fn_or_name: Any) -> Any:
    """The function or name itself."""
    return fn_or_name


class Proxy:
    """A value of torch.fx while it traces: nothing is one."""


def has_side_effect(fn: Any) -> Any:
    """The function itself."""
    return fn


class _Refused:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(f"fx.{type(self).__name__}: Weft does not trace modules; weft.explain shows the graph of a program")


class Tracer(_Refused):
    """Would trace a module."""


class Graph(_Refused):
    """Would be a traced program."""


class GraphModule(_Refused):
    """Would be a module with a traced program."""


class Node(_Refused):
    """Would be an op of a traced program."""


class Interpreter(_Refused):
    """Would run a traced program."""


def symbolic_trace(*_: Any, **__: Any) -> Any:
    """Raises: Weft does not trace modules."""
    raise NotImplementedError("fx.symbolic_trace(): Weft does not trace modules; weft.explain shows the graph of a program")
