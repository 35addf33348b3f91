"""Initial values, written into a tensor. Each function returns it."""

import math

from .._modes import no_grad
from .._weft import eye, rand, randn


def _write(tensor, value):
    with no_grad():
        return tensor.copy_(value)


def uniform_(tensor, a=0.0, b=1.0):
    """Uniform in [a, b)."""
    return _write(tensor, rand(tensor.shape, dtype=tensor.dtype) * (b - a) + a)


def normal_(tensor, mean=0.0, std=1.0):
    """Normal with this mean and standard deviation."""
    return _write(tensor, randn(tensor.shape, dtype=tensor.dtype) * std + mean)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Normal, with values outside [a, b] drawn again."""
    value = randn(tensor.shape, dtype=tensor.dtype) * std + mean
    for _ in range(32):  # a draw leaves at most a part of them outside
        outside = (value < a) | (value > b)
        if not outside.any():
            break
        value = (randn(tensor.shape, dtype=tensor.dtype) * std + mean).where(outside, value)
    return _write(tensor, value.clamp(a, b))


def constant_(tensor, val):
    """The same value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1)


def eye_(tensor):
    """Ones on the diagonal of a matrix."""
    return _write(tensor, eye(*tensor.shape, dtype=tensor.dtype))


def _fans(tensor):
    if tensor.ndim < 2:
        raise ValueError(f"a tensor of the shape {tuple(tensor.shape)} has no fan; at least 2 axes are needed")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance through an activation."""
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "selu":
        return 3 / 4
    if nonlinearity == "sigmoid" or nonlinearity.startswith(("linear", "conv")):
        return 1
    raise ValueError(f"calculate_gain(): unknown nonlinearity '{nonlinearity}'")


def xavier_uniform_(tensor, gain=1.0):
    """Uniform, so that the variance stays in both directions."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    """Normal, so that the variance stays in both directions."""
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(_fans(tensor))))


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not '{mode}'")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Uniform, so that the variance stays behind a rectifier."""
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Normal, so that the variance stays behind a rectifier."""
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity))
