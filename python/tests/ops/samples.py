"""Covariances, histograms, derivatives at points, and reflections."""

import numpy as np

from .registry import FLOATS, Error, Sample, as_dtype, floats, integers, op

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


# ---- reflections -----------------------------------------------------------------------------------------------------


def reflections():
    for shape, k in (((4, 3), 3), ((3, 3), 2), ((5, 2), 2), ((2, 4, 3), 3), ((4, 4), 0), ((1, 1), 1), ((67, 5), 5)):
        for dtype in ("float32", "float64"):
            yield Sample(floats(*shape, low=-1, high=1, dtype=dtype), floats(*shape[:-2], k, low=-0.5, high=0.5, dtype=dtype, seed=1))


def product(v, tau):
    m, k = v.shape[-2], tau.shape[-1]
    q = np.broadcast_to(np.eye(m), (*v.shape[:-2], m, m))
    for i in range(k):
        u = np.where(np.arange(m) > i, v[..., i], 0) + (np.arange(m) == i)
        q = q - tau[..., i, None, None] * (q @ u[..., None]) @ u[..., None, :]
    return q


F32 = {"float32": (2e-5, 2e-5)}
CONDITION = "the input is exact, but the result is rounded to float32, and finite differences or PyTorch are not better"
BAD = [Error(RuntimeError, "tau has 4 reflections, but v is 3 by 3", floats(3, 3), floats(4)), Error(RuntimeError, "v's batches", floats(2, 3, 3), floats(3)),
       Error(RuntimeError, "one type", floats(3, 3), floats(2, dtype="float64"))]  # fmt: skip
TWO = [Sample(floats(4, 3, dtype="float64"), floats(3, dtype="float64", seed=1)), Sample(floats(3, 2, dtype="float64"), floats(1, dtype="float64", seed=1))]
op(
    "householder_product", "linalg", reflections, lambda v, tau: product(v, tau)[..., : v.shape[-1]], aliases="weft.orgqr Tensor.orgqr", result="same", torch_tolerance=F32, reason=CONDITION,
    gradients=TWO, errors=[*BAD, Error(RuntimeError, "as many rows as columns", floats(2, 3), floats(2))],
)  # fmt: skip


def multiplied(v, tau, other, left=True, transpose=False):
    q = product(v, tau)
    q = np.swapaxes(q, -1, -2) if transpose else q
    return q @ other if left else other @ q


def products():
    for sample in reflections():
        v, tau = sample.args
        for left in (True, False):
            for transpose in (False, True):
                shape = (*v.shape[:-2], v.shape[-2], 2) if left else (*v.shape[:-2], 3, v.shape[-2])
                sample = Sample(v, tau, floats(*shape, dtype=v.dtype.name, seed=2), left, transpose)
                yield sample if tau.shape[-1] == v.shape[-1] else sample.unlike_torch("all columns must be reflections there")


op(
    "ormqr", "weft Tensor", products, multiplied, result="same", torch_tolerance=F32, reason=CONDITION,
    gradients=[Sample(*each.args, floats(2, 4, dtype="float64", seed=2), False, True) for each in TWO[:1]],
    errors=[Error(RuntimeError, "rows", floats(3, 2), floats(2), floats(4, 2))],
)  # fmt: skip


# ---- other names -----------------------------------------------------------------------------------------------------

op("rsub", "weft", lambda: [Sample(floats(3, 4, dtype=d), floats(3, 4, dtype=d, seed=1)) for d in (*FLOATS, "int64", "int32", "uint8", "int8")] + [Sample(floats(3), 2), Sample(floats(3), floats(3, seed=1), alpha=2), Sample(floats(3), 1.5, alpha=0.5)],
   lambda x, other, alpha=1: other - alpha * x, errors=[Error(TypeError, "other", floats(3), "a")])  # fmt: skip
