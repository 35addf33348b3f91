"""Linear algebra on the last two axes; all axes before them are batches. float32 is computed in float64 and rounded once.

A matrix that cannot be factored raises LinAlgError when the graph runs. There are no complex numbers, and so no eig and eigvals.
"""

from __future__ import annotations

from collections import namedtuple as _namedtuple

from . import _weft
from ._out import takes_out as _takes_out, takes_tensor as _takes_tensor
from ._weft import LinAlgError as LinAlgError
from ._weft._linalg import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._tensor import Tensor

_linalg = _weft._linalg
_Slogdet = _namedtuple("_Slogdet", ["sign", "logabsdet"])
_InvEx = _namedtuple("_InvEx", ["inverse", "info"])
_SolveEx = _namedtuple("_SolveEx", ["result", "info"])
_CholeskyEx = _namedtuple("_CholeskyEx", ["L", "info"])
_LUFactor = _namedtuple("_LUFactor", ["LU", "pivots"])
_LUFactorEx = _namedtuple("_LUFactorEx", ["LU", "pivots", "info"])
_LU = _namedtuple("_LU", ["P", "L", "U"])
_QR = _namedtuple("_QR", ["Q", "R"])
_SVD = _namedtuple("_SVD", ["U", "S", "Vh"])
_OldSVD = _namedtuple("_OldSVD", ["U", "S", "V"])
_Eigh = _namedtuple("_Eigh", ["eigenvalues", "eigenvectors"])
_Lstsq = _namedtuple("_Lstsq", ["solution", "residuals", "rank", "singular_values"])


def _check(name: str, info: Tensor, problem: str) -> None:
    """Runs the graph and raises if a matrix of the batch has failed."""
    for i, place in enumerate(info.flatten().tolist()):
        if place:
            which = f"matrix {i} of the batch" if info.ndim else "the matrix"
            raise LinAlgError(f"linalg.{name}(): {which} {problem.format(place)}")


_SINGULAR = "is singular: U's diagonal element {} is 0"


@_takes_out
def slogdet(A: Tensor) -> _Slogdet:
    """The sign of the determinant, and the logarithm of its magnitude."""
    return _Slogdet(*_linalg._slogdet(A))


@_takes_out
def inv_ex(A: Tensor, *, check_errors: bool = False) -> _InvEx:
    """The inverse, and `info`: 0, or the place (from 1) of the first zero on U's diagonal."""
    result = _InvEx(*_linalg._inv_ex(A))
    if check_errors:
        _check("inv_ex", result.info, _SINGULAR)
    return result


@_takes_out
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> _SolveEx:
    """X with A X = B, and `info` as in inv_ex."""
    result = _SolveEx(*_linalg._solve_ex(A, B, left))
    if check_errors:
        _check("solve_ex", result.info, _SINGULAR)
    return result


@_takes_out
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> _CholeskyEx:
    """The Cholesky factor, and `info`: 0, or the order of the first leading minor that is not positive."""
    result = _CholeskyEx(*_linalg._cholesky_ex(A, upper))
    if check_errors:
        _check("cholesky_ex", result.info, "is not positive definite: the leading minor of order {} is not positive")
    return result


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"linalg.{name}(): there is no LU without pivoting")


@_takes_out
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> _LUFactorEx:
    """LU factors in one matrix, the pivots (from 1), and `info` as in inv_ex."""
    _check_pivot("lu_factor_ex", pivot)
    result = _LUFactorEx(*_linalg._lu_factor_ex(A))
    if check_errors:
        _check("lu_factor_ex", result.info, _SINGULAR)
    return result


@_takes_out
def lu_factor(A: Tensor, *, pivot: bool = True) -> _LUFactor:
    """LU factors in one matrix, and the pivots (from 1): row i was exchanged with row pivots[i] - 1."""
    _check_pivot("lu_factor", pivot)
    return _LUFactor(*_linalg._lu_factor(A))


@_takes_out
def lu(A: Tensor, *, pivot: bool = True) -> _LU:
    """A = P L U."""
    _check_pivot("lu", pivot)
    return _LU(*_linalg._lu(A))


@_takes_out
def qr(A: Tensor, mode: str = "reduced") -> _QR:
    """A = Q R; mode 'reduced', 'complete' or 'r' (no Q)."""
    return _QR(*_linalg._qr(A, mode))


@_takes_out
def svd(A: Tensor, full_matrices: bool = True) -> _SVD:
    """A = U diag(S) Vh, S descending. The largest element of each column of U is positive."""
    return _SVD(*_linalg._svd(A, full_matrices))


@_takes_out
def eigh(A: Tensor, UPLO: str = "L") -> _Eigh:
    """A = V diag(w) Vᵀ of a symmetric matrix, w ascending; only one triangle is read."""
    return _Eigh(*_linalg._eigh(A, UPLO))


