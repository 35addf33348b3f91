"""torch.ops: ops that C++ extensions of PyTorch register. Weft loads none of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def load_library(path: Any) -> NoReturn:
    raise OSError(f"ops.load_library(): {path} is an extension of PyTorch, which Weft cannot load")


class _Ops:
    """The ops of one library: each may be named, and calling it raises."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Ops:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Ops(f"{self._name}.{name}")

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{self._name} is an op of an extension of PyTorch, which Weft does not have")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Ops(f"torch.ops.{name}")
