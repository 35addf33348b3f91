"""Histograms, derivatives at points and rules of element types: the arguments that Python alone takes apart."""

from __future__ import annotations

from collections import namedtuple

from . import _weft
from ._out import takes_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Tensor = _weft.Tensor

__all__ = ["can_cast", "gradient", "histogram", "histogramdd", "result_type"]

_Histogram = namedtuple("_Histogram", ["hist", "bin_edges"])


@takes_out
def histogram(
    input: Tensor, bins: int | Tensor, *, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> _Histogram:
    """How many elements (or how much weight) lie in each bin, and the edges of the bins. Without a range it runs the graph.

    >>> weft.histogram(weft.tensor([1.0, 2.0, 1.0]), 4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    return _Histogram(*_weft._histogram(input, bins, range, weight, density))


def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor], *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> _Histogram:  # fmt: skip
    """The histogram of points in several axes, the rows of the input, and a list of the edges along each axis."""
    each = [bins] * input.shape[-1] if isinstance(bins, int) and input.ndim else bins
    sums, *edges = _weft._histogramdd(input, each, range, weight, density)
    return _Histogram(sums, edges)


def gradient(
    input: Tensor, *, spacing: float | Tensor | Sequence[float] | Sequence[Tensor] | None = 1, dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> list[Tensor]:  # fmt: skip
    """The derivative of a function along axes, from its values at points: `spacing` apart, or at the coordinates that `spacing` has for each axis.

    >>> weft.gradient(weft.tensor([1.0, 4.0, 9.0, 16.0]))
    [tensor([3., 4., 6., 7.])]
    """
    spacing = 1 if spacing is None else spacing
    if isinstance(spacing, Tensor):
        spacing = [spacing] if spacing.ndim else [spacing.item()]
    listed = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing]
    coordinates = [each for each in listed if isinstance(each, Tensor)]
    if coordinates and len(coordinates) != len(listed):
        raise TypeError("gradient(): argument 'spacing' must have numbers or tensors, not both")
    return list(_weft._gradient(input, () if coordinates else listed, coordinates, dim, edge_order))


def _kind(type: _weft.dtype) -> int:
    return 2 if type.is_floating_point else 0 if type is _weft.bool else 1


def can_cast(from_: _weft.dtype, to: _weft.dtype) -> bool:
    """Whether values of a type may become values of another one by themselves: bools, then integers, then floats."""
    if not isinstance(from_, _weft.dtype) or not isinstance(to, _weft.dtype):
        raise TypeError(f"can_cast(): both arguments must be element types, such as weft.float32, not {from_!r} and {to!r}")
    return _kind(from_) <= _kind(to)


def result_type(tensor1: Tensor | float, tensor2: Tensor | float) -> _weft.dtype:
    """The type of what two tensors or numbers give together."""
    sides: list[Tensor | float] = []
    for name, side in (("tensor1", tensor1), ("tensor2", tensor2)):
        if not isinstance(side, (Tensor, int, float)):
            raise TypeError(f"result_type(): argument '{name}' must be a Tensor or a number, not {type(side).__name__}")
        sides.append(_weft.zeros((1,) * min(side.ndim, 1), dtype=side.dtype, device="cpu") if isinstance(side, Tensor) else side)
    if not any(isinstance(side, Tensor) for side in sides):
        return _weft.promote_types(*(_weft.tensor(side).dtype for side in sides))
    return _weft.where(_weft.tensor(True, device="cpu"), sides[0], sides[1]).dtype


setattr(Tensor, "histogram", histogram)  # noqa: B010
