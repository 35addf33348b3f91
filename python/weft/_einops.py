"""weft/_einops.py: einops knows Weft's tensors.

einops asks the subclasses of its AbstractBackend which of them a tensor belongs to. Weft's is defined as soon as both are imported, in
whichever order, and costs nothing before.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_NAME = "einops._backends"


def _define(backends: ModuleType) -> None:
    import weft

    class WeftBackend(backends.AbstractBackend):  # type: ignore[misc, name-defined]
        framework_name = "weft"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, weft.Tensor)

        def from_numpy(self, x: Any) -> weft.Tensor:
            return weft.from_numpy(x)

        def to_numpy(self, x: weft.Tensor) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> weft.Tensor:
            return weft.arange(start, stop)

        def transpose(self, x: weft.Tensor, axes: Any) -> weft.Tensor:
            return x.permute(tuple(axes))

        def reduce(self, x: weft.Tensor, operation: str, axes: Any) -> weft.Tensor:
            axes = tuple(axes)
            if operation in ("min", "max"):
                return x.amin(axes) if operation == "min" else x.amax(axes)
            if operation in ("sum", "mean"):
                return x.sum(axes) if operation == "sum" else x.mean(axes)
            for axis in sorted(axes, reverse=True):  # prod, any, all: one axis at a time
                x = getattr(x, operation)(axis)
            return x

        def stack_on_zeroth_dimension(self, tensors: list[weft.Tensor]) -> weft.Tensor:
            return weft.stack(tensors)

        def add_axis(self, x: weft.Tensor, new_position: int) -> weft.Tensor:
            return x.unsqueeze(new_position)

        def tile(self, x: weft.Tensor, repeats: Any) -> weft.Tensor:
            return x.repeat(tuple(repeats))

        def add_axes(self, x: weft.Tensor, n_axes: int, pos2len: dict[int, int]) -> weft.Tensor:
            sizes = [-1] * n_axes
            for position, length in pos2len.items():
                x = x.unsqueeze(position)
                sizes[position] = length
            return x.expand(sizes)

        def concat(self, tensors: list[weft.Tensor], axis: int) -> weft.Tensor:
            return weft.cat(tensors, axis)

        def is_float_type(self, x: weft.Tensor) -> bool:
            return x.is_floating_point()

        def einsum(self, pattern: str, *x: weft.Tensor) -> weft.Tensor:
            return weft.einsum(pattern, *x)

    backends.WeftBackend = WeftBackend  # type: ignore[attr-defined]  # a class that nobody holds is gone soon


class _Finder:
    """Waits for einops to import its backends."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _NAME:
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _define(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    if _NAME in sys.modules:
        _define(sys.modules[_NAME])
    else:
        sys.meta_path.insert(0, _Finder())
