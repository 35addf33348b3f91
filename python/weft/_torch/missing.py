"""Stands in for a name of PyTorch that Weft does not have: importing it is no error, using it is."""

from __future__ import annotations

import ast
import functools
import linecache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn


def sentence(name: str) -> str:
    return f"{name} is not in Weft (`python -m weft --missing script.py` lists all such names of a script)"


class Missing:
    """A name that was imported. Calling it or looking into it raises, and so does an object of a class that is derived from it; nothing
    is an instance of it."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(sentence(self.__name__))

    __call__ = __enter__ = __exit__ = __iter__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(sentence(f"{self.__name__}.{name}"))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (type(self.__name__.rsplit(".", 1)[-1], (_Base,), {"_missing": self.__name__}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __or__(self, other: Any) -> Any:  # in annotations
        return self

    __ror__ = __getitem__ = __or__

    def __repr__(self) -> str:
        return f"<{self.__name__}, which Weft does not have>"


class _Base:
    """What a class is derived from whose base Weft does not have."""

    _missing = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(sentence(self._missing))


_CATCHES = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "RuntimeError"}


def _names(node: ast.expr | None) -> set[str]:
    if node is None:
        return {"Exception"}
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {part.id for part in parts if isinstance(part, ast.Name)}


@functools.lru_cache(maxsize=64)
def _guarded_lines(file: str, source: str) -> frozenset[int]:
    """The lines of a file where a failing import is caught: its author has thought of a PyTorch without that name."""
    lines: set[int] = set()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return frozenset()
    for node in ast.walk(tree):
        caught: set[str] = set()
        if isinstance(node, ast.Try):
            caught = {name for handler in node.handlers for name in _names(handler.type)}
        elif isinstance(node, ast.With):  # contextlib.suppress(ImportError)
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            caught = {name for call in calls if "suppress" in ast.unparse(call.func) for arg in call.args for name in _names(arg)}
        if caught & _CATCHES:
            lines.update(line for part in node.body for line in range(part.lineno, (part.end_lineno or part.lineno) + 1))  # type: ignore[attr-defined]
    return frozenset(lines)


def guarded(frame: FrameType) -> bool:
    """Whether the line that a frame executes stands in a `try` that catches a missing name."""
    file = frame.f_code.co_filename
    source = "".join(linecache.getlines(file, frame.f_globals))
    return frame.f_lineno in _guarded_lines(file, source)
