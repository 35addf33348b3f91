"""The linalg extension of the array API standard, over weft.linalg."""

from __future__ import annotations

import weft

from .._tensor import Tensor
from . import matmul, matrix_transpose, tensordot, vecdot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from .. import _weft

_here: Any = weft  # complete when these functions are called
_SAME = frozenset("det eigh eigvalsh inv matrix_power slogdet solve svd svdvals".split())

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return getattr(_here.linalg, name)
    raise AttributeError(f"module 'weft.array_api.linalg' has no attribute '{name}'")


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """L with L Lᵀ = x, or with `upper` U with Uᵀ U = x."""
    result: Tensor = _here.linalg.cholesky(x, upper=upper)
    return result


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements along an axis."""
    result: Tensor = _here.linalg.cross(x1, x2, dim=axis)
    return result


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    result: Tensor = _here.linalg.diagonal(x, offset=offset)
    return result


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Tensor:
    """A norm of matrices: 'fro', 'nuc', 1, 2, inf and their negatives."""
    result: Tensor = _here.linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)
    return result


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values exceed rtol times the largest."""
    result: Tensor = _here.linalg.matrix_rank(x, rtol=rtol)
    return result


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of two vectors."""
    return weft.outer(x1, x2)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse; singular values up to rtol times the largest count as 0."""
    result: Tensor = _here.linalg.pinv(x, rtol=rtol)
    return result


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """(Q, R) with Q orthogonal and R upper triangular."""
    return _here.linalg.qr(x, mode=mode)


def trace(x: Tensor, /, *, offset: int = 0, dtype: _weft.dtype | None = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    from . import sum

    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: int | float = 2) -> Tensor:
    """A norm of vectors along axes, or of all elements."""
    result: Tensor = _here.linalg.vector_norm(x, ord, axis, keepdims)
    return result
