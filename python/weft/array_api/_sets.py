"""The different elements of a tensor, with their places and numbers. All of these run the graph."""

from __future__ import annotations

from collections import namedtuple

from .. import _weft
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class UniqueAll(NamedTuple):
        values: Tensor
        indices: Tensor
        inverse_indices: Tensor
        counts: Tensor

    class UniqueCounts(NamedTuple):
        values: Tensor
        counts: Tensor

    class UniqueInverse(NamedTuple):
        values: Tensor
        inverse_indices: Tensor

else:  # without the module typing, which takes long to import
    UniqueAll = namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])
    UniqueCounts = namedtuple("UniqueCounts", ["values", "counts"])
    UniqueInverse = namedtuple("UniqueInverse", ["values", "inverse_indices"])


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements in order, where each comes first, which one stands at each place of x, and how often. NaNs differ."""
    values, first, inverse, counts = _weft._unique(x)
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements in order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements in order, and which one stands at each place of x."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements in order."""
    return unique_all(x).values
