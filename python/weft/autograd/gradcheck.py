"""gradcheck: derivatives against finite differences."""

from __future__ import annotations

from .. import _weft
from .._modes import no_grad
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _outputs(func: Callable[..., Any], inputs: list[Any]) -> list[Tensor]:
    result = func(*inputs)
    values = [result] if isinstance(result, Tensor) else list(result)
    return [v for v in values if v.is_floating_point()]


def _fails(raise_exception: bool, message: str) -> bool:
    if raise_exception:
        raise RuntimeError("gradcheck(): " + message)
    return False


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """Whether the derivatives of `func` at `inputs` are those that differences of its values suggest.

    Each element of each float64 input that requires a gradient is moved by `eps` in both directions.

    >>> x = weft.randn(3, dtype=weft.float64, requires_grad=True)
    >>> weft.autograd.gradcheck(lambda x: x.exp() * x.sin(), x)
    True
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    checked = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck(): at least one of 'inputs' must require a gradient")
    for i in checked:
        if given[i].dtype is not _weft.float64:
            raise ValueError(f"gradcheck(): input {i} must be float64, not {given[i].dtype!r}: differences of less say nothing")
    leaves = [given[i] for i in checked]
    outputs = _outputs(func, given)
    for o, output in enumerate(outputs):
        analytic: list[list[Any]] = [[] for _ in leaves]
        flat = output.reshape(-1)
        for k in range(output.numel()):
            found = _weft._gradients([flat[k]], leaves, [], False, True) if output.requires_grad else [None] * len(leaves)
            for column, g, leaf in zip(analytic, found, leaves):
                column.append([0.0] * leaf.numel() if g is None else g.reshape(-1).tolist())
        for i, column, leaf in zip(checked, analytic, leaves):
            values = leaf.detach().reshape(-1).tolist()
            for e in range(leaf.numel()):
                ends = []
                for step in (eps, -eps):
                    moved = list(values)
                    moved[e] += step
                    at = _weft.tensor(moved, dtype=_weft.float64, device=leaf.device).reshape(leaf.shape)
                    with no_grad():
                        ends.append(_outputs(func, [at if n == i else x for n, x in enumerate(given)])[o].reshape(-1).tolist())
                for k, (right, left) in enumerate(zip(*ends)):
                    numeric, exact = (right - left) / (2 * eps), column[k][e]
                    if not abs(exact - numeric) <= atol + rtol * abs(numeric):
                        return _fails(
                            raise_exception,
                            f"d(output {o}, element {k})/d(input {i}, element {e}) is {exact:g}, but differences give {numeric:g}",
                        )
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """gradcheck() of the derivatives themselves."""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    checked = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    def slopes(*values: Any) -> tuple[Tensor, ...]:
        moved = [v if not isinstance(v, Tensor) or v.requires_grad or n not in checked else v.requires_grad_() for n, v in enumerate(values)]
        outputs = [o for o in _outputs(func, moved) if o.requires_grad]
        leaves = [moved[i] for i in checked]
        found = _weft._gradients([o.sum() for o in outputs], leaves, [], True, True) if outputs else [None] * len(leaves)
        return tuple(_weft.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves))

    from .._modes import enable_grad

    return gradcheck(enable_grad()(slopes), given, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
