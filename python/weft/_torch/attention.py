"""torch.nn.attention: which kernel computes attention. Weft has one, so that any choice is the same."""

from __future__ import annotations

import enum
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A block in which attention is computed as it always is."""
    yield
