"""weft.func: gradients of functions, as functions; modules called with other parameters than their own."""

from __future__ import annotations

from contextlib import contextmanager

from . import autograd
from ._tensor import Tensor
from ._trees import mapped, tensors_in
from .autograd.functional import hessian as _hessian, jacobian as _jacobian

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "stack_module_state", "vjp"]


@contextmanager
def _with_values(module: Any, values: dict[str, Any], strict: bool) -> Iterator[None]:
    """A block in which parameters and buffers have other values, by their dotted names."""
    known = {name for name, _ in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]}
    if unknown := sorted(set(values) - known):
        raise RuntimeError(f"functional_call(): the module has no parameter or buffer {unknown[0]!r}")
    if strict and (missing := sorted(known - set(values))):
        raise RuntimeError(f"functional_call(): a value for {missing[0]!r} is missing, which strict=True asks for")
    old: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, value in values.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            place = owner._parameters if last in owner._parameters else owner._buffers
            old.append((place, last, place[last]))
            place[last] = value
        yield
    finally:
        for place, last, value in reversed(old):
            place[last] = value


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:  # fmt: skip
    """module(*args, **kwargs) with other values of its parameters and buffers, by name.

    >>> functional_call(model, dict(model.named_parameters()), (x,))
    """
    given = parameter_and_buffer_dicts
    values = dict(given) if isinstance(given, dict) else {name: value for each in given for name, value in each.items()}
    if tie_weights:  # one tensor under two names has one value
        names: dict[int, list[str]] = {}
        for name, value in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
            names.setdefault(id(value), []).append(name)
        for tied in names.values():
            found = [values[name] for name in tied if name in values]
            values.update({name: found[0] for name in tied if found and name not in values})
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _with_values(module, values, strict):
        return module(*positional, **(kwargs or {}))


def _tracked(tensor: Tensor) -> Tensor:
    return tensor * 1 if tensor.requires_grad else tensor.detach().requires_grad_()


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func, whose result has one element, and the result."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given, outer = list(args), any(t.requires_grad for i in numbers for t in tensors_in(args[i]))
        for i in numbers:
            given[i] = mapped(given[i], _tracked)
        found = func(*given, **kwargs)
        value, aux = found if has_aux else (found, None)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise RuntimeError("grad(): the function must return a tensor of one element; vjp() and jacrev() take others")
        leaves = [t for i in numbers for t in tensors_in(given[i])]
        slopes = autograd.grad(value, leaves, create_graph=outer, allow_unused=True)
        rest = iter([s if s is not None else t * 0 for s, t in zip(slopes, leaves)])
        results = tuple(mapped(given[i], lambda _: next(rest)) for i in numbers)
        result = results[0] if isinstance(argnums, int) else results
        value = value if outer else value.detach()
        return (result, (value, aux)) if has_aux else (result, value)

    return wrapped


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func, whose result has one element.

    >>> weft.func.grad(weft.func.grad(weft.sin))(x)  # -sin(x)
    """
    both = grad_and_value(func, argnums, has_aux)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wrapped


def vjp(func: Callable[..., Any], *primals: Tensor, has_aux: bool = False) -> Any:
    """func(*primals), and a function from gradients of the result to those of the primals."""
    given = [mapped(p, _tracked) for p in primals]
    found = func(*given)
    value, aux = found if has_aux else (found, None)

    def back(cotangents: Any) -> Any:
        leaves = tensors_in(given)
        slopes = autograd.grad(tensors_in(value), leaves, tensors_in(cotangents), retain_graph=True, allow_unused=True)
        filled = iter([s if s is not None else t.detach() * 0 for s, t in zip(slopes, leaves)])
        return tuple(mapped(p, lambda _: next(filled)) for p in given)

    return (value, back, aux) if has_aux else (value, back)


def jacrev(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that gives the derivatives of all results of func with respect to one argument."""

    def wrapped(*args: Any) -> Any:
        rest = list(args)

        def one(x: Tensor) -> Any:
            return func(*rest[:argnums], x, *rest[argnums + 1 :])

        return _jacobian(one, rest[argnums], create_graph=rest[argnums].requires_grad)

    return wrapped


jacfwd = jacrev


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of func, whose result has one element, with respect to one argument."""

    def wrapped(*args: Any) -> Any:
        return _hessian(lambda x: func(*args[:argnums], x, *args[argnums + 1 :]), args[argnums])

    return wrapped


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several equal modules, each stacked along a new first axis."""
    from ._weft import stack

    parameters = {name: stack([dict(m.named_parameters())[name].detach() for m in models]).requires_grad_() for name, _ in models[0].named_parameters()}
    return parameters, {name: stack([dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()}
