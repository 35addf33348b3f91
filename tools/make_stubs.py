#!/usr/bin/env python3
"""Writes the stubs of the module weft._weft, for type checkers and editors: names, arguments, types and docs.

    tools/make_stubs.py MODULE FOLDER          MODULE: the built _weft*.so; FOLDER gets __init__.pyi, functional.pyi and _linalg.pyi

Names, defaults and docs are those of the module's functions, types those of the C++ functions behind them (python/src/type_names.h).
What takes or gives objects of several kinds is listed below by name. The build runs this, so that stubs are never behind the module.
"""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

# By "Tensor.name" or "name": whole signatures where there are several, else types of parameters ("return" for the result).
OVERLOADS = {
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: int) -> int"],
    "Tensor.max": ["(self) -> Tensor", "(self, dim: int, keepdim: bool = False) -> ValuesAndIndices", "(self, other: Tensor) -> Tensor"],
    "max": [
        "(input: Tensor, *, out: Tensor | None = None) -> Tensor",
        "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> ValuesAndIndices",
        "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor",
    ],
    "Tensor.nonzero": ["(self, *, as_tuple: Literal[False] = False) -> Tensor", "(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]"],
    "nonzero": [
        "(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
    ],
}
for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    OVERLOADS[name] = [
        "(tensor: Tensor, /) -> Tensor",
        "(*tensors: Tensor) -> tuple[Tensor, ...]",
        "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
    ]
OVERLOADS["Tensor.stride"] = ["(self, dim: None = None) -> tuple[int, ...]", "(self, dim: int) -> int"]
OVERLOADS["Tensor.type"] = ["(self, dtype: None = None) -> str", "(self, dtype: dtype | str) -> Tensor"]
OVERLOADS["where"] = [
    "(condition: Tensor) -> tuple[Tensor, ...]",
    "(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor",
]
OVERLOADS["Tensor.min"], OVERLOADS["min"] = OVERLOADS["Tensor.max"], OVERLOADS["max"]
TYPES = {
    "promote_types": {"return": "dtype"},
    "arange": {"start": "Number", "end": "Number | None"},
    "randint": {"high": "int | Sequence[int] | None", "size": "Sequence[int] | None"},
    "counters": {"return": "dict[str, int]"},
    "realize": {"tensors": "Tensor"},
    "clamp": {"min": "Tensor | Number | None", "max": "Tensor | Number | None"},
    "split": {"split_size_or_sections": "int | Sequence[int]"},
    "tensor_split": {"indices_or_sections": "int | Sequence[int] | Tensor"},
    "hsplit": {"sections": "int | Sequence[int]"},
    "vsplit": {"sections": "int | Sequence[int]"},
    "dsplit": {"sections": "int | Sequence[int]"},
    "repeat_interleave": {"repeats": "int | Sequence[int] | Tensor | None"},
    "_broadcast_shapes": {"shapes": "Sequence[int | Sequence[int]]", "return": "Size"},
    "scatter": {"src": "Tensor | Number | None", "value": "Tensor | Number | None"},
    "interpolate": {"scale_factor": "float | Sequence[float] | None"},
    "get_default_dtype": {"return": "dtype"},
    "set_printoptions": {"threshold": "float | None"},
    "var": {"dim": "int | Sequence[int] | bool | None", "unbiased": "bool | None"},
    "norm": {"p": "float | str", "ord": "float | str | None"},
    "item": {"return": "Number"},
    "tensordot": {"dims": "int | Sequence[Sequence[int] | int]"},
    "einsum": {"args": "Any"},
    "matrix_norm": {"ord": "float | str"},
    "cond": {"p": "float | str | None"},
    "numpy": {"return": "numpy.ndarray[Any, Any]"},
    "backward": {"inputs": "Tensor | Sequence[Tensor] | None"},
    "register_hook": {"hook": "Callable[[Tensor], Tensor | None]", "return": "RemovableHandle"},
    "__format__": {"return": "str"},
    "__dlpack_device__": {"return": "tuple[int, int]"},
    "_register_post_accumulate_grad_hook": {"return": "RemovableHandle"},
}
TYPES["std"], TYPES["clamp_"] = TYPES["var"], TYPES["clamp"]
TYPES["clip"] = TYPES["clip_"] = TYPES["clamp"]
TYPES["var_mean"] = TYPES["std_mean"] = {**TYPES["var"], "return": "tuple[Tensor, Tensor]"}
TYPES["aminmax"], TYPES["frexp"] = {"return": "MinAndMax"}, {"return": "MantissaAndExponent"}
FORMATS = set(
    "to clone contiguous cpu float double half bfloat16 long int short char byte bool type zeros_like ones_like full_like rand_like "
    "randn_like empty empty_like randint_like resize_ resize_as_".split()
)  # take `memory_format`, as in python/src/arguments.cpp
SELF = {"realize", "cpu"}  # besides names that end in "_": give the tensor itself

