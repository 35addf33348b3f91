"""Pairs of reductions, reductions without NaN, running extremes, differences, integrals and distances."""

import numpy as np

from .loss import vectors
from .reduction import BAD_AXIS, axes, reduced, spread, spreads
from .reduction_running import BAD_AXIS as BAD_SCAN
from .registry import ALL, FLOATS, Error, Sample, as_dtype, floats, integers, op, reduction, scan

NAN = [Error(TypeError, "input", [1.0])]


def pair(first, second):
    return lambda *args, **kwargs: (first(*args, **kwargs), second(*args, **kwargs))


def mean(x, dim=None, keepdim=False, **_):
    return reduced(np.mean)(x, dim, keepdim)


def both_spreads():
    for sample in spreads():
        yield sample if np.isfinite(sample.args[0]).all() else sample.unlike_torch("the mean of infinities is NaN there")


op("var_mean", "weft", both_spreads, pair(spread(lambda v: v), mean), result=("same", "same"), errors=BAD_AXIS)
op("std_mean", "weft", both_spreads, pair(spread(np.sqrt), mean), result=("same", "same"), errors=BAD_AXIS)
op(
    "aminmax",
    "weft Tensor",
    lambda: reduction(tuples=False, empty=False),
    pair(reduced(np.min), reduced(np.max)),
    result=("same", "same"),
    gradients=[Sample(floats(2, 3, dtype="float64"), dim=1)],
    errors=[BAD_AXIS[0], Error(ValueError, "no elements", floats(0)), *NAN],
)
op(
    "count_nonzero",
    "weft Tensor",
    lambda: (Sample(s.args[0], s.kwargs.get("dim")) for s in reduction() if not s.kwargs.get("keepdim")),
    lambda x, dim=None: np.count_nonzero(x, axis=axes(x, dim)),
    result="int64",
    promotes=False,
    gradient=False,
    errors=[Error(IndexError, "axis 2 is out of range", floats(3, 4), 2)],
)


# ---- without NaN -----------------------------------------------------------------------------------------------------


def holes(**how):
    yield from reduction(**how)
    x = floats(3, 5, dtype="float64")
    x[0, 1] = x[2] = np.nan
    yield from (Sample(x, dim=1), Sample(x, dim=0), Sample(x.astype("float32")), Sample(as_dtype(x, "float16"), dim=1, keepdim=True))


def with_holes():
    x = floats(2, 3, dtype="float64")
    return [Sample(x, dim=1), Sample(x)]


def quiet(function):
    def oracle(x, dim=None, keepdim=False, dtype=None):
        with np.errstate(all="ignore"), np.testing.suppress_warnings() as hush:
            hush.filter(RuntimeWarning)
            wide = x if x.dtype.kind == "f" else x.astype("int64") if function is np.nansum else x
            return function(wide, axis=axes(x, dim), keepdims=keepdim)

    return oracle


EMPTY = Error(ValueError, "no elements", floats(0, 3), dim=0)
op("nansum", "weft Tensor", holes, quiet(np.nansum), result="sum", gradients=with_holes, errors=BAD_AXIS)
op(
    "nanmean",
    "weft Tensor",
    lambda: holes(dtypes=FLOATS),
    quiet(np.nanmean),
    result="same",
    gradients=with_holes,
    errors=[*BAD_AXIS, Error(TypeError, "i64", integers(3))],
)
for _name, _oracle in (("nanmax", np.nanmax), ("nanmin", np.nanmin)):
    op(
        _name,
        "weft Tensor",
        lambda: holes(empty=False),
        quiet(_oracle),
        result="same",
        gradients=with_holes,
        errors=[*BAD_AXIS, EMPTY],
        torch=None,
        reason="NumPy's: PyTorch has none",
    )


# ---- running values --------------------------------------------------------------------------------------------------


def running(better):
    """The definition, element by element: a NaN or an element that is at least as good is the new extreme."""

    def oracle(x, dim):
        if x.ndim == 0:
            return x, np.zeros((), "int64")
        x = np.moveaxis(x, dim, -1)
        values, indices = x.copy(), np.zeros(x.shape, "int64")
        for row in np.ndindex(x.shape[:-1]):
            at = 0
            for i in range(x.shape[-1]):
                now, best = x[(*row, i)], x[(*row, at)]
                if now != now or better(now, best):
                    at = i
                values[(*row, i)], indices[(*row, i)] = x[(*row, at)], at
        return np.moveaxis(values, -1, dim), np.moveaxis(indices, -1, dim)

    return oracle


