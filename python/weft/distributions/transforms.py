"""Transforms: functions with an inverse and a known determinant of the Jacobian, for TransformedDistribution."""

from __future__ import annotations

import math

import weft

from . import constraints
from .distribution import event_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Size, Tensor

    from .distribution import Distribution

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """y = transform(x) and x = transform.inv(y), with log |dy/dx| as log_abs_det_jacobian(x, y).

    With ``cache_size=1`` the last pair is kept: the inverse of what was just computed is exact and costs nothing.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}(): argument 'cache_size' must be 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions depend on each other."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("event_dim: this transform has different ones for its domain and its codomain; ask those")
        dims: int = self.domain.event_dim
        return dims

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 for a transform that grows everywhere, -1 for one that falls."""
        raise NotImplementedError(f"sign: {type(self).__name__} neither only grows nor only falls")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with a cache."""
        if self._cache_size == cache_size:
            return self
        import copy

        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached[0]:
            self._cached = (x, self._call(x))
        y: Tensor = self._cached[1]
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached[1]:
            self._cached = (self._inverse(y), y)
        x: Tensor = self._cached[0]
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say how to compute y")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"inv: {type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx|, summed over the dimensions of one event."""
        raise NotImplementedError(f"log_abs_det_jacobian(): {type(self).__name__} has no formula for it")

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of y for the shape of x."""
        return weft.Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of x for the shape of y."""
        return weft.Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform
        self.bijective = transform.bijective
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def inv(self) -> Any:
        return self._inv

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{self._inv!r}.inv"


