"""Functions made of other ops, limits of the element types, files, and help by name. What they import late keeps `import weft` quick."""

from __future__ import annotations

import math
import os

from . import _weft
from ._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike
    from typing import IO, Any

__all__ = ["allclose", "describe_api", "equal", "finfo", "hstack", "iinfo", "isclose", "load", "save", "search_api", "vstack"]


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|."""
    distance = (input - other).abs()
    close = (input == other) | ((distance <= atol + rtol * other.abs()) & distance.isfinite())
    return close | (input.isnan() & other.isnan()) if equal_nan else close


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as a Python bool. Runs the graph."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements, as a Python bool. Runs the graph."""
    return input.shape == other.shape and bool((input == other).all())


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors below each other."""
    return _weft.cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors beside each other."""
    tensors = [t.reshape(1) if t.ndim == 0 else t for t in tensors]
    return _weft.cat(tensors, 0 if tensors[0].ndim == 1 else 1)


class finfo:
    """The limits of a float type: bits, eps, max, min, tiny.

    >>> weft.finfo(weft.float16).max
    65504.0
    """

    _digits = {_weft.float16: (10, 15), _weft.bfloat16: (7, 127), _weft.float32: (23, 127), _weft.float64: (52, 1023)}

    def __init__(self, type: _weft.dtype = _weft.float32) -> None:
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

    def __init__(self, type: _weft.dtype) -> None:
        if not isinstance(type, _weft.dtype) or type.is_floating_point or type is _weft.bool:
            raise TypeError(f"iinfo(): argument 'type' must be an integer type, not {type!r}")
        self.dtype, self.bits = type, 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype!r}, min={self.min}, max={self.max})"


def save(obj: object, f: str | PathLike[str] | IO[bytes]) -> None:
    """Writes tensors, state dicts and whatever else pickle knows to a file (a path or an open binary file)."""
    import pickle

    if not isinstance(f, (str, os.PathLike)):
        pickle.dump(obj, f, protocol=5)
        return
    with open(f, "wb") as file:
        pickle.dump(obj, file, protocol=5)


def load(f: str | PathLike[str] | IO[bytes]) -> Any:
    """Reads what save() wrote. Like all of pickle: only from those whom you trust."""
    import pickle

    if not isinstance(f, (str, os.PathLike)):
        return pickle.load(f)
    with open(f, "rb") as file:
        return pickle.load(file)


def _public() -> Iterator[tuple[str, Any]]:
    import weft
    from weft import autograd, nn, optim
    from weft.utils import data

    places = [("weft", weft), ("weft.Tensor", Tensor), ("weft.nn", nn), ("weft.nn.functional", nn.functional), ("weft.nn.init", nn.init)]
    places += [("weft.optim", optim), ("weft.optim.lr_scheduler", optim.lr_scheduler), ("weft.utils.data", data)]
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
