"""Ranks, inverses, powers and norms of matrices."""

import math

import numpy as np
import scipy.linalg

from .linalg import CONDITION, DOUBLE, F32, FLAT, HALF, OBLONG, batched, invertible, oblong_gradients, oblongs, positive, square_gradients, squares
from .linalg_factors import DEFICIENT
from .registry import Error, Sample, floats, op

# ---- functions of matrices -------------------------------------------------------------------------------------------


def ranked(a, atol=None, rtol=None, hermitian=False, tol=None):
    s = np.abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    rtol = (max(a.shape[-2:]) * 2.0**-23 if not atol else 0) if rtol is None else rtol
    limit = np.maximum(atol or 0, rtol * s.max(-1, keepdims=True, initial=0)) if tol is None else tol
    return (s > limit).sum(-1)


def with_tolerances(*more):
    yield from oblongs()
    yield from DEFICIENT
    yield Sample(np.diag([1.0, 1e-3, 1e-6]), rtol=1e-4)
    yield Sample(np.diag([1.0, 1e-3, 1e-6]), atol=1e-2)
    yield Sample(np.diag([2.0, 1e-3, 1e-6]), atol=1e-4, rtol=1e-2)
    yield Sample(positive(3, 3), hermitian=True)
    yield from more


op(
    "matrix_rank",
    "linalg",
    lambda: with_tolerances(Sample(np.diag([2.0, 1.0]), tol=1.5)),
    ranked,
    result="int64",
    gradient=False,
    errors=[HALF, Error(ValueError, "negative", floats(2, 2), atol=-1.0)],
)
op(
    "pinv",
    "linalg",
    with_tolerances,
    lambda a, atol=None, rtol=None, hermitian=False: batched(
        lambda a: (
            np.linalg.pinv(
                a, rcond=max((max(a.shape) * 2.0**-23 if not atol else 0) if rtol is None else rtol, (atol or 0) / np.linalg.norm(a, 2))
            )
            if a.size
            else a.T * 1.0
        ),
        a,
    ),
    result="same",
    errors=[HALF, FLAT, Error(ValueError, "negative", floats(2, 2), atol=-1.0)],
    torch_tolerance=F32,
    reason=CONDITION,
    gradients=oblong_gradients(),
)
op(
    "pinverse",
    "weft Tensor",
    oblongs,
    lambda a, rcond=1e-15: np.linalg.pinv(a),
    result="same",
    torch_tolerance=F32,
    reason=CONDITION,
    gradients=oblong_gradients(),
)


def powers():
    for n in (0, 1, 2, 3, 7, -1, -2):
        for dtype in ("float32", "float64"):
            yield Sample(invertible(3, 3, dtype=dtype), n)
    for dtype in ("float16", "bfloat16", "int64", "int8"):
        yield Sample(floats(2, 2, dtype=dtype, low=-1, high=1), 3)
    yield Sample(invertible(2, 3, 3), -2)
    yield Sample(invertible(0, 0), 2)


op(
    "matrix_power",
    "linalg weft Tensor",
    powers,
    lambda a, n: np.linalg.matrix_power(a, n),
    result="same",
    errors=[Error(RuntimeError, "square", floats(2, 3), 2), Error(TypeError, "n", floats(2, 2), 1.5)],
    gradients=[Sample(invertible(2, 2, **DOUBLE), 3), Sample(invertible(2, 2, **DOUBLE), -2)],
    torch_tolerance={"float32": (1e-5, 1e-5)},
    reason=CONDITION,
)
op(
    "matrix_exp",
    "linalg weft Tensor",
    squares,
    lambda a: batched(lambda a: scipy.linalg.expm(a) if a.size else a, a),
    result="same",
    errors=[HALF, OBLONG],
    gradients=square_gradients(),
)
CHAIN = [((3, 4), (4, 5), (5, 2)), ((2, 30), (30, 1), (1, 20), (20, 3)), ((3, 4), (4, 5)), ((3, 0), (0, 2), (2, 2)), ((1, 1), (1, 1))]
CHAINS = [
    [floats(*shape, dtype=d, seed=i) for i, shape in enumerate(shapes)] for d in ("float32", "float64", "float16") for shapes in CHAIN
]
WITH_VECTORS = [[floats(3), floats(3, 4), floats(4)], [floats(3, 4), floats(4)], [floats(3), floats(3, 2)]]
SMALL_CHAIN = [floats(2, 3, **DOUBLE), floats(3, 2, **DOUBLE), floats(2, 1, **DOUBLE)]


def multiplied(tensors):
    result = tensors[0]
    for each in tensors[1:]:
        result = result @ each
    return result


op(
    "multi_dot",
    "linalg",
    lambda: [Sample(chain) for chain in (*CHAINS, *WITH_VECTORS)],
    multiplied,
    errors=[Error(ValueError, "two tensors", [floats(2, 2)]), Error(RuntimeError, "rows", [floats(2, 3), floats(2, 3)])],
    gradients=[Sample(SMALL_CHAIN)],
)
op(
    "chain_matmul",
    "weft",
    lambda: [Sample(*chain) for chain in CHAINS],
    lambda *tensors: multiplied(tensors),
    gradients=[Sample(*SMALL_CHAIN)],
    torch=lambda torch, *tensors: torch.linalg.multi_dot(tensors),
)


