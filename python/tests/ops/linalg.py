"""Linear algebra: solving, factorisations, norms. NumPy and SciPy choose other signs of vectors: the oracles turn them Weft's way."""

import math

import numpy as np
import scipy.linalg

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


# ---- triangular factors ----------------------------------------------------------------------------------------------


def lower(a, upper=False):
    l = np.linalg.cholesky(a)
    return np.swapaxes(l, -1, -2) if upper else l


def positives(**kwargs):
    return squares(positive, **kwargs)


# Of cholesky and eigh only one triangle is read, and the gradient is spread over both, so that differences of single elements see
# another one: tests/tensor/linalg_test.cpp checks them for symmetric changes.
op("cholesky", "linalg", lambda: (*positives(), *positives(upper=True)), lower, result="same", errors=[HALF, OBLONG], gradient=False)
op("cholesky", "weft Tensor", lambda: (*positives(), *positives(upper=True)), lower, result="same", errors=[HALF, OBLONG], gradient=False)
op(
    "cholesky_ex",
    "linalg",
    positives,
    lambda a, upper=False: (lower(a, upper), np.zeros(a.shape[:-2], "int32")),
    result=("same", "int32"),
    errors=[OBLONG],
    gradient=False,
)


def rooted(upper=False):
    for sample in squares(positive):
        dtype = sample.args[0].dtype.name
        yield lower(sample.args[0].astype("float64"), upper).astype(dtype)


def cholesky_systems():
    for upper in (False, True):
        for l in rooted(upper):
            yield Sample(floats(*l.shape[:-1], 2, dtype=l.dtype.name), l, upper)


def squared(l, upper):
    return np.swapaxes(l, -1, -2) @ l if upper else l @ np.swapaxes(l, -1, -2)


ROOT = lower(positive(2, 2, **DOUBLE))
op(
    "cholesky_solve",
    "weft Tensor",
    cholesky_systems,
    lambda b, l, upper=False: np.linalg.solve(squared(l, upper), b),
    result="same",
    errors=[Error(RuntimeError, "B's size", floats(3, 1), floats(2, 2))],
    gradients=[Sample(floats(2, 1, **DOUBLE), ROOT)],
    torch=lambda torch, b, l, upper=False: torch.cholesky_solve(b, torch.triu(l) if upper else torch.tril(l), upper),
)
op(
    "cholesky_inverse",
    "weft Tensor",
    lambda: (Sample(l, upper) for upper in (False, True) for l in rooted(upper)),
    lambda l, upper=False: np.linalg.inv(squared(l, upper)),
    result="same",
    errors=[OBLONG],
    gradients=[Sample(ROOT)],
    torch=lambda torch, l, upper=False: torch.cholesky_inverse(torch.triu(l) if upper else torch.tril(l), upper),
)


def lu_matrix(a):
    def one(a):
        p, l, u = (
            scipy.linalg.lu(a) if a.size else (np.eye(a.shape[0]), np.eye(a.shape[0], min(a.shape)), np.zeros((min(a.shape), a.shape[1])))
        )
        k = min(a.shape)
        packed = np.zeros(a.shape)
        packed[:, :k] += np.tril(l, -1)
        packed[:k] += np.triu(u)
        rows, pivots = [int(np.argmax(p[:, j])) for j in range(a.shape[0])], []
        now = list(range(a.shape[0]))
        for i in range(k):  # the exchanges that give this order
            j = now.index(rows[i])
            now[i], now[j] = now[j], now[i]
            pivots.append(j + 1)
        return packed, np.array(pivots, "int32"), np.zeros((), "int32"), p, l, u

    return batched(one, a)


def pieces(*which):
    return lambda a: tuple(lu_matrix(a)[i] for i in which)


op(
    "lu_factor",
    "linalg",
    oblongs,
    pieces(0, 1),
    result=("same", "int32"),
    errors=[HALF, FLAT, Error(RuntimeError, "without pivoting", floats(2, 2), pivot=False)],
    gradients=oblong_gradients(),
)
op("lu_factor_ex", "linalg", oblongs, pieces(0, 1, 2), result=("same", "int32", "int32"), errors=[HALF], gradients=oblong_gradients())
op("lu", "linalg", oblongs, pieces(3, 4, 5), result=("same", "same", "same"), errors=[HALF], gradients=oblong_gradients())