def ties():
    yield from scan(dtypes=ALL)
    yield Sample(np.array([[1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 1.0, 5.0]]), dim=1)


DISTINCT = [Sample(floats(2, 5, dtype="float64"), dim=1), Sample(floats(4, 2, dtype="float64"), dim=0)]
op("cummax", "weft Tensor", ties, running(lambda a, b: a >= b), result=("same", "int64"), gradients=DISTINCT, errors=BAD_SCAN)
op("cummin", "weft Tensor", ties, running(lambda a, b: a <= b), result=("same", "int64"), gradients=DISTINCT, errors=BAD_SCAN)


def logarithms():
    yield from scan(dtypes=FLOATS)
    yield Sample(np.array([-1000.0, 0.0, 1000.0, 1000.0, -1000.0], "float32"), dim=0)
    yield Sample(np.array([-np.inf, -np.inf, 0.0, -np.inf], "float32"), dim=0)


op(
    "logcumsumexp",
    "weft Tensor",
    logarithms,
    lambda x, dim: x if x.ndim == 0 else np.logaddexp.accumulate(x, axis=dim),
    result="same",
    gradients=[Sample(floats(2, 5, dtype="float64"), dim=1)],
    errors=[*BAD_SCAN, Error(TypeError, "float", integers(3), dim=0)],
)


# ---- differences and integrals ---------------------------------------------------------------------------------------


def rows():
    for dtype in ALL:
        yield Sample(floats(3, 5, dtype=dtype))
    for shape in ((1,), (67,), (2, 3, 5), (3, 0)):
        yield Sample(floats(*shape))
    yield Sample(floats(4, 5), n=2)
    yield Sample(floats(4, 5), n=0)
    yield Sample(floats(3), n=7)
    yield Sample(floats(4, 5), dim=0)
    yield Sample(floats(4, 5), n=2, dim=0, prepend=floats(1, 5), append=floats(2, 5))
    yield Sample(floats(5, 4).T[::-1], dim=-2)
    yield Sample(floats(2, 4, dtype="float64"), n=2)


def diff(x, n=1, dim=-1, prepend=None, append=None):
    more = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    return np.diff(x, min(n, x.shape[dim]), dim, **more) if n > x.shape[dim] else np.diff(x, n, dim, **more)


op(
    "diff",
    "weft Tensor",
    rows,
    diff,
    result="same",
    errors=[Error(RuntimeError, "neighbours", floats()), Error(ValueError, "n must", floats(3), n=-1)],
)


def curves():
    for dtype in FLOATS:
        yield Sample(floats(3, 5, dtype=dtype))
    yield Sample(floats(3, 5), dx=0.5)
    yield Sample(floats(3, 5), dx=0.5, dim=0)
    yield Sample(floats(3, 5), np.sort(floats(5, seed=1)))
    yield Sample(floats(3, 5), np.sort(floats(3, seed=1)), dim=0)
    yield Sample(floats(3, 5), np.sort(floats(3, 5, seed=1)))
    yield Sample(floats(67), np.sort(floats(67, seed=1)))
    yield Sample(floats(1))
    yield Sample(floats(5, 3).T[::-1])
    yield Sample(floats(2, 4, dtype="float64"), np.sort(floats(4, dtype="float64", seed=1)))


def pieces(y, x=None, dx=1.0, dim=-1):
    y = np.moveaxis(y, dim, -1)
    if x is None:
        width = np.full(max(y.shape[-1] - 1, 0), dx)
    else:
        width = np.diff(x if x.ndim == 1 else np.moveaxis(x, dim, -1), axis=-1)
    return (y[..., 1:] + y[..., :-1]) / 2 * width


BAD_POINTS = [Error(RuntimeError, "points", floats(3, 5), floats(4)), Error(RuntimeError, "scalar", floats())]
op(
    "trapezoid",
    "weft",
    curves,
    lambda *a, **k: pieces(*a, **k).sum(-1),
    aliases="weft.trapz",
    result="float",
    promotes=True,
    errors=BAD_POINTS,
)
op(
    "cumulative_trapezoid",
    "weft",
    curves,
    lambda y, x=None, dx=1.0, dim=-1: np.moveaxis(np.cumsum(pieces(y, x, dx, dim), -1), -1, dim),
    result="float",
    promotes=True,
    errors=BAD_POINTS,
)


# ---- distances -------------------------------------------------------------------------------------------------------


