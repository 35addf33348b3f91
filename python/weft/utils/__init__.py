"""weft.utils.data: data sets and loaders. checkpoint and tensorboard are imported when they are used."""

from . import data

__all__ = ["checkpoint", "data", "tensorboard"]


def __getattr__(name: str) -> object:
    if name in ("checkpoint", "tensorboard"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