HEADER = '''"""{title}. Made by tools/make_stubs.py."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy
from typing_extensions import Self

'''

PREAMBLE = '''
from .._types import Size, device

_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
Number: TypeAlias = _int | _float | _bool
_Index: TypeAlias = Any

class ValuesAndIndices(NamedTuple):
    """What max(dim) gives."""

    values: Tensor
    indices: Tensor

class MinAndMax(NamedTuple):
    """What aminmax gives."""

    min: Tensor
    max: Tensor

class MantissaAndExponent(NamedTuple):
    """What frexp gives."""

    mantissa: Tensor
    exponent: Tensor

class dtype:
    """An element type, such as weft.float32."""

    @property
    def itemsize(self) -> _int: ...
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...

class ShapeError(RuntimeError, ValueError):
    """Sizes, ranks or axes do not fit."""

class DTypeError(RuntimeError, TypeError):
    """An op is not defined for this element type."""

class ArgumentError(RuntimeError, ValueError):
    """An argument has a value that the function does not take."""

class GradError(RuntimeError):
    """A gradient was asked for where there is none."""

class LinAlgError(RuntimeError):
    """A matrix cannot be factored: it is singular, or not positive definite."""

class OutOfMemoryError(RuntimeError, MemoryError):
    """The CPU or a GPU has no memory left."""

class BackendError(RuntimeError):
    """A backend cannot run here."""

class RemovableHandle:
    """Takes a hook away again: `handle.remove()`, or at the end of a `with` block."""

    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

class GradFn:
    """What computed a tensor that requires a gradient."""

    def name(self) -> str: ...

class Kernel:
    """One kernel of an Explanation."""

    name: str
    ops: list[str]
    lines: list[str]
    function: str
    reason: str
    compute: str
    schedule: list[str]
    loops: str
    source: str
    reads: _int
    writes: _int
    scratch: _int
    multiply_adds: _int
    estimate: _float
    measured: _float

class Explanation:
    """What computing a tensor would do, stage by stage."""

    graph: str
    kernels: list[Kernel]
    arena_bytes: _int
    _repr_html_: Any
    def text(self, stage: str = "kernels") -> str: ...
'''

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
TENSOR = '''
    def __init__(self, data: Any = ...) -> None: ...
    shape: Size
    dtype: _dtype
    device: _device
    ndim: _int
    itemsize: _int
    nbytes: _int
    is_cuda: _bool
    is_cpu: _bool
    is_sparse: _bool
    is_xpu: _bool
    is_mps: _bool
    is_meta: _bool
    is_mkldnn: _bool
    is_quantized: _bool
    is_nested: _bool
    requires_grad: _bool
    is_leaf: _bool
    grad: Tensor | None
    grad_fn: GradFn | None
    data: Tensor
    T: Tensor
    mT: Tensor
    H: Tensor
    mH: Tensor
    real: Tensor
    layout: Any
    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Calls `hook(tensor)` after each backward() that has added to the .grad of this leaf."""
    def adjoint(self) -> Tensor:
        """The last two axes exchanged."""
    def angle(self) -> Tensor:
        """0, or pi for negative numbers."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Each element replaced by what a Python function makes of it, in place."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A copy with `src` where as_strided() would read."""
    def conj(self) -> Tensor:
        """The tensor itself."""
    def conj_physical(self) -> Tensor:
        """A copy."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Tensor:
        """to('cuda')."""
    def histogram(self, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> tuple[Tensor, Tensor]:
        """How many elements lie in each bin, and the edges."""
    def is_conj(self) -> _bool: ...
    def is_inference(self) -> _bool: ...
    def is_neg(self) -> _bool: ...
    def is_pinned(self, device: Any = None) -> _bool: ...
    def is_shared(self) -> _bool: ...
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> tuple[Tensor, ...]:
        """LU factors in one matrix, and the pivots."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Each element replaced by what a Python function makes of it and of another tensor's, in place."""
    def new(self, *args: Any, device: Any = None) -> Tensor:
        """A tensor of this one's type: of sizes, or of data."""
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], **how: Any) -> Tensor:
        """Zeros of this tensor's type."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first positions of elements that are not 0."""
    def pin_memory(self, device: Any = None) -> Tensor:
        """The values in page-locked memory, which a GPU reads while the program goes on; without a GPU the tensor itself."""
    def record_stream(self, stream: Any) -> None:
        """Nothing to do: memory is used again in the order of the stream."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself."""
    def share_memory_(self) -> Tensor:
        """Moves the values into memory that processes forked later share."""
    def storage(self) -> Any:
        """The values in row-major order."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> tuple[Tensor, Tensor]:
        """(X with A X = self, a copy of A)."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """chunk()."""
    def unsafe_split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split()."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split_with_sizes()."""
    def untyped_storage(self) -> Any:
        """The bytes of the values."""
    def slogdet(self) -> tuple[Tensor, Tensor]:
        """The sign of the determinant, and the logarithm of its magnitude."""
    def qr(self, some: _bool = True) -> tuple[Tensor, Tensor]:
        """A = Q R."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """A = U diag(S) Vᵀ: gives V, not its transpose."""
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the Python array API standard: weft.array_api."""
    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor itself: there is one device, the CPU."""
    def to_dense(self, *_: Any, **__: Any) -> Tensor:
        """The tensor itself."""
    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor with only the values stored that are not zero: a weft.sparse.SparseTensor."""
    def to_sparse_coo(self, *args: Any, **kwargs: Any) -> Any:
        """to_sparse() under a longer name."""
    def __buffer__(self, flags: _int, /) -> memoryview: ...
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, index: _Index) -> Tensor: ...
    def __setitem__(self, index: _Index, value: Tensor | Number) -> None: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> _int: ...
    def __hash__(self) -> _int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __imatmul__(self, other: Tensor) -> Self: ...
'''


