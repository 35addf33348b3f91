"""How the parameters of layers start."""

import math

from .. import _weft
from . import init
from .parameter import Parameter


def fan_in_uniform_(fan, *parameters):
    """Uniform in ±1/√fan, PyTorch's start for layers with so many inputs to each output."""
    bound = 1 / math.sqrt(fan) if fan > 0 else 0
    for parameter in parameters:
        if parameter is not None:
            init.uniform_(parameter, -bound, bound)


def empty(*shape, dtype=None, wanted=True):
    """A parameter that gets its values later, or None."""
    return Parameter(_weft.zeros(shape, dtype=dtype)) if wanted else None


def filled(shape, value, dtype=None):
    """A parameter with the same value everywhere."""
    return Parameter(_weft.full(shape, float(value), dtype=dtype or _weft.float32))
