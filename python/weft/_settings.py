"""Settings that PyTorch programs make. Weft has one answer to most of them: these say which, and refuse what is not so."""

from __future__ import annotations

import os

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_precision = "highest"
_warn_only = False


def set_float32_matmul_precision(precision: str) -> None:
    """Takes "highest" (products of f32 are exact), "high" or "medium": on a GPU, factors of matrices are rounded to tf32 and summed in f32.

    Tensor cores multiply those many times as fast. The CPU's products are exact whatever is chosen, as PyTorch's are.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f'set_float32_matmul_precision(): argument \'precision\' must be "highest", "high" or "medium", not {precision!r}')
    _precision = precision
    _weft._set_tf32_products(precision != "highest")


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision() was given; "high" after backends.cuda.matmul.allow_tf32 = True."""
    if not _weft._tf32_products():
        return "highest"
    return "high" if _precision == "highest" else _precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Changes nothing: every result of Weft is the same at every run, with any number of threads."""
    global _warn_only
    _warn_only = bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """True, always."""
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms() was given."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Changes nothing: every result is the same at every run."""


def get_deterministic_debug_mode() -> int:
    """2: nothing is done that is not deterministic."""
    return 2


def set_num_interop_threads(num: int) -> None:
    """Changes nothing: kernels run one after the other, each on the threads of set_num_threads()."""
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise ValueError(f"set_num_interop_threads(): argument 'num' must be an int of at least 1, not {num!r}")


def get_num_interop_threads() -> int:
    """1: kernels run one after the other."""
    return 1


def set_flush_denormal(mode: bool) -> bool:
    """Whether the mode could be set: only False can, since subnormal numbers keep their values."""
    return not mode


def is_inference_mode_enabled() -> bool:
    """Whether ops record no gradient."""
    return not _weft.is_grad_enabled()


def seed() -> int:
    """Starts the random numbers over from a seed by chance, and returns it."""
    value = int.from_bytes(os.urandom(8), "little") >> 1
    _weft.manual_seed(value)
    return value


def typename(obj: Any) -> str:
    """The name of a type: weft.FloatTensor for a tensor of float32, module and class for another object."""
    if isinstance(obj, _weft.Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _assert(condition: Any, message: Any) -> None:
    assert condition, message


def _check(cond: bool, message: Any = None) -> None:
    if not cond:
        raise RuntimeError("Expected cond to be True" if message is None else message())


def compile(  # noqa: A001
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: Any = None,
    backend: Any = "weft",
    mode: Any = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """The module or function itself: every program is compiled when it runs. weft.jit traces a function once, which is quicker still."""
    return model if model is not None else lambda function: function


class compiler:
    """torch.compiler: what it switches is not needed here."""

    @staticmethod
    def disable(fn: Any = None, recursive: bool = True, **_: Any) -> Any:
        return fn if fn is not None else lambda function: function

    @staticmethod
    def is_compiling() -> bool:
        return False

    @staticmethod
    def is_exporting() -> bool:
        return False

    is_dynamo_compiling = is_compiling
    allow_in_graph = assume_constant_result = staticmethod(lambda fn: fn)

    @staticmethod
    def reset() -> None:
        pass

    @staticmethod
    def cudagraph_mark_step_begin() -> None:
        pass


def get_autocast_cpu_dtype() -> _weft.dtype:
    """The type that autocast computes products in."""
    return _weft._autocast() or _weft.bfloat16


def get_autocast_gpu_dtype() -> _weft.dtype:
    """The type that autocast computes products in on a GPU."""
    return _weft._autocast("cuda") or _weft.float16


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on, on this thread."""
    return _weft._autocast() is not None
