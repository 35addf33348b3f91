"""Gradients within limits, and parameters as one vector."""

from __future__ import annotations

from ..._tensor import Tensor
from ..._weft import _clip_grad_norm_, _clip_grad_value_, _parameters_to_vector, _vector_to_parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import rnn as rnn


_LATER = ("rnn",)  # loaded when they are first used, so that `import weft` stays quick


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'weft.nn.utils' has no attribute {name!r}")
    import importlib

    return importlib.import_module("." + name, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def _listed(parameters: Any) -> Any:
    one = isinstance(parameters, Tensor) or not hasattr(parameters, "__iter__")  # what is neither is refused by name
    return [parameters] if one else list(parameters)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """Scales all gradients by one factor, so that their joint norm is at most max_norm; returns the norm before."""
    return _clip_grad_norm_(_listed(parameters), float(max_norm), float(norm_type), error_if_nonfinite)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Limits every element of the gradients to ±clip_value."""
    _clip_grad_value_(_listed(parameters), float(clip_value))


def parameters_to_vector(parameters: Any) -> Any:
    """All elements of the parameters in one vector."""
    return _parameters_to_vector(_listed(parameters))


def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Writes the elements of a vector into the parameters."""
    _vector_to_parameters(vec, _listed(parameters))


__all__ = [
    "Tensor", "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters",
]  # fmt: skip
