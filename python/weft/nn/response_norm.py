"""Normalisation over neighbouring channels, batch norm under its name for several processes, and dropout for selu."""

from __future__ import annotations

from .._types import makes_on_device
from . import functional as F
from .linear import Dropout
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._tensor import Tensor


class AlphaDropout(Dropout):
    """Dropout for selu: mean and variance stay as they are."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """The same for whole channels, (n, c, …)."""

    _function = staticmethod(F.feature_alpha_dropout)


class LocalResponseNorm(Module):
    """x / (k + alpha * the mean square of the `size` nearest channels) ** beta."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes: of one process, so the same as batch norm. Any number of axes from 2 on."""

    ranks = tuple(range(2, 65))

    @makes_on_device
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype=dtype)
        self.process_group = process_group

    def _check(self, input: Any) -> None:
        if input.ndim < 2:
            raise ValueError(f"SyncBatchNorm: the input has {input.ndim} axes, and needs two at least, (n, channels, …)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with a SyncBatchNorm in place of each BatchNorm, with its parameters and statistics."""
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            twin = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group
            )  # fmt: skip
            for name in ("weight", "bias"):
                twin.register_parameter(name, module._parameters[name])
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                twin.register_buffer(name, module._buffers[name])
            return twin.train(module.training)
        for name, child in module.named_children():
            module.register_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module
