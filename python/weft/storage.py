"""What scripts ask a tensor's storage: its address, its size, its elements. A tensor's storage has its own values alone, in row-major order."""

from __future__ import annotations

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._tensor import Tensor
    from ._types import device

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """The bytes of a tensor's values."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()

    def data_ptr(self) -> int:
        """The address of the values. Runs the graph."""
        return self._tensor.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._tensor.nbytes

    def size(self) -> int:
        """The number of bytes."""
        return self._tensor.nbytes

    def tolist(self) -> list[int]:
        """The bytes as numbers. Runs the graph."""
        values: Any = self._tensor.clone().flatten()
        if not self._tensor.nbytes:
            return []
        same_size = {1: _weft.uint8, 2: _weft.int16, 4: _weft.int32, 8: _weft.int64}[self._tensor.element_size()]  # which buffers know
        return list(memoryview(values if self._tensor.dtype is _weft.bool else values.view(same_size)).tobytes())

    @property
    def device(self) -> device:
        """Where it lives: the CPU."""
        return self._tensor.device

    def is_shared(self) -> bool:
        """False: of a tensor itself, Tensor.is_shared() tells."""
        return False

    def __len__(self) -> int:
        return self._tensor.nbytes

    def __getitem__(self, index: int) -> int:
        return self.tolist()[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"weft.storage.UntypedStorage({self._tensor.nbytes} bytes)"


class TypedStorage:
    """The values of a tensor in row-major order."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()

    @property
    def dtype(self) -> _weft.dtype:
        """The element type."""
        return self._tensor.dtype

    @property
    def device(self) -> device:
        """Where it lives: the CPU."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """The address of the values. Runs the graph."""
        return self._tensor.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._tensor.nbytes

    def element_size(self) -> int:
        """Bytes per element."""
        return self._tensor.element_size()

    def size(self) -> int:
        """The number of elements."""
        return self._tensor.numel()

    def tolist(self) -> list[Any]:
        """The elements. Runs the graph."""
        values: list[Any] = self._tensor.flatten().tolist()
        return values

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return UntypedStorage(self._tensor)

    def __len__(self) -> int:
        return self._tensor.numel()

    def __getitem__(self, index: int) -> Any:
        return self._tensor.flatten()[index].item()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"weft.storage.TypedStorage({self._tensor.numel()} elements of {self._tensor.dtype!r})"
