"""weft.utils.data: data sets and loaders."""

from . import data

__all__ = [
    "data",
]  # fmt: skip
