"""Derivatives of functions: jacobian, hessian, vector-Jacobian, Jacobian-vector and Hessian-vector products."""

from __future__ import annotations

from .. import _weft
from .._modes import enable_grad
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _listed(value: Any, what: str) -> list[Tensor]:
    values = [value] if isinstance(value, Tensor) else list(value)
    for each in values:
        if not isinstance(each, Tensor):
            raise TypeError(f"{what} must be a Tensor or a tuple of them, not {type(each).__name__}")
    return values


def _leaves(inputs: Any, create_graph: bool) -> list[Tensor]:
    """The inputs as tensors of their own that a gradient can be asked for; with create_graph, on top of their history."""
    values = _listed(inputs, "argument 'inputs'")
    if create_graph:
        return [v.view_as(v) if v.requires_grad else v.detach().clone().requires_grad_() for v in values]
    return [v.detach().clone().requires_grad_() for v in values]


def _called(func: Callable[..., Any], leaves: list[Tensor]) -> tuple[list[Tensor], bool]:
    result = func(*leaves)
    return _listed(result, "what 'func' returns"), isinstance(result, Tensor)


def _grad(outputs: list[Tensor], inputs: list[Tensor], seeds: Sequence[Tensor | None], create_graph: bool, strict: bool) -> list[Tensor]:
    used = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if used:
        found = _weft._gradients([o for o, _ in used], inputs, [s for _, s in used], create_graph, True)
    if strict and any(each is None for each in found):
        raise RuntimeError("an output does not depend on an input, which strict=True does not allow")
    return [_weft.zeros_like(i) if g is None else g for g, i in zip(found, inputs)]


def _same(values: list[Tensor], like: Any) -> Any:
    return values[0] if isinstance(like, Tensor) else tuple(values)


@enable_grad()
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False
) -> Any:
    """d(output)/d(input), of the shape (*output.shape, *input.shape): a tensor, or tuples over outputs and inputs.

    >>> weft.autograd.functional.jacobian(lambda x: x * x, weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    leaves = _leaves(inputs, create_graph)
    outputs, single = _called(func, leaves)
    rows = []
    for output in outputs:
        flat = output.reshape(-1)
        columns: list[list[Tensor]] = [[] for _ in leaves]
        for i in range(output.numel()):
            for column, g in zip(columns, _grad([flat[i]], leaves, [None], create_graph, strict)):
                column.append(g)
        parts = [
            _weft.stack(column).reshape(*output.shape, *leaf.shape) if column else leaf.new_zeros(*output.shape, *leaf.shape)
            for column, leaf in zip(columns, leaves)
        ]
        rows.append(_same(parts, inputs))
    return rows[0] if single else tuple(rows)


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False
) -> Any:
    """The second derivatives of a function that returns one number, of the shape (*input.shape, *input.shape)."""

    def slope(*values: Tensor) -> Any:
        (output,), _ = _called(func, list(values))
        if output.numel() != 1:
            raise RuntimeError(f"hessian(): 'func' must return a tensor of one element, not of the shape {tuple(output.shape)}")
        return tuple(_grad([output.reshape(())], list(values), [None], True, strict))

    table = jacobian(slope, inputs, create_graph, strict)
    return table[0] if isinstance(inputs, Tensor) else table


@enable_grad()
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), vᵀ J)."""
    leaves = _leaves(inputs, create_graph)
    outputs, single = _called(func, leaves)
    seeds: list[Any] = [None] * len(outputs) if v is None else _listed(v, "argument 'v'")
    found = _grad(outputs, leaves, seeds, create_graph, strict)
    shown = outputs if create_graph else [o.detach() for o in outputs]
    return (shown[0] if single else tuple(shown)), _same(found, inputs)


@enable_grad()
def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), J v), by differentiating uᵀ J with respect to u."""
    leaves = _leaves(inputs, create_graph)
    outputs, single = _called(func, leaves)
    directions = [_weft.ones_like(leaf) for leaf in leaves] if v is None else _listed(v, "argument 'v'")
    seeds = [_weft.zeros_like(o).requires_grad_() for o in outputs]
    back = _grad(outputs, leaves, seeds, True, strict)
    found = _grad([b for b in back], seeds, directions, create_graph, strict)
    shown = outputs if create_graph else [o.detach() for o in outputs]
    return (shown[0] if single else tuple(shown)), (found[0] if single else tuple(found))


@enable_grad()
def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), vᵀ H) for a function that returns one number."""
    leaves = _leaves(inputs, create_graph)
    (output,), _ = _called(func, leaves)
    directions = [_weft.ones_like(leaf) for leaf in leaves] if v is None else _listed(v, "argument 'v'")
    slopes = _grad([output], leaves, [None], True, strict)
    found = _grad(slopes, leaves, directions, create_graph, strict)
    return (output if create_graph else output.detach()), _same(found, inputs)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), H v): H is symmetric, so this is vhp()."""
    return vhp(func, inputs, v, create_graph, strict)
