"""The Python array API standard, 2024.12, over Weft's tensors: what ``x.__array_namespace__()`` gives.

Where PyTorch and the standard use one name for two things (`max`, `sort`, `std`, `nonzero`, `equal` …), `weft.X` is PyTorch's and
`weft.array_api.X` the standard's; all other names are the same functions in both. docs/array_api.md lists what is left out.

>>> xp = weft.tensor([3.0, 1.0, 2.0]).__array_namespace__()
>>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
tensor([3, 2, 1])
"""

from __future__ import annotations

import builtins
import math

import weft

from .. import _weft
from .._functions import finfo as finfo, iinfo as iinfo
from .._tensor import Tensor
from .._types import device as _Device
from ._info import Info, broadcast_shapes, can_cast as can_cast, isdtype as isdtype, result_type as result_type
from ._sets import unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse, unique_values as unique_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    DType = _weft.dtype
    Number = builtins.int | builtins.float | builtins.bool
    Axis = builtins.int | tuple[builtins.int, ...] | None
    Device = str | _Device | None

__array_api_version__ = "2024.12"
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

bool, int8, int16, int32, int64 = _weft.bool, _weft.int8, _weft.int16, _weft.int32, _weft.int64
uint8, uint16, uint32, uint64, float32, float64 = _weft.uint8, _weft.uint16, _weft.uint32, _weft.uint64, _weft.float32, _weft.float64

