"""Tensors in tuples, lists and dicts: what loaders, optimisers, checkpoints and gradients of functions take and give."""

from __future__ import annotations

from ._weft import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same tuples, lists and dicts with other tensors; what is none of them stays."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a tree, from left to right."""
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]