def packed(dtype="float32"):
    for shape in ((3, 3), (2, 3, 3), (1, 1), (5, 5), (0, 0)):
        a = invertible(*shape, dtype="float64")
        made = lu_matrix(a)
        yield a, made[0].astype(dtype), made[1].astype("int32")


def unpacked(lu, pivots, unpack_data=True, unpack_pivots=True):
    def one(lu, pivots):
        n, k = lu.shape[0], min(lu.shape)
        order = list(range(n))
        for i, p in enumerate(pivots[0]):
            order[i], order[p - 1] = order[p - 1], order[i]
        return np.eye(n)[order].T, np.tril(lu[:, :k], -1) + np.eye(n, k), np.triu(lu[:k])

    p, l, u = batched(one, lu, pivots[..., None, :])
    nothing = np.zeros(0)
    return p if unpack_pivots else nothing, l if unpack_data else nothing, u if unpack_data else nothing


op(
    "lu_unpack",
    "weft",
    lambda: [
        Sample(lu, pivots, *more) for d in ("float32", "float64") for _, lu, pivots in packed(d) for more in ((), (False,), (True, False))
    ],
    unpacked,
    result="same",
    errors=[Error(RuntimeError, "i32", floats(2, 2), floats(2, dtype="int64"))],
    gradients=[Sample(lu, p) for _, lu, p in [*packed("float64")][:2]],
)


def lu_systems(order):
    for dtype in ("float32", "float64"):
        for a, lu, pivots in packed(dtype):
            yield Sample(*order(lu, pivots, floats(*lu.shape[:-1], 2, dtype=dtype)))


def from_factors(lu, pivots, b, left=True, adjoint=False):
    p, l, u = unpacked(lu, pivots)
    a = p @ l @ u
    return solution(np.swapaxes(a, -1, -2) if adjoint else a, b, left)


def lu_variants():
    yield from lu_systems(lambda lu, pivots, b: (lu, pivots, b))
    _, lu, pivots = next(packed())
    for left in (True, False):
        for adjoint in (True, False):
            yield Sample(lu, pivots, floats(*((3, 2) if left else (2, 3))), left=left, adjoint=adjoint)


FACTORS = next(packed("float64"))[1:]
op(
    "lu_solve",
    "linalg",
    lu_variants,
    from_factors,
    result="same",
    errors=[Error(RuntimeError, "shape [2]", floats(2, 2), floats(3, dtype="int32"), floats(2, 1))],
    gradients=[Sample(*FACTORS, floats(3, 1, **DOUBLE)), Sample(*FACTORS, floats(3, 1, **DOUBLE), adjoint=True)],
)
op(
    "lu_solve",
    "weft Tensor",
    lambda: lu_systems(lambda lu, pivots, b: (b, lu, pivots)),
    lambda b, lu, pivots: from_factors(lu, pivots, b),
    result="same",
    gradients=[Sample(floats(3, 1, **DOUBLE), *FACTORS)],
)


# ---- orthogonal factors ----------------------------------------------------------------------------------------------


def qr_of(a, mode="reduced"):
    k = min(a.shape[-2:])
    if mode == "r":
        return np.zeros(0), qr_of(a)[1]
    return batched(
        lambda a: (
            scipy.linalg.qr(a, mode="full" if mode == "complete" else "economic")
            if a.size
            else (
                np.eye(a.shape[0], a.shape[0] if mode == "complete" else k),
                np.zeros((a.shape[0] if mode == "complete" else k, a.shape[1])),
            )
        ),
        a,
    )


QR_DERIVATIVES = [*oblong_gradients(), Sample(floats(2, 3, **DOUBLE), "complete")]
op(
    "qr",
    "linalg",
    lambda: (*oblongs(), *oblongs(mode="complete"), *oblongs(mode="r")),
    qr_of,
    result="same",
    errors=[HALF, FLAT, Error(ValueError, "mode", floats(2, 2), "a")],
    gradients=QR_DERIVATIVES,
)
op(
    "qr",
    "weft Tensor",
    lambda: (*oblongs(), *oblongs(some=False)),
    lambda a, some=True: qr_of(a, "reduced" if some else "complete"),
    result="same",
    gradients=oblong_gradients(),
)


def signs(u):
    """What makes the first of the largest elements of each column positive."""
    if not u.size:
        return np.ones((*u.shape[:-2], 1, u.shape[-1]))
    at = np.abs(u).argmax(-2)[..., None, :]
    return np.where(np.take_along_axis(u, at, -2) < 0, -1.0, 1.0)


