"""Covariances, histograms, derivatives at points."""

import numpy as np

from .registry import Error, Sample, floats, integers, op

# ---- covariances -----------------------------------------------------------------------------------------------------


def covariances():
    for shape in ((2, 5), (3, 4), (1, 7), (5,), (4, 67), (3, 2)):
        for dtype in ("float32", "float64"):
            yield Sample(floats(*shape, dtype=dtype))
        yield Sample(floats(*shape), correction=0)
    x, counts, weights = floats(3, 6, dtype="float64"), integers(6, low=1, high=4), floats(6, low=0.1, high=1, dtype="float64")
    yield from (Sample(x, fweights=counts), Sample(x, aweights=weights), Sample(x, fweights=counts, aweights=weights, correction=0))
    yield Sample(x, fweights=counts, aweights=weights)
    yield Sample(integers(3, 6, high=9))


def np_cov(x, correction=1, fweights=None, aweights=None):
    fweights = None if fweights is None else fweights.astype("int64")
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


op(
    "cov", "weft Tensor", covariances, np_cov, result="float", promotes=False,
    gradients=[Sample(floats(2, 4, dtype="float64")), Sample(floats(2, 4, dtype="float64"), aweights=floats(4, low=0.2, high=1, dtype="float64"))],
    errors=[Error(RuntimeError, "variables", floats(2, 2, 2)), Error(RuntimeError, "each of the 3 observations", floats(2, 3), fweights=integers(2, high=3)),
            Error(RuntimeError, "integers", floats(2, 3), fweights=floats(3)), Error(RuntimeError, "bools", floats(2, 3, dtype="bool"))],
)  # fmt: skip
op(
    "corrcoef", "weft Tensor", lambda: [Sample(floats(*shape, dtype=dtype)) for shape in ((2, 5), (3, 4), (4, 67), (5, 3), (2, 9)) for dtype in ("float32", "float64")],
    np.corrcoef, result="float", gradients=[Sample(floats(3, 5, dtype="float64"))], errors=[Error(RuntimeError, "variables", floats(2, 2, 2))],
)  # fmt: skip


# ---- histograms ------------------------------------------------------------------------------------------------------


def histograms():
    for dtype in ("float32", "float64"):
        for bins in (1, 4, 7):
            yield Sample(floats(20, dtype=dtype), bins, range=(-1.0, 1.5))
            yield Sample(floats(20, dtype=dtype), bins, range=(-1.0, 1.5), density=True)
        edges = np.array([-2, -0.5, 0, 0.25, 2], dtype)
        yield Sample(floats(4, 5, dtype=dtype), edges)
        yield Sample(floats(4, 5, dtype=dtype), edges, weight=floats(4, 5, low=0.1, high=1, dtype=dtype, seed=1))
        yield Sample(np.array([0, 1, 1, 2, 3, 3.5], dtype), np.array([0, 1, 2, 3], dtype))  # on the edges, and beyond
    yield Sample(floats(9, dtype="float64"), 5)
    yield Sample(np.ones(3), 5)


def np_histogram(x, bins, range=None, weight=None, density=False):
    return np.histogram(x, bins if np.ndim(bins) else int(bins), range, density, None if weight is None else weight)


WHOLE = Error(RuntimeError, "must hold floats", floats(3, dtype="int64"), 3)
op(
    "histogram", "weft Tensor", histograms, np_histogram, result=("same", "same"), promotes=False, gradient=False,
    errors=[WHOLE, Error(ValueError, "at least one bin", floats(3), 0), Error(ValueError, "exceeds", floats(3), 3, range=(2.0, 1.0)),
            Error(RuntimeError, "a weight for each element", floats(3), 3, weight=floats(2)), Error(ValueError, "two ends", floats(3), 3, range=(1.0,))],
)  # fmt: skip


def several():
    x = floats(20, 2, dtype="float64")
    for density in (False, True):
        yield Sample(x, (3, 4), density=density)
        yield Sample(x, 2, density=density)
        yield Sample(x, (3, 4), range=(-1.0, 1.0, -2.0, 0.5), density=density)
        yield Sample(x, (np.array([-1.0, 0, 1]), np.array([-2.0, 0, 0.5, 2])), density=density)
        yield Sample(floats(10, 3, dtype="float64"), (2, 3, 2), density=density, weight=floats(10, low=0.1, high=1, dtype="float64"))
    yield Sample(floats(5, 1), (4,))


def np_histogramdd(x, bins, range=None, weight=None, density=False):
    ranges = None if range is None else np.reshape(range, (-1, 2))
    sums, edges = np.histogramdd(x, bins, ranges, density, weight)
    return sums, list(edges)


def same_everywhere(sample):
    return sample.args[0].dtype.name


op(
    "histogramdd", "weft", several, np_histogramdd, result=(same_everywhere, same_everywhere), promotes=False, gradient=False,
    errors=[Error(RuntimeError, "points, axes", floats(3), (3,)), Error(ValueError, "each of the 2 axes", floats(3, 2), (3,)),
            Error(ValueError, "two ends for each axis", floats(3, 2), 3, range=(1.0, 2.0, 3.0))],
)  # fmt: skip


# ---- derivatives at points -------------------------------------------------------------------------------------------


def gradients():
    for shape in ((5,), (3, 4), (3, 4, 5)):
        yield Sample(floats(*shape))
        yield Sample(floats(*shape, dtype="float64"), edge_order=2)
        yield Sample(floats(*shape), spacing=0.5)
    yield Sample(floats(3, 4), dim=1)
    yield Sample(floats(3, 4), dim=(0, -1), spacing=[0.5, 2.0])
    yield Sample(floats(3, 4, dtype="float64"), spacing=[np.array([0.0, 1, 3]), np.array([0.0, 0.5, 2, 2.5])])
    yield Sample(floats(3, 4, dtype="float64"), spacing=[np.array([0.0, 1, 3])], dim=0, edge_order=2)
    yield Sample(floats(4, 3, dtype="float64"), dim=[0], spacing=2.0, edge_order=2)


def np_gradient(x, spacing=1, dim=None, edge_order=1):
    axes = tuple(range(x.ndim)) if dim is None else tuple(np.atleast_1d(dim))
    steps = list(spacing) if isinstance(spacing, list) else [spacing] * len(axes)
    result = np.gradient(x, *steps, axis=axes, edge_order=edge_order)
    return list(result) if isinstance(result, (list, tuple)) else [result]


op(
    "gradient", "weft", gradients, np_gradient, result=same_everywhere, promotes=False, gradients=[Sample(floats(3, 3, dtype="float64")), Sample(floats(4, dtype="float64"), edge_order=2)],
    errors=[Error(RuntimeError, "2 points at least", floats(1)), Error(ValueError, "edge_order must be 1 or 2", floats(4), edge_order=3),
            Error(ValueError, "a spacing for each of the 2 axes", floats(3, 3), spacing=[1.0, 2.0, 3.0]), Error(RuntimeError, "must be 4 numbers", floats(4), spacing=[floats(3)])],
)  # fmt: skip
