"""torch._foreach_add_ and its siblings: an op on each tensor of a list. Weft fuses them whether they are called so or one by one."""

from __future__ import annotations

import functools

from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _of(argument: Any, i: int) -> Any:
    return argument[i] if isinstance(argument, (list, tuple)) else argument


@functools.lru_cache(maxsize=None)
def foreach(name: str) -> Callable[..., Any]:
    """The function of a name such as _foreach_add_: lists among its arguments give each tensor its own."""
    op = name.removeprefix("_foreach_")
    method = getattr(Tensor, op, None)
    if method is None and op.endswith("_") and hasattr(Tensor, op[:-1]):  # maximum_: a new value, written into the tensor
        plain = getattr(Tensor, op[:-1])

        def method(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            return tensor.copy_(plain(tensor, *args, **kwargs))

    if method is None:
        raise AttributeError(f"torch.{name} is not in Weft")

    def call(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        results = [
            method(tensor, *(_of(arg, i) for arg in args), **{key: _of(value, i) for key, value in kwargs.items()})
            for i, tensor in enumerate(tensors)
        ]
        return None if op.endswith("_") else results

    call.__name__ = name
    return call
