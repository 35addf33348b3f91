"""Module: what has parameters, buffers (values that belong to it but are not trained) and children, and how to find them all."""

from __future__ import annotations

from .. import _weft
from .._modes import no_grad
from .._tensor import Tensor
from .._types import device as _device
from .._types import device_of_type
from .parameter import Parameter, UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self


class _IncompatibleKeys(tuple):
    """What load_state_dict() did not find, and what it had no place for."""

    __slots__ = ()
    missing_keys = property(lambda self: self[0])
    unexpected_keys = property(lambda self: self[1])

    def __repr__(self) -> str:
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


def _seen(tensors: Any, rule: Any) -> Any:
    """The tensors of a tuple with a derivative that passes gradients on and sees all of them at once; others stay as they are."""
    places = [i for i, each in enumerate(tensors) if isinstance(each, Tensor) and each.is_floating_point()]
    inputs = [tensors[i] for i in places]

    def all_of(gradients: Any, _: Any) -> Any:
        shown = [None] * len(tensors)
        for i, gradient in zip(places, gradients):
            shown[i] = gradient
        changed = rule(tuple(shown))
        return [changed[i] for i in places]

    results = list(tensors)
    for i, value in zip(places, _weft._custom_gradient("backward_hook", inputs, inputs, all_of)):
        results[i] = value
    return tuple(results)


