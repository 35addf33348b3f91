"""Which names of PyTorch a script uses, read from its source: `python -m weft --missing train.py`."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

from .._tensor import Tensor
from .missing import Missing
from .modules import torch_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Methods and attributes that PyTorch's tensors have and Weft's have not; only names that other objects are unlikely to have.
_TENSOR_ONLY = frozenset("""
    is_quantized dequantize q_scale to_mkldnn to_sparse_csr to_sparse_csc crow_indices col_indices rename refine_names align_to align_as
    stft istft resolve_conj resolve_neg conj_physical is_conj imag angle as_subclass sparse_mask sparse_resize_ sspaddmm
    is_meta is_sparse_csr names smm cfloat cdouble
""".split())


class _Script(ast.NodeVisitor):
    """The names of PyTorch in one file, with the line of their first use, and the modules that it imports."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}  # a local name -> the name of PyTorch
        self.uses: dict[str, int] = {}
        self.methods: dict[str, int] = {}
        self.imports: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] == "torch":
                self.uses.setdefault(alias.name, node.lineno)
                self.aliases[alias.asname or "torch"] = alias.name if alias.asname else "torch"
            else:
                self.imports.add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module.split(".")[0] != "torch" or node.level:
            self.imports.add("." * node.level + module)
            self.imports.update("." * node.level + f"{module}.{alias.name}".strip(".") for alias in node.names)
            return
        for alias in node.names:
            if alias.name != "*":
                self.uses.setdefault(f"{module}.{alias.name}", node.lineno)
                self.aliases[alias.asname or alias.name] = f"{module}.{alias.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._dotted(node)
        if name is not None:
            self.uses.setdefault(name, node.lineno)
            return
        self.methods.setdefault(node.attr, node.lineno)
        self.generic_visit(node)

    def _dotted(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute):
            start = self._dotted(node.value)
            return None if start is None else f"{start}.{node.attr}"
        return self.aliases.get(node.id) if isinstance(node, ast.Name) else None


def _has(name: str) -> bool:
    """Whether Weft has a name of PyTorch."""
    value: Any = torch_module("torch")
    place = "torch"
    for part in name.split(".")[1:]:
        place = f"{place}.{part}"
        module = torch_module(place) if isinstance(value, ModuleType) else None
        if module is None and not hasattr(value, part):
            return not isinstance(value, (ModuleType, type))  # an attribute of a value, which only a run knows
        value = module or getattr(value, part)
    return not isinstance(value, Missing)


def _shortest(name: str) -> str:
    """The first part of a dotted name that Weft does not have."""
    parts = name.split(".")
    return next(".".join(parts[:i]) for i in range(1, len(parts) + 1) if not _has(".".join(parts[:i])))


def _files(path: Path) -> Iterator[tuple[Path, _Script]]:
    """A script and the files beside it that it imports."""
    waiting, seen = [path], {path.resolve()}
    while waiting:
        file = waiting.pop()
        script = _Script()
        script.visit(ast.parse(file.read_text(encoding="utf-8"), str(file)))
        yield file, script
        for name in script.imports:
            folder = path.parent if not name.startswith(".") else file.parent
            place = folder.joinpath(*name.strip(".").split("."))
            for found in (place.with_suffix(".py"), place / "__init__.py"):
                if found.is_file() and found.resolve() not in seen:
                    seen.add(found.resolve())
                    waiting.append(found)


def missing(path: str) -> list[str]:
    """A line for each name that a script and the files beside it use and Weft does not have: "train.py:7: torch.fft"."""
    found: dict[str, str] = {}
    for file, script in _files(Path(path)):
        for name, line in script.uses.items():
            if not _has(name):
                found.setdefault(_shortest(name), f"{file}:{line}: {_shortest(name)}")
        for name, line in script.methods.items():
            if name in _TENSOR_ONLY and not hasattr(Tensor, name):
                found.setdefault(f"Tensor.{name}", f"{file}:{line}: Tensor.{name}")
    return sorted(found.values(), key=lambda line: (line.split(":")[0], int(line.split(":")[1])))
