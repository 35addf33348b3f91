"""torch._C: what libraries call in PyTorch's own module, where it has a meaning without it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _log_api_usage_once(name: str) -> None:
    pass


def _get_tracing_state() -> None:
    return None


def _is_tracing() -> bool:
    return False


def _jit_set_profiling_executor(mode: bool) -> bool:
    return mode


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_profiling_executor


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def __getattr__(name: str) -> Any:
    from .. import Generator, Size, device, dtype

    known = {"Generator": Generator, "Size": Size, "device": device, "dtype": dtype}
    if name in known:
        return known[name]
    raise AttributeError(name)


class _Names:
    """Dispatch keys: a library may name them; nothing is dispatched by them."""

    def __getattr__(self, name: str) -> str:
        return name


DispatchKey = _Names()


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, *keys: Any) -> None:
        self.keys = set(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    add = __or__


class _ExcludeDispatchKeyGuard:
    """A block in which no key is left out, since none is used."""

    def __init__(self, keys: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
