"""torch._dynamo: marks for its tracer, which is not needed here."""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, verbose=False)


def _decorator(fn: Any = None, *_: Any, **__: Any) -> Any:
    return fn if callable(fn) else lambda function: function


allow_in_graph = disable = disallow_in_graph = forbid_in_graph = run = optimize = assume_constant_result = _decorator


def mark_dynamic(*_: Any, **__: Any) -> None:
    pass


mark_static = maybe_mark_dynamic = graph_break = reset = mark_static_address = mark_dynamic


def is_compiling() -> bool:
    return False
