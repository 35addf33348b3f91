"""torch.nn.modules.utils: a number as a tuple of n, a tuple as it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if hasattr(value, "__iter__") else (value,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(["_single", "_pair", "_triple", "_quadruple"], 1))


def _reverse_repeat_tuple(t: Any, n: int) -> tuple[Any, ...]:
    return tuple(value for value in reversed(t) for _ in range(n))
