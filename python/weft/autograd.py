"""Gradients as values."""

from . import _weft
from ._modes import enable_grad, no_grad, set_grad_enabled  # noqa: F401


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None):
    """The gradients of `outputs` (their sum, if there are several) with respect to `inputs`, as a tuple. Touches no .grad."""
    outputs = [outputs] if isinstance(outputs, _weft.Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, _weft.Tensor) else list(inputs)
    seeds = [grad_outputs] if grad_outputs is None or isinstance(grad_outputs, _weft.Tensor) else list(grad_outputs)
    seeds += [None] * (len(outputs) - len(seeds))
    total = None
    for output, seed in zip(outputs, seeds):
        parts = _weft._gradient(output, inputs, seed)
        total = parts if total is None else tuple(a + b for a, b in zip(total, parts))
    return total if create_graph else tuple(each.detach() for each in total)
