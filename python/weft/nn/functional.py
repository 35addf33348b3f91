"""Layers, activations and losses as functions, under PyTorch's names."""

from __future__ import annotations

from .._weft.functional import *  # noqa: F403
from ._composed import *  # noqa: F403
