"""Weft: a small tensor compiler. PyTorch-like code becomes a lazy graph, few fused kernels, and machine code.

>>> import weft
>>> x = weft.tensor([1.0, 2.0, 3.0])
>>> (x * x).sum()
tensor(14.)
"""

from . import _types, _weft

_weft._set_size_type(_types.Size)
_weft._set_device(_types.device("cpu"))
_weft._set_values_and_indices(_types.ValuesAndIndices)

from ._functions import allclose, describe_api, equal, finfo, hstack, iinfo, isclose, load, save, search_api, vstack
from ._jit import jit
from ._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._tensor import Tensor
from ._types import Size, device
from ._weft import *  # noqa: F403
from ._weft import bool, float, int  # noqa: A004  names that `*` brings too, listed for readers

__version__ = "0.1.0"

from math import e, inf, nan, pi

from . import autograd, datasets, nn, optim, utils

subtract, multiply, divide, true_divide, negative, absolute = sub, mul, div, div, neg, abs  # noqa: F405
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne  # noqa: F405
arcsin, arccos, arctan, concatenate, clip = asin, acos, atan, cat, clamp  # noqa: F405


def is_tensor(obj):
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input):
    """The number of elements."""
    return input.numel()


def is_floating_point(input):
    """Whether the elements are floats."""
    return input.is_floating_point()


def get_default_dtype():
    """The type of floats without one: always float32."""
    return _weft.float32