# ---- norms -----------------------------------------------------------------------------------------------------------

ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def one_norm(a, ord="fro", dim=(-2, -1), keepdim=False):
    result = (
        np.linalg.norm(a, ord, axis=tuple(dim), keepdims=True)
        if a.size
        else np.zeros([1 if i in (d % a.ndim for d in dim) else n for i, n in enumerate(a.shape)])
    )
    return result if keepdim else result.squeeze(tuple(dim))


def matrix_norms():
    for order in ORDERS:
        for dtype in ("float32", "float64"):
            yield Sample(floats(3, 4, dtype=dtype), order)
        yield Sample(floats(2, 4, 3), order)
        yield Sample(floats(2, 4, 3), order, dim=(0, -1), keepdim=True)
        yield Sample(floats(4, 3).T, ord=order)
    yield Sample(floats(0, 0))
    yield Sample(floats(3, 4, dtype="float16"))
    yield Sample(floats(3, 4, dtype="bfloat16"), 1)


SMOOTH = [Sample(floats(3, 2, **DOUBLE), order) for order in ORDERS]
op(
    "matrix_norm",
    "linalg",
    matrix_norms,
    one_norm,
    result="same",
    gradients=SMOOTH,
    torch_tolerance={"float32": (5e-6, 1e-5)},
    reason=CONDITION,
    errors=[
        Error(ValueError, "ord must be", floats(2, 2), 3),
        Error(RuntimeError, "float", floats(2, 2, dtype="int64")),
        Error(ValueError, "'fro' or 'nuc'", floats(2, 2), "a"),
        Error(ValueError, "differ", floats(2, 2), dim=(0, 0)),
        Error(RuntimeError, "two axes", floats(2)),
    ],
)


def vector_norms():
    for order in (2, 1, 0, 3, 0.5, -1, -2, math.inf, -math.inf):
        yield Sample(floats(7), order)
        yield Sample(floats(3, 5, dtype="float64"), order, dim=-1)
        yield Sample(floats(2, 3, 5), order, dim=(0, 2), keepdim=True)
    for dtype in ("float16", "bfloat16"):
        yield Sample(floats(3, 5, dtype=dtype))
    yield Sample(floats(0))
    yield Sample(floats())
    yield Sample(np.array([np.nan, 1.0, np.inf]))


def length(x, ord=2, dim=None, keepdim=False):
    axes = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    a = np.abs(x)
    if ord == 0:
        return (a != 0).sum(axes, keepdims=keepdim) * 1.0
    if math.isinf(ord):
        return (a.max if ord > 0 else a.min)(axes, keepdims=keepdim)
    return ((a.astype("float64") ** float(ord)).sum(axes, keepdims=keepdim)) ** (1.0 / ord)


op(
    "vector_norm",
    "linalg",
    vector_norms,
    length,
    result="same",
    gradients=[Sample(floats(2, 3, **DOUBLE), order, dim=-1) for order in (2, 1, 3, math.inf, -2)],
    torch_tolerance={"float32": (3e-6, 1e-5)},
    reason="powers and their root",
    errors=[Error(RuntimeError, "float", floats(2, dtype="int64")), Error(IndexError, "out of range", floats(2), dim=1)],
)


def norms():
    for sample in matrix_norms():
        if "dim" not in sample.kwargs and sample.args[0].ndim == 2 and sample.args[0].size:
            yield sample
    for sample in vector_norms():
        if sample.args[0].size and (len(sample.args) == 1 or "dim" not in sample.kwargs or not isinstance(sample.kwargs["dim"], tuple)):
            yield sample
    yield Sample(floats(2, 3, 4))
    yield Sample(floats(2, 3, 4), dim=(0, 1))


def any_norm(x, ord=None, dim=None, keepdim=False):
    if ord is None:
        return length(x, 2, dim, keepdim)
    if (dim is None and x.ndim == 2) or (isinstance(dim, tuple) and len(dim) == 2):
        return one_norm(x, ord, dim or (0, 1), keepdim)
    return length(x, ord, dim, keepdim)


op(
    "norm",
    "linalg",
    norms,
    any_norm,
    result="same",
    gradients=[Sample(floats(2, 3, **DOUBLE), "nuc"), Sample(floats(4, **DOUBLE), 3)],
    torch_tolerance={"float32": (5e-6, 1e-5)},
    reason=CONDITION,
    errors=[Error(RuntimeError, "vector or a matrix", floats(2, 2, 2), 2), Error(ValueError, "two axes", floats(3, 3), "fro", 0)],
)


def conditions():
    for p in (None, *ORDERS):
        yield Sample(invertible(3, 3), p)
        yield Sample(invertible(2, 3, 3, dtype="float64"), p)
    yield Sample(floats(4, 3))
    yield Sample(floats(4, 3), -2)
    yield Sample(np.zeros((2, 2)), 1)


op(
    "cond",
    "linalg",
    conditions,
    lambda a, p=None: batched(lambda a: np.linalg.cond(a, p), a),
    result="same",
    gradients=[Sample(invertible(3, 3, **DOUBLE), p) for p in (None, 1, "fro", "nuc")],
    torch_tolerance=F32,
    reason=CONDITION,
    torch=lambda torch, a, p=None: (
        torch.linalg.cond(a.detach().clone().requires_grad_() if a.requires_grad else a, p)
        if not a.requires_grad
        else (
            torch.linalg.norm(a, p, (-2, -1)) * torch.linalg.norm(torch.linalg.inv(a), p, (-2, -1))
            if p not in (None, 2, -2)
            else torch.linalg.cond(a, p)
        )
    ),
    errors=[HALF, Error(RuntimeError, "square", floats(2, 3), 1), Error(ValueError, "ord must be", floats(2, 2), 3)],
)
