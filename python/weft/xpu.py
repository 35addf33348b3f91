"""weft.xpu: what programs ask about Intel's GPUs. There is none for Weft."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_available() -> bool:
    """False: Weft runs on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _nothing(*_: Any, **__: Any) -> None:
    """Does nothing: there is no GPU."""


empty_cache = manual_seed = seed = synchronize = _nothing
manual_seed_all = is_initialized = _nothing
