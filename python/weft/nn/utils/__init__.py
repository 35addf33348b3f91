"""Gradients within limits, and parameters as one vector."""

from __future__ import annotations

from ... import _weft
from ..._modes import no_grad
from ..._tensor import Tensor
from ..._weft import _clip_grad_norm_, _clip_grad_value_, _parameters_to_vector, _vector_to_parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import fusion as fusion, init as init, parametrizations as parametrizations, parametrize as parametrize, rnn as rnn
    from ._old_norms import (
        remove_spectral_norm as remove_spectral_norm, remove_weight_norm as remove_weight_norm, spectral_norm as spectral_norm,
        weight_norm as weight_norm,
    )  # fmt: skip
    from .fusion import (
        fuse_conv_bn_eval as fuse_conv_bn_eval, fuse_conv_bn_weights as fuse_conv_bn_weights,
        fuse_linear_bn_eval as fuse_linear_bn_eval, fuse_linear_bn_weights as fuse_linear_bn_weights,
    )  # fmt: skip
    from .init import skip_init as skip_init


# Loaded when they are first used, so that `import weft` stays quick: modules, and functions of these.
_MODULES = ("fusion", "init", "parametrizations", "parametrize", "rnn")
_FUNCTIONS = {
    **dict.fromkeys(("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"), "_old_norms"),
    **dict.fromkeys(("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"), "fusion"),
    "skip_init": "init",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES and name not in _FUNCTIONS:
        raise AttributeError(f"module 'weft.nn.utils' has no attribute {name!r}")
    import importlib

    module = importlib.import_module("." + _FUNCTIONS.get(name, name), __name__)
    return getattr(module, name) if name in _FUNCTIONS else module


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})


def _listed(parameters: Any) -> Any:
    one = isinstance(parameters, Tensor) or not hasattr(parameters, "__iter__")  # what is neither is refused by name
    return [parameters] if one else list(parameters)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """Scales all gradients by one factor, so that their joint norm is at most max_norm; returns the norm before."""
    return _clip_grad_norm_(_listed(parameters), float(max_norm), float(norm_type), error_if_nonfinite)


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None) -> Any:
    """The joint norm of tensors, as if they were one vector."""
    listed = _listed(tensors)
    if not listed:
        return _weft.tensor(0.0)
    with no_grad():
        norms = _weft.stack([_weft._linalg.vector_norm(each, float(norm_type)) for each in listed])
        total = _weft._linalg.vector_norm(norms, float(norm_type))
    if error_if_nonfinite and not total.isfinite().item():
        raise RuntimeError(f"get_total_norm(): the norm is {total.item()}, not finite; error_if_nonfinite=False allows that")
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: Any = None) -> None:
    """Scales all gradients by max_norm / total_norm, if that is below 1: clip_grad_norm_ with a norm that is known already."""
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.mul_(factor)


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
    "Tensor", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip
