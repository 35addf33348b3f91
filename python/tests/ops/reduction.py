"""Reductions over axes: sums, extremes, norms, statistics."""

import math

import numpy as np
from scipy import special

from .registry import ALL, FLOATS, INTEGERS, D, Error, Sample, as_dtype, dtype_of, floats, integers, op, reduction

BAD_AXIS = [Error(IndexError, "axis 2 is out of range", floats(3, 4), dim=2), Error(TypeError, "input", [1.0])]


def axes(x, dim):
    """A dim of PyTorch's as NumPy's axis: 0-d tensors have an axis 0, an empty list means all."""
    if dim is None or (isinstance(dim, tuple) and not dim) or np.ndim(x) == 0:
        return None
    return dim


def reduced(function, **settings):
    def oracle(x, dim=None, keepdim=False, dtype=None):
        return function(np.asarray(x), axis=axes(x, dim), keepdims=keepdim, **settings)

    return oracle


def summed(function):
    def oracle(x, dim=None, keepdim=False, dtype=None):
        wide = np.asarray(x).astype("int64") if x.dtype.kind in "iub" and dtype is None else np.asarray(x).astype(dtype or x.dtype)
        return function(wide, axis=axes(x, dim), keepdims=keepdim)

    return oracle


def sums():
    yield from reduction()
    yield Sample(floats(3, 4, dtype="int32"), dim=1, dtype=D("float32"))
    yield Sample(floats(3, 4, dtype="float16"), dtype=D("float64"))
    yield Sample(floats(3, 4, low=50, high=100, dtype="uint8"), dim=1, dtype=D("int8"))
    yield Sample(floats(3, 4, dtype="int8"), dtype=D("int32"))
    yield Sample(floats(3, 4, dtype="float64"), dim=1)
    yield Sample(floats(3, 4, dtype="float64"), dim=())


op("sum", "weft Tensor", sums, summed(np.sum), result="sum", errors=BAD_AXIS)


def products():
    yield from reduction(0.5, 1.5, tuples=False)
    yield Sample(floats(3, 9, low=-3, high=3, dtype="int8"), dim=1)
    yield Sample(floats(3, 4, dtype="int32"), dim=1, dtype=D("float32"))
    yield Sample(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), dim=1)


op("prod", "weft Tensor", products, summed(np.prod), result="sum", errors=BAD_AXIS)
op(
    "mean",
    "weft Tensor",
    lambda: reduction(dtypes=FLOATS),
    reduced(np.mean),
    result="same",
    errors=[*BAD_AXIS, Error(RuntimeError, "i64", integers(3))],
)
for name in ("any", "all"):
    op(
        name,
        "weft Tensor",
        lambda: reduction(),
        reduced(getattr(np, name)),
        result="bool",
        promotes=False,
        gradient=False,
        errors=BAD_AXIS,
        torch=lambda torch, x, name=name, **k: getattr(torch, name)(x.bool(), **k),
    )


def spread(function):
    def oracle(x, dim=None, keepdim=False, correction=1, unbiased=None):
        correction = correction if unbiased is None else int(unbiased)
        axis = axes(x, dim)
        count = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)])
        sums = ((x - x.mean(axis=axis, keepdims=True)) ** 2).sum(axis=axis, keepdims=keepdim)
        return function(sums / max(count - correction, 0) if count else sums * np.nan)

    return oracle


def spreads():
    yield from reduction(dtypes=FLOATS)
    yield Sample(floats(3, 5), dim=1, correction=0)
    yield Sample(floats(3, 5), dim=0, unbiased=False)
    yield Sample(floats(3, 5), dim=1, correction=5)
    yield Sample(floats(3, 5) + 1000, dim=1)


BAD_SPREAD = [*BAD_AXIS, Error(RuntimeError, "i64", integers(3))]
op("var", "weft Tensor", spreads, spread(lambda v: v), result="same", errors=BAD_SPREAD)
op("std", "weft Tensor", spreads, spread(np.sqrt), result="same", errors=BAD_SPREAD)


def norms():
    for p in (2, 1, 3, 0.5, 0, math.inf, -math.inf, "fro"):
        yield Sample(floats(3, 5), p, 1)
        yield Sample(floats(2, 3, 5, dtype="float64"), p, (0, 2), True)
    for dtype in FLOATS:
        yield Sample(floats(67, dtype=dtype))
    yield Sample(floats(0))
    yield Sample(floats())
    yield Sample(floats(4, 5).T[::-1])
    yield Sample(np.array([np.nan, 1, np.inf], "float32"))
    yield Sample(floats(3, 2, dtype="float64"), 3, 1)
    yield Sample(floats(3, 2, dtype="float16"), dtype=D("float64"))


