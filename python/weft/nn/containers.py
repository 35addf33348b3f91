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


class _Children(Module):
    """What a container holds, by name: its modules, or its parameters. `_add` registers one, and refuses what is neither."""

    @property
    def _held(self) -> dict[str, Any]:
        return self._modules

    def _add(self, name: str, value: Any) -> None:
        self.add_module(name, value)

    def __len__(self) -> int:
        return len(self._held)


class _Parameters(_Children):
    @property
    def _held(self) -> dict[str, Any]:
        return self._parameters

    def _add(self, name: str, value: Any) -> None:
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))


class _List(_Children):
    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.extend(values or [])

    def append(self, value: Any) -> Self:
        self._add(str(len(self)), value)
        return self

    def extend(self, values: Any) -> Self:
        for value in values:
            self.append(value)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held.values())

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self._held.values())[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Any) -> None:
        self._add(list(self._held)[index], value)


class _Dict(_Children):
    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update(values or {})

    def update(self, values: Any) -> None:
        for name, value in dict(values).items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._held[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._add(name, value)

    def __delitem__(self, name: str) -> None:
        del self._held[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def get(self, name: str, default: Any = None) -> Any:
        return self._held.get(name, default)

    def pop(self, name: str) -> Any:
        return self._held.pop(name)

    def keys(self) -> Any:
        return self._held.keys()

    def values(self) -> Any:
        return self._held.values()

    def items(self) -> Any:
        return self._held.items()


class Sequential(_List):
    """Modules one after the other: `Sequential(nn.Linear(784, 128), nn.ReLU())`, or with names from a dict."""

    def __init__(self, *args: Any) -> None:
        by_name = len(args) == 1 and isinstance(args[0], dict)
        super().__init__(() if by_name else args)
        for name, module in args[0].items() if by_name else ():
            self.add_module(name, module)

    def forward(self, input: Tensor) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)


class ModuleList(_List):
    """A list of modules that registers them."""

    def __repr__(self) -> str:
        lines, start, shown = [], 0, [repr(module) for module in self._modules.values()]
        for end in range(1, len(shown) + 1):  # a run of equal modules is one line
            if end < len(shown) and shown[end] == shown[start]:
                continue
            line = f"({start}): {shown[start]}" if end == start + 1 else f"({start}-{end - 1}): {end - start} x {shown[start]}"
            lines.append("\n  " + line.replace("\n", "\n  "))
            start = end
        return f"{self._get_name()}({''.join(lines)}{chr(10) if lines else ''})"


class ModuleDict(_Dict):
    """A dict of modules that registers them."""


class ParameterList(_Parameters, _List):
    """A list of parameters that registers them."""


class ParameterDict(_Parameters, _Dict):
    """A dict of parameters that registers them."""
