"""weft.utils.checkpoint: parts of a network whose values are not kept for backward(), but computed again then."""

from __future__ import annotations

from contextlib import nullcontext

from .. import _weft
from .._modes import enable_grad
from .._tensor import Tensor
from .._trees import mapped, tensors_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["checkpoint", "checkpoint_sequential", "noop_context_fn"]


def noop_context_fn() -> Any:
    """The contexts of forward() and of the second forward(): none."""
    return nullcontext(), nullcontext()


class _Modes:
    """The modes of a forward pass, for the second one: random numbers and autocast."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.random = _weft.get_rng_state() if preserve_rng_state else None
        self.autocast = _weft._autocast(), _weft._autocast("cuda")

    def __enter__(self) -> None:
        host, gpu = self.autocast
        self.before = (_weft.get_rng_state(), _weft._set_autocast(host), _weft._set_autocast(gpu, "cuda"))
        if self.random is not None:
            _weft.set_rng_state(self.random)

    def __exit__(self, *_: object) -> None:
        random, host, gpu = self.before
        _weft._set_autocast(host), _weft._set_autocast(gpu, "cuda")
        if self.random is not None:
            _weft.set_rng_state(random)


def _inputs_again(inputs: list[Tensor], keeps: bool) -> tuple[list[Tensor], Callable[[], None]]:
    """The inputs of the second pass: gradients end at them, until the second value is called. Second derivatives pass them then."""
    if not keeps:
        return [t.detach().requires_grad_() for t in inputs], lambda: None
    is_open: list[bool] = []

    def rule(gradients: Any, _: Any) -> list[Any]:
        return [gradients[0] if is_open else None]

    again = [_weft._custom_gradient("checkpoint_input", [t], [t.detach()], rule)[0] for t in inputs]
    return again, lambda: is_open.append(True)


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Any = noop_context_fn,
               determinism_check: str = "default", debug: bool = False, preserve_rng_state: bool = True, **kwargs: Any) -> Any:  # fmt: skip
    """function(*args, **kwargs), of whose values only the results are kept: backward() calls it again, with the same random numbers.

    >>> x = checkpoint(self.block, x, use_reentrant=False)
    """
    if not _weft.is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    modes = _Modes(preserve_rng_state)
    with first:
        output = function(*args, **kwargs)
    differentiable = [t for t in tensors_in(output) if t.requires_grad]
    if not differentiable:
        return output
    given = [t for t in tensors_in((args, kwargs)) if t.requires_grad]
    inputs = [*given, *_weft._leaves(differentiable)]  # parameters, and leaves before `given`, which the second pass does not reach
    saved = [_weft._SavedTensor(t) for t in given]
    values = [t.detach() for t in differentiable]
    _weft.realize(*values)  # so that this pass is over, and the second one is not merged with it

    def rule(gradients: Any, _: Any) -> list[Any]:
        keeps = _weft._creates_graph()
        again, open_to_outside = _inputs_again([each.unpack() for each in saved], keeps)
        rest = iter(again)
        with enable_grad(), modes, second:
            new_args, new_kwargs = mapped((args, kwargs), lambda t: next(rest) if t.requires_grad else t)
            results = [t for t in tensors_in(function(*new_args, **new_kwargs)) if t.requires_grad]
        if len(results) != len(gradients):
            raise RuntimeError(
                f"checkpoint(): the function gave {len(gradients)} tensors with a gradient at first, and {len(results)} when it was called again"
            )
        pairs = [(r, g if keeps else g.detach()) for r, g in zip(results, gradients) if g is not None]
        found = _weft._gradients([r for r, _ in pairs], [*again, *inputs[len(given) :]], [g for _, g in pairs], keeps, True)
        open_to_outside()
        if not keeps:
            _weft.realize(*[g for g in found if g is not None])  # before the pass of the next part begins
        return list(found)

    made = iter(_weft._custom_gradient("checkpoint", inputs, values, rule))
    return mapped(output, lambda t: next(made) if t.requires_grad else t)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """A Sequential, or a list of modules, in parts of which only the results are kept."""
    children = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(children) // segments

    def run(start: int, end: int) -> Callable[..., Any]:
        def forward(value: Any) -> Any:
            for child in children[start:end]:
                value = child(value)
            return value

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return run(end, len(children))(input)