@_takes_out
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> _Lstsq:
    """What minimises |A X - B|, the smallest one of several.

    As in PyTorch the driver decides what else is given: 'gelsy' (the default) the rank, 'gels' the residuals, 'gelsd' and 'gelss' all;
    residuals only where A has more rows than columns and (which runs the graph) full rank. All compute the same way.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"linalg.lstsq(): argument 'driver' must be 'gels', 'gelsy', 'gelsd' or 'gelss', not {driver!r}")
    solution, residuals, rank, values = _linalg._lstsq(A, B, rcond)
    nothing = A.new_zeros(0)
    if driver in (None, "gelsy"):
        return _Lstsq(solution, nothing, rank, nothing)
    if driver == "gels":
        return _Lstsq(solution, residuals, rank.new_zeros(0), nothing)
    if residuals.numel() and bool((rank < A.shape[-1]).any()):
        residuals = nothing
    return _Lstsq(solution, residuals, rank, values)


@_takes_out
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; the axes `dims` of A are moved to its end first."""
    return _linalg._tensorsolve(A, B, () if dims is None else dims)


def tensordot(x1: Tensor, x2: Tensor, *, axes: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Sums of products over pairs of axes."""
    return _weft.tensordot(x1, x2, axes)


@_takes_out
def _old_qr(input: Tensor, some: bool = True) -> _QR:
    """A = Q R; with `some`, Q has as many columns as R rows."""
    return qr(input, "reduced" if some else "complete")


@_takes_out
def _old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> _OldSVD:
    """A = U diag(S) Vᵀ: gives V, not its transpose."""
    if not compute_uv:
        m, n = input.shape[-2:]
        left, right = (input.new_zeros((*input.shape[:-2], size, size)) for size in (m, n))
        return _OldSVD(left, _linalg.svdvals(input), right)
    u, s, vh = svd(input, full_matrices=not some)
    return _OldSVD(u, s, vh.transpose(-2, -1))


@_takes_out
def _lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> _LU:
    """P, L and U from what lu_factor gives; what is not wanted is empty."""
    p, l, u = _linalg._lu_unpack(LU_data, LU_pivots)
    nothing = LU_data.new_zeros(0)
    return _LU(p if unpack_pivots else nothing, l if unpack_data else nothing, u if unpack_data else nothing)


@_takes_out
def _lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """LU factors in one matrix, and the pivots (from 1); with `get_infos` also `info` as in linalg.inv_ex."""
    _check_pivot("lu", pivot)
    result = _LUFactorEx(*_linalg._lu_factor_ex(A))
    return tuple(result) if get_infos else tuple(result)[:2]


_TriangularSolve = _namedtuple("_TriangularSolve", ["solution", "cloned_coefficient"])


@_takes_out
def _triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> _TriangularSolve:
    """(X with A X = input, or Aᵀ X = input, for a triangular A; a copy of A). linalg.solve_triangular() is the newer name."""
    matrix = A.transpose(-2, -1) if transpose else A
    batch = _weft._broadcast_shapes((tuple(A.shape[:-2]), tuple(input.shape[:-2])))
    copy = A.expand((*batch, *A.shape[-2:])).clone()
    return _TriangularSolve(_linalg.solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular), copy)


@_takes_tensor
def _svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> _OldSVD:
    """An approximation of the `q` largest singular values of A (less M) and their vectors, by random projections and `niter` iterations."""
    if A.ndim < 2:
        raise _weft.ShapeError(f"svd_lowrank(): a matrix is needed, not a tensor of the shape {list(A.shape)}")
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    matrix = A if M is None else A - M.broadcast_to(A.shape)
    rows, columns = matrix.shape[-2:]
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"svd_lowrank(): argument 'q' must be from 0 to {min(rows, columns)}, and is {q}")
    wide = rows < columns  # the shorter side is the one that is decomposed
    tall = matrix.transpose(-2, -1) if wide else matrix
    basis = qr(tall @ _weft.randn(*tall.shape[:-2], tall.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        basis = qr(tall @ qr(tall.transpose(-2, -1) @ basis).Q).Q
    u, s, vh = svd(basis.transpose(-2, -1) @ tall, full_matrices=False)
    left, right = basis @ u, vh.transpose(-2, -1)
    return _OldSVD(right, s, left) if wide else _OldSVD(left, s, right)


@_takes_tensor
def _pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> _OldSVD:
    """The principal components of the rows of A: svd_lowrank() of A, less the means of its columns if `center`."""
    if A.ndim < 2:
        raise _weft.ShapeError(f"pca_lowrank(): a matrix is needed, not a tensor of the shape {list(A.shape)}")
    q = min(6, *A.shape[-2:]) if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"pca_lowrank(): argument 'q' must be from 0 to {min(A.shape[-2:])}, and is {q}")
    return _svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@_takes_tensor
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0, 1, …, N - 1 of each element, as a last axis; as many as the last axis has elements unless N is given."""
    x = x if x.ndim else x.reshape(1)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise ValueError(f"linalg.vander(): argument 'N' must be 2 at least, and is {count}")
    powers = [_weft.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return _weft.stack(powers, -1)


for _name, _value in {
    "slogdet": slogdet, "qr": _old_qr, "svd": _old_svd, "lu": _lu, "triangular_solve": _triangular_solve,
}.items():  # fmt: skip
    setattr(_weft.Tensor, _name, _value)
