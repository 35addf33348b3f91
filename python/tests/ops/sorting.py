"""Order and search: sort, topk, unique, searchsorted, histograms, quantiles."""

import math

import numpy as np

from .registry import ALL, INTEGERS, NUMBERS, Error, Sample, as_dtype, dtype_of, floats, integers, op, reduction, scan

BAD_AXIS = Error(IndexError, "axis 3 is out of range", floats(2, 3), dim=3)
DISTINCT = np.array([[3.0, 1.0, 2.5], [-4.0, 7.0, 0.5]])
NOT_FOR_TORCH = ("bool", "uint16", "uint32", "uint64")


def order(x, dim=-1, descending=False):
    """Stable, NaN as the largest, for both directions."""
    if x.ndim == 0:
        return np.zeros((), "int64")
    keys = np.unique(x, return_inverse=True, equal_nan=True)[1].reshape(x.shape)  # ranks: no trouble with the sign of NaN or integers
    return np.argsort(-keys if descending else keys, axis=dim, kind="stable")


def picked(x, where, dim):
    return x if x.ndim == 0 else np.take_along_axis(x, where, dim)


def sorted_pair(x, dim=-1, descending=False, stable=False):
    where = order(x, dim, descending)
    return [picked(x, where, dim), where]


def orders(**options):
    def samples():
        for sample in scan(dtypes=ALL):
            dim = sample.kwargs["dim"]
            yield Sample(sample.args[0], dim, **options)
        yield Sample(integers(300, high=20), stable=True, **options)  # many ties, and long enough for the radix sort
        yield Sample(floats(3, 400), **options)
        yield Sample(np.array([0.0, -0.0, 0.0, math.nan, -math.inf, math.nan]), stable=True, **options)

    def stable():  # PyTorch promises the order of ties only if asked to
        for sample in samples():
            yield Sample(sample.args[0], **{"dim": sample.args[1] if len(sample.args) > 1 else -1, **sample.kwargs, "stable": True})

    return stable


op("sort", "weft Tensor", lambda: (*orders()(), *orders(descending=True)()), sorted_pair, result=("same", "int64"), errors=[BAD_AXIS, Error(TypeError, "dim", floats(3), "a")],
   gradients=[Sample(DISTINCT), Sample(DISTINCT, 0, descending=True)])  # fmt: skip
op("argsort", "weft Tensor", lambda: (*orders()(), *orders(descending=True)()), lambda x, dim=-1, descending=False, stable=False: order(x, dim, descending),
   result="int64", gradient=False, errors=[BAD_AXIS])  # fmt: skip
op("msort", "weft Tensor", lambda: (Sample(s.args[0]) for s in scan(dtypes=ALL)), lambda x: picked(x, order(x, 0), 0), result="same",
   gradients=[Sample(DISTINCT)])  # fmt: skip


def distinct_rows(dtypes=NUMBERS):
    """(array, dim): no ties along dim, so that indices are defined; all shapes, strides and dtypes."""
    for sample in scan(dtypes=dtypes, special=False):
        x, dim = sample.args[0], sample.kwargs["dim"]
        if x.ndim and x.shape[dim]:
            ranks = np.random.default_rng(x.size).permuted(np.broadcast_to(np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]), x.shape), axis=dim)
            base = as_dtype(ranks, dtype_of(x))
            yield (base if x.flags.c_contiguous else np.asfortranarray(base)), dim


def top(x, k, dim=-1, largest=True, sorted=True):
    where = np.take(order(x, dim, largest), np.arange(k), axis=dim) if x.ndim else order(x)
    return [picked(x, where, dim), where]


def top_samples():
    for x, dim in distinct_rows():
        for k in {1, min(3, x.shape[dim]), x.shape[dim]}:
            yield Sample(x, k, dim)
        yield Sample(x, 1, dim, largest=False)
    yield Sample(floats(3, 100), 0)
    yield Sample(np.random.default_rng(0).permutation(3000).astype("float32"), 5, sorted=False)
    yield Sample(floats(), 1)


op("topk", "weft Tensor", top_samples, top, result=("same", "int64"), gradients=[Sample(DISTINCT, 2), Sample(DISTINCT, 1, 0, largest=False)],
   errors=[Error(ValueError, "k must lie between 0 and the size 3", floats(2, 3), 4), Error(IndexError, "axis 2 is out of range", floats(2, 3), 1, 2)])  # fmt: skip


def kth(x, k, dim=-1, keepdim=False):
    if x.ndim == 0:
        return [x, np.zeros((), "int64")]
    where = np.take(order(x, dim), [k - 1], axis=dim)
    return [squeezed(picked(x, where, dim), dim, keepdim), squeezed(where, dim, keepdim)]


