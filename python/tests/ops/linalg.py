"""Linear algebra: solving, and pieces; what samples of matrices all of it takes. linalg_factors and linalg_functions have the other ops."""

import numpy as np

from .registry import Error, Sample, floats, op

DOUBLE = {"dtype": "float64"}
F32 = {"float32": (2e-5, 2e-5)}
CONDITION = "the input is exact, but the result is rounded to float32, and finite differences or PyTorch are not better"
HALF = Error(RuntimeError, "f32 or f64, not f16", floats(2, 2, dtype="float16"))
WHOLE = Error(RuntimeError, "f32 or f64, not i64", floats(2, 2, dtype="int64"))
FLAT = Error(RuntimeError, "two axes", floats(3))
OBLONG = Error(RuntimeError, "square", floats(2, 3))
SQUARES = ((1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 3), (2, 1, 3, 3), (0, 0), (2, 0, 0), (0, 3, 3), (40, 40))
OBLONGS = ((3, 3), (5, 3), (3, 5), (1, 4), (4, 1), (2, 4, 3), (2, 1, 3, 4), (0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 3), (33, 40))


def invertible(*shape, seed=0, **how):
    """Far from singular."""
    n = shape[-1]
    return (floats(*shape, seed=seed, low=-1, high=1, **how) / max(n, 1) ** 0.5 + 1.5 * np.eye(n)).astype(how.get("dtype", "float32"))


def positive(*shape, seed=0, **how):
    a = floats(*shape, seed=seed, low=-1, high=1, dtype="float64")
    a = a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])
    return ((a + np.swapaxes(a, -1, -2)) / 2).astype(how.get("dtype", "float32"))


def squares(make=invertible, **kwargs):
    for shape in SQUARES:
        for dtype in ("float32", "float64"):
            yield Sample(make(*shape, dtype=dtype), **kwargs)
    yield Sample(make(4, 4).T, **kwargs)
    yield Sample(np.repeat(np.repeat(make(4, 4), 2, 0), 2, 1)[::2, ::2], **kwargs)
    yield Sample(make(4, 4)[::-1, ::-1], **kwargs)


def oblongs(**kwargs):
    for shape in OBLONGS:
        for dtype in ("float32", "float64"):
            yield Sample(floats(*shape, dtype=dtype), **kwargs)
    yield Sample(floats(4, 3).T, **kwargs)
    yield Sample(floats(4, 6)[:, ::2], **kwargs)
    yield Sample(floats(4, 3)[::-1], **kwargs)


def batched(f, *arrays):
    """f for each matrix of a batch; the results are stacked."""
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    arrays = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
    if not batch:
        return f(*arrays)
    results = [f(*[a[i] for a in arrays]) for i in np.ndindex(*batch)]
    if not results:  # learn the shapes from a batch of one
        results = f(*[np.zeros(a.shape[-2:]) + (np.eye(a.shape[-1]) if a.shape[-1] == a.shape[-2] else 0) for a in arrays])
        shaped = [np.zeros((*batch, *np.shape(r))) for r in (results if isinstance(results, tuple) else (results,))]
        return tuple(shaped) if isinstance(results, tuple) else shaped[0]
    if isinstance(results[0], tuple):
        return tuple(np.stack(r).reshape(*batch, *np.shape(r[0])) for r in zip(*results))
    return np.stack(results).reshape(*batch, *np.shape(results[0]))


def square_gradients(make=invertible, **kwargs):
    return [Sample(make(3, 3, dtype="float64"), **kwargs), Sample(make(2, 2, 2, dtype="float64"), **kwargs)]


def oblong_gradients(**kwargs):
    return [Sample(floats(*shape, **DOUBLE), **kwargs) for shape in ((3, 2), (2, 3), (2, 2))]


# ---- solving ---------------------------------------------------------------------------------------------------------

