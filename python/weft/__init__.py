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
_weft._set_device_type(_types.device)
_weft._set_values_and_indices(_types.ValuesAndIndices)
_weft._set_min_and_max(_types.MinAndMax)
_weft._set_mantissa_and_exponent(_types.MantissaAndExponent)

# With stars, so that strict type checkers see the names as Weft's own.
from ._copies import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._jit import *  # noqa: F403
from ._legacy import *  # noqa: F403
from ._modes import *  # noqa: F403
from ._random import *  # noqa: F403
from ._statistics import *  # noqa: F403
from ._types import *  # noqa: F403
from ._weft import *  # noqa: F403

__version__ = "0.1.0"

from math import e as e, inf as inf, nan as nan, pi as pi

from . import (
    array_api as array_api, autograd as autograd, datasets as datasets, linalg as linalg, nn as nn, optim as optim,
    serialization as serialization, special as special, utils as utils,
)  # fmt: skip
from .serialization import load as load, save as save
from .linalg import (
    _lu as lu, _lu_unpack as lu_unpack, _old_qr as qr, _old_svd as svd, _pca_lowrank as pca_lowrank, _svd_lowrank as svd_lowrank,
    _triangular_solve as triangular_solve, slogdet as slogdet,
)  # fmt: skip

# The array API's functions that PyTorch has not, or has with the same meaning.
from .array_api import (
    __array_api_version__ as __array_api_version__, __array_namespace_info__ as __array_namespace_info__, astype as astype,
    bitwise_invert as bitwise_invert, broadcast_arrays as broadcast_arrays, cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum, expand_dims as expand_dims, isdtype as isdtype, newaxis as newaxis,
    permute_dims as permute_dims, repeat as repeat, take_along_axis as take_along_axis, unique_all as unique_all,
    unique_counts as unique_counts, unique_inverse as unique_inverse, unique_values as unique_values,
)  # fmt: skip

concatenate = cat  # noqa: F405

def is_tensor(obj: object) -> builtins.bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> builtins.int:
    """The number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the elements are floats."""
    return input.is_floating_point()


from . import _einops

_einops.install()

# What most programs do not use is imported when it is first used.
_LATER = {
    "accelerator", "amp", "backends", "cuda", "distributed", "distributions", "func", "fx", "hub", "io", "library", "masked", "mps", "multiprocessing",
    "onnx", "profiler", "random", "signal", "sparse", "xpu",
}  # fmt: skip
_NAMES_LATER = {
    "_profile": ("explain", "inspection", "profile"),
    "_torch": ("install_as_torch",),
    "sparse": ("sparse_coo_tensor", "spmm"),
    "amp": ("autocast", "get_autocast_dtype", "is_autocast_enabled"),
    "_settings": (
        "_assert", "_check", "are_deterministic_algorithms_enabled", "compile", "compiler", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype",
        "get_deterministic_debug_mode", "get_float32_matmul_precision", "get_num_interop_threads", "is_autocast_cpu_enabled",
        "is_deterministic_algorithms_warn_only_enabled", "is_inference_mode_enabled", "seed",
        "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "typename",
        "use_deterministic_algorithms",
    ),
}  # fmt: skip

if TYPE_CHECKING:
    from . import (
        accelerator as accelerator, amp as amp, backends as backends, cuda as cuda, distributed as distributed, distributions as distributions,
        func as func, fx as fx, hub as hub, io as io, library as library, masked as masked, mps as mps, multiprocessing as multiprocessing, onnx as onnx, profiler as profiler,
        random as random, signal as signal, sparse as sparse, xpu as xpu,
    )  # fmt: skip
    from ._settings import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled, compile as compile, compiler as compiler,
        get_float32_matmul_precision as get_float32_matmul_precision, seed as seed,
        set_float32_matmul_precision as set_float32_matmul_precision, use_deterministic_algorithms as use_deterministic_algorithms,
    )  # fmt: skip
    from ._profile import explain as explain, inspection as inspection, profile as profile
    from ._torch import install_as_torch as install_as_torch
    from .amp import autocast as autocast, get_autocast_dtype as get_autocast_dtype, is_autocast_enabled as is_autocast_enabled
    from .sparse import sparse_coo_tensor as sparse_coo_tensor, spmm as spmm
else:

    def __getattr__(name: str) -> object:
        import importlib

        if name in _LATER:
            return importlib.import_module(f"{__name__}.{name}")
        for module, names in _NAMES_LATER.items():
            if name in names:
                return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        if name.startswith("_foreach_"):
            from ._torch.foreach import foreach

            return foreach(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _profile_program() -> None:
    """WEFT_PROFILE=run.html python train.py: the whole program, written when it ends."""
    import os
    import sys

    if (path := os.environ.get("WEFT_PROFILE")) and "weft.inspect" not in sys.orig_argv:
        from ._profile import profile_program

        profile_program(path)


_profile_program()
del _profile_program