op("fill", "weft", lambda: [Sample(floats(3, 4, dtype=d), 1) for d in (*FLOATS, "int64", "int32", "uint8", "bool")] + [Sample(floats(0), 2.5), Sample(floats(3), np.array(1.5, "float32")), Sample(floats(), 2)],
   lambda x, value: np.full_like(x, value), result="same", gradients=[Sample(floats(3, dtype="float64"), np.array(1.5))], errors=[Error(RuntimeError, "a number or a 0-d tensor", floats(3), floats(2))])  # fmt: skip
op("vander", "linalg", lambda: [Sample(floats(*shape, dtype=dtype), **more) for shape in ((3,), (2, 4)) for dtype in ("float32", "float64", "int64") for more in ({}, {"N": 2}, {"N": 5})],
   lambda x, N=None: x[..., None] ** np.arange(x.shape[-1] if N is None else N).astype(x.dtype), result="same", errors=[Error(ValueError, "2 at least", floats(3), N=1)])  # fmt: skip


def triangles():
    for shape, columns in (((3, 3), 2), ((2, 3, 3), 1), ((1, 1), 4), ((5, 5), 3)):
        for dtype in ("float32", "float64"):
            for upper in (True, False):
                a = floats(*shape, low=-0.5, high=0.5, dtype=dtype) + 2 * np.eye(shape[-1], dtype=dtype)
                yield Sample(floats(*shape[:-1], columns, dtype=dtype, seed=1), as_dtype(a, dtype), upper, not upper, upper)


def solved(b, a, upper=True, transpose=False, unitriangular=False):
    matrix = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        i = np.arange(a.shape[-1])
        matrix[..., i, i] = 1
    return np.linalg.solve(np.swapaxes(matrix, -1, -2) if transpose else matrix, b), a


op("triangular_solve", "weft Tensor", triangles, solved, result=("same", "same"), tolerance=None, gradients=[Sample(floats(2, 1, dtype="float64"), 2 * np.eye(2) + floats(2, 2, dtype="float64") / 4)],
   errors=[Error(RuntimeError, "solve_triangular", floats(2, 2), floats(2, 3))])  # fmt: skip


def packed(x):
    from scipy.linalg import lu_factor

    lu, pivots = lu_factor(x)
    return lu, pivots.astype("int32") + 1


op("lu", "weft Tensor", lambda: [Sample(floats(n, n, dtype=dtype) + 2 * np.eye(n, dtype=dtype), *more) for n in (1, 2, 3, 5, 8) for dtype in ("float32", "float64") for more in ((), (True,))],
   lambda a, pivot=True: packed(a), result=("same", "int32"), gradients=[Sample(floats(3, 3, dtype="float64") + 2 * np.eye(3))], torch=lambda torch, a, *_: torch.linalg.lu_factor(a),
   errors=[Error(RuntimeError, "without pivoting", floats(2, 2), False)])  # fmt: skip


def low_rank():
    for m, n, q in ((6, 4, 3), (4, 6, 3), (5, 5, 2), (8, 3, 3), (3, 8, 2), (7, 7, 4)):
        for dtype in ("float32", "float64"):
            yield Sample(floats(m, q, dtype=dtype) @ floats(q, n, dtype=dtype, seed=1), q)


def rebuilt(mean):
    def check(result, a, q):
        u, s, v = (np.asarray(part.numpy(), "float64") for part in result)
        a = np.asarray(a, "float64")
        a = a - a.mean(-2, keepdims=True) if mean else a
        scale = np.abs(a).max() * 1e-5
        assert u.shape == (a.shape[0], q) and s.shape == (q,) and v.shape == (a.shape[1], q)
        np.testing.assert_allclose(u * s @ v.T, a, atol=scale)
        np.testing.assert_allclose(u.T @ u, np.eye(q), atol=1e-4 if mean else 1e-5)

    return check


for name, mean in (("svd_lowrank", False), ("pca_lowrank", True)):
    op(name, "weft", low_rank, check=rebuilt(mean), gradient=False, errors=[Error(ValueError, "'q' must be from 0 to 3", floats(4, 3), 5)])
