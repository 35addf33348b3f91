"""Questions about element types and about Weft itself, in the words of the array API standard."""

from __future__ import annotations

from .. import _weft
from .._tensor import Tensor
from .._types import device as _Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS: dict[str, tuple[_weft.dtype, ...]] = {
    "bool": (_weft.bool,),
    "signed integer": (_weft.int8, _weft.int16, _weft.int32, _weft.int64),
    "unsigned integer": (_weft.uint8, _weft.uint16, _weft.uint32, _weft.uint64),
    "real floating": (_weft.float32, _weft.float64, _weft.float16, _weft.bfloat16),
    "complex floating": (),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]
_STANDARD = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()


def isdtype(dtype: _weft.dtype, kind: _weft.dtype | str | tuple[_weft.dtype | str, ...]) -> bool:
    """Whether an element type is of a kind: 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating', 'numeric', another element type, or one of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype(): argument 'kind' must be one of {', '.join(map(repr, _KINDS))}, not {kind!r}")
        return dtype in _KINDS[kind]
    return dtype is kind


def _kind_of(dtype: _weft.dtype) -> int:
    return 0 if dtype is _weft.bool else 2 if dtype.is_floating_point else 1


def result_type(*arrays_and_dtypes: Tensor | _weft.dtype | int | float | bool) -> _weft.dtype:
    """The common element type of tensors and types; a number raises the kind, not the width."""
    result: _weft.dtype | None = None
    kind = -1
    for each in arrays_and_dtypes:
        if isinstance(each, (bool, int, float)):
            kind = max(kind, 0 if isinstance(each, bool) else 1 if isinstance(each, int) else 2)
            continue
        dtype = each.dtype if isinstance(each, Tensor) else each
        if not isinstance(dtype, _weft.dtype):
            raise TypeError(f"result_type(): {each!r} is no tensor, element type or number")
        result = dtype if result is None else _weft.promote_types(result, dtype)
    if result is None:
        raise ValueError("result_type(): there must be a tensor or an element type")
    if kind > _kind_of(result):
        return _weft.int64 if kind == 1 else _weft.float32
    return result


def can_cast(from_: Tensor | _weft.dtype, to: _weft.dtype, /) -> bool:
    """Whether promotion leads from one element type to the other, which then holds all of its values."""
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    widens = _weft.promote_types(dtype, to) is to
    unfit = dtype is _weft.uint64 and _kind_of(to) == 1 and to is not dtype
    return widens and not unfit


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that tensors of these shapes have together."""
    result: list[int] = []
    for shape in shapes:
        result = [1] * (len(shape) - len(result)) + result
        for i, size in enumerate(reversed(shape), 1):
            if size != result[-i] and size != 1:
                if result[-i] != 1:
                    raise ValueError(f"broadcast_arrays(): the shapes {', '.join(map(str, map(list, shapes)))} do not broadcast")
                result[-i] = size
    return tuple(result)


class Info:
    """What __array_namespace_info__() gives."""

    def capabilities(self) -> dict[str, Any]:
        """What is optional in the standard, and there. The number of axes has no limit."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> _Device:
        """Where tensors are made."""
        device: _Device = _weft.get_default_device()
        return device

    def devices(self) -> list[_Device]:
        """All devices."""
        return [_Device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, _weft.dtype]:
        """The element types of numbers without one, and of indices. There are no complex ones."""
        return {"real floating": _weft.float32, "integral": _weft.int64, "indexing": _weft.int64}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, _weft.dtype]:
        """The standard's element types by name, all or those of a kind."""
        found = {name: getattr(_weft, name) for name in _STANDARD}
        return found if kind is None else {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}
