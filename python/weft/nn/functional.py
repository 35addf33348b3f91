"""Layers, activations and losses as functions, under PyTorch's names."""

from __future__ import annotations

from .._weft.functional import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._tensor import Tensor


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(norm(x), eps) along an axis."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)
