"""Modules made of modules."""

from __future__ import annotations

from .module import Module
from .parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self

    from .._tensor import Tensor


class Sequential(Module):
    """Modules one after the other: `Sequential(nn.Linear(784, 128), nn.ReLU())`, or with names from a dict."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], dict)
            else ((str(i), m) for i, m in enumerate(args))
        )
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Tensor) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module: Any) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return list(self._modules.values())[index]

    def __setitem__(self, index: int, module: Any) -> None:
        self._modules[list(self._modules)[index]] = module


class ModuleList(Module):
    """A list of modules that registers them."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.extend(modules or [])

    def append(self, module: Any) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Any) -> Self:
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: int) -> Any:
        modules = list(self._modules.values())[index]
        return ModuleList(modules) if isinstance(index, slice) else modules

    def __setitem__(self, index: int, module: Any) -> None:
        self._modules[list(self._modules)[index]] = module


class ModuleDict(Module):
    """A dict of modules that registers them."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> None:
        for name, module in dict(modules).items():
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Any) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()


def _as_parameter(value: Any) -> Any:
    return value if isinstance(value, Parameter) else Parameter(value)


class ParameterList(Module):
    """A list of parameters that registers them."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.extend(values or [])

    def append(self, value: Any) -> Self:
        self.register_parameter(str(len(self)), _as_parameter(value))
        return self

    def extend(self, values: Any) -> Self:
        for value in values:
            self.append(value)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Any:
        values = list(self._parameters.values())[index]
        return ParameterList(values) if isinstance(index, slice) else values

    def __setitem__(self, index: int, value: Any) -> None:
        self._parameters[list(self._parameters)[index]] = _as_parameter(value)


class ParameterDict(Module):
    """A dict of parameters that registers them."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Any) -> None:
        for name, value in dict(parameters).items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.register_parameter(name, _as_parameter(value))

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters)

    def __contains__(self, name: str) -> bool:
        return name in self._parameters

    def get(self, name: str, default: Any = None) -> Any:
        return self._parameters.get(name, default)

    def pop(self, name: str) -> Any:
        return self._parameters.pop(name)

    def keys(self) -> Any:
        return self._parameters.keys()

    def values(self) -> Any:
        return self._parameters.values()

    def items(self) -> Any:
        return self._parameters.items()
