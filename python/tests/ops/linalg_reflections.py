"""Reflections, and what PyTorch has at the top level: triangular_solve, lu, parts of low rank."""

import numpy as np

from .registry import Error, Sample, as_dtype, floats, op

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
        u, s, v = (np.asarray(part.cpu().numpy(), "float64") for part in result)
        a = np.asarray(a, "float64")
        a = a - a.mean(-2, keepdims=True) if mean else a
        scale = np.abs(a).max() * 1e-5
        assert u.shape == (a.shape[0], q) and s.shape == (q,) and v.shape == (a.shape[1], q)
        np.testing.assert_allclose(u * s @ v.T, a, atol=scale)
        np.testing.assert_allclose(u.T @ u, np.eye(q), atol=1e-4 if mean else 1e-5)

    return check


for name, mean in (("svd_lowrank", False), ("pca_lowrank", True)):
    op(name, "weft", low_rank, check=rebuilt(mean), gradient=False, errors=[Error(ValueError, "'q' must be from 0 to 3", floats(4, 3), 5)])
