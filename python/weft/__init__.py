"""Weft: a small tensor compiler. PyTorch-like code becomes a lazy graph, few fused kernels, and machine code.

>>> import weft
>>> x = weft.tensor([1.0, 2.0, 3.0])
>>> (x * x).sum()
tensor(14.)
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False

try:
    from . import _types, _weft
except ImportError as error:
    import sysconfig

    this = sysconfig.get_config_var("SOABI")
    raise ImportError(f"weft has no compiled module for this Python ({this}); install it with this Python's pip ({error})") from error

_weft._set_size_type(_types.Size)
_weft._set_device(_types.device("cpu"))
_weft._set_values_and_indices(_types.ValuesAndIndices)
_weft._set_min_and_max(_types.MinAndMax)
_weft._set_mantissa_and_exponent(_types.MantissaAndExponent)

# With stars, so that strict type checkers see the names as Weft's own.
from ._functions import *  # noqa: F403
from ._jit import *  # noqa: F403
from ._modes import *  # noqa: F403
from ._random import *  # noqa: F403
from ._types import *  # noqa: F403
from ._weft import *  # noqa: F403

__version__ = "0.1.0"

from math import e as e, inf as inf, nan as nan, pi as pi

from . import (
    array_api as array_api, autograd as autograd, datasets as datasets, linalg as linalg, nn as nn, optim as optim,
    serialization as serialization, special as special, utils as utils,
)  # fmt: skip
from .serialization import load as load, save as save
from .linalg import _lu_unpack as lu_unpack, _old_qr as qr, _old_svd as svd, slogdet as slogdet

# The array API's functions that PyTorch has not, or has with the same meaning.
from .array_api import (
    __array_api_version__ as __array_api_version__, __array_namespace_info__ as __array_namespace_info__, astype as astype,
    bitwise_invert as bitwise_invert, broadcast_arrays as broadcast_arrays, cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum, expand_dims as expand_dims, isdtype as isdtype, newaxis as newaxis,
    permute_dims as permute_dims, repeat as repeat, take_along_axis as take_along_axis, unique_all as unique_all,
    unique_counts as unique_counts, unique_inverse as unique_inverse, unique_values as unique_values,
)  # fmt: skip

concatenate = cat  # noqa: F405

if TYPE_CHECKING:
    from . import io as io
else:

    def __getattr__(name: str) -> object:
        """What few programs need is imported when it is first asked for."""
        if name == "io":
            import importlib

            return importlib.import_module(".io", __name__)
        raise AttributeError(f"module 'weft' has no attribute '{name}'")


def is_tensor(obj: object) -> builtins.bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> builtins.int:
    """The number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the elements are floats."""
    return input.is_floating_point()
