"""Further pools, and pooled maxima put back where they stood. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

from . import functional as F
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._tensor import Tensor


class _LPPool(Module):
    _function: Any = None

    def __init__(
        self, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
        return result

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPool):
    """The p-norm of each window of sequences."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of images."""

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of volumes."""

    _function = staticmethod(F.lp_pool3d)


class _MaxUnpool(Module):
    _function: Any = None

    def __init__(
        self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        result: Tensor = self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The maxima of MaxPool1d(return_indices=True) where they stood, and zeros elsewhere."""

    _function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The maxima of MaxPool2d(return_indices=True) where they stood, and zeros elsewhere."""

    _function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The maxima of MaxPool3d(return_indices=True) where they stood, and zeros elsewhere."""

    _function = staticmethod(F.max_unpool3d)


class _FractionalMaxPool(Module):
    _function: Any = None

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__}: give either output_size or output_ratio")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        settings = self.kernel_size, self.output_size, self.output_ratio, self.return_indices
        return self._function(input, *settings, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of so many windows of images, which stand at random, about equal distances."""

    _function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of so many windows of volumes, which stand at random, about equal distances."""

    _function = staticmethod(F.fractional_max_pool3d)