def length(x, p, **how):
    if p == 0:
        return np.sum(x != 0, **how).astype("float64")
    return np.max(np.abs(x), **how) if np.isinf(p) else np.sum(np.abs(x) ** p, **how) ** (1 / p)


def apart():
    for dtype in FLOATS:
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4, dtype=dtype, seed=1))
    for p in (1.0, 2.0, 3.0, 0.5, np.inf):
        yield Sample(floats(67), floats(67, seed=1), p)
    yield Sample(floats(3, 1), floats(4, seed=1))
    yield Sample(floats(5, 4).T, floats(4, 5, seed=1)[::-1])
    yield Sample(floats(3, dtype="float64"), floats(3, dtype="float64", seed=1), 3.0)


op("dist", "weft Tensor", apart, lambda x, y, p=2.0: length(x - y, p), promotes=True, result="float",
   errors=[Error(RuntimeError, "broadcast", floats(3), floats(4)), Error(TypeError, "float", integers(3), integers(3))])  # fmt: skip


def points():
    for dtype in FLOATS:
        why = "has no kernel for halves" if dtype in ("float16", "bfloat16") else None
        yield Sample(floats(3, 4, dtype=dtype), floats(5, 4, dtype=dtype, seed=1)).unlike_torch(why)
    for p in (0.0, 1.0, 2.0, 3.0, np.inf):
        yield Sample(floats(3, 4), floats(5, 4, seed=1), p)
    for a, b in (
        ((2, 3, 4), (2, 5, 4)),
        ((2, 1, 3, 4), (6, 5, 4)),
        ((0, 4), (5, 4)),
        ((30, 7), (20, 7)),
        ((3, 0), (2, 0)),
        ((1, 1), (1, 1)),
    ):
        yield Sample(floats(*a), floats(*b, seed=1))
    yield Sample(floats(4, 3).T[::-1], floats(4, 10, seed=1)[:, ::2].T)
    yield Sample(floats(2, 3, dtype="float64"), floats(3, 3, dtype="float64", seed=1))
    yield Sample(floats(2, 3, dtype="float64"), floats(3, 3, dtype="float64", seed=1), 3.0)


def cdist(a, b, p=2.0):
    return length(a[..., :, None, :] - b[..., None, :, :], p, axis=-1) if a.shape[-1] else np.zeros((*a.shape[:-1], b.shape[-2]))


op(
    "cdist",
    "weft",
    points,
    cdist,
    promotes=True,
    result="float",
    errors=[
        Error(RuntimeError, "rows", floats(3), floats(3)),
        Error(RuntimeError, "rows of 4", floats(3, 4), floats(3, 5)),
        Error(ValueError, "p must", floats(3, 4), floats(3, 4), -1.0),
    ],
)


def slices():
    for dtype in FLOATS:
        yield Sample(floats(3, 4, dtype=dtype), 2.0, 0, 1.0)
    for p in (1.0, 3.0, np.inf):
        yield Sample(floats(3, 4), p, 1, 0.5)
    yield Sample(floats(2, 3, 5), 2.0, -1, 1.0)
    yield Sample(floats(3, 4), 2.0, 0, 100.0)
    yield Sample(floats(5, 4).T[::-1], 2.0, 0, 1.0)
    yield Sample(floats(3, 67), 2.0, 1, 0.5)
    yield Sample(floats(2, 3, dtype="float64"), 2.0, 0, 1.0)


def renorm(x, p, dim, maxnorm):
    size = length(x, p, axis=tuple(d for d in range(x.ndim) if d != dim % x.ndim), keepdims=True)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1)


op(
    "renorm",
    "weft Tensor Tensor_",
    slices,
    renorm,
    result="same",
    errors=[Error(ValueError, "p must", floats(3, 4), 0.0, 0, 1.0), Error(RuntimeError, "two axes", floats(3), 2.0, 0, 1.0)],
)


def normalize(x, p=2.0, dim=1, eps=1e-12):
    return x / np.maximum((np.abs(x) ** p).sum(dim, keepdims=True) ** (1 / p), eps)


op(
    "normalize",
    "F",
    lambda: [
        *(Sample(s.args[0]) for s in vectors()),
        Sample(floats(3, 4), 1.0),
        Sample(floats(3, 4), dim=0),
        Sample(np.zeros((2, 3), "float32")),
    ],
    normalize,
    result="same",
    gradients=[Sample(floats(2, 3, dtype="float64"))],
    errors=[Error(IndexError, "out of range", floats(3))],
)
