"""Layers, activations and losses as functions, under PyTorch's names."""

from .._weft.functional import *  # noqa: F403
