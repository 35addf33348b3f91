"""weft.cuda: NVIDIA's GPUs: which there are, their memory, and the order of their work. Without one, questions are answered so, and work on one is refused."""

from __future__ import annotations

from .. import _weft
from .._types import _parsed, device as _device
from . import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "amp", "can_device_access_peer", "current_device", "current_stream", "default_stream", "device", "device_count",
    "device_of", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all",
    "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
    "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all",
    "set_stream", "stream", "synchronize",
]  # fmt: skip

OutOfMemoryError = _weft.OutOfMemoryError


# ---- which there are ----------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether there is a GPU that Weft can use: of compute capability 8.0 or newer, with NVIDIA's driver."""
    return not _weft._cuda_problem()


def device_count() -> int:
    """How many GPUs the driver finds, of those that CUDA_VISIBLE_DEVICES lets it see."""
    return _weft._cuda_device_count()


def is_initialized() -> bool:
    """Whether the current GPU was used."""
    return _weft._cuda_is_open(_weft._cuda_current())


def _need(function: str) -> None:
    if problem := _weft._cuda_problem():
        raise RuntimeError(f"{function}(): there is no GPU for Weft here: {problem}; ask weft.cuda.is_available() first")


def _index(function: str, wanted: Any) -> int:
    """The number of the GPU that is meant by None (the current one), a number, a name or a device; an error if it is not there."""
    _need(function)
    if isinstance(wanted, (str, _device)):
        kind, wanted = _parsed(function, "device", wanted)
        if kind != "cuda":
            raise ValueError(f"{function}(): argument 'device' must be a GPU such as 'cuda:0', not '{kind}'")
    if wanted is None:
        return _weft._cuda_current()
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        raise TypeError(f"{function}(): argument 'device' must be an int, a str or a weft.device, not {type(wanted).__name__}")
    if not 0 <= wanted < device_count():
        last = device_count() - 1
        raise RuntimeError(f"{function}(): there is no device 'cuda:{wanted}'; there {f'are cuda:0 to cuda:{last}' if last else 'is cuda:0'}")
    return wanted


def current_device() -> int:
    """The number of the GPU that "cuda" means on this thread."""
    return _index("current_device", None)


def set_device(device: Any) -> None:
    """Sets the GPU that "cuda" means on this thread."""
    _weft._cuda_set_current(_index("set_device", device))


class device:
    """The GPU that "cuda" means in a `with` block; None and -1 change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or device == -1 else _index("device", device)
        self._before: list[int] = []

    def __enter__(self) -> Self:
        self._before.append(_weft._cuda_current())
        if self.idx >= 0:
            _weft._cuda_set_current(self.idx)
        return self

    def __exit__(self, *_: object) -> None:
        _weft._cuda_set_current(self._before.pop())


class device_of(device):
    """The GPU of a tensor; that of another device changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _Properties:
    """What a GPU is: name, major and minor (the compute capability), total_memory, multi_processor_count …"""

    def __init__(self, values: tuple[Any, ...]) -> None:
        (self.name, self.major, self.minor, self.total_memory, self.multi_processor_count, self.warp_size, self.max_threads_per_multi_processor,
         self.L2_cache_size, self.shared_memory_per_multiprocessor) = values  # fmt: skip

    def __repr__(self) -> str:
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, total_memory={self.total_memory >> 20}MB, "
                f"multi_processor_count={self.multi_processor_count}, L2_cache_size={self.L2_cache_size >> 20}MB)")  # fmt: skip


def get_device_properties(device: Any = None) -> _Properties:
    """Its name, compute capability, memory, multiprocessors."""
    return _Properties(_weft._cuda_properties(_index("get_device_properties", device)))


