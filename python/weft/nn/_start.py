"""How the parameters of layers start."""

from __future__ import annotations

import math

from .. import _weft
from . import init
from .parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fan_in_uniform_(fan: Any, *parameters: Any) -> None:
    """Uniform in ±1/√fan, PyTorch's start for layers with so many inputs to each output."""
    bound = 1 / math.sqrt(fan) if fan > 0 else 0
    for parameter in parameters:
        if parameter is not None:
            init.uniform_(parameter, -bound, bound)


def empty(*shape: Any, dtype: Any = None, wanted: bool = True) -> Any:
    """A parameter that gets its values later, or None."""
    return Parameter(_weft.zeros(shape, dtype=dtype)) if wanted else None


def filled(shape: Any, value: Any, dtype: Any = None) -> Any:
    """A parameter with the same value everywhere."""
    return Parameter(_weft.full(shape, float(value), dtype=dtype))
