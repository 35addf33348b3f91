"""What distributions share: parameters of one shape, probabilities and logits."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Tensors of one shape on one device; numbers take the type of the first float tensor, or the default type."""
    for value in values:
        if not isinstance(value, (weft.Tensor, int, float)):
            raise TypeError(f"broadcast_all(): parameters must be numbers or Tensors, not {type(value).__name__}")
    dtype = next((v.dtype for v in values if isinstance(v, weft.Tensor) and v.is_floating_point()), weft.get_default_dtype())
    device = _device(*values)
    tensors = [v if isinstance(v, weft.Tensor) else weft.tensor(v, dtype=dtype, device=device) for v in values]
    tensors = [t.to(device) if device is not None and not t.dim() and t.is_cpu else t for t in tensors]  # expanded, it would not go along
    shape = weft.broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def _device(*values: Tensor | float) -> Any:
    """The device of parameters: that of the first tensor, but a 0-d one on the CPU goes along. None for numbers: the default device."""
    tensors = [v for v in values if isinstance(v, weft.Tensor)]
    return next((t.device for t in tensors if t.dim() or not t.is_cpu), tensors[0].device if tensors else None)


def rand_at(parameter: Tensor, shape: Sequence[int]) -> Tensor:
    """Uniform numbers in [0, 1), of the type of a parameter and on its device."""
    return weft.rand(shape, dtype=parameter.dtype, device=parameter.device)


def randn_at(parameter: Tensor, shape: Sequence[int]) -> Tensor:
    """Standard normal numbers, of the type of a parameter and on its device."""
    return weft.randn(shape, dtype=parameter.dtype, device=parameter.device)


def number_at(parameter: Tensor, value: Tensor | float) -> Tensor:
    """A Tensor as it is, or a number as one of the default type, on the device of a parameter."""
    with parameter.device:
        return broadcast_all(value)[0]


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1, so that their logarithms are finite."""
    eps = weft.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log(p), or log(p / (1 - p)) for a single event."""
    clamped = clamp_probs(probs)
    return weft.log(clamped) - weft.log1p(-clamped) if is_binary else weft.log(clamped)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The softmax of the last dimension, or the sigmoid for a single event."""
    return weft.sigmoid(logits) if is_binary else weft.softmax(logits, -1)


if TYPE_CHECKING:
    lazy_property = property
else:

    class lazy_property:
        """A value that is computed when it is first asked for, and kept."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__
            self.name = function.__name__

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            with weft.enable_grad():
                value = self.function(instance)
            instance.__dict__[self.name] = value
            return value


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A vector as the lower triangle of a square matrix, row by row."""
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > 1e-6:
        raise ValueError(f"vec_to_tril_matrix(): {count} elements are no lower triangle of a square matrix")
    size = round(n)
    rows, columns = weft.tril_indices(size, size, diag, device=vec.device)
    matrix = vec.new_zeros(*vec.shape[:-1], size * size)
    places = (rows * size + columns).expand(vec.shape)
    return matrix.scatter(-1, places, vec).reshape(*vec.shape[:-1], size, size)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of a square matrix as a vector, row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"tril_matrix_to_vec(): argument 'diag' is {diag}, but must be from {-n} to {n - 1}")
    rows, columns = weft.tril_indices(n, n, diag, device=mat.device)
    return mat.reshape(*mat.shape[:-2], n * n).index_select(-1, rows * n + columns)


def set_parameter(distribution: Any, probs: Tensor | float | None, logits: Tensor | float | None) -> None:
    """Keeps the one of `probs` and `logits` that is given; the other is computed from it when it is asked for."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{type(distribution).__name__}(): give either 'probs' or 'logits', and not both")
    name, value = ("logits", logits) if probs is None else ("probs", probs)
    assert value is not None
    (distribution.__dict__[name],) = broadcast_all(value)


def given(distribution: Any) -> Tensor:
    """The one of `probs` and `logits` that a distribution was made from."""
    values = distribution.__dict__
    tensor: Tensor = values["probs"] if "probs" in values else values["logits"]
    return tensor
