"""Convolution layers. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

import math

from .._types import makes_on_device
from . import functional as F
from ._start import empty, fan_in_uniform_
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._tensor import Tensor


def per_axis(value: Any, axes: Any, name: str) -> Any:
    """A tuple of one size for each axis."""
    sizes = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(sizes) == 1:
        sizes *= axes
    if len(sizes) != axes:
        raise ValueError(f"{name} must be an int or {axes} ints, not {value}")
    return sizes


class _Conv(Module):
    _axes, _function, _transposed = 0, None, False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        output_padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        bias: Tensor | None,
        padding_mode: str,
        dtype: Any,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        if groups <= 0:
            raise ValueError(f"{kind}: groups must be a positive integer, not {groups}")
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{kind}: {in_channels} and {out_channels} channels must be divisible by {groups} groups")
        modes = ("zeros",) if self._transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"{kind}: padding_mode must be {' or '.join(map(repr, modes))}, not {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{kind}: padding must be ints, 'same' or 'valid', not {padding!r}")
        axes = self._axes
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size = per_axis(kernel_size, axes, f"{kind}: kernel_size")
        self.stride, self.dilation = (
            per_axis(stride, axes, f"{kind}: stride"),
            per_axis(dilation, axes, f"{kind}: dilation"),
        )
        self.padding = padding if isinstance(padding, str) else per_axis(padding, axes, f"{kind}: padding")
        self.output_padding = per_axis(output_padding, axes, f"{kind}: output_padding")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f"{kind}: padding='same' needs a stride of 1, not {self.stride}")
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        self.weight = empty(first, second // groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", empty(out_channels, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan_in_uniform_(math.prod(self.weight.shape[1:]), self.weight, self.bias)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding!r}"
        if any(size != 1 for size in self.dilation):
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode!r}"


class _ForwardConv(_Conv):
    @makes_on_device
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode, dtype
        )

    def _widths(self) -> Any:
        """What F.pad() takes: (before, after) pairs, the last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self._axes)
        if self.padding == "same":
            both = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [n for total in reversed(both) for n in (total // 2, total - total // 2)]
        return [n for n in reversed(self.padding) for _ in range(2)]

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), self.padding_mode), 0
        return self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_ForwardConv):
    """Slides filters over sequences: (n, in, l) → (n, out, l')."""

    _axes, _function = 1, staticmethod(F.conv1d)


class Conv2d(_ForwardConv):
    """Slides filters over images: (n, in, h, w) → (n, out, h', w')."""

    _axes, _function = 2, staticmethod(F.conv2d)


class Conv3d(_ForwardConv):
    """Slides filters over volumes: (n, in, d, h, w) → (n, out, d', h', w')."""

    _axes, _function = 3, staticmethod(F.conv3d)


class _TransposedConv(_Conv):
    _transposed = True

    @makes_on_device
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
                         padding_mode, dtype)  # fmt: skip

    def _padding_for(self, input: Any, output_size: int | Sequence[int]) -> Any:
        """The output padding that gives this size, of which a stride allows several."""
        sizes = list(output_size)[-self._axes :]
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(
            input.shape[-self._axes :], self.stride, self.padding, self.dilation, self.kernel_size)]  # fmt: skip
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if len(sizes) != self._axes or any(not low <= size <= high for low, size, high in zip(least, sizes, most)):
            raise ValueError(
                f"{type(self).__name__}: output_size must lie between {least} and {most}, not {list(output_size)}"
            )
        return [size - low for size, low in zip(sizes, least)]

    def forward(self, input: Tensor, output_size: int | Sequence[int] | None = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._padding_for(input, output_size)
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_TransposedConv):
    """The transpose of Conv1d: (n, in, l) → (n, out, l'), where l' grows with the stride."""

    _axes, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_TransposedConv):
    """The transpose of Conv2d: (n, in, h, w) → (n, out, h', w')."""

    _axes, _function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_TransposedConv):
    """The transpose of Conv3d."""

    _axes, _function = 3, staticmethod(F.conv_transpose3d)
