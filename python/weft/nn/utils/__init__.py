"""Gradients within limits."""

from ..._modes import no_grad
from ..._tensor import Tensor
from ..._weft import _clip_grad_norm


def _listed(parameters):
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(parameters, max_norm):
    """Scales all gradients by one factor, so that their joint norm is at most max_norm; returns the norm before."""
    return _clip_grad_norm(_listed(parameters), max_norm)


def clip_grad_value_(parameters, clip_value):
    """Limits every element of the gradients to ±clip_value."""
    with no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(-clip_value, clip_value)
