"""Gradients: as values (grad), of several tensors at once (backward), and with derivatives of one's own (Function)."""

from __future__ import annotations

from .. import _weft
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from .._tensor import Tensor
from . import functional
from .function import Function, FunctionCtx, once_differentiable
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function", "FunctionCtx", "backward", "enable_grad", "functional", "grad", "gradcheck", "gradgradcheck", "inference_mode",
    "no_grad", "once_differentiable", "set_grad_enabled",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    _Tensors = Tensor | Sequence[Tensor]
    _Seeds = Tensor | Sequence[Tensor | None] | None


def _listed(tensors: _Tensors) -> list[Tensor]:
    one = isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__")  # what is neither is refused by name, like a wrong entry
    return [tensors] if one else list(tensors)  # type: ignore[list-item]


def _seeds(given: _Seeds) -> list[Tensor | None]:
    if given is None:
        return []
    return [given] if isinstance(given, Tensor) else list(given)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Seeds = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of the sum of `outputs`, times `grad_outputs`, with respect to `inputs`. Touches no .grad.

    An input that was not used raises, or gives None with `allow_unused`, or zeros with `materialize_grads`. The graph is always
    kept; `retain_graph` is there for programs that pass it.

    >>> x = weft.tensor(3.0, requires_grad=True)
    >>> (slope,) = weft.autograd.grad(x**3, x, create_graph=True)
    >>> weft.autograd.grad(slope, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): argument 'allow_unused' must not be False where 'materialize_grads' is True")
    targets = _listed(inputs)
    unused = materialize_grads or bool(allow_unused)
    found = _weft._gradients(_listed(outputs), targets, _seeds(grad_outputs), create_graph, unused)
    if materialize_grads:
        return tuple(_weft.zeros_like(target) if each is None else each for each, target in zip(found, targets))
    return found


def backward(
    tensors: _Tensors,
    grad_tensors: _Seeds = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: _Tensors | None = None,
) -> None:
    """Adds the gradients of the sum of `tensors`, times `grad_tensors`, to the .grad of their leaves, or of `inputs` only."""
    wanted = [] if inputs is None else _listed(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("backward(): argument 'inputs' is empty")
    keep = create_graph if retain_graph is None else retain_graph
    _weft._backward(_listed(tensors), _seeds(grad_tensors), keep, create_graph, wanted)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in ("Variable", "detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"):
            import importlib

            return getattr(importlib.import_module(f"{__name__}.anomaly"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