def svd_of(a, full_matrices=True):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    sign = signs(u)
    return u * sign, s, vh * np.swapaxes(sign, -1, -2)


def thin(**kwargs):
    return oblongs(full_matrices=False, **kwargs)


def turned(torch, u, s, vh):
    at = u.abs().argmax(-2, keepdim=True) if u.numel() else None
    sign = torch.ones(()) if at is None else torch.where(u.gather(-2, at) < 0, -1.0, 1.0).to(u.dtype)
    return u * sign, s, vh * (sign if at is None else sign.mT)


VECTORS = {"float32": (1e-4, 1e-4)}
op(
    "svd",
    "linalg",
    thin,
    svd_of,
    result="same",
    errors=[HALF, FLAT],
    gradients=[Sample(s.args[0], full_matrices=False) for s in oblong_gradients()],
    torch_tolerance=VECTORS,
    reason=CONDITION,
    torch=lambda torch, a, full_matrices: turned(torch, *torch.linalg.svd(a, full_matrices)),
)


def check_svd(result, a, full_matrices=True):
    u, s, vh = [r.detach().double().numpy() for r in result]
    m, n = a.shape[-2:]
    assert u.shape == (*a.shape[:-2], m, m) and vh.shape == (*a.shape[:-2], n, n) and s.shape == (*a.shape[:-2], min(m, n))
    k, bound = min(m, n), 1e-5 if a.dtype == np.float32 else 1e-12
    for q in (u, np.swapaxes(vh, -1, -2)):
        assert np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(q.shape[-1])).max(initial=0) < bound * 10
    assert np.abs((u[..., :k] * s[..., None, :]) @ vh[..., :k, :] - a).max(initial=0) < bound * 10
    assert (np.diff(s) <= 0).all() and (s >= 0).all()


DEFICIENT = [Sample(np.ones((4, 3), d)) for d in ("float32", "float64")] + [
    Sample(np.zeros((3, 4))),
    Sample(np.eye(5)),
    Sample(np.diag([1e-30, 1.0, 0.0])),
]
op("svd", "linalg", lambda: (*oblongs(), *DEFICIENT), check=check_svd, gradient=False)
op(
    "svd",
    "weft Tensor",
    oblongs,
    lambda a, some=True: (lambda u, s, vh: (u, s, np.swapaxes(vh, -1, -2)))(*svd_of(a)),
    result="same",
    gradients=oblong_gradients(),
    torch_tolerance=VECTORS,
    reason=CONDITION,
    torch=lambda torch, a, some=True: (lambda u, s, vh: (u, s, vh.mT))(*turned(torch, *torch.linalg.svd(a, False))),
)
op(
    "svdvals",
    "linalg",
    lambda: (*oblongs(), *DEFICIENT),
    lambda a: np.linalg.svd(a, compute_uv=False),
    result="same",
    errors=[HALF, FLAT],
    gradients=oblong_gradients(),
)


def eigh_of(a, UPLO="L"):
    w, v = np.linalg.eigh(a, UPLO)
    return w, v * signs(v)


def one_triangle(**kwargs):
    for sample in positives():
        a = sample.args[0]
        yield Sample(np.tril(a) if kwargs.get("UPLO", "L") == "L" else np.triu(a), **kwargs)
        yield Sample(a, **kwargs)


BAD_UPLO = Error(ValueError, "UPLO", floats(2, 2), "A")
op(
    "eigh",
    "linalg",
    lambda: (*one_triangle(), *one_triangle(UPLO="U"), Sample(np.diag([3.0, 1.0, 2.0])), Sample(np.zeros((3, 3)))),
    eigh_of,
    result="same",
    errors=[HALF, OBLONG, BAD_UPLO],
    gradient=False,
    torch_tolerance={"float32": (1e-3, 1e-3), "float64": (1e-6, 1e-6)},
    reason=CONDITION,
    torch=lambda torch, a, UPLO="L": (lambda w, v: (w, turned(torch, v, w, v.mT)[0]))(*torch.linalg.eigh(a, UPLO)),
)
op(
    "eigvalsh",
    "linalg",
    lambda: (*one_triangle(), *one_triangle(UPLO="U"), Sample(np.eye(4))),
    lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO),
    result="same",
    errors=[HALF, OBLONG, BAD_UPLO],
    gradient=False,
)


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
