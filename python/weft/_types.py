"""Small types that tensors hand out: Size, device, and the pairs of max(dim), aminmax and frexp."""

from __future__ import annotations

import functools
from collections import namedtuple

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    _F = TypeVar("_F")
    _Ints = tuple[int, ...]
else:
    _Ints = tuple

__all__ = [
    "Size", "channels_last", "channels_last_3d", "contiguous_format", "device", "layout", "memory_format", "preserve_format", "sparse_coo", "strided",
]  # fmt: skip


class Size(_Ints):
    """The sizes of a tensor: a tuple of ints."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"weft.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Iterable[Any]) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


class device:
    """Where a tensor lives and is computed: "cpu", or a type and an index such as "cuda:0"; a number alone is a GPU's.

    Any device can be named, so that programs can ask for it; making a tensor there needs one that this build of Weft has.
    Tensors that are made in a `with` block of it, or in a function that it decorates, live there.

    >>> weft.device("cuda:0" if weft.cuda.is_available() else "cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index", "_before")
    type: str
    index: int | None

    def __init__(self, type: str | int | device = "cpu", index: int | None = None) -> None:
        self.type, self.index = _parsed("device", "type", type, index)
        self._before: list[Any] = []

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        self._before.append(_weft._enter_device(self))
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:  # nothing was entered if __enter__() failed
            _weft._enter_device(self._before.pop())

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def there(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return there


def _parsed(function: str, argument: str, wanted: Any, index: Any = None) -> tuple[str, int | None]:
    """The type and the index of a device that a function was given, or an error that names the function."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        wanted, index = "cuda", wanted if index is None else index
    if not isinstance(wanted, (str, device)):
        what = "a str such as 'cpu' or 'cuda:0', or a weft.device"
        raise TypeError(f"{function}(): argument '{argument}' must be {what}, not {type(wanted).__name__}")
    name, colon, number = str(wanted).partition(":")
    if name not in _DEVICES:
        raise RuntimeError(f"{function}(): there is no device '{wanted}'; the types are {', '.join(_weft._device_types())}")
    if colon:
        if index is not None:
            raise RuntimeError(f"{function}(): the index is given twice: by '{wanted}' and by index={index!r}")
        if not (number.isascii() and number.isdecimal() and len(number) <= 3 and int(number) <= _LAST_INDEX):
            asked = f"behind the colon comes a number up to {_LAST_INDEX}, as in '{name}:0'"
            raise RuntimeError(f"{function}(): there is no device '{wanted}': {asked}")
        index = int(number)
    elif index is not None:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"{function}(): argument 'index' must be an int or None, not {type(index).__name__}")
        if not 0 <= index <= _LAST_INDEX:
            raise RuntimeError(f"{function}(): argument 'index' must be from 0 to {_LAST_INDEX}, not {index}")
    if name == "cpu" and index:
        raise RuntimeError(f"{function}(): there is no device 'cpu:{index}': there is one CPU device, 'cpu'")
    return name, index


def device_of_type(function: str, kind: str, wanted: Any) -> device:
    """The device that x.cuda(wanted) names, by None, an index or a device; RuntimeError where it is not there."""
    name, index = (kind, wanted) if wanted is None or isinstance(wanted, int) else _parsed(function, "device", wanted)
    if name != kind:
        raise RuntimeError(f"{function}(): '{wanted}' is no device of the type {kind}; use to()")
    named = device(*_parsed(function, "device", name, index))
    _weft._check_device(function, named)
    return named


class on_device:
    """A block whose new tensors live on a function's argument `device`; None changes nothing."""

    __slots__ = ("_scope",)

    def __init__(self, function: str, wanted: Any) -> None:
        self._scope = None
        if wanted is not None:
            self._scope = device(*_parsed(function, "device", wanted))
            _weft._check_device(function, self._scope)

    def __enter__(self) -> None:
        if self._scope is not None:
            self._scope.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._scope is not None:
            self._scope.__exit__()


def makes_on_device(function: _F) -> _F:
    """Decorates a function, often a constructor, whose argument `device` says where the tensors that it makes live."""
    code: Any = function.__code__  # type: ignore[attr-defined]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    place = names.index("device") if names.index("device") < code.co_argcount else len(names)
    shown = function.__qualname__.partition(".")[0]  # type: ignore[attr-defined]

    @functools.wraps(function)  # type: ignore[arg-type]
    def there(*args: Any, **kwargs: Any) -> Any:
        wanted = args[place] if len(args) > place else kwargs.get("device")
        if wanted is None:
            return function(*args, **kwargs)  # type: ignore[operator]
        with on_device(shown, wanted):
            return function(*args, **kwargs)  # type: ignore[operator]

    return there  # type: ignore[return-value]


_LAST_INDEX = 127
# Types of PyTorch's that programs name, too.
_DEVICES = (*_weft._device_types(), "mps", "xpu", "meta", "hpu", "xla", "mtia", "ipu", "vulkan", "privateuseone")


class _Named:
    """A constant of the package, which is pickled by its name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"weft.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(_Named):
    """An order of elements in memory, as an argument. Weft orders memory by itself, so it is accepted and changes nothing."""

    __slots__ = ()


class layout(_Named):
    """How elements are stored: weft.strided, all of them, or weft.sparse_coo, a few with their coordinates."""

    __slots__ = ()


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
strided, sparse_coo = layout("strided"), layout("sparse_coo")
ValuesAndIndices = namedtuple("ValuesAndIndices", ["values", "indices"])
MinAndMax = namedtuple("MinAndMax", ["min", "max"])
MantissaAndExponent = namedtuple("MantissaAndExponent", ["mantissa", "exponent"])
