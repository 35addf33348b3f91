"""Padding layers: elements around the spatial axes. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

from . import functional as F
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._tensor import Tensor


class _Pad(Module):
    _mode, _spatial = "constant", 1

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        widths = (padding,) * (2 * self._spatial) if isinstance(padding, int) else tuple(padding)
        if len(widths) != 2 * self._spatial:
            raise ValueError(f"{type(self).__name__}: padding must be an int or {2 * self._spatial} of them, not {padding}")
        self.padding: Any = widths

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self._spatial + 1, self._spatial + 2):
            raise RuntimeError(f"{type(self).__name__}: the input must have {self._spatial + 1} or {self._spatial + 2} axes, "
                               f"not the shape {tuple(input.shape)}")  # fmt: skip
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """A number around the last axis: (left, right)."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """A number around the last two axes: (left, right, top, bottom)."""

    _spatial = 2


class ConstantPad3d(ConstantPad1d):
    """A number around the last three axes: (left, right, top, bottom, front, back)."""

    _spatial = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros around the last axis: (left, right)."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ZeroPad1d):
    """Zeros around the last two axes: (left, right, top, bottom)."""

    _spatial = 2


class ZeroPad3d(ZeroPad1d):
    """Zeros around the last three axes: (left, right, top, bottom, front, back)."""

    _spatial = 3


class ReflectionPad1d(_Pad):
    """The input mirrored at its ends, which are not repeated: 1 2 3 → 2 1 2 3 2."""

    _mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """The input mirrored at its ends: (left, right, top, bottom)."""

    _spatial = 2


class ReflectionPad3d(ReflectionPad1d):
    """The input mirrored at its ends: (left, right, top, bottom, front, back)."""

    _spatial = 3


class ReplicationPad1d(_Pad):
    """The input's ends again: 1 2 3 → 1 1 2 3 3."""

    _mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """The input's ends again: (left, right, top, bottom)."""

    _spatial = 2


class ReplicationPad3d(ReplicationPad1d):
    """The input's ends again: (left, right, top, bottom, front, back)."""

    _spatial = 3


class CircularPad1d(_Pad):
    """The input from its other end: 1 2 3 → 3 1 2 3 1."""

    _mode = "circular"


class CircularPad2d(CircularPad1d):
    """The input from its other end: (left, right, top, bottom)."""

    _spatial = 2


class CircularPad3d(CircularPad1d):
    """The input from its other end: (left, right, top, bottom, front, back)."""

    _spatial = 3
