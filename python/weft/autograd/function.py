"""Function: ops with a derivative of one's own, written in Python."""

from __future__ import annotations

import functools

from .. import _weft
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class FunctionCtx:
    """What forward() leaves for backward(). Other attributes may be set on it freely."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._to_save: tuple[Tensor | None, ...] = ()
        self._saved: list[Any] = []  # None, a value, or the number of an output
        self._outputs: tuple[Tensor, ...] | None = None  # while backward() runs
        self._fixed: tuple[Tensor, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs, outputs and values in between, as they are now, for `saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward() takes tensors and None, not {type(tensor).__name__}; set others as attributes")
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward() was given."""
        if self._outputs is None:
            return self._to_save
        outputs = self._outputs
        return tuple(each if each is None else outputs[each] if isinstance(each, int) else each.unpack() for each in self._saved)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that these outputs have no gradient. Integers and bools never have."""
        self._fixed = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that forward() has written to these inputs, which it also returns."""
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward() gets zeros (the default) or None for an output that nothing depends on."""
        self._materialize = bool(value)

    def _freeze(self, outputs: list[Tensor]) -> None:
        # An output is kept by its number: it holds this context, so that the context must not hold it.
        number = {id(output): i for i, output in enumerate(outputs)}
        self._saved = [
            None if t is None else number[id(t)] if id(t) in number else _weft._SavedTensor(t) for t in self._to_save
        ]
        self._to_save = self._fixed = self._dirty = ()


class Function:
    """An op with its own derivative. `backward` gets a gradient per output and returns one (or None) per argument of `forward`.

    Both are made of ordinary ops, are fused with what is around them, and work inside jit. `forward(ctx, …)` may be split into
    `forward(…)` and `setup_context(ctx, inputs, output)`. backward() can be differentiated again if it is made of ops.

    >>> class Cube(weft.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x * x
    >>> y = Cube.apply(x)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is not made, but applied: {type(self).__name__}.apply(…)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the output: forward(ctx, …), or forward(…) if there is a setup_context()."""
        raise NotImplementedError("an autograd.Function needs a static forward()")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keeps what backward() needs, if forward() takes no ctx."""
        raise NotImplementedError("setup_context() is missing")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments of forward(), from those of its outputs."""
        raise NotImplementedError("an autograd.Function needs a static backward()")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls the function."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        before = _weft._set_grad_enabled(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
        finally:
            _weft._set_grad_enabled(before)
        if not (before and any(ctx.needs_input_grad)):
            return output
        several = isinstance(output, (tuple, list))
        results = list(output) if several else [output]
        fixed = {id(tensor) for tensor in ctx._fixed}
        places = [i for i, r in enumerate(results) if isinstance(r, Tensor) and r.is_floating_point() and id(r) not in fixed]
        dirty = {id(tensor) for tensor in ctx._dirty}
        outputs = [results[i] for i in places]
        ctx._freeze(outputs)
        made = _weft._custom_gradient(
            cls.__name__, [a for a in args if isinstance(a, Tensor)], outputs, _rule(cls, ctx, args, results, places)
        )
        for i, value in zip(places, made):
            results[i] = results[i].copy_(value) if id(results[i]) in dirty else value
        for i, value in enumerate(results):
            if i not in places and isinstance(value, Tensor) and value.requires_grad:
                results[i] = value.detach()
        return type(output)(results) if several else results[0]


def _rule(cls: Any, ctx: FunctionCtx, args: tuple[Any, ...], results: list[Any], places: list[int]) -> Callable[..., list[Any]]:
    """backward() as the graph wants it: gradients of differentiable outputs in, gradients of tensors out."""
    is_input = [isinstance(arg, Tensor) for arg in args]
    likes = [(tuple(r.shape), r.dtype, r.device) if isinstance(r, Tensor) else None for r in results]

    def rule(gradients: tuple[Tensor | None, ...], outputs: tuple[Tensor, ...]) -> list[Any]:
        given: list[Tensor | None] = [None] * len(likes)
        for i, gradient in zip(places, gradients):
            given[i] = gradient
        if ctx._materialize:
            for i, like in enumerate(likes):
                if given[i] is None and like is not None:
                    given[i] = _weft.zeros(like[0], dtype=like[1], device=like[2])
        ctx._outputs = outputs
        try:
            found = cls.backward(ctx, *given)
        finally:
            ctx._outputs = None
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        while len(found) > len(is_input) and found[-1] is None:
            found.pop()
        if len(found) != len(is_input):
            raise RuntimeError(
                f"{cls.__name__}.backward() must return a gradient or None for each of the {len(is_input)} arguments of forward(), "
                f"and returned {len(found)}"
            )
        for i, gradient in enumerate(found):
            if gradient is not None and not isinstance(gradient, Tensor):
                raise TypeError(f"{cls.__name__}.backward(): gradient {i} must be a Tensor or None, not {type(gradient).__name__}")
            if gradient is not None and not is_input[i]:
                raise RuntimeError(f"{cls.__name__}.backward(): argument {i} of forward() is no tensor, its gradient must be None")
        return [gradient for gradient, wanted in zip(found, is_input) if wanted]

    return rule


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Above a backward() that cannot be differentiated again: a second derivative through it raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        before = _weft._set_grad_enabled(False)
        try:
            found = fn(ctx, *gradients)
        finally:
            _weft._set_grad_enabled(before)

        def refuse(*_: Any) -> Any:
            raise RuntimeError("a function that is marked with @once_differentiable was differentiated twice")

        sources = [t for t in (*gradients, *ctx.saved_tensors) if isinstance(t, Tensor) and t.requires_grad]
        if not sources:
            return found
        several = isinstance(found, (tuple, list))
        results = list(found) if several else [found]
        places = [i for i, r in enumerate(results) if isinstance(r, Tensor)]
        made = _weft._custom_gradient("once_differentiable", sources, [results[i] for i in places], refuse)
        for i, value in zip(places, made):
            results[i] = value
        return tuple(results) if several else results[0]

    return wrapper
