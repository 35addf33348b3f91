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
    """Where a tensor lives and is computed: the CPU. Other devices have names, too, so that programs can ask; a tensor cannot go there.
    Tensors that are made in a `with` block of it, or in a function that it decorates, live there.

    >>> weft.device("cuda:0" if weft.cuda.is_available() else "cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index", "_before")
    type: str
    index: int | None

    def __init__(self, type: str | device = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name not in _DEVICES or (number and (index is not None or not number.isdecimal())):
            raise RuntimeError(f"device(): there is no device '{type}'; Weft runs on 'cpu'")
        self.type, self.index = name, int(number) if number else index
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
        _weft._enter_device(self._before.pop())

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def there(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return there


class on_device:
    """A block whose new tensors live on a function's argument `device`; None changes nothing."""

    __slots__ = ("_scope",)

    def __init__(self, function: str, wanted: Any) -> None:
        _weft._check_device(function, wanted)
        self._scope = None if wanted is None else device(wanted)

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
