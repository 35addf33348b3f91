"""weft.accelerator: the device beside the CPU, of which there is none."""

from __future__ import annotations

from ._types import device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_available() -> bool:
    """False: Weft runs on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """None: there is no accelerator."""
    return None


def _none(*_: Any) -> Any:
    raise RuntimeError("accelerator: there is no accelerator here; ask weft.accelerator.is_available() first")


current_device_index = set_device_index = current_device_idx = set_device_idx = _none
current_stream = set_stream = memory_stats = _none


def synchronize(device: Any = None) -> None:
    """Waits for nothing: there is no accelerator."""


def empty_cache() -> None:
    """Frees nothing: there is no accelerator. weft.trim_memory() gives back the CPU's."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