def load(path):
    spec = importlib.util.spec_from_file_location("weft._weft", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["weft._weft"] = module
    spec.loader.exec_module(module)
    return module


def words(text):
    """A type in the words of the stub, where `int` may be a dtype or a method."""
    return re.sub(r"(?<![\w.])(int|float|bool|dtype|device)(?![\w(])", r"_\1", text)


def shown_default(value):
    return repr(value) if not isinstance(value, float) or value == value and abs(value) != float("inf") else "..."


def signature(function, name, types, is_method):
    """ "(input: Tensor, dim: _int = -1) -> Tensor" """
    own = TYPES.get(name, {})
    parts, star = [], False
    for parameter, kind in zip(inspect.signature(function).parameters.values(), types):
        if is_method and not parts:
            parts.append("self")
            continue
        kind = words(own.get(parameter.name, "_Generator | None" if parameter.name == "generator" else kind))
        kind = f"{kind} | None" if parameter.name == "out" else kind  # what the function gives
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: {kind}")
            star = True
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = "" if parameter.default is parameter.empty else f" = {shown_default(parameter.default)}"
        parts.append(f"{parameter.name}: {kind}{default}")
    more = ["memory_format: Any = None"] if name in FORMATS else []
    if name != "to" and any(part.startswith("device:") for part in parts):
        more += ["layout: Any = None", "pin_memory: _bool | None = None"]
    parts += ["*"] * (not star and bool(more)) + more
    result = own.get("return", types[-1])
    if not is_method and result == "Any" and name.endswith("_") and not name.startswith("_"):
        result = "Tensor"  # F.relu_ and its like
    if is_method and result == "Any" and (name.endswith("_") and not name.endswith("__") or name in SELF):
        result = "Self"
    if result == "Sequence[Tensor]":
        result = "tuple[Tensor, ...]"
    return f"({', '.join(parts)}) -> {words(result)}"


def definition(indent, name, function, types, where):
    """Some lines of a stub."""
    doc = (inspect.getdoc(function) or "").replace("\\", "\\\\").strip()
    body = f'\n{indent}    """{doc}"""\n' if doc else " ...\n"
    several = OVERLOADS.get(where + name)
    if several:
        return "".join(f"{indent}@overload\n{indent}def {name}{words(each)}:{body}" for each in several)
    return f"{indent}def {name}{signature(function, name, types, bool(where))}:{body}"


def main(path, folder):
    module = load(path)
    listed = module._described_functions()
    out = [HEADER.format(title="The compiled part of Weft"), PREAMBLE]
    out.append("\n_dtype: TypeAlias = dtype\n_device: TypeAlias = device\n")
    out += [f"{name}: _dtype\n" for name, value in vars(module).items() if isinstance(value, module.dtype)]

    out.append('\nclass Tensor:\n    """An array of numbers that is computed when its values are asked for."""\n' + TENSOR)
    for name in OPERATORS:
        out.append(f"    def __{name}__(self, other: Tensor | Number) -> Tensor: ...\n")
        out.append(f"    def __r{name}__(self, other: Tensor | Number) -> Tensor: ...\n")
        out.append(f"    def __i{name}__(self, other: Tensor | Number) -> Self: ...\n")
    for name in ("lt", "le", "gt", "ge"):
        out.append(f"    def __{name}__(self, other: Tensor | Number) -> Tensor: ...\n")
    for name in ("eq", "ne"):
        out.append(f"    def __{name}__(self, other: object) -> Tensor: ...  # type: ignore[override]\n")
    skipped = {"__repr__"}
    for owner, name, types in listed:
        if owner == "Tensor" and name not in skipped:
            out.append(definition("    ", name, getattr(module.Tensor, name), types, "Tensor."))

    for name, value in vars(module).items():  # engines of the package: it alone uses them
        if inspect.isclass(value) and name.startswith("_"):
            base = value.__bases__[0].__name__
            out.append(f"\nclass {name}{f'({base})' if base.startswith('_') else ''}:\n")
            out.append("    def __init__(self, *args: Any) -> None: ...\n    def __getattr__(self, name: str) -> Any: ...\n")
            if hasattr(value, "__call__"):
                out.append("    def __call__(self, *args: Any) -> Any: ...\n")
    files = {"__init__.pyi": out}
    for part, title in (("functional", "weft.nn.functional"), ("_linalg", "weft.linalg")):
        inner = [HEADER.format(title=f"The compiled part of {title}")]
        inner.append("from . import Number, Tensor, _bool, _device, _dtype, _float, _int\n\n")
        place = getattr(module, part)
        known = {name: types for owner, name, types in listed if owner.endswith(part)}
        inner += [definition("", name, getattr(place, name), types, "") for name, types in known.items()]
        inner += [f"from . import {name} as {name}\n" for name, value in vars(place).items() if callable(value) and name not in known]
        files[f"{part}.pyi"] = inner
    out += [definition("", name, getattr(module, name), types, "") for owner, name, types in listed if owner == module.__name__]
    out.append("\nfrom . import _linalg as _linalg, functional as functional\n")

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
