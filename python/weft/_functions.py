"""Functions made of other ops, limits of the element types, and help by name. What they import late keeps `import weft` quick."""

from __future__ import annotations

import math
import os

from . import _weft
from ._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ._types import Size

__all__ = ["asarray", "broadcast_shapes", "describe_api", "finfo", "frombuffer", "iinfo", "search_api"]


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that all shapes broadcast to."""
    return _weft._broadcast_shapes(shapes)


class finfo:
    """The limits of a float type: bits, eps, max, min, tiny.

    >>> weft.finfo(weft.float16).max
    65504.0
    """

    _digits = {_weft.float16: (10, 15), _weft.bfloat16: (7, 127), _weft.float32: (23, 127), _weft.float64: (52, 1023)}

    def __init__(self, type: _weft.dtype | Tensor | None = None) -> None:
        type = _weft.get_default_dtype() if type is None else type.dtype if isinstance(type, Tensor) else type
        if type not in self._digits:
            raise TypeError(f"finfo(): argument 'type' must be a float type, not {type!r}")
        digits, exponent = self._digits[type]
        self.dtype, self.bits = type, 8 * type.itemsize
        self.eps = 2.0**-digits
        self.max = math.ldexp(2 - self.eps, exponent)
        self.min, self.tiny = -self.max, math.ldexp(1.0, 1 - exponent)
        self.smallest_normal, self.resolution = self.tiny, 10.0 ** -int(digits * math.log10(2))

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype!r}, eps={self.eps}, max={self.max}, min={self.min}, tiny={self.tiny})"


class iinfo:
    """The limits of an integer type: bits, max, min."""

    def __init__(self, type: _weft.dtype | Tensor) -> None:
        type = type.dtype if isinstance(type, Tensor) else type
        if not isinstance(type, _weft.dtype) or type.is_floating_point or type is _weft.bool:
            raise TypeError(f"iinfo(): argument 'type' must be an integer type, not {type!r}")
        self.dtype, self.bits = type, 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype!r}, min={self.min}, max={self.max})"


def frombuffer(
    buffer: Any, *, dtype: _weft.dtype, count: int = -1, offset: int = 0, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor over the memory of an object that offers it, from a byte on; read when the graph runs, never written.

    With a `device` other than the CPU it is a copy there, of the memory as it is at the call.
    """
    data = memoryview(buffer).cast("B")
    size = dtype.itemsize
    if len(data) == 0:
        raise ValueError("frombuffer(): the buffer is empty")
    if not 0 <= offset < len(data):
        raise ValueError(f"frombuffer(): argument 'offset' is {offset}, but the buffer has {len(data)} bytes")
    if count < 0 and (len(data) - offset) % size:
        raise ValueError(f"frombuffer(): {len(data) - offset} bytes are no whole number of elements of {size} bytes")
    count = (len(data) - offset) // size if count < 0 else count
    if count == 0:
        raise ValueError("frombuffer(): argument 'count' must not be 0")
    if offset + count * size > len(data):
        raise ValueError(f"frombuffer(): {count} elements of {size} bytes from byte {offset} on exceed the buffer's {len(data)} bytes")
    part = data[offset : offset + count * size]
    if offset % size:
        part = memoryview(bytes(part))  # elements in memory are aligned
    halves = dtype is _weft.bfloat16  # Python knows no such elements: their bits, then
    code: Any = "H" if halves else _BUFFER_CODES[dtype]
    tensor = _weft.from_numpy(part.cast(code))
    tensor = tensor.view(dtype) if halves else tensor
    tensor = tensor if device is None else tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


_BUFFER_CODES = {
    _weft.bool: "?", _weft.uint8: "B", _weft.uint16: "H", _weft.uint32: "I", _weft.uint64: "L", _weft.int8: "b", _weft.int16: "h",
    _weft.int32: "i", _weft.int64: "l", _weft.float16: "e", _weft.float32: "f", _weft.float64: "d",
}  # fmt: skip


def asarray(
    obj: Any, *, dtype: _weft.dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of numbers, an array or a tensor: over the same memory where that is possible, unless `copy` says otherwise."""
    if copy:
        tensor: Tensor = _weft.tensor(obj, dtype=dtype, device=device)
    else:
        tensor = _weft.as_tensor(obj, dtype, device)
        shared = isinstance(obj, Tensor) or hasattr(obj, "__array_interface__") or hasattr(obj, "__buffer__")
        kept = dtype is None or getattr(obj, "dtype", None) == dtype
        if copy is False and not (shared and kept):
            raise ValueError("asarray(): this object needs a copy, and copy=False forbids it")
    return tensor.detach().requires_grad_() if requires_grad else tensor


def _public() -> Iterator[tuple[str, Any]]:
    import weft
    from weft import autograd, distributions, linalg, nn, optim, signal, special
    from weft.utils import data

    places = [("weft", weft), ("weft.Tensor", Tensor), ("weft.linalg", linalg), ("weft.nn", nn), ("weft.nn.functional", nn.functional)]
    places += [("weft.nn.init", nn.init), ("weft.optim", optim), ("weft.optim.lr_scheduler", optim.lr_scheduler), ("weft.utils.data", data)]
    places += [("weft.special", special), ("weft.distributions", distributions), ("weft.signal.windows", signal.windows)]
    for prefix, place in [*places, ("weft.autograd", autograd)]:
        for name in dir(place):
            value = getattr(place, name)
            if not name.startswith("_") and callable(value):
                yield f"{prefix}.{name}", value


def search_api(text: str) -> list[str]:
    """The public names that contain a text: search_api("soft")."""
    return sorted({name for name, _ in _public() if text.lower() in name.rsplit(".", 1)[1].lower()})


def describe_api(name: str) -> str:
    """The signature and the meaning of everything of this name: print(describe_api("softmax"))."""
    import inspect

    lines = []
    for full, value in _public():
        if full == name or full.rsplit(".", 1)[1] == name:
            try:
                signature = str(inspect.signature(value))
            except (TypeError, ValueError):
                signature = "(…)"
            meaning = (inspect.getdoc(value) or "").partition("\n")[0]
            lines.append(f"{full}{signature}\n    {meaning}")
    if not lines:
        raise ValueError(f"describe_api(): nothing is named '{name}'; search_api('{name[:4]}') may help")
    return "\n".join(lines)