op(
    "det",
    "linalg weft Tensor",
    squares,
    np.linalg.det,
    result="same",
    errors=[HALF, WHOLE, FLAT, OBLONG],
    gradients=square_gradients(),
    torch_tolerance={"float32": (5e-6, 1e-5)},
    reason=CONDITION,
)
op(
    "slogdet",
    "linalg weft Tensor",
    lambda: (*squares(), Sample(-invertible(3, 3)), Sample(np.zeros((2, 2), "float32"))),
    lambda a: tuple(np.linalg.slogdet(a)),
    result="same",
    errors=[HALF, OBLONG],
    gradients=square_gradients(),
    torch_tolerance=F32,
    reason=CONDITION,
)
op(
    "logdet",
    "weft Tensor",
    lambda: (*squares(), Sample(np.array([[0.0, 1.0], [1.0, 0.0]]))),
    lambda a: np.where(np.linalg.slogdet(a)[0] < 0, np.nan, np.linalg.slogdet(a)[1]),
    result="same",
    errors=[HALF, OBLONG],
    gradients=square_gradients(),
    torch_tolerance=F32,
    reason=CONDITION,
)
op(
    "inv",
    "linalg",
    squares,
    np.linalg.inv,
    aliases="weft.inverse Tensor.inverse",
    result="same",
    errors=[HALF, WHOLE, FLAT, OBLONG],
    gradients=square_gradients(),
)
op(
    "inv_ex",
    "linalg",
    squares,
    lambda a: (np.linalg.inv(a), np.zeros(a.shape[:-2], "int32")),
    result=("same", "int32"),
    errors=[HALF, OBLONG],
    gradients=square_gradients(),
)


def equations(**kwargs):
    for shape in SQUARES:
        for dtype in ("float32", "float64"):
            yield Sample(invertible(*shape, dtype=dtype), floats(*shape[:-1], 3, dtype=dtype), **kwargs)
            yield Sample(invertible(*shape, dtype=dtype), floats(*shape[:-1], dtype=dtype), **kwargs)
    yield Sample(invertible(3, 3), floats(5, 3, 2), **kwargs)
    yield Sample(invertible(2, 3, 3), floats(5, 1, 3, 2), **kwargs)
    yield Sample(invertible(3, 3).T, floats(2, 3).T, **kwargs)
    yield Sample(invertible(3, 3), floats(3, 0), **kwargs)


def solution(a, b, left=True):
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b) if left else np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


SOLVE_ERRORS = [
    Error(RuntimeError, "B's size 3 must equal A's 2", floats(2, 2), floats(3, 1)),
    Error(RuntimeError, "one type", floats(2, 2), floats(2, 1, dtype="float64")),
    Error(RuntimeError, "square", floats(2, 3), floats(2, 1)),
]
RIGHT = [Sample(invertible(3, 3, dtype=d), floats(2, 3, dtype=d), left=False) for d in ("float32", "float64")]
SOLVE_GRADIENTS = [
    Sample(invertible(2, 2, **DOUBLE), floats(2, 2, **DOUBLE)),
    Sample(invertible(2, 2, **DOUBLE), floats(1, 2, **DOUBLE), left=False),
    Sample(invertible(2, 2, **DOUBLE), floats(2, **DOUBLE)),
]
op("solve", "linalg", lambda: (*equations(), *RIGHT), solution, result="same", errors=SOLVE_ERRORS, gradients=SOLVE_GRADIENTS)
op(
    "solve_ex",
    "linalg",
    lambda: (*equations(), *RIGHT),
    lambda a, b, left=True: (solution(a, b, left), np.zeros(a.shape[:-2], "int32")),
    result=("same", "int32"),
    errors=SOLVE_ERRORS,
    gradients=SOLVE_GRADIENTS,
)


def triangular(a, b, upper, left=True, unitriangular=False):
    if not left:
        return np.swapaxes(triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper, True, unitriangular), -1, -2)
    t = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        t = t - np.einsum("...i,ij->...ij", np.einsum("...ii->...i", t), np.eye(a.shape[-1])) + np.eye(a.shape[-1])
    return np.linalg.solve(t, b)