class ComposeTransform(Transform):
    """ComposeTransform(parts): one transform after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)
        super().__init__(cache_size)
        self.bijective = all(part.bijective for part in self.parts)
        self.domain, self.codomain = constraints.real, constraints.real
        if self.parts:
            needed = self.parts[-1].codomain.event_dim
            for part in reversed(self.parts):
                needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
            self.domain = _reinterpreted(self.parts[0].domain, needed)
            made = self.parts[0].domain.event_dim
            for part in self.parts:
                made = max(made + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
            self.codomain = _reinterpreted(self.parts[-1].codomain, made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def inv(self) -> Any:
        return ComposeTransform([part.inv for part in reversed(self.parts)]) if self._cache_size == 0 else _InverseTransform(self)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return weft.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event, total = self.domain.event_dim, None
        for part, before, after in zip(self.parts, values[:-1], values[1:]):
            term = event_sum(part.log_abs_det_jacobian(before, after), event - part.domain.event_dim)
            total = term if total is None else total + term
            event += part.codomain.event_dim - part.domain.event_dim
        assert total is not None
        return total

    def forward_shape(self, shape: Sequence[int]) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return weft.Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return weft.Size(shape)

    def __repr__(self) -> str:
        return f"ComposeTransform([{', '.join(map(repr, self.parts))}])"


def _reinterpreted(constraint: Any, event_dim: int) -> Any:
    return constraints.independent(constraint, event_dim - constraint.event_dim) if event_dim > constraint.event_dim else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """IndependentTransform(base_transform, reinterpreted_batch_ndims): more of the last dimensions as parts of one event."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        y: Tensor = self.base_transform(x)
        return y

    def _inverse(self, y: Tensor) -> Tensor:
        x: Tensor = self.base_transform.inv(y)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return event_sum(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return weft.Size(self.base_transform.forward_shape(shape))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return weft.Size(self.base_transform.inverse_shape(shape))

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """ReshapeTransform(in_shape, out_shape): the last dimensions in another shape."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = weft.Size(in_shape), weft.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"ReshapeTransform(): {list(in_shape)} and {list(out_shape)} have different numbers of elements")
        super().__init__(cache_size)
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _batch(self, shape: Sequence[int], end: Size) -> Size:
        size, count = weft.Size(shape), len(shape) - len(end)
        if count < 0 or size[count:] != end:
            raise ValueError(f"ReshapeTransform: the shape {list(shape)} must end with {list(end)}")
        kept: Size = size[:count]
        return kept

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._batch(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._batch(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(self._batch(x.shape, self.in_shape))

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._batch(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._batch(shape, self.out_shape) + self.in_shape


class _Elementwise(Transform):
    """A transform of single elements without parameters: equal to every other of its kind."""

    bijective = True
    domain: Any = constraints.real
    _sign = 1

    @property
    def sign(self) -> Any:
        return self._sign

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_Elementwise):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Elementwise):
    """y = 1 / (1 + exp(-x)), within the numbers between 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        limits = weft.finfo(x.dtype)
        return x.sigmoid().clamp(limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = weft.finfo(y.dtype)
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - weft.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -weft.nn.functional.softplus(-x) - weft.nn.functional.softplus(x)


class TanhTransform(_Elementwise):
    """y = tanh(x). The inverse of values that rounding made ±1 is infinite: a cache avoids it."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - weft.nn.functional.softplus(-2.0 * x))  # log(1 - tanh²), also for large x


class SoftplusTransform(_Elementwise):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return weft.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -weft.nn.functional.softplus(-x)


class AbsTransform(_Elementwise):
    """y = |x|; the inverse takes the positive one."""

    bijective = False
    codomain = constraints.positive

    @property
    def sign(self) -> Any:
        raise NotImplementedError("sign: AbsTransform neither only grows nor only falls")

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers."""

    bijective = True
    domain = constraints.positive
    codomain = constraints.positive

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, weft.Tensor) else weft.tensor(exponent, device="cpu")  # goes along with any device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return weft.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return weft.broadcast_shapes(shape, self.exponent.shape)


class AffineTransform(Transform):
    """y = loc + scale * x; `event_dim` is 0 for numbers, 1 for vectors and so on."""

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim
        self.domain = self.codomain = constraints.real if event_dim == 0 else constraints.independent(constraints.real, event_dim)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool(weft.as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, weft.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, weft.Tensor):
            value = self.scale.abs().log().expand(weft.broadcast_shapes(x.shape, self.scale.shape))
        else:
            value = weft.full_like(x, math.log(abs(self.scale)) if self.scale else -math.inf)
        return event_sum(value, self._event_dim)

    def _joined(self, shape: Sequence[int]) -> Size:
        return weft.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._joined(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._joined(shape)


class SoftmaxTransform(_Elementwise):
    """y = softmax(x) along the last dimension; the inverse gives logarithms. Not bijective: a constant in x does not count."""

    bijective = False
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return weft.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(_Elementwise):
    """n numbers to n + 1 probabilities: each number breaks off a share of what is left of a stick."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        left = x.size(-1) - weft.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        z = weft.sigmoid(x - left.log()).clamp(weft.finfo(x.dtype).tiny, 1 - weft.finfo(x.dtype).eps)
        rest = (1 - z).cumprod(-1)
        one = x.new_ones(*x.shape[:-1], 1)
        return weft.cat([z, one], -1) * weft.cat([one, rest], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        cropped = y[..., :-1]
        left = cropped.size(-1) - weft.arange(cropped.shape[-1], dtype=y.dtype, device=y.device)
        rest = (1 - cropped.cumsum(-1)).clamp(min=weft.finfo(y.dtype).tiny)
        return cropped.log() - rest.log() + left.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = x.size(-1) - weft.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        shifted = x - left.log()
        return (-shifted + weft.nn.functional.logsigmoid(shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return weft.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return weft.Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Elementwise):
    """Any matrix to a lower triangular one with a positive diagonal, whose logarithm was given."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + weft.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + weft.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(_Elementwise):
    """Any matrix to a positive definite one: L Lᵀ of the lower triangular one."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return weft.matmul(lower, lower.transpose(-2, -1))

    def _inverse(self, y: Tensor) -> Tensor:
        x: Tensor = LowerCholeskyTransform().inv(weft.linalg.cholesky(y))
        return x


class StackTransform(Transform):
    """StackTransform(tseq, dim): a transform of its own for each slice along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim
        self.bijective = all(t.bijective for t in self.transforms)
        self.domain = constraints.stack([t.domain for t in self.transforms], dim)
        self.codomain = constraints.stack([t.codomain for t in self.transforms], dim)

    def _slices(self, z: Tensor) -> list[Tensor]:
        if not -z.dim() <= self.dim < z.dim() or z.size(self.dim) != len(self.transforms):
            raise ValueError(f"StackTransform: dimension {self.dim} of {list(z.shape)} must have {len(self.transforms)} slices")
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _call(self, x: Tensor) -> Tensor:
        return weft.stack([t(part) for t, part in zip(self.transforms, self._slices(x))], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return weft.stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x), self._slices(y))
        return weft.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x)."""

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution
        self.domain = distribution.support

    @property
    def sign(self) -> Any:
        return 1

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
