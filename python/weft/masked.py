"""Reductions and normalisations of the elements where a mask holds (torch.masked). A mask broadcasts to the input; without one all elements count.

>>> weft.masked.mean(weft.tensor([1.0, 2.0, 9.0]), mask=weft.tensor([True, True, False]))
tensor(1.5000)
"""

from __future__ import annotations

from . import _weft
from ._functions import iinfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Tensor = _weft.Tensor
    _Dims: TypeAlias = int | Sequence[int] | None
    _DType: TypeAlias = _weft.dtype | None

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm", "normalize",
    "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _held(name: str, input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the input's shape."""
    if mask.dtype is not _weft.bool:
        raise TypeError(f"masked.{name}(): argument 'mask' must hold bools, not {mask.dtype!r}; did you mean mask != 0?")
    if mask.ndim > input.ndim or any(m not in (1, n) for m, n in zip(mask.shape[::-1], input.shape[::-1])):
        raise _weft.ShapeError(f"masked.{name}(): a mask of the shape {list(mask.shape)} does not broadcast to the input's {list(input.shape)}")
    return mask.expand(input.shape)


def _filled(name: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input, with a number where the mask does not hold."""
    return input if mask is None else _weft.where(_held(name, input, mask), input, value)


def _typed(input: Tensor, dtype: _DType) -> Tensor:
    return input if dtype is None or dtype is input.dtype else input.to(dtype)


def _lowest(dtype: _weft.dtype) -> float:
    return -float("inf") if dtype.is_floating_point else 0 if dtype is _weft.bool else iinfo(dtype).min


def _highest(dtype: _weft.dtype) -> float:
    return float("inf") if dtype.is_floating_point else 1 if dtype is _weft.bool else iinfo(dtype).max


def _axes(input: Tensor, dim: _Dims) -> tuple[int, ...]:
    """The axes of a reduction; none in particular are all of them."""
    return tuple(range(input.ndim)) if dim is None or dim == () else (dim,) if isinstance(dim, int) else tuple(dim)


def sum(input: Tensor, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The sum of the elements where the mask holds; 0 where it never does."""
    return _weft.sum(_filled("sum", _typed(input, dtype), mask, 0), _axes(input, dim), bool(keepdim), dtype=dtype)


def prod(input: Tensor, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The product of the elements where the mask holds; 1 where it never does."""
    return _weft.prod(_filled("prod", _typed(input, dtype), mask, 1), _axes(input, dim), bool(keepdim), dtype=dtype)


def cumsum(input: Tensor, dim: int, *, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """Running sums of the elements where the mask holds."""
    return _weft.cumsum(_filled("cumsum", _typed(input, dtype), mask, 0), dim, dtype=dtype)


def cumprod(input: Tensor, dim: int, *, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """Running products of the elements where the mask holds."""
    return _weft.cumprod(_filled("cumprod", _typed(input, dtype), mask, 1), dim, dtype=dtype)


def amax(input: Tensor, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The largest element where the mask holds; the lowest number of the type where it never does."""
    return _typed(_weft.amax(_filled("amax", input, mask, _lowest(input.dtype)), _axes(input, dim), bool(keepdim)), dtype)


def amin(input: Tensor, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The smallest element where the mask holds; the highest number of the type where it never does."""
    return _typed(_weft.amin(_filled("amin", input, mask, _highest(input.dtype)), _axes(input, dim), bool(keepdim)), dtype)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """Where the largest element is of those where the mask holds, as numbers of the input's type unless another is given."""
    found = _weft.argmax(_filled("argmax", input, mask, _lowest(input.dtype)), dim, bool(keepdim))
    return found.to(input.dtype if dtype is None else dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """Where the smallest element is of those where the mask holds, as numbers of the input's type unless another is given."""
    found = _weft.argmin(_filled("argmin", input, mask, _highest(input.dtype)), dim, bool(keepdim))
    return found.to(input.dtype if dtype is None else dtype)


def _count(name: str, input: Tensor, dim: _Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    held = _weft.ones_like(input, dtype=_weft.bool) if mask is None else _held(name, input, mask)
    return _weft.sum(held, _axes(input, dim), keepdim)


def mean(input: Tensor, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The mean of the elements where the mask holds; NaN where it never does."""
    wanted = input.dtype if dtype is None else dtype
    if not wanted.is_floating_point:
        raise TypeError(f"masked.mean(): the mean of {wanted!r} is no such number; give dtype=weft.float32, say")
    count = _count("mean", input, dim, bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask) / count


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The middle element of those where the mask holds, the lower one of two; NaN where it never does."""
    if input.is_floating_point():
        middle: Tensor = _weft.nanmedian(_filled("median", input, mask, float("nan")), dim, keepdim).values
        return _typed(middle, dtype)
    found: Tensor = _weft.nanmedian(_filled("median", input.float(), mask, float("nan")), dim, keepdim).values
    if bool(_weft.isnan(found).any()):
        raise ValueError("masked.median(): the mask holds nowhere along an axis, and integers have no NaN for that")
    return found.to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor, ord: float | None = 2.0, dim: _Dims = None, *, keepdim: bool | None = False, dtype: _DType = None, mask: Tensor | None = None
) -> Tensor:
    """(sum of |x|^ord)^(1 / ord) of the elements where the mask holds; 0 where it never does, and infinity for an ord of -infinity."""
    order = 2.0 if ord is None else ord
    missing = float("inf") if order == -float("inf") else 0
    values = _filled("norm", input, mask, missing)
    return _weft._linalg.vector_norm(values, order, _axes(input, dim), bool(keepdim), dtype=dtype)


def _spread(
    name: str, input: Tensor, dim: _Dims, unbiased: bool | None, correction: float | None, keepdim: bool, dtype: _DType, mask: Tensor | None
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{name}(): only one of 'unbiased' and 'correction' may be given")
    lost = (0.0 if unbiased is False else 1.0) if correction is None else float(correction)
    wanted = dtype if dtype is not None else input.dtype if input.is_floating_point() else _weft.float32
    compute = wanted if wanted.is_floating_point else _weft.float32
    values = input.to(compute)
    centre = mean(values, dim, keepdim=True, mask=mask)
    total = sum((values - centre).square(), dim, keepdim=keepdim, mask=mask)
    count = _count(name, input, dim, keepdim, mask).to(compute)
    result = total / _weft.clamp(count - lost, min=0)
    return (_weft.sqrt(result) if name == "std" else result).to(wanted)


def var(
    input: Tensor, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
    dtype: _DType = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the elements where the mask holds, with n - correction (1 unless given) in the denominator."""
    return _spread("var", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(
    input: Tensor, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
    dtype: _DType = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The root of the variance."""
    return _spread("std", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def softmax(input: Tensor, dim: int, *, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """softmax() of the elements where the mask holds; 0 elsewhere, and NaN where it never holds."""
    return _weft.softmax(_filled("softmax", _typed(input, dtype), mask, -float("inf")), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """log_softmax() of the elements where the mask holds; -infinity elsewhere, and NaN where it never holds."""
    return _weft.log_softmax(_filled("log_softmax", _typed(input, dtype), mask, -float("inf")), dim)


def softmin(input: Tensor, dim: int, *, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """softmax() of the negated elements where the mask holds; 0 elsewhere, and NaN where it never holds."""
    return _weft.softmax(_filled("softmin", -_typed(input, dtype), mask, -float("inf")), dim)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """The elements where the mask holds over their norm, or over `eps` if that is larger; 0 elsewhere."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("normalize", input, mask, 0) / _weft.clamp(length, min=eps)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: _DType = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """log(exp(input) + exp(other)), where what a mask leaves out adds nothing."""
    least = -float("inf")
    found = _weft.logaddexp(_filled("logaddexp", input, input_mask, least), _filled("logaddexp", other, other_mask, least))
    return found.to(input.dtype if dtype is None else dtype)


def logsumexp(input: Tensor, dim: _Dims = None, *, keepdim: bool = False, dtype: _DType = None, mask: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) of the elements where the mask holds; -infinity where it never does."""
    return _weft.logsumexp(_filled("logsumexp", _typed(input, dtype), mask, -float("inf")), _axes(input, dim), keepdim)
