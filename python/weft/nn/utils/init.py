"""Modules whose parameters are set later."""

from __future__ import annotations

import inspect

from ..._weft import get_rng_state, set_rng_state
from ..module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """module_cls(*args, **kwargs) for parameters that are loaded afterwards: no random numbers are used up."""
    if not inspect.isclass(module_cls) or not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init(): argument 'module_cls' must be a subclass of Module, not {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init(): {module_cls.__name__} takes no argument 'device', as the modules of weft.nn do")
    state = get_rng_state()
    try:
        return module_cls(*args, **kwargs)  # values that nobody reads before others are loaded are never computed
    finally:
        set_rng_state(state)