def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    p, axis, size = 2 if p == "fro" else p, axes(x, dim), np.abs(x)
    if p in (math.inf, -math.inf):
        return (np.max if p > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    if p == 0:
        return (size != 0).sum(axis=axis, keepdims=keepdim)
    return (size**p).sum(axis=axis, keepdims=keepdim) ** (1 / p)


op(
    "norm",
    "weft Tensor",
    norms,
    norm,
    result="same",
    errors=[*BAD_AXIS, Error(ValueError, "'p'", floats(3), "max")],
    gradients=[Sample(floats(2, 3, dtype="float64"), p, 1) for p in (2, 1, 3, math.inf)],
)


def logsumexp(x, dim, keepdim=False):
    return (
        special.logsumexp(x, axis=axes(x, dim), keepdims=keepdim) if x.size else np.log(np.exp(x).sum(axis=axes(x, dim), keepdims=keepdim))
    )


def logsums():
    yield from reduction(-5, 5, none=False)
    yield Sample(floats(3, 5) * 200, dim=1)
    yield Sample(as_dtype([[-np.inf, -np.inf], [np.inf, 1]], "float32"), dim=1)


op("logsumexp", "weft Tensor", logsums, logsumexp, result="float", errors=[Error(IndexError, "axis 1 is out of range", floats(3), 1)])

# ---- extremes --------------------------------------------------------------------------------------------------------

EMPTY = Error(ValueError, "no", floats(0))


def extremes(tuples=True, dtypes=ALL):
    return lambda: reduction(-9, 9, dtypes=dtypes, empty=False, tuples=tuples)


NO_TIES = [Sample(np.array([[1.0, 3.0, 2.0], [5.0, -4.0, 0.5]]), dim=d) for d in (0, 1)]
for _name, _function, _place in (("amax", np.max, np.argmax), ("amin", np.min, np.argmin)):
    op(_name, "weft Tensor", extremes(), reduced(_function), result="same", errors=[*BAD_AXIS, EMPTY], gradients=NO_TIES)


def with_indices(function, place):
    def oracle(x, dim=None, keepdim=False):
        if isinstance(dim, np.ndarray):
            return {np.max: np.maximum, np.min: np.minimum}[function](x, dim)
        if dim is None:
            return function(x, axis=None, keepdims=keepdim)
        return [function(x, axis=axes(x, dim), keepdims=keepdim), place(x, axis=axes(x, dim), keepdims=keepdim)]

    return oracle


def pairs(sample):
    from .registry import common_dtype

    if len(sample.args) == 2:
        return common_dtype(sample.args)
    kind = dtype_of(sample.args[0])
    return (kind, "int64") if "dim" in sample.kwargs else kind


def max_samples():
    for sample in extremes(tuples=False)():
        # The first of equal elements; PyTorch says nothing about which one, and refuses bools.
        yield sample.unlike_torch("S37") if dtype_of(sample.args[0]) in ("bool", *INTEGERS) else sample
    yield Sample(floats(3, 1), floats(4, seed=1))
    yield Sample(floats(3), floats(3, dtype="float64", seed=1))


for _name, _function, _place in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
    op(
        _name,
        "weft Tensor",
        max_samples,
        with_indices(_function, _place),
        result=pairs,
        promotes=False,
        errors=[*BAD_AXIS, EMPTY],
        gradients=[*NO_TIES, Sample(NO_TIES[0].args[0]), Sample(floats(3, dtype="float64"), floats(3, dtype="float64", seed=1))],
    )


def places(function):
    return lambda x, dim=None, keepdim=False: function(x, axis=axes(x, dim), keepdims=keepdim)


for _name, _place in (("argmax", np.argmax), ("argmin", np.argmin)):
    op(
        _name,
        "weft Tensor",
        lambda: (s.unlike_torch("S37") if dtype_of(s.args[0]) in ("bool", *INTEGERS) else s for s in extremes(tuples=False)()),
        places(_place),
        result="int64",
        gradient=False,
        errors=[*BAD_AXIS, EMPTY],
    )
