"""Normalisation layers. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

from .._types import makes_on_device
from .. import _weft
from .._weft import functional as core
from . import functional as F
from ._start import filled
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._tensor import Tensor


class _ChannelNorm(Module):
    """What batch and instance norm hold: weight and bias, running mean and variance, each with an entry per channel."""

    ranks = ()

    def __init__(
        self, num_features: int, eps: float, momentum: float, affine: bool, track_running_stats: bool, dtype: Any
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", filled((num_features,), 1, dtype) if affine else None)
        self.register_parameter("bias", filled((num_features,), 0, dtype) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _weft.zeros(num_features, dtype=dtype).clone() if tracked else None)
        self.register_buffer("running_var", _weft.ones(num_features, dtype=dtype).clone() if tracked else None)
        self.register_buffer("num_batches_tracked", _weft.tensor(0) if tracked else None)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_(), self.running_var.fill_(1), self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            self.weight.data.fill_(1), self.bias.data.zero_()

    def _check(self, input: Any) -> None:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"{type(self).__name__}: the input has {input.ndim} axes, not {' or '.join(map(str, self.ranks))}"
            )

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")  # fmt: skip


class _BatchNorm(_ChannelNorm):
    @makes_on_device
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        batch = self.training or self.running_mean is None
        return core._batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, batch, self.momentum, self.eps,
                                self.num_batches_tracked)  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Each channel with mean 0 and variance 1 over the batch; in eval() by the running ones. (n, c) or (n, c, l)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """The same for images: (n, c, h, w)."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """The same for volumes: (n, c, d, h, w)."""

    ranks = (5,)


class _InstanceNorm(_ChannelNorm):
    @makes_on_device
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        alone = input.ndim == self.ranks[0]  # without a batch
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        result = F.instance_norm(input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
                                 own, momentum, self.eps)  # fmt: skip
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each example with mean 0 and variance 1: (n, c, l) or (c, l)."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """The same for images: (n, c, h, w) or (c, h, w)."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """The same for volumes."""

    ranks = (4, 5)


class GroupNorm(Module):
    """Groups of channels, each with mean 0 and variance 1."""

    @makes_on_device
    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels cannot be divided into {num_groups} groups")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", filled((num_channels,), 1, dtype) if affine else None)
        self.register_parameter("bias", filled((num_channels,), 0, dtype) if affine else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _RowNorm(Module):
    def __init__(self, normalized_shape: int | Sequence[int], eps: float, elementwise_affine: bool) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_RowNorm):
    """Mean 0 and variance 1 over the last axes, times weight plus bias."""

    @makes_on_device
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        affine, shape = elementwise_affine, self.normalized_shape
        self.register_parameter("weight", filled(shape, 1, dtype) if affine else None)
        self.register_parameter("bias", filled(shape, 0, dtype) if affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_RowNorm):
    """x / sqrt(mean(x²) + eps) * weight over the last axes."""

    @makes_on_device
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.register_parameter("weight", filled(self.normalized_shape, 1, dtype) if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)
