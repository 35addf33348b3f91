"""weft.accelerator: the device beside the CPU: a GPU where there is one. weft.cuda has more to say about it."""

from __future__ import annotations

from . import _weft, cuda
from ._types import device
from .cuda import empty_cache, max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved, reset_peak_memory_stats, synchronize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats",
    "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a GPU that Weft can use."""
    return cuda.is_available()


def device_count() -> int:
    """How many GPUs there are."""
    return cuda.device_count() if is_available() else 0


def current_accelerator(check_available: bool = False) -> device | None:
    """device("cuda") where there is a GPU, otherwise None."""
    return device("cuda") if is_available() else None


def _need() -> None:
    if not is_available():
        raise RuntimeError("accelerator: there is no accelerator here; ask weft.accelerator.is_available() first")


def current_device_index() -> int:
    """The number of the current GPU."""
    _need()
    return cuda.current_device()


def set_device_index(device: Any) -> None:
    """Sets the current GPU."""
    _need()
    cuda.set_device(device)


def current_stream(device: Any = None) -> cuda.Stream:
    """The GPU's stream."""
    _need()
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Makes the stream's GPU the current one."""
    _need()
    cuda.set_stream(stream)


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What tensors take and took at most."""
    _need()
    return cuda.memory_stats(device)


class device_index:
    """The GPU that is the current one in a `with` block; None changes nothing."""

    def __init__(self, device: int | None) -> None:
        self._wanted, self._before = device, 0

    def __enter__(self) -> None:
        self._before = _weft._cuda_current()
        if self._wanted is not None:
            set_device_index(self._wanted)

    def __exit__(self, *_: object) -> None:
        _weft._cuda_set_current(self._before)


current_device_idx, set_device_idx = current_device_index, set_device_index
