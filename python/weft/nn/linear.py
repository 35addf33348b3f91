"""Linear maps, dropout, and layers that only change a shape. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

from .._types import makes_on_device
from . import functional as F
from ._start import empty, fan_in_uniform_
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._tensor import Tensor


class Identity(Module):
    """x itself; takes any arguments, for the place of another layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """x times weight transposed, plus bias: (…, in) → (…, out)."""

    @makes_on_device
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = empty(out_features, in_features, dtype=dtype)
        self.register_parameter("bias", empty(out_features, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan_in_uniform_(self.in_features, self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1ᵀ W x2 + bias for each output: (…, in1), (…, in2) → (…, out)."""

    @makes_on_device
    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = empty(out_features, in1_features, in2_features, dtype=dtype)
        self.register_parameter("bias", empty(out_features, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan_in_uniform_(self.in1_features, self.weight, self.bias)

    def forward(self, input1: Any, input2: Any) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")  # fmt: skip


class Dropout(Module):
    """In training each element is 0 with probability p, and the others are scaled by 1 / (1 - p)."""

    _function = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be between 0 and 1, not {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """The same for whole channels of sequences, (n, c, l) or (c, l)."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """The same for whole channels of images, (n, c, h, w); three axes are (n, c, l), as in PyTorch."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """The same for whole channels of volumes."""

    _function = staticmethod(F.dropout3d)


class Flatten(Module):
    """Joins axes, all but the first unless told otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one axis into several: `Unflatten(1, (3, 28, 28))`."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
