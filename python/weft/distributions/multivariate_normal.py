"""The multivariate normal distribution."""

from __future__ import annotations

import math

import weft

from . import constraints
from .distribution import Distribution
from .utils import lazy_property, randn_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["MultivariateNormal"]


def _transposed(matrix: Tensor) -> Tensor:
    return matrix.transpose(-2, -1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of a matrix, without that inverse: of the matrix read backwards the factor is upper."""
    flipped = weft.linalg.cholesky(weft.flip(precision, (-2, -1)))
    upper = _transposed(weft.flip(flipped, (-2, -1)))
    return weft.linalg.solve_triangular(upper, weft.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device), upper=False)


def squared_distance(scale_tril: Tensor, difference: Tensor) -> Tensor:
    """|L⁻¹ d|² for each d."""
    shape = weft.broadcast_shapes(scale_tril.shape[:-1], difference.shape)
    matrices = scale_tril.expand(*shape, shape[-1])
    solved = weft.linalg.solve_triangular(matrices, difference.expand(shape).unsqueeze(-1), upper=False)
    return solved.squeeze(-1).square().sum(-1)


class MultivariateNormal(Distribution):
    """MultivariateNormal(loc, covariance_matrix=... | precision_matrix=... | scale_tril=...): normal vectors.

    `scale_tril` is the lower Cholesky factor of the covariance matrix; the other two are factored first.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(loc, weft.Tensor) or loc.dim() < 1:
            raise ValueError("MultivariateNormal(): argument 'loc' must be a Tensor with at least one dimension")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError("MultivariateNormal(): give exactly one of 'covariance_matrix', 'precision_matrix' and 'scale_tril'")
        ((name, matrix),) = given.items()
        size = loc.shape[-1]
        if not isinstance(matrix, weft.Tensor) or matrix.dim() < 2 or tuple(matrix.shape[-2:]) != (size, size):
            raise ValueError(f"MultivariateNormal(): argument '{name}' must be a Tensor of {size} by {size} matrices, like 'loc'")
        batch_shape = weft.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(*batch_shape, size)
        self.__dict__[name] = matrix.expand(*batch_shape, size, size)
        super().__init__(batch_shape, (size,), validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = weft.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, _instance, ("loc",), event_dims=1)
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(*batch_shape, *self._event_shape, *self._event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        tril = self._unbroadcasted_scale_tril
        return (tril @ _transposed(tril)).expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        tril = self._unbroadcasted_scale_tril
        identity = weft.eye(tril.shape[-1], dtype=tril.dtype, device=tril.device).expand(tril.shape)
        inverse = weft.linalg.solve_triangular(tril, identity, upper=False)
        return (_transposed(inverse) @ inverse).expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.square().sum(-1)
        return squares.expand(*self._batch_shape, *self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = randn_at(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = self._checked(value) - self.loc
        distance = squared_distance(self._unbroadcasted_scale_tril, difference)
        return -0.5 * (self._event_shape.numel() * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        value = 0.5 * self._event_shape.numel() * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return value.expand(self._batch_shape)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
