"""weft.cuda: what programs ask about NVIDIA's GPUs. There is none for Weft: questions are answered so, and work on one is refused."""

from __future__ import annotations

from . import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "amp", "current_device", "current_stream", "default_stream", "device", "device_count", "empty_cache",
    "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed",
    "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "stream", "synchronize",
]  # fmt: skip


class OutOfMemoryError(RuntimeError):
    """A GPU has no memory left."""


def is_available() -> bool:
    """False: Weft runs on the CPU."""
    return False


is_initialized = is_available


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU. The CPU computes with bfloat16."""
    return False


def device_count() -> int:
    """0."""
    return 0


def get_arch_list() -> list[str]:
    """No architecture: there is no GPU."""
    return []


def _none(*_: Any, **__: Any) -> Any:
    raise RuntimeError("cuda: there is no GPU for Weft here; ask weft.cuda.is_available() first")


current_device = current_stream = default_stream = get_device_name = get_device_properties = get_device_capability = _none
get_rng_state = set_rng_state = mem_get_info = set_device = init = _none


class _Needed:
    def __init__(self, *_: Any, **__: Any) -> None:
        _none()


class Stream(_Needed):
    """A queue of work on a GPU."""


class Event(_Needed):
    """A moment in a Stream."""


class device(_Needed):
    """The GPU that a `with` block works on."""


class stream:
    """The Stream that a `with` block works on; None changes nothing."""

    def __init__(self, stream: Any) -> None:
        if stream is not None:
            _none()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


# Programs call these wherever they run: without a GPU there is nothing to do.
def _nothing(*_: Any, **__: Any) -> None:
    """Does nothing: there is no GPU."""


empty_cache = ipc_collect = manual_seed = manual_seed_all = seed = seed_all = synchronize = _nothing
reset_peak_memory_stats = reset_max_memory_allocated = reset_accumulated_memory_stats = set_rng_state_all = _nothing


def get_rng_state_all() -> list[Any]:
    """No state: there is no GPU."""
    return []


def initial_seed() -> int:
    """0."""
    return 0


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Nothing: there is no GPU."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Says that there is no GPU."""
    return "no GPU"
