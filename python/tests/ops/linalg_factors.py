"""Factors of matrices: Cholesky, LU, QR, singular values and eigenvalues. NumPy and SciPy choose other signs of vectors: the oracles turn them Weft's way."""

import numpy as np
import scipy.linalg

from .linalg import CONDITION, DOUBLE, FLAT, HALF, OBLONG, batched, invertible, oblong_gradients, oblongs, positive, solution, squares
from .registry import Error, Sample, floats, op

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
    u, s, vh = [r.detach().double().cpu().numpy() for r in result]
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