def triangles():
    for upper in (False, True):
        for left in (False, True):
            for unit in (False, True):
                for dtype in ("float32", "float64"):
                    yield Sample(
                        invertible(3, 3, dtype=dtype),
                        floats(*((3, 2) if left else (2, 3)), dtype=dtype),
                        upper=upper,
                        left=left,
                        unitriangular=unit,
                    )
        yield Sample(invertible(40, 40), floats(40, 5), upper=upper)
        yield Sample(invertible(2, 1, 3, 3), floats(4, 3, 2), upper=upper)
        yield Sample(invertible(0, 0), floats(0, 2), upper=upper)


op(
    "solve_triangular",
    "linalg",
    triangles,
    triangular,
    result="same",
    errors=[Error(TypeError, "upper", floats(2, 2), floats(2, 2))],
    gradients=[
        Sample(invertible(2, 2, **DOUBLE), floats(2, 2, **DOUBLE), upper=True),
        Sample(invertible(2, 2, **DOUBLE), floats(2, 2, **DOUBLE), upper=False, left=False),
        Sample(invertible(3, 3, **DOUBLE), floats(3, 1, **DOUBLE), upper=False, unitriangular=True),
    ],
)


def least(a, b, rcond=None, driver=None):
    b = b[..., None] if b.shape == a.shape[:-1] else b
    eps = {"float32": 2.0**-23}.get(least.dtype, 2.0**-52)
    x = np.linalg.pinv(a, rtol=eps * max(a.shape[-2:]) if rcond is None else rcond) @ b
    rank = np.linalg.matrix_rank(a, rtol=eps * max(a.shape[-2:]) if rcond is None else rcond)
    nothing = np.zeros(0)
    residuals = ((a @ x - b) ** 2).sum(-2) if a.shape[-2] > a.shape[-1] else nothing
    if driver in (None, "gelsy"):
        return x, nothing, rank, nothing
    if driver == "gels":
        return x, residuals, np.zeros(0, "int64"), nothing
    return x, nothing if (rank < a.shape[-1]).any() else residuals, rank, np.linalg.svd(a, compute_uv=False)


least.dtype = "float64"


def systems():
    for shape in ((5, 3), (3, 5), (3, 3), (2, 4, 3), (1, 1), (33, 20)):
        for dtype in ("float32", "float64"):
            for driver in (None, "gels", "gelsd", "gelss"):
                yield Sample(floats(*shape, dtype=dtype), floats(*shape[:-1], 2, dtype=dtype), driver=driver)
    yield Sample(np.ones((4, 3)), floats(4, 2, dtype="float64"), driver="gelsd")  # not of full rank
    yield Sample(np.ones((4, 3)), floats(4, 2, dtype="float64"))


