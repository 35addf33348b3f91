"""Gradients within limits, and parameters as one vector."""

from ..._tensor import Tensor
from ..._weft import _clip_grad_norm, _clip_grad_value, _parameters_to_vector, _vector_to_parameters


def _listed(parameters):
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients by one factor, so that their joint norm is at most max_norm; returns the norm before."""
    return _clip_grad_norm(_listed(parameters), float(max_norm), float(norm_type), error_if_nonfinite)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of the gradients to ±clip_value."""
    _clip_grad_value(_listed(parameters), float(clip_value))


def parameters_to_vector(parameters):
    """All elements of the parameters in one vector."""
    return _parameters_to_vector(_listed(parameters))


def vector_to_parameters(vec, parameters):
    """Writes the elements of a vector into the parameters."""
    _vector_to_parameters(vec, _listed(parameters))