# What means the same in PyTorch's words; the standard's arrays have no names, so theirs do not matter.
_SAME = frozenset(
    """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_to
    ceil copysign cos cosh divide empty_like exp expm1 floor floor_divide full_like greater greater_equal hypot isfinite isinf
    isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul maximum minimum multiply
    negative nextafter not_equal ones_like pow reciprocal remainder round signbit sin sinh sqrt square subtract tan tanh trunc where
    zeros_like
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return getattr(weft, name)
    if name == "linalg":
        import importlib

        return importlib.import_module(".linalg", __name__)
    raise AttributeError(f"module 'weft.array_api' has no attribute '{name}'")


def __dir__() -> list[str]:
    own = [
        name for name in globals() if not name.startswith("_") and name not in ("annotations", "builtins", "math", "weft", "Tensor", "TYPE_CHECKING", "Info", "broadcast_shapes")
    ]
    return sorted({*own, *_SAME, "linalg", "__array_api_version__", "__array_namespace_info__"})


def __array_namespace_info__() -> Info:
    """What there is: capabilities(), devices(), dtypes() and their defaults."""
    return Info()


# ---- creation --------------------------------------------------------------------------------------------------------


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device = None,
    copy: builtins.bool | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A tensor of numbers, nested lists, a tensor, or any memory with DLPack or the buffer protocol.

    `copy`: True always makes a copy, False never does (ValueError where one is needed), None shares where that is possible.
    """
    if copy:
        result: Tensor = _weft.tensor(obj.detach() if isinstance(obj, Tensor) else obj, dtype=dtype)
    elif isinstance(obj, Tensor):
        if copy is False and dtype not in (None, obj.dtype):
            raise ValueError(f"asarray(): {obj.dtype!r} as {dtype!r} needs a copy, which copy=False forbids")
        result = obj if dtype is None else obj.to(dtype)
    else:
        shareable = hasattr(obj, "__dlpack__") or hasattr(obj, "__array__") or isinstance(obj, (memoryview, bytearray, bytes))
        if copy is False and not shareable:
            raise ValueError(f"asarray(): a {type(obj).__name__} needs a copy, which copy=False forbids")
        result = _weft.as_tensor(obj)
        if dtype is not None and dtype is not result.dtype:
            if copy is False:
                raise ValueError(f"asarray(): {result.dtype!r} as {dtype!r} needs a copy, which copy=False forbids")
            result = _weft.as_tensor(obj, dtype=dtype)
    result = _moved("asarray", result, device)
    return result.requires_grad_() if requires_grad else result


def _moved(function: str, x: Tensor, device: Device) -> Tensor:
    """`x` on the device that a function was asked for."""
    if device is None:
        return x
    try:
        return x.to(device)
    except RuntimeError as error:
        raise ValueError(str(error).replace("to()", f"{function}()")) from None


def arange(start: Number, /, stop: Number | None = None, step: Number = 1, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """start, start + step, … below stop; arange(stop) starts at 0."""
    first, last = (0, start) if stop is None else (start, stop)
    return _weft.arange(first, last, step, dtype=dtype, device=device)


def _shape(shape: builtins.int | Sequence[builtins.int]) -> tuple[builtins.int, ...]:
    return (shape,) if isinstance(shape, builtins.int) else tuple(shape)


def empty(shape: builtins.int | Sequence[builtins.int], *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """A tensor of this shape; its values are zeros."""
    return _weft.zeros(_shape(shape), dtype=dtype, device=device)


def zeros(shape: builtins.int | Sequence[builtins.int], *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Zeros of this shape."""
    return _weft.zeros(_shape(shape), dtype=dtype, device=device)


def ones(shape: builtins.int | Sequence[builtins.int], *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Ones of this shape."""
    return _weft.ones(_shape(shape), dtype=dtype, device=device)


def full(shape: builtins.int | Sequence[builtins.int], fill_value: Number, *, dtype: DType | None = None, device: Device = None) -> Tensor:
    """One number everywhere."""
    return _weft.full(_shape(shape), fill_value, dtype=dtype, device=device)


def eye(
    n_rows: builtins.int, n_cols: builtins.int | None = None, /, *, k: builtins.int = 0, dtype: DType | None = None, device: Device = None
) -> Tensor:
    """Ones on the k-th diagonal."""
    columns = n_rows if n_cols is None else n_cols
    rows = _weft.arange(n_rows).reshape(-1, 1)
    made = (_weft.arange(columns) - rows == k).to(_weft.float32 if dtype is None else dtype)
    return _moved("eye", made, device)


def linspace(
    start: Number, stop: Number, /, num: builtins.int, *, dtype: DType | None = None, device: Device = None, endpoint: builtins.bool = True
) -> Tensor:
    """`num` numbers at equal distances; the last is `stop`, or with endpoint=False one step before it."""
    if endpoint:
        return _weft.linspace(start, stop, num, dtype=dtype, device=device)
    return _weft.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """The coordinates of a grid, one tensor per axis; 'xy' has the first two axes exchanged."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): argument 'indexing' must be 'xy' or 'ij', not {indexing!r}")
    count = len(arrays)
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shape = tuple(arrays[i].numel() for i in order)
    return [a.reshape([-1 if j == i else 1 for j in order]).broadcast_to(shape) for i, a in enumerate(arrays)]


def tril(x: Tensor, /, *, k: builtins.int = 0) -> Tensor:
    """What is on and below the k-th diagonal; the rest is 0."""
    return _weft.tril(x, k)


def triu(x: Tensor, /, *, k: builtins.int = 0) -> Tensor:
    """What is on and above the k-th diagonal; the rest is 0."""
    return _weft.triu(x, k)


def from_dlpack(x: Any, /, *, device: Device = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor over the memory of any object with DLPack. copy=True makes a copy, copy=False never does (BufferError)."""
    try:
        return _weft.from_dlpack(x, device=device, copy=copy)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


# ---- element types ---------------------------------------------------------------------------------------------------


def astype(x: Tensor, dtype: DType, /, *, copy: builtins.bool = True, device: Device = None) -> Tensor:
    """The values in another element type; copy=False gives the tensor itself where it has that type."""
    x = _moved("astype", x, device)
    if x.dtype is dtype:
        return x.clone() if copy else x
    return x.to(dtype)


# ---- elementwise -----------------------------------------------------------------------------------------------------


def bitwise_invert(x: Tensor, /) -> Tensor:
    """All bits the other way round; of bools: not x."""
    return _weft.bitwise_not(x)


def clip(x: Tensor, /, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """No less than `min` and no more than `max`, in the type of x."""
    if min is None and max is None:
        return x.clone()
    return _weft.clamp(x, min, max).to(x.dtype)


def equal(x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """Elementwise x1 == x2."""
    return _weft.eq(x1, x2)


def positive(x: Tensor, /) -> Tensor:
    """x itself."""
    return x.clone()


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; NaN where x is NaN."""
    result = _weft.sign(x)
    return _weft.where(x.isnan(), x, result) if x.is_floating_point() else result


# ---- shapes ----------------------------------------------------------------------------------------------------------


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """All tensors in their common shape."""
    shape = broadcast_shapes(*(tuple(a.shape) for a in arrays))
    return [a.broadcast_to(shape) for a in arrays]


def concat(arrays: Sequence[Tensor], /, *, axis: builtins.int | None = 0) -> Tensor:
    """Tensors one after the other along an axis; None: all of them flat."""
    return _weft.cat([a.reshape(-1) for a in arrays], 0) if axis is None else _weft.cat(arrays, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: builtins.int = 0) -> Tensor:
    """Tensors one after the other along a new axis."""
    return _weft.stack(arrays, axis)


def unstack(x: Tensor, /, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
    """All slices along an axis, without that axis."""
    return _weft.unbind(x, axis)


def expand_dims(x: Tensor, /, *, axis: builtins.int = 0) -> Tensor:
    """With a new axis of size 1."""
    return _weft.unsqueeze(x, axis)


def squeeze(x: Tensor, /, axis: builtins.int | tuple[builtins.int, ...]) -> Tensor:
    """Without these axes, which must have the size 1."""
    axes = (axis,) if isinstance(axis, builtins.int) else tuple(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze(): axis {each} has the size {x.shape[each]}, not 1")
    return _weft.squeeze(x, axes) if axes else x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """Reversed along these axes, or along all of them."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, builtins.int) else axis
    return _weft.flip(x, axes) if axes else x


def moveaxis(x: Tensor, source: builtins.int | tuple[builtins.int, ...], destination: builtins.int | tuple[builtins.int, ...], /) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    given = [[axes] if isinstance(axes, builtins.int) else list(axes) for axes in (source, destination)]
    for axes in given:
        for i, axis in enumerate(axes):
            if not -x.ndim <= axis < x.ndim:
                raise IndexError(f"moveaxis(): axis {axis} is out of range for {x.ndim} axes")
            axes[i] = axis % x.ndim
    if len(given[0]) != len(given[1]) or builtins.any(len(set(axes)) != len(axes) for axes in given):
        raise ValueError("moveaxis(): 'source' and 'destination' must name as many axes, each once")
    order = [axis for axis in range(x.ndim) if axis not in given[0]]
    for to, axis in sorted(zip(given[1], given[0])):
        order.insert(to, axis)
    return x.permute(order)


def permute_dims(x: Tensor, /, axes: tuple[builtins.int, ...]) -> Tensor:
    """The axes in another order."""
    return _weft.permute(x, axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose(): two axes are needed, not {x.ndim}")
    return _weft.transpose(x, -2, -1)


def repeat(x: Tensor, repeats: builtins.int | Tensor, /, *, axis: builtins.int | None = None) -> Tensor:
    """Each element, or each slice along an axis, so many times."""
    flat = x.reshape(-1) if axis is None else x
    along = 0 if axis is None else axis
    if isinstance(repeats, builtins.int):
        return _weft.repeat_interleave(flat, repeats, along)
    size = flat.shape[along]
    counts = repeats.broadcast_to((size,)).tolist()
    return _weft.index_select(flat, along, _weft.tensor([i for i in range(size) for _ in range(counts[i])], dtype=int64, device=x.device))


def reshape(x: Tensor, /, shape: tuple[builtins.int, ...], *, copy: builtins.bool | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1."""
    result = _weft.reshape(x, shape)
    return result.clone() if copy else result


def roll(x: Tensor, /, shift: builtins.int | tuple[builtins.int, ...], *, axis: Axis = None) -> Tensor:
    """Moved along axes; what leaves at the end comes in first."""
    if isinstance(axis, tuple) and isinstance(shift, builtins.int):
        shift = (shift,) * len(axis)
    return _weft.roll(x, shift, axis)


def tile(x: Tensor, repetitions: tuple[builtins.int, ...], /) -> Tensor:
    """The tensor repeated along each axis."""
    return _weft.tile(x, repetitions)


# ---- indices, order, search ------------------------------------------------------------------------------------------


def take(x: Tensor, indices: Tensor, /, *, axis: builtins.int | None = None) -> Tensor:
    """Elements, or slices along an axis, by index; negative ones count from the end."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): argument 'axis' is needed for {x.ndim} axes")
        axis = 0
    return _weft.index_select(x, axis, _weft.where(indices < 0, indices + x.shape[axis], indices))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: builtins.int = -1) -> Tensor:
    """One element of each row along an axis, by index."""
    return _weft.take_along_dim(x, indices, axis)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Where elements are not 0: the indices by axis."""
    if x.ndim == 0:
        raise ValueError("nonzero(): a 0-d tensor has no indices")
    return tuple(_weft.nonzero(x, as_tuple=True))


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """How many elements are not 0."""
    return _weft.sum(x != 0, axis, keepdims)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None) -> Tensor:
    """Where the elements of x2 belong in the sorted x1."""
    return _weft.searchsorted(x1, x2, side=side, sorter=sorter)


def sort(x: Tensor, /, *, axis: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """The values in order along an axis."""
    return _weft.sort(x, axis, descending, stable)[0]


def argsort(x: Tensor, /, *, axis: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """Where the elements of sort() are."""
    return _weft.argsort(x, axis, descending, stable)


def argmax(x: Tensor, /, *, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Where the largest element is, the first of equal ones."""
    return _weft.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """Where the smallest element is, the first of equal ones."""
    return _weft.argmin(x, axis, keepdims)


# ---- reductions ------------------------------------------------------------------------------------------------------


def _sum_type(x: Tensor, dtype: DType | None) -> DType | None:
    unsigned = (uint8, uint16, uint32, uint64)
    return uint64 if dtype is None and x.dtype in unsigned else dtype


def sum(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: builtins.bool = False) -> Tensor:
    """The sum over axes; of integers in int64 or uint64."""
    return _weft.sum(x, axis, keepdims, dtype=_sum_type(x, dtype)) if axis != () else _nothing_reduced(x, dtype)


def _nothing_reduced(x: Tensor, dtype: DType | None) -> Tensor:
    wide = _sum_type(x, dtype)
    return x.to(wide if wide is not None else x.dtype if x.is_floating_point() else int64)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: builtins.bool = False) -> Tensor:
    """The product over axes; of integers in int64 or uint64."""
    return _weft.prod(x, axis, keepdims, dtype=_sum_type(x, dtype)) if axis != () else _nothing_reduced(x, dtype)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The mean over axes."""
    return _weft.mean(x, axis, keepdims) if axis != () else x


def max(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The largest element over axes."""
    return _weft.amax(x, axis, keepdims) if axis != () else x


def min(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The smallest element over axes."""
    return _weft.amin(x, axis, keepdims) if axis != () else x


def var(x: Tensor, /, *, axis: Axis = None, correction: builtins.float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    """The variance over axes, with n - correction in the denominator."""
    return _weft.var(x, axis, None, keepdims, correction=correction)


def std(x: Tensor, /, *, axis: Axis = None, correction: builtins.float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    """The root of the variance."""
    return _weft.std(x, axis, None, keepdims, correction=correction)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Whether no element is 0."""
    return _weft.all(x, axis, keepdims) if axis != () else x.bool()


def any(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Whether an element is not 0."""
    return _weft.any(x, axis, keepdims) if axis != () else x.bool()


def _running(name: str, x: Tensor, axis: builtins.int | None, dtype: DType | None, start: Number | None) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}(): argument 'axis' is needed for {x.ndim} axes")
        axis = 0
    run = _weft.cumsum if name == "cumulative_sum" else _weft.cumprod
    result = run(x, axis, dtype=_sum_type(x, dtype))
    if start is None:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return _weft.cat([result.new_full(shape, start), result], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: builtins.int | None = None, dtype: DType | None = None, include_initial: builtins.bool = False
) -> Tensor:
    """Running sums along an axis; with include_initial the first is 0."""
    return _running("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Tensor, /, *, axis: builtins.int | None = None, dtype: DType | None = None, include_initial: builtins.bool = False
) -> Tensor:
    """Running products along an axis; with include_initial the first is 1."""
    return _running("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def diff(
    x: Tensor, /, *, axis: builtins.int = -1, n: builtins.int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    parts = [part for part in (prepend, x, append) if part is not None]
    result = _weft.cat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        size = builtins.max(result.shape[axis] - 1, 0)
        later, earlier = result.narrow(axis, result.shape[axis] - size, size), result.narrow(axis, 0, size)
        result = later - earlier
    return result


# ---- products --------------------------------------------------------------------------------------------------------


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: builtins.int | tuple[Sequence[builtins.int], Sequence[builtins.int]] = 2) -> Tensor:
    """The sum of products over these axes."""
    return _weft.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: builtins.int = -1) -> Tensor:
    """The products of vectors along an axis."""
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot(): the sizes {x1.shape[axis]} and {x2.shape[axis]} along axis {axis} must be equal")
    return _weft.vecdot(x1, x2, dim=axis)