def squeezed(x, dim, keepdim):
    return x if keepdim else np.squeeze(x, dim)


def kth_samples():
    for x, dim in distinct_rows():
        yield Sample(x, (x.shape[dim] + 1) // 2, dim)
        yield Sample(x, x.shape[dim], dim, True)
    yield Sample(floats(), 1)


op("kthvalue", "weft Tensor", kth_samples, kth, result=("same", "int64"), gradients=[Sample(DISTINCT, 2), Sample(DISTINCT, 1, 0)],
   errors=[Error(ValueError, "k must lie between 1 and the size 3", floats(2, 3), 0), Error(ValueError, "nothing along axis", floats(0), 1)])  # fmt: skip


def median(skip_nan):
    def oracle(x, dim=None, keepdim=False):
        if dim is None:
            return oracle(x.reshape(-1), 0)[0]
        if x.ndim == 0:
            return [x, np.zeros((), "int64")]
        valid = np.sum(~np.isnan(x), axis=dim, keepdims=True) if x.dtype.kind == "f" else np.full_like(np.sum(x, axis=dim, keepdims=True), x.shape[dim], "int64")
        n = x.shape[dim]
        at = np.maximum(valid - 1, 0) // 2 if skip_nan else np.where(valid == n, (n - 1) // 2, np.minimum(valid, n - 1))
        where = np.take_along_axis(order(x, dim), at, dim)
        return [squeezed(picked(x, where, dim), dim, keepdim), squeezed(where, dim, keepdim)]

    return oracle


def median_samples():
    for x, dim in distinct_rows():
        yield Sample(x, dim)
        yield Sample(x, dim, keepdim=True)
        if x.size:
            yield Sample(x)
    yield Sample(np.array([[1.0, math.nan, 3.0, 2.0], [math.nan, -math.inf, math.inf, 0.0]]), 1).unlike_torch("the index of a NaN")
    yield Sample(np.array([1.0, math.nan, 3.0, 2.0]))
    yield Sample(floats(), 0)


def pair_along_dim(sample):
    along = sample.kwargs.get("dim", sample.args[1] if len(sample.args) > 1 else None) is not None
    return (dtype_of(sample.args[0]), "int64") if along else dtype_of(sample.args[0])


for _name, _skip in (("median", False), ("nanmedian", True)):
    op(_name, "weft Tensor", median_samples, median(_skip), result=pair_along_dim, gradients=[Sample(DISTINCT, 1), Sample(DISTINCT)],
       errors=[BAD_AXIS, Error(ValueError, "nothing along axis", floats(0), 0)])  # fmt: skip


def modes(x, dim=-1, keepdim=False):
    if x.ndim == 0:
        return [x, np.zeros((), "int64")]
    rows = np.moveaxis(x, dim, -1)
    where = np.empty(rows.shape[:-1], "int64")
    for index in np.ndindex(where.shape):
        values, counts = np.unique(rows[index], return_counts=True)
        where[index] = np.flatnonzero(rows[index] == values[np.argmax(counts)])[-1]
    where = np.expand_dims(where, dim % x.ndim)
    return [squeezed(np.take_along_axis(x, where, dim), dim, keepdim), squeezed(where, dim, keepdim)]


def last_mode(torch, x, dim=-1, keepdim=False):
    """PyTorch names any of the equal elements."""
    values = torch.mode(x, dim, True)[0]
    where = x.ndim and x.shape[dim] - 1 - torch.argmax((x == values).flip(dim).int(), dim, True)
    return [t if keepdim or t.ndim == 0 else t.squeeze(dim) for t in (values, torch.as_tensor(where))]


def mode_samples():
    for x, dim in distinct_rows():
        yield Sample(x, dim)
    for shape in ((7,), (3, 9), (2, 30)):
        for dim in range(len(shape)):
            yield Sample(integers(*shape, high=4), dim, keepdim=True)
            yield Sample(np.round(floats(*shape)), dim)
    yield Sample(floats())


op("mode", "weft Tensor", mode_samples, modes, result=("same", "int64"), gradients=[Sample(DISTINCT, 1)], errors=[BAD_AXIS, Error(ValueError, "nothing along", floats(0))],
   torch=last_mode)  # fmt: skip


def quantile(skip_nan):
    def oracle(x, q, dim=None, keepdim=False, interpolation="linear"):
        function = np.nanquantile if skip_nan else np.quantile
        with np.errstate(invalid="ignore"):
            return np.asarray(function(x, q, axis=None if x.ndim == 0 else dim, keepdims=keepdim, method=interpolation))

    return oracle


def quantile_samples():
    for mode in ("linear", "lower", "higher", "nearest", "midpoint"):
        for shape, dim in (((7,), 0), ((1,), -1), ((3, 5), 0), ((3, 5), 1), ((2, 3, 6), 1), ((3, 5), None)):
            x = floats(*shape, dtype="float64")
            yield Sample(x, 0.37, dim, interpolation=mode)
            yield Sample(x, np.array([0.0, 0.3, 0.8, 1.0]), dim, keepdim=True, interpolation=mode)
        yield Sample(floats(3, 67), 0.21, 1, interpolation=mode)
    yield Sample(np.array([[1.0, math.nan, 3.0], [4.0, 5.0, 6.0]]), 0.5, 1)
    yield Sample(floats(4, 6)[:, ::2], 0.9, 1)
    yield Sample(floats(4, 6).T, np.array([0.9], "float32"), 0)
    yield Sample(floats(), 0.5)


for _name, _skip in (("quantile", False), ("nanquantile", True)):
    op(_name, "weft Tensor", quantile_samples, quantile(_skip), result="same", gradients=[Sample(DISTINCT, 0.4, 1), Sample(DISTINCT, 0.15), Sample(DISTINCT, np.array([0.15, 0.7]), 1)],
       errors=[Error(ValueError, "q must lie in [0, 1]", floats(3), 1.5), Error(TypeError, "must be f32 or f64", integers(3), 0.5),
               Error(ValueError, "interpolation", floats(3), 0.5, interpolation="cubic"), Error(ValueError, "nothing along", floats(0), 0.5)])  # fmt: skip


# ---- search ----------------------------------------------------------------------------------------------------------


def searched(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    where = side or ("right" if right else "left")
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, input, where)
    found = np.empty(input.shape, "int64")
    for index in np.ndindex(input.shape[:-1]):
        found[index] = np.searchsorted(sorted_sequence[index], input[index], where)
    return found


def search_samples():
    for dtype in NUMBERS:
        row = np.sort(floats(9, high=9, dtype=dtype)) if dtype != "bfloat16" else floats(1, dtype=dtype)
        sample = Sample(row, floats(5, high=9, dtype=dtype))
        yield sample.unlike_torch("u16, u32 and u64 have no searchsorted") if dtype in NOT_FOR_TORCH else sample
    rows = np.sort(floats(3, 8), -1)
    for right in (False, True):
        yield Sample(rows, np.concatenate([rows[:, ::2], floats(3, 4)], 1), right=right)
        yield Sample(rows[0], rows, right=right)
    yield Sample(rows[0], np.float32(0.3) * np.ones(()), side="right")
    yield Sample(rows[0], 0.5)
    yield Sample(floats(0), floats(3))
    yield Sample(rows[0], floats(0))
    yield Sample(floats(6), floats(4), sorter=np.argsort(floats(6)))


op("searchsorted", "weft", search_samples, searched, result="int64", gradient=False, promotes=False,
   errors=[Error(ValueError, "must be 1-d, or have the sizes", floats(2, 3), floats(3)), Error(ValueError, "side", floats(2), floats(2), side="up")])  # fmt: skip


def bucket_samples():
    edges = np.sort(floats(6))
    for right in (False, True):
        for shape in ((), (0,), (1,), (67,), (3, 5)):
            yield Sample(floats(*shape), edges, right=right)
        yield Sample(floats(4, 6)[:, ::-2], edges, right=right)
        yield Sample(edges, edges, right=right)
    yield Sample(0.3, edges)
    yield Sample(integers(7), np.array([2, 5, 5, 8]))


op("bucketize", "weft", bucket_samples, lambda x, edges, *, right=False: np.searchsorted(edges, x, "right" if right else "left"), result="int64", gradient=False, promotes=False,
   errors=[Error(ValueError, "boundaries must be 1-d", floats(3), floats(2, 2))])  # fmt: skip


def isin_samples():
    for dtype in NUMBERS:
        sample = Sample(floats(3, 5, high=6, dtype=dtype), floats(4, high=6, dtype=dtype))
        yield sample.unlike_torch("u16, u32 and u64 have no isin") if dtype in NOT_FOR_TORCH else sample
    yield Sample(integers(7), integers(2, 3), invert=True)
    yield Sample(integers(7), integers(0))
    yield Sample(integers(0), integers(3), invert=True)
    yield Sample(integers(4, 6)[:, ::-2], integers(3), assume_unique=False)
    yield Sample(np.array([math.nan, 1.0, -0.0, math.inf]), np.array([math.nan, 0.0, math.inf]))
    yield Sample(integers(5), 3)


op("isin", "weft", isin_samples, lambda x, others, *, invert=False, assume_unique=False: np.isin(x, others, invert=invert), result="bool", gradient=False,
   errors=[Error(TypeError, "must be a Tensor", 3, 4)])  # fmt: skip


def histogram(x, bins=100, min=0, max=0):
    if min == max and x.size:
        min, max = float(x.min()), float(x.max())
        if min == max:
            min, max = min - 1, max + 1
    return np.histogram(x, bins, (min, max) if x.size else (0, 1))[0]


def histc_samples():
    for shape in ((0,), (1,), (7,), (67,), (3, 5)):
        yield Sample(floats(*shape), 5)
        yield Sample(floats(*shape), bins=4, min=-1, max=1)
    yield Sample(floats(20, dtype="float64"))
    yield Sample(floats(6, 4)[::-2], 3)
    yield Sample(np.array([0.0, 1.0, 2.0, 3.0, math.inf, math.nan]), 3, 0, 3).unlike_torch("it fails on NaN")


op("histc", "weft Tensor", histc_samples, histogram, result="same", gradient=False,
   errors=[Error(ValueError, "at least one bin", floats(3), 0), Error(ValueError, "exceeds", floats(3), 3, 2, 1), Error(TypeError, "must hold floats", integers(3))])  # fmt: skip


def bincount_samples():
    for dtype in (d for d in INTEGERS if d not in NOT_FOR_TORCH):
        yield Sample(integers(20, high=7, dtype=dtype))
    for size in (0, 1, 67):
        yield Sample(integers(size), minlength=12)
        for sample in (Sample(integers(size), floats(size)), Sample(integers(size), floats(size, dtype="float64"), 3)):
            yield sample if size else sample.unlike_torch("it ignores the weights' type when there are none")
    yield Sample(integers(20)[::-2])


def counted(sample):
    weights = sample.args[1] if len(sample.args) > 1 else None
    return "int64" if weights is None else "float32" if dtype_of(weights) == "float32" else "float64"


op("bincount", "weft Tensor", bincount_samples, lambda x, weights=None, minlength=0: np.bincount(x.astype("int64"), weights, minlength), result=counted, gradient=False,
   errors=[Error(ValueError, "negative", np.array([-1])), Error(TypeError, "must hold integers", floats(3)), Error(ValueError, "1-d", integers(2, 2))])  # fmt: skip


# ---- what differs ----------------------------------------------------------------------------------------------------


def in_parts(values, inverse, counts, return_inverse, return_counts):
    results = [values] + [inverse] * return_inverse + [counts] * return_counts
    return results if len(results) > 1 else values


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    values, inverse, counts = np.unique(x, axis=dim, return_inverse=True, return_counts=True, equal_nan=False)
    return in_parts(values, inverse.reshape(x.shape if dim is None else -1), counts, return_inverse, return_counts)


def neighbours(x, return_inverse=False, return_counts=False, dim=None):
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    flat = rows.reshape(len(rows), -1) if rows.size else np.zeros((len(rows), 1))
    begins = np.append(True, (flat[1:] != flat[:-1]).any(1))[: len(rows)]
    inverse = np.cumsum(begins) - 1
    values = rows[begins] if dim is None else np.moveaxis(rows[begins], 0, dim)
    return in_parts(values, inverse.reshape(x.shape if dim is None else -1), np.bincount(inverse, minlength=0), return_inverse, return_counts)


def unique_samples(first):
    def samples():
        for dtype in ALL:
            yield Sample(floats(3, 8, high=5, dtype=dtype))
        for shape in ((), (0,), (1,), (67,), (5, 4)):
            yield Sample(integers(*shape, high=4), **first, return_inverse=True, return_counts=True)
        for dim in (0, 1, -1):
            yield Sample(integers(9, 2, high=2), return_inverse=True, return_counts=True, dim=dim)
            yield Sample(integers(2, 3, 4, high=2), return_counts=True, dim=dim)
        yield Sample(integers(8, 6, high=3)[::-2, ::3], return_inverse=True)
        yield Sample(np.array([1.0, math.nan, -0.0, 0.0, math.nan, -math.inf]), return_inverse=True)

    return samples


def unique_types(sample):
    extra = sum(bool(sample.kwargs.get(name)) for name in ("return_inverse", "return_counts"))
    return (dtype_of(sample.args[0]), *["int64"] * extra) if extra else dtype_of(sample.args[0])


op("unique", "weft Tensor", unique_samples({"sorted": True}), unique, result=unique_types, gradients=[Sample(DISTINCT).unlike_torch("it has no derivative")], errors=[BAD_AXIS])
op("unique_consecutive", "weft Tensor", unique_samples({}), neighbours, result=unique_types, gradients=[Sample(DISTINCT).unlike_torch("it has no derivative")], errors=[BAD_AXIS])