def get_device_name(device: Any = None) -> str:
    """Its name, such as "NVIDIA H200"."""
    name: str = _weft._cuda_properties(_index("get_device_name", device))[0]
    return name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Its compute capability: (9, 0)."""
    found = _weft._cuda_properties(_index("get_device_capability", device))
    return found[1], found[2]


def get_arch_list() -> list[str]:
    """The architectures of the GPUs that are here: kernels are compiled for each when they are needed."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())}) if is_available() else []


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: all that Weft can use know bfloat16. The CPU computes with it, too."""
    return is_available()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """False: tensors go from one GPU to another by way of the host."""
    _index("can_device_access_peer", device), _index("can_device_access_peer", peer_device)
    return False


def init() -> None:
    """Opens the current GPU, as its first use does."""
    _weft._check_device("init", current_device())


# ---- order --------------------------------------------------------------------------------------------------------------


def synchronize(device: Any = None) -> None:
    """Computes what the program has recorded for a GPU, and waits for it; an index that was out of range raises here. Without a GPU there is nothing to do."""
    if isinstance(device, (str, _device)) or device_count():
        _weft._cuda_synchronize(_index("synchronize", device))


class Stream:
    """A GPU's queue of work. Weft has one for each GPU, and every Stream is that one: programs with several compute the same, one thing after the other."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device_index, self.priority = _index("Stream", device), priority
        self._before: list[int] = []

    @property
    def device(self) -> _device:
        return _device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The stream itself, for libraries that take one."""
        return _weft._cuda_stream(self.device_index)

    stream_id = cuda_stream

    def synchronize(self) -> None:
        """Waits for all that was recorded."""
        _weft._cuda_synchronize(self.device_index)

    def query(self) -> bool:
        """Whether all that was recorded is done."""
        return _weft._cuda_is_idle(self.device_index)

    def record_event(self, event: Event | None = None) -> Event:
        """An event behind all that was recorded."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Nothing to do: the work of a GPU has one order, and tensors of another GPU are waited for."""

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to do, as for wait_event()."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device_index == other.device_index

    def __hash__(self) -> int:
        return hash((Stream, self.device_index))

    def __repr__(self) -> str:
        return f"<weft.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Self:
        self._before.append(_weft._cuda_current())
        _weft._cuda_set_current(self.device_index)
        return self

    def __exit__(self, *_: object) -> None:
        _weft._cuda_set_current(self._before.pop())


def current_stream(device: Any = None) -> Stream:
    """The GPU's stream."""
    return Stream(_index("current_stream", device))


def default_stream(device: Any = None) -> Stream:
    """The GPU's stream."""
    return Stream(_index("default_stream", device))


def set_stream(stream: Stream | None) -> None:
    """Makes the stream's GPU the current one; None changes nothing."""
    if stream is not None:
        _weft._cuda_set_current(stream.device_index)


class stream:
    """The Stream that a `with` block works on: its GPU is the current one. None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"stream(): argument 'stream' must be a weft.cuda.Stream or None, not {type(stream).__name__}")
        self.stream = stream

    def __enter__(self) -> Self:
        if self.stream is not None:
            self.stream.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


def is_current_stream_capturing() -> bool:
    """False: Weft makes CUDA graphs by itself."""
    return False


class Event:
    """A place in the order of a GPU's work. Two of them, made with `enable_timing=True`, tell how long what is between them took on the GPU.

    >>> start, end = (weft.cuda.Event(enable_timing=True) for _ in range(2))
    >>> start.record(); y = x @ x; end.record()
    >>> end.synchronize(); print(start.elapsed_time(end), "ms")
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        _need("Event")
        if interprocess:
            raise RuntimeError("Event(): Weft shares no events between processes; leave interprocess=True out")
        self._timing, self._event = enable_timing, None

    def record(self, stream: Stream | None = None) -> None:
        """Puts it behind all that was recorded so far, which is launched."""
        self._event = _weft._cuda_record(current_device() if stream is None else stream.device_index)

    def query(self) -> bool:
        """Whether the GPU has come there; True before record()."""
        return self._event is None or self._event.reached()

    def synchronize(self) -> None:
        """Waits until the GPU has come there."""
        if self._event is not None:
            self._event.wait()

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to do: the work of a GPU has one order."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one."""
        if not (self._timing and end_event._timing):
            raise ValueError("elapsed_time(): both events must be made with enable_timing=True")
        if self._event is None or end_event._event is None:
            raise ValueError("elapsed_time(): both events must be recorded first: call record()")
        if not (self.query() and end_event.query()):
            raise ValueError("elapsed_time(): the GPU has not come to the event yet; call synchronize() first")
        time: float = end_event._event.milliseconds_after(self._event)
        return time


