"""Parameters that are computed from others: a weight that stays symmetric, orthogonal, of norm 1 …

>>> class Symmetric(nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).mT
>>> parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
"""

from __future__ import annotations

import copy

from ..._modes import no_grad
from ..._tensor import Tensor
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_depth = 0  # how many cached() blocks are open
_values: dict[tuple[int, str], Any] = {}


class cached:
    """In this block a parametrized tensor is computed once, not at each access: for weights that are used at many times."""

    def __enter__(self) -> None:
        global _depth
        _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth
        _depth -= 1
        if _depth == 0:
            _values.clear()


def _hold(module: Any, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and what it is computed from: original, or original0, original1, …"""

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList(): argument 'modules' is empty")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            value = original
            for module in reversed(list(modules)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        break
        if not isinstance(value, (Tensor, list, tuple)):
            raise ValueError(f"right_inverse() must return a Tensor or a list of them, not {type(value).__name__}")
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor:
            if value.dtype != original.dtype:
                raise ValueError(f"right_inverse() changes the type from {original.dtype} to {value.dtype}, which one tensor may not")
            _hold(self, "original", _moved_to(original, value))
        else:
            for i, each in enumerate(value):
                if not isinstance(each, Tensor):
                    raise ValueError(f"right_inverse() must return Tensors, but result {i} is a {type(each).__name__}")
                _hold(self, f"original{i}", _like(original, each))
        if not unsafe:
            _check_same("register_parametrization()", original, self())

    def right_inverse(self, value: Any) -> None:
        """Makes the tensor this value, by way of the parametrizations' right_inverse()."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"the tensor cannot be set: {type(module).__name__} has no right_inverse()")
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(f"right_inverse() must return {self.ntensors} tensors, not {len(values)}")
            for own, new in zip(self._originals(), values):
                own.copy_(new)

    def _originals(self) -> list[Any]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Any:
        first, *others = list(self)
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _like(original: Any, value: Any) -> Any:
    """A parameter where the original is one, else a buffer."""
    value = value.detach().clone()
    return Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value


def _moved_to(original: Any, value: Any) -> Any:
    """The original tensor itself, which optimisers know, with another value; a new one if the shape is another."""
    if value.shape != original.shape:
        return _like(original, value)
    with no_grad():
        if value is not original:
            original.copy_(value)
    return original


def _check_same(call: str, before: Any, after: Any) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"{call}: a parametrization must return a Tensor, not {type(after).__name__}")
    if after.dtype != before.dtype or after.shape != before.shape:
        raise ValueError(
            f"{call}: a parametrization may change neither type nor shape ({before.dtype} {tuple(before.shape)} became "
            f"{after.dtype} {tuple(after.shape)}); unsafe=True allows it"
        )


# ---- the module's class ----------------------------------------------------------------------------------------------


def _property(name: str) -> Any:
    def get(self: Any) -> Any:
        parametrization = self._modules["parametrizations"][name]
        if not _depth:
            return parametrization()
        key = id(self), name
        if key not in _values:
            _values[key] = parametrization()
        return _values[key]

    return property(get)


def _set(self: Any, name: str, value: Any) -> None:
    lists = self._modules.get("parametrizations")
    if lists is not None and name in lists:
        lists[name].right_inverse(value)
    else:
        super(type(self), self).__setattr__(name, value)


def _deepcopy(self: Any, memo: Any) -> Any:
    twin = memo[id(self)] = type(self).__new__(type(self))
    vars(twin).update(copy.deepcopy(vars(self), memo))
    return twin


def _refuse(self: Any) -> Any:
    raise RuntimeError("a parametrized module cannot be pickled: save its state_dict()")


def _reclass(module: Any, names: Any) -> None:
    """Gives the module a class of its own, in which these tensors are computed. Copies share it, so it is never changed."""
    base = type_before_parametrizations(module)
    if not names:
        module.__class__ = base
        return
    contents: dict[str, Any] = {name: _property(name) for name in names}
    contents.update(__setattr__=_set, __deepcopy__=_deepcopy, __getstate__=_refuse, _unparametrized=base)
    module.__class__ = type("Parametrized" + base.__name__, (base,), contents)


# ---- what users call -------------------------------------------------------------------------------------------------


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module, or one tensor of it, is parametrized."""
    lists = module._modules.get("parametrizations")
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def type_before_parametrizations(module: Any) -> Any:
    """The class of a module without its parametrizations."""
    return getattr(type(module), "_unparametrized", type(module))


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """From now on `module.tensor_name` is `parametrization(original)`, where the original is what is trained.

    A parametrization with `right_inverse(value)` starts from the value that the tensor has, and lets it be set.
    """
    if not isinstance(parametrization, Module):
        raise TypeError(f"register_parametrization(): argument 'parametrization' must be a Module, not {type(parametrization).__name__}")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        lists = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            _check_same("register_parametrization()", before, parametrization(before))
        lists.append(parametrization)
        lists.unsafe = lists.unsafe or unsafe
        return module
    if module._parameters.get(tensor_name) is None and module._buffers.get(tensor_name) is None:
        raise ValueError(f"register_parametrization(): {type(module).__name__} has no parameter or buffer '{tensor_name}'")
    lists = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.register_module("parametrizations", ModuleDict())
    module.parametrizations[tensor_name] = lists
    _reclass(module, list(module.parametrizations.keys()))
    return module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes the tensor a plain one again, with its computed value, or with the original's if leave_parametrized is False."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations(): {type(module).__name__} has no parametrization of '{tensor_name}'")
    lists = module.parametrizations[tensor_name]
    if not lists.is_tensor and not leave_parametrized:
        raise ValueError(
            f"remove_parametrizations(): '{tensor_name}' is computed from {lists.ntensors} tensors, so there is no original to leave; "
            "pass leave_parametrized=True"
        )
    with no_grad():
        value = getattr(module, tensor_name)
    original = lists._originals()[0]
    if leave_parametrized:
        original = _moved_to(original, value) if lists.is_tensor else _like(original, value)
    del module.parametrizations[tensor_name]
    names = list(module.parametrizations.keys())
    _reclass(module, names)
    if not names:
        del module.parametrizations
    _hold(module, tensor_name, original)
    return module


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Registers the parametrizations of one module with another one, which gets the originals as well."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations.keys()) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            to_module.register_parameter(name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for each in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            _hold(target, each, getattr(source, each))
    return to_module