class Handle:
    """Takes a hook away again: `handle.remove()`, or at the end of a `with` block."""

    _next = 0

    def __init__(self, hooks: Any) -> None:
        self.hooks, self.id = hooks, Handle._next
        Handle._next += 1

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Module:
    """The base of all layers and models. Parameters and modules that are set as attributes are registered by themselves.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden, self.out = nn.Linear(784, 128), nn.Linear(128, 10)
    ...     def forward(self, x):
    ...         return self.out(self.hidden(x).relu())
    """

    training = True

    def __init__(self) -> None:
        put = self.__dict__.setdefault
        put("_parameters", {})
        put("_buffers", {})
        put("_modules", {})
        put("_transient", set())  # names of buffers that are not saved
        put("_hooks", {})
        put("_pre_hooks", {})
        put("_backward_hooks", {})
        put("_backward_pre_hooks", {})
        self.__dict__["training"] = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        watched = (self._backward_hooks or self._backward_pre_hooks) and _weft.is_grad_enabled()
        result = self._watched(args, kwargs) if watched else self.forward(*args, **kwargs)
        for hook in list(self._hooks.values()):
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def _watched(self, args: Any, kwargs: Any) -> Any:
        """forward(), with the gradients of its arguments and results shown to the backward hooks."""
        seen = []  # the gradients of the results, for the hooks that are called with those of the arguments

        def arguments(gradients: Any) -> Any:
            for hook in list(self._backward_hooks.values()):
                changed = hook(self, gradients, seen[-1])
                if changed is not None:
                    gradients = changed if isinstance(changed, tuple) else (changed,)
            return gradients

        def results(gradients: Any) -> Any:
            for hook in list(self._backward_pre_hooks.values()):
                changed = hook(self, gradients)
                if changed is not None:
                    gradients = changed if isinstance(changed, tuple) else (changed,)
            seen[:] = [gradients]
            if not differentiable:
                arguments((None,) * len(args))
            return gradients

        differentiable = any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        result = self.forward(*(_seen(args, arguments) if differentiable else args), **kwargs)
        if isinstance(result, Tensor):
            return _seen((result,), results)[0]
        return type(result)(_seen(tuple(result), results)) if type(result) in (tuple, list) else result

    # ---- registration

    def __setattr__(self, name: str, value: Any) -> None:
        places = self.__dict__.get("_parameters"), self.__dict__.get("_buffers"), self.__dict__.get("_modules")
        if isinstance(value, (Parameter, Module)) and places[0] is None:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before '{name}' is set")
        if isinstance(value, Parameter):
            self._hold(self._parameters, name, value)
        elif isinstance(value, Module):
            self._hold(self._modules, name, value)
        elif places[0] is not None and name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"'{name}' is a parameter; it can be set to a Parameter or None, not {type(value).__name__}"
                )
            self._parameters[name] = None
        elif places[0] is not None and name in self._buffers and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        elif places[0] is not None and name in self._modules and value is None:
            self._modules[name] = None
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_buffers", "_modules"):
            values = self.__dict__.get(place)
            if values is not None and name in values:
                return values[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            object.__delattr__(self, name)
        elif not self._forget(name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name: str) -> Any:
        self.__dict__.pop(name, None)
        found = [values.pop(name) for values in (self._parameters, self._buffers, self._modules) if name in values]
        return bool(found)

    def _hold(self, values: dict[str, Any], name: str, value: Any) -> None:
        """A name means one thing; a new value of the same kind keeps the old one's place."""
        if name not in values:
            self._forget(name)
        values[name] = value

    def register_parameter(self, name: str, param: Any) -> None:
        """Adds a parameter, or None to say that there is none."""
        self._hold(self._parameters, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Adds a value that belongs to the module but is not trained; `persistent`: state_dict() has it."""
        self._hold(self._buffers, name, tensor)
        (self._transient.discard if persistent else self._transient.add)(name)

    def register_module(self, name: str, module: Any) -> None:
        """Adds a child."""
        if module is not None and not isinstance(module, Module):
            kind = module.__name__ if callable(module) and hasattr(module, "__name__") else type(module).__name__
            raise TypeError(f"{type(self).__name__}(): child '{name}' must be a Module, not {kind}")
        self._hold(self._modules, name, module)

    add_module = register_module

    def register_forward_hook(self, hook: Any) -> Any:
        """Calls `hook(module, args, output)` after each forward(); what it returns, if anything, is the output."""
        handle = Handle(self._hooks)
        self._hooks[handle.id] = hook
        return handle

    def register_forward_pre_hook(self, hook: Any) -> Any:
        """Calls `hook(module, args)` before each forward(); what it returns, if anything, are the arguments."""
        handle = Handle(self._pre_hooks)
        self._pre_hooks[handle.id] = hook
        return handle

    def register_full_backward_hook(self, hook: Any) -> Any:
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the arguments are known; it may return other ones."""
        handle = Handle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        return handle

    def register_full_backward_pre_hook(self, hook: Any) -> Any:
        """Calls `hook(module, grad_output)` when the gradients of the results are known; it may return other ones."""
        handle = Handle(self._backward_pre_hooks)
        self._backward_pre_hooks[handle.id] = hook
        return handle

    # ---- what it consists of

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(name, module) of this module and all below it, each once, or under each of its names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + "." + name if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules right below this one, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right below this one."""
        return (module for _, module in self.named_children())

    def _named(self, place: Any, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[Any]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, place).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (path + "." + name if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of this module and all below it, such as ("hidden.weight", …)."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and all below it."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of this module and all below it."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and all below it."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name."""
        module = self
        for name in target.split(".") if target else []:
            module = getattr(module, name)
        return module

    # ---- state

    def _entries(self) -> Iterator[Any]:
        for path, module in self.named_modules(remove_duplicate=False):  # what has two names is stored under both, as in PyTorch
            start = path + "." if path else ""
            for name, value in module._parameters.items():
                if value is not None:
                    yield start + name, value
            for name, value in module._buffers.items():
                if value is not None and name not in module._transient:
                    yield start + name, value

    def state_dict(self, prefix: str = "") -> dict[str, Any]:
        """The values of all parameters and buffers, by name. They share memory with the module; pickle or deepcopy keeps them."""
        return {prefix + name: value.detach() for name, value in self._entries()}

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> Any:
        """Writes values into the parameters and buffers of the same names. Nothing is written if a name or a shape does not fit."""
        call = f"load_state_dict() of {type(self).__name__}"
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"{call}: the state must be a dict, such as state_dict() gives, not {type(state_dict).__name__}")
        for path, module in self.named_modules(remove_duplicate=False):
            if hasattr(type(module), "_expect"):  # a lazy layer
                module._expect(state_dict, path + "." if path else "")
        own = dict(self._entries())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = []
        if strict and missing:
            problems.append("missing: " + ", ".join(missing))
        if strict and unexpected:
            problems.append("unexpected: " + ", ".join(map(str, unexpected)))
        for name, value in own.items():
            given = state_dict[name] if name in state_dict else value
            if not hasattr(given, "shape"):
                problems.append(f"{name} must be a tensor, not {type(given).__name__}")
            elif tuple(given.shape) != tuple(value.shape):
                problems.append(f"{name} has the shape {tuple(given.shape)}, here {tuple(value.shape)}")
        if problems:
            raise RuntimeError(f"{call}: " + "; ".join(problems))
        with no_grad():
            for name, value in own.items():
                if name in state_dict:
                    value.copy_(state_dict[name])
        return _IncompatibleKeys((missing, unexpected))

    # ---- changes to all of it

    def train(self, mode: bool = True) -> Self:
        """Training or evaluation: dropout and batch norm behave differently."""
        for module in self.modules():
            module.__dict__["training"] = bool(mode)
        return self

    def eval(self) -> Any:
        """The same as train(False)."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or sets them to zero."""
        for param in self.parameters():
            if set_to_none or param.grad is None:
                param.grad = None
            else:
                param.grad.zero_()

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freezes all parameters, or trains them again."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def apply(self, fn: Any) -> Self:
        """Calls `fn(module)` for all modules, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Replaces parameters, their gradients and buffers by `fn` of them. Parameters stay the same objects, so an optimizer still has them."""
        for module in self.modules() if recurse else [self]:
            for key, param in module._parameters.items():
                if param is None:
                    continue
                value = fn(param.detach())
                if isinstance(param, UninitializedParameter):
                    module._parameters[key] = value
                    continue
                if value.dtype is not param.dtype or value.device != param.device:
                    if param.grad is not None:
                        grad, param.grad = fn(param.grad.detach()), None
                        param.data = value
                        param.grad = grad
                    else:
                        param.data = value
            for name, value in module._buffers.items():
                if value is not None:
                    module._buffers[name] = fn(value)
        return self

    def _convert(self, dtype: Any, device: Any = None) -> Self:
        return self._apply(lambda t: t.to(device, dtype if t.is_floating_point() else None))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves parameters and buffers, and converts those with floats: `to(weft.float64)`, `to("cpu")`, `to(device, dtype)`, `to(tensor)`."""
        kwargs.pop("memory_format", None)
        for like in [arg for arg in args if isinstance(arg, Tensor)]:
            return self._convert(like.dtype, like.device)
        target = _weft.zeros(1, dtype=_weft.bool).to(*args, **kwargs)
        if target.dtype is not _weft.bool and not target.is_floating_point():
            raise TypeError(f"to(): modules are converted to types of floats only, not {target.dtype!r}")
        named = kwargs.get("device") is not None or any(isinstance(arg, (str, int, _device)) and not isinstance(arg, bool) for arg in args)
        return self._convert(None if target.dtype is _weft.bool else target.dtype, target.device if named else None)

    def float(self) -> Any:
        from .. import float32

        return self._convert(float32)

    def double(self) -> Any:
        from .. import float64

        return self._convert(float64)

    def half(self) -> Any:
        from .. import float16

        return self._convert(float16)

    def cpu(self) -> Self:
        return self._convert(None, "cpu")

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to a device of the type cuda: to("cuda")."""
        return self._convert(None, device_of_type("cuda", "cuda", device))

    def share_memory(self) -> Self:
        """Moves parameters and buffers into memory that processes forked later share: Tensor.share_memory_()."""
        for tensor in [*self.parameters(), *self.buffers()]:
            tensor.share_memory_()
        return self

    # ---- text

    def summary(self, input_size: int | None = None, **settings: Any) -> Any:
        """A table of the modules with their parameters, and their output shapes for an input of this size; see nn.summary."""
        from ._summary import summary

        return summary(self, input_size, **settings)

    def extra_repr(self) -> str:
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        lines += [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if len(lines) < 2 and not self._modules:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
