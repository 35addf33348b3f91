"""Signals: window functions, under PyTorch's names (torch.signal)."""

from __future__ import annotations

from . import windows as windows