op(
    "lstsq",
    "linalg",
    systems,
    least,
    result=("same", "same", "int64", "same"),
    torch_tolerance={"float32": (1e-4, 1e-4)},
    reason=CONDITION,
    errors=[Error(RuntimeError, "rows", floats(3, 2), floats(4, 1)), Error(ValueError, "driver", floats(3, 2), floats(3, 1), driver="a")],
    gradients=[Sample(floats(3, 2, **DOUBLE), floats(3, 1, **DOUBLE)), Sample(floats(2, 3, **DOUBLE), floats(2, 1, **DOUBLE))],
)
op(
    "tensorsolve",
    "linalg",
    lambda: [
        Sample(floats(*a, dtype=d), floats(*b, dtype=d, seed=1), *more)
        for d in ("float32", "float64")
        for a, b, *more in (((2, 3, 6), (2, 3)), ((4, 2, 2), (4,)), ((1, 1), (1,)), ((2, 6, 3), (2, 3), (1,)), ((2, 2, 2, 2), (2, 2)))
    ],
    lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims),
    result="same",
    torch_tolerance={"float32": (1e-4, 1e-4)},
    reason=CONDITION,
    gradients=[Sample(invertible(4, 4, **DOUBLE).reshape(2, 2, 4), floats(2, 2, **DOUBLE))],
    errors=[Error(RuntimeError, "square", floats(2, 3, 5), floats(2, 3))],
)
op(
    "tensorinv",
    "linalg",
    lambda: [
        Sample(invertible(6, 6, dtype=d).reshape(shape), ind=ind)
        for d in ("float32", "float64")
        for shape, ind in (((6, 2, 3), 1), ((2, 3, 6), 2), ((2, 3, 2, 3), 2), ((3, 2, 1, 6), 2), ((1, 6, 6), 2))
    ],
    lambda a, ind=2: np.linalg.tensorinv(a, ind),
    result="same",
    gradients=[Sample(invertible(4, 4, **DOUBLE).reshape(2, 2, 4))],
    errors=[Error(ValueError, "positive", floats(2, 2), ind=0), Error(RuntimeError, "square", floats(2, 3), ind=1)],
)


# ---- pieces ----------------------------------------------------------------------------------------------------------


def products():
    for dtype in ("float32", "float64", "int64", "float16"):
        for a, b in (((3, 4), (4, 5)), ((4,), (4, 5)), ((2, 3, 4), (4, 2))):
            yield Sample(floats(*a, dtype=dtype), floats(*b, dtype=dtype, seed=1))


op("matmul", "linalg", products, np.matmul, gradients=[Sample(floats(2, 3, **DOUBLE), floats(3, 2, **DOUBLE))])
op(
    "outer",
    "linalg",
    lambda: [
        Sample(floats(n, dtype=d), floats(m, dtype=d, seed=1))
        for d in ("float32", "float64", "int64")
        for n, m in ((3, 4), (0, 2), (1, 1), (67, 5))
    ],
    np.outer,
    gradients=[Sample(floats(2, **DOUBLE), floats(3, **DOUBLE))],
    torch=lambda torch, a, b: torch.outer(a, b),
)


def matrices(**kwargs):
    for dtype in ("float32", "float64", "int64", "bool", "float16"):
        yield Sample(floats(3, 4, dtype=dtype), **kwargs)
    for shape in ((2, 3, 4), (1, 1), (0, 3), (2, 0, 0), (4, 3)):
        yield Sample(floats(*shape), **kwargs)
    yield Sample(floats(4, 3).T, **kwargs)


op(
    "diagonal",
    "linalg",
    lambda: (
        *matrices(),
        *matrices(offset=1),
        *matrices(offset=-2),
        Sample(floats(2, 3, 4), dim1=0, dim2=2),
        Sample(floats(2, 3), offset=7),
    ),
    lambda a, offset=0, dim1=-2, dim2=-1: np.diagonal(a, offset, dim1, dim2),
    result="same",
    gradients=[Sample(floats(2, 3, **DOUBLE), offset=1)],
    errors=[FLAT, Error(ValueError, "differ", floats(2, 2), dim1=0, dim2=0), Error(IndexError, "out of range", floats(2, 2), dim1=2)],
)
op(
    "trace",
    "linalg",
    lambda: (*matrices(), *matrices(offset=1), *matrices(offset=-1)),
    lambda a, offset=0: np.trace(a.astype("int64") if a.dtype == bool else a, offset, -2, -1),
    result="sum",
    gradients=[Sample(floats(2, 3, **DOUBLE))],
    errors=[FLAT],
    torch=lambda torch, a, offset=0: torch.linalg.diagonal(a, offset=offset).sum(-1),
)
op(
    "matrix_transpose",
    "weft linalg",
    matrices,
    lambda a: np.swapaxes(a, -1, -2),
    result="same",
    gradients=[Sample(floats(2, 3, **DOUBLE))],
    errors=[FLAT],
    torch=lambda torch, a: a.mT,
)
