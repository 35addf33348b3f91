"""Small types that tensors hand out: Size, device, and the pairs of max(dim), aminmax and frexp."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

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
    """Where a tensor lives: the CPU. Other devices have names, too, so that programs can ask; a tensor cannot go there.

    >>> weft.device("cuda:0" if weft.cuda.is_available() else "cpu")
    device(type='cpu')
    """

    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __init__(self, type: str | device = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name not in _DEVICES or (number and (index is not None or not number.isdecimal())):
            raise RuntimeError(f"device(): there is no device '{type}'; Weft runs on 'cpu'")
        self.type, self.index = name, int(number) if number else index

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

    def __enter__(self) -> device:  # tensors that are made in the block live there
        check_device("device", self)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        with self:
            return function


def check_device(function: str, wanted: Any, error: Any = RuntimeError) -> None:
    """Raises where a tensor is to live elsewhere than on the CPU."""
    if wanted is not None and str(wanted) not in ("cpu", "cpu:0"):
        raise error(f"{function}(): there is no device '{wanted}'; Weft runs on 'cpu'")


_DEVICES = ("cpu", "cuda", "mps", "xpu", "meta", "hpu", "xla", "mtia", "ipu", "vulkan", "privateuseone")


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
