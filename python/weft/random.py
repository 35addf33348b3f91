"""weft.random: the global random numbers."""

from __future__ import annotations

from contextlib import contextmanager

from . import _weft
from ._settings import seed as seed
from ._weft import get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed, set_rng_state as set_rng_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cpu", **_: Any) -> Iterator[None]:
    """After the block the random numbers go on as if it had drawn none."""
    before = _weft.get_rng_state()
    try:
        yield
    finally:
        if enabled:
            _weft.set_rng_state(before)