# ---- memory -------------------------------------------------------------------------------------------------------------


def _memory(function: str, device: Any) -> tuple[int, ...]:
    """Bytes: allocated, the most, reserved, the most; 0 where nothing was opened."""
    if device is None and not is_available():
        return (0, 0, 0, 0)
    index = _index(function, device)
    return _weft._cuda_memory(index) if _weft._cuda_is_open(index) else (0, 0, 0, 0)


def memory_allocated(device: Any = None) -> int:
    """The bytes of the tensors on a GPU. What is recorded and not computed yet has none."""
    return _memory("memory_allocated", device)[0]


def max_memory_allocated(device: Any = None) -> int:
    """The most that memory_allocated() was, since the start or reset_peak_memory_stats()."""
    return _memory("max_memory_allocated", device)[1]


def memory_reserved(device: Any = None) -> int:
    """The bytes that are taken from the driver: those of tensors, and those that are kept for the next ones."""
    return _memory("memory_reserved", device)[2]


def max_memory_reserved(device: Any = None) -> int:
    """The most that memory_reserved() was, since the start or reset_peak_memory_stats()."""
    return _memory("max_memory_reserved", device)[3]


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes of a GPU that are free, whoever has the others, and all of them."""
    free, total = _weft._cuda_memory(_index("mem_get_info", device))[4:]
    return free, total


def reset_peak_memory_stats(device: Any = None) -> None:
    """max_memory_allocated() and max_memory_reserved() count from here."""
    if device is not None or is_available():
        index = _index("reset_peak_memory_stats", device)
        if _weft._cuda_is_open(index):
            _weft._cuda_reset_most_used(index)


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def empty_cache() -> None:
    """Gives the memory that is kept for the next tensors, and pinned memory that nobody has, back to the driver."""
    for index in range(device_count()):
        if _weft._cuda_is_open(index):
            _weft._cuda_release_memory(index)


def ipc_collect() -> None:
    """Nothing to do: Weft shares no GPU memory between processes."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What memory_allocated() and its relatives tell, by PyTorch's names; nothing without a GPU."""
    if device is None and not is_available():
        return {}
    found = _memory("memory_stats", device)
    names = ("allocated_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.current", "reserved_bytes.all.peak")
    return dict(zip(names, found))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The same as text."""
    found = memory_stats(device)
    return "\n".join(f"{name:30}{value:>18,} B" for name, value in found.items()) or "no GPU"


# ---- random numbers -----------------------------------------------------------------------------------------------------
# One generator serves all devices, which draw the same numbers from a seed. Without a GPU these change nothing.


def manual_seed(seed: int) -> None:
    """weft.manual_seed(), where there is a GPU: all devices draw from one generator."""
    if is_available():
        _weft.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """weft.seed(), where there is a GPU."""
    if is_available():
        from .._settings import seed as new_seed

        new_seed()


seed_all = seed


def initial_seed() -> int:
    """The seed; 0 without a GPU."""
    return _weft.initial_seed() if is_available() else 0


def get_rng_state(device: Any = None) -> Any:
    """The state of the generator."""
    _index("get_rng_state", device)
    return _weft.get_rng_state()


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Goes on from a state of get_rng_state()."""
    _index("set_rng_state", device)
    _weft.set_rng_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The state for each GPU; it is one."""
    return [_weft.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Goes on from what get_rng_state_all() gave."""
    if is_available() and new_states:
        _weft.set_rng_state(new_states[0])
