"""Layers, activations and losses as functions, under PyTorch's names."""

from .._weft.functional import *  # noqa: F403


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x / max(norm(x), eps) along an axis."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)
