"""Ready-made parametrizations: weights split into size and direction, of spectral norm 1, or orthogonal."""

from __future__ import annotations

from ... import _weft, linalg
from ..._modes import no_grad
from ..._tensor import Tensor
from .. import functional as F
from ..conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from .parametrize import register_parametrization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except(v: Any, dim: int) -> Any:
    """The norm over all axes but one, with axes of size 1 for the others; over all axes for -1."""
    if dim == -1:
        return v.norm()
    kept = dim % v.ndim
    others = [axis for axis in range(v.ndim) if axis != kept]
    return linalg.vector_norm(v, 2, others, keepdim=True) if others else v.abs()


def matrix_of(weight: Any, dim: int) -> Any:
    """The weight as a matrix, with the axis `dim` first and all others joined."""
    return weight.movedim(dim, 0).flatten(1)


def power_steps(matrix: Any, u: Any, v: Any, count: int, eps: float) -> None:
    """Moves u and v, in place, towards the singular vectors of the largest singular value."""
    with no_grad():
        matrix = matrix.detach()
        for _ in range(count):
            u.copy_(F.normalize(matrix @ v, dim=0, eps=eps))
            v.copy_(F.normalize(matrix.mT @ u, dim=0, eps=eps))


def outputs_axis(module: Any) -> int:
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def checked_weight(call: str, module: Any, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{call}(): {type(module).__name__} has no parameter or buffer '{name}'")
    return weight


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Any) -> Any:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """A weight as g * v / |v|: its size and its direction are trained apart. `dim` is the axis of outputs; None: one size for all."""
    checked_weight("weight_norm", module, name)
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"spectral_norm(): the weight has {weight.ndim} axes, and none is {dim}")
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm(): n_power_iterations must be 1 or more, not {n_power_iterations}")
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = matrix_of(weight.detach(), self.dim)
            for buffer, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                start = _weft.randn(size, dtype=weight.dtype, device=weight.device)
                self.register_buffer(buffer, F.normalize(start, dim=0, eps=eps).clone())
            power_steps(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = matrix_of(weight, self.dim)
        if self.training:
            power_steps(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()  # the buffers move before the gradient is asked for
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """A weight divided by its largest singular value, which steps of the power iteration follow during training."""
    weight = checked_weight("spectral_norm", module, name)
    axis = outputs_axis(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, axis, eps))


# ---- orthogonal ------------------------------------------------------------------------------------------------------


def _reflections(a: Any) -> Any:
    """The first k columns of the product of reflections I - tau v vᵀ, whose vectors are a unit lower triangle and the columns of `a`."""
    n, k = a.shape[-2:]
    below = a.tril(-1)
    tau = 2.0 / (1.0 + (below * below).sum(-2))
    unit = _weft.eye(n, k, dtype=a.dtype, device=a.device)
    vectors = below + unit
    q = unit.expand(a.shape)
    for i in reversed(range(k)):
        v = vectors[..., i : i + 1]
        q = q - tau[..., i, None, None] * (v @ (v.mT @ q))
    return q


def _reflection_vectors(q: Any) -> Any:
    """The vectors of the reflections that _reflections() makes `q` of, below the diagonal; on it, the signs of the columns."""
    n, k = q.shape[-2:]
    rows, columns, r = _weft.arange(n, device=q.device).unsqueeze(-1), [], q
    for i in range(k):
        x = _weft.where(rows >= i, r[..., i : i + 1], 0)
        first, size = r[..., i : i + 1, i : i + 1], linalg.vector_norm(x, 2, -2, keepdim=True)
        below = linalg.vector_norm(_weft.where(rows > i, x, 0), 2, -2, keepdim=True) > 0
        end = _weft.where(first > 0, -size, size)  # the sign that does not cancel
        v = _weft.where(rows == i, 1.0, _weft.where(rows > i, x / _weft.where(below, first - end, 1.0), 0.0)).to(q.dtype)
        tau = 2.0 / (v * v).sum(-2, keepdim=True)
        # Without anything below, no reflection would be needed; the one that there is flips the sign.
        sign = _weft.where(below, end.sign(), -first.sign())
        columns.append(_weft.where(rows == i, sign, _weft.where(rows > i, v, 0.0)).to(q.dtype))
        r = r - tau * (v @ (v.mT @ r))
    return _weft.cat(columns, -1).clone()


def _orthogonal_columns(a: Any) -> Any:
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


class _Orthogonal(Module):
    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = tuple(weight.shape), orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            q = _reflections(x) * x.diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)
        else:
            x = F.pad(x.tril(), [0, n - k])
            a = x - x.mT
            unit = _weft.eye(n, dtype=a.dtype, device=a.device)
            exponential = self.orthogonal_map == "matrix_exp"
            q = linalg.matrix_exp(a) if exponential else linalg.solve(unit - a * 0.5, unit + a * 0.5)
            q = q[..., :k]
        if self.use_trivialization:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Any) -> Any:
        if tuple(q.shape) != self.shape:
            raise ValueError(f"orthogonal(): the value must have the shape {self.shape}, not {tuple(q.shape)}")
        if not self.use_trivialization and self.orthogonal_map != "householder":
            raise NotImplementedError(
                f"orthogonal(): with '{self.orthogonal_map}' a weight can be set only if use_trivialization is True"
            )
        with no_grad():
            tall = q.detach().mT if q.shape[-2] < q.shape[-1] else q.detach()
            if not self.use_trivialization:
                vectors = _reflection_vectors(tall)
                return vectors.mT.clone() if q.shape[-2] < q.shape[-1] else vectors
            n, k = tall.shape[-2:]
            more = _weft.randn(*tall.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = _orthogonal_columns(_weft.cat([tall, more], -1)).clone()
            return -_weft.eye(*self.shape[-2:], dtype=q.dtype, device=q.device).expand(self.shape).clone()


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """A weight whose columns (rows, where there are fewer) are orthogonal and of length 1, by 'matrix_exp', 'cayley' or 'householder'."""
    weight = checked_weight("orthogonal", module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal(): '{name}' must be a matrix or several, not of {weight.ndim} axes")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f"orthogonal(): orthogonal_map must be 'matrix_exp', 'cayley' or 'householder', not {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
