"""weft.backends: settings of libraries that Weft does not use. They can be set and read; something follows from cuda.matmul.allow_tf32 alone."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

from .. import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized", "xeon"]


def _no() -> bool:
    """False: it is not used here."""
    return False


@contextmanager
def _flags(**_: Any) -> Iterator[None]:
    yield


class _Settings:
    """A group of settings, such as backends.cuda.matmul."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


class _Products(_Settings):
    """backends.cuda.matmul: whether factors are rounded to tf32, in PyTorch's two spellings. Both are set_float32_matmul_precision()."""

    @property
    def allow_tf32(self) -> bool:
        return _weft._tf32_products()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        _weft._set_tf32_products(bool(allowed))

    @property
    def fp32_precision(self) -> str:
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in ("ieee", "tf32", "none"):
            raise ValueError(f'fp32_precision must be "ieee" or "tf32", not {precision!r}')
        self.allow_tf32 = precision == "tf32"


def _module(name: str, doc: str, **values: Any) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}", doc)
    vars(module).update(values)
    sys.modules[module.__name__] = module
    return module


def _capability() -> str:
    level: str = _weft._system_info()["level"]
    return level.upper()


class SDPAParams:
    """What a choice of an attention kernel would depend on: Weft has one kernel."""


@contextmanager
def _sdp_kernel(**_: Any) -> Iterator[None]:
    yield


def _yes() -> bool:
    """True: attention is computed in one way."""
    return True


def _set(enabled: bool) -> None:
    """Changes nothing: attention is computed in one way."""


cpu = _module("cpu", "What the CPU can do.", get_cpu_capability=_capability)
cuda = _module(
    "cuda", "Settings of CUDA's libraries, which Weft does not use: its kernels are its own.", is_built=lambda: True, sdp_kernel=_sdp_kernel, SDPAParams=SDPAParams,
    matmul=_Products(allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True),
    cufft_plan_cache=_Settings(size=0, max_size=0), preferred_linalg_library=lambda backend=None: "default",
    preferred_blas_library=lambda backend=None: "default",
    flash_sdp_enabled=_yes, mem_efficient_sdp_enabled=_yes, math_sdp_enabled=_yes, cudnn_sdp_enabled=_no,
    enable_flash_sdp=_set, enable_mem_efficient_sdp=_set, enable_math_sdp=_set, enable_cudnn_sdp=_set,
)  # fmt: skip
cudnn = _module(
    "cudnn", "Settings of cuDNN.", is_available=_no, version=lambda: None, is_acceptable=lambda tensor: False, flags=_flags, enabled=False,
    benchmark=False, benchmark_limit=10, deterministic=True, allow_tf32=False, fp32_precision="ieee",
)  # fmt: skip
mha = _module("mha", "Attention's fast path.", get_fastpath_enabled=_yes, set_fastpath_enabled=_set)
mkl = _module("mkl", "Intel's library, which Weft does not use.", is_available=_no)
mkldnn = _module("mkldnn", "oneDNN, which Weft does not use.", is_available=_no, enabled=False, deterministic=True, flags=_flags)
mps = _module("mps", "Apple's GPUs.", is_available=_no, is_built=_no, is_macos_or_newer=lambda major, minor: False)
openmp = _module("openmp", "OpenMP, which Weft does not use: it has threads of its own.", is_available=_no)
opt_einsum = _module("opt_einsum", "The package opt_einsum, which Weft does not use.", is_available=_no, enabled=False, strategy=None)
quantized = _module("quantized", "Quantised kernels, which Weft has not.", engine="none", supported_engines=["none"])
xeon = _module("xeon", "Launchers for Intel's servers.")
