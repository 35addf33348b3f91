"""Writes at indices that are data, and parts replaced."""

import numpy as np

from .registry import Error, Sample, floats, integers, op

KINDS = ("float32", "float64", "int64", "float16", "bfloat16", "uint8", "int16", "int32")


def distinct(*shape, dtype="float64", seed=0):
    """Numbers without ties, so that maxima have one derivative."""
    rng = np.random.default_rng((seed, *shape))
    return (rng.permutation(int(np.prod(shape))).reshape(shape) / 4 - 1.3).astype(dtype)


# ---- element by element ----------------------------------------------------------------------------------------------

JOINS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


def joined(result, places, values, reduce, include_self):
    """All values that meet in one place, joined in index order."""
    kind = result.dtype
    wide = result.astype("float64") if kind.kind == "f" else result.astype("int64")
    counts = np.full(result.shape, 1 if include_self else 0)
    if not include_self:
        neutral = {"prod": 1, "amax": -np.inf, "amin": np.inf}.get(reduce, 0)
        if kind.kind != "f" and reduce in ("amax", "amin"):
            neutral = np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max
        wide[places] = neutral
    JOINS[reduce].at(wide, places, values.astype(wide.dtype))
    np.add.at(counts, places, 1)
    if reduce == "mean":
        wide = wide / np.maximum(counts, 1) if kind.kind == "f" else wide // np.maximum(counts, 1)
    return wide.astype(kind)


def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    if x.ndim == 0:
        return scatter_reduce(x.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self).reshape(())
    places = list(np.indices(index.shape))
    places[dim % x.ndim] = index
    return joined(x.copy(), tuple(places), src[tuple(slice(n) for n in index.shape)], reduce, include_self)


def reduces():
    for reduce in JOINS:
        for dtype in KINDS:
            yield Sample(floats(3, 5, low=1, high=4, dtype=dtype), 1, integers(3, 7, high=5), floats(3, 7, low=1, high=4, dtype=dtype, seed=1), reduce)
        for include_self in (True, False):
            yield Sample(floats(3, 5), 0, integers(4, 2, high=3), floats(4, 3, seed=1), reduce, include_self=include_self)
            yield Sample(floats(5, 3).T, -1, integers(9, 2, high=5).T, floats(9, 3, seed=1).T[:, ::-1], reduce, include_self=include_self)
            yield Sample(floats(4), 0, integers(0), floats(0), reduce, include_self=include_self)
            yield Sample(floats(67), 0, integers(99, high=67), floats(99, seed=1), reduce, include_self=include_self)
            yield Sample(floats(), 0, integers(high=1), floats(seed=1), reduce, include_self=include_self)
        yield Sample(np.array([1, np.nan, 2, -np.inf], "float32"), 0, np.array([0, 1, 2, 2, 3]), np.array([np.nan, 1, np.inf, 2, 0], "float32"), reduce)
        yield Sample(floats(3, 5, dtype="int64"), 1, integers(3, 1, high=5), floats(3, 1, dtype="int64", seed=1), reduce)


def reduce_gradients():
    for reduce in JOINS:
        for include_self in (True, False):
            yield Sample(distinct(2, 3), 1, np.array([[0, 0, 2, 0], [1, 2, 2, 2]]), distinct(2, 4, seed=3) + 0.11, reduce, include_self=include_self)
    yield Sample(np.array([2.0, 3.0]), 0, np.array([0, 0, 1]), np.array([0.0, 4.0, 5.0]), "sum")


BAD = [
    Error(IndexError, "out of range", floats(3), 1, integers(2), floats(2), "sum"), Error(TypeError, "index", floats(3), 0, floats(2), floats(2), "sum"),
    Error(RuntimeError, "source", floats(3), 0, integers(3), floats(2), "sum"), Error(ValueError, "'amin'", floats(3), 0, integers(3), floats(3), "max"),
    Error(TypeError, "bools", floats(3) > 0, 0, integers(3), floats(3) > 0, "prod"), Error(TypeError, "does not fit", integers(3), 0, integers(3), floats(3), "sum"),
]  # fmt: skip
op("scatter_reduce", "weft Tensor Tensor_", reduces, scatter_reduce, result="same", gradients=reduce_gradients, errors=BAD)


def scatter_with(x, dim, index, src=None, value=None, reduce=None):
    src = np.full(index.shape, value).astype(x.dtype) if src is None else np.broadcast_to(src, index.shape).astype(x.dtype) if np.ndim(src) == 0 else src
    return scatter_reduce(x, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])


def their_scatter(torch, x, dim, index, src=None, value=None, reduce=None):
    if not x.requires_grad:
        return x.scatter(dim, index, value if src is None else src, reduce=reduce)
    return x.scatter_reduce(dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])  # scatter with reduce has no gradient there


op(
    "scatter", "weft Tensor Tensor_",
    lambda: [Sample(floats(3, 5, low=1, high=4, dtype=d), 1, integers(3, 7, high=5), floats(3, 7, low=1, high=4, dtype=d, seed=1), reduce=r) for d in KINDS for r in ("add", "multiply")]
    + [Sample(floats(3, 5), 1, integers(3, 7, high=5), value=2, reduce=r) for r in ("add", "multiply")] + [Sample(floats(4), 0, integers(3, high=4), 1.5, reduce="add")]
    + [Sample(floats(2, 3, dtype="float64"), 1, np.array([[0, 2], [1, 1]]), floats(2, 2, dtype="float64", seed=1), reduce="add")],
    scatter_with, result="same", torch=their_scatter,
    errors=[Error(ValueError, "'add' or 'multiply'", floats(3), 0, integers(2), floats(2), reduce="sum"), Error(TypeError, "one of", floats(3), 0, integers(2))],
)  # fmt: skip


def puts():
    for dtype in (*KINDS, "bool"):
        yield Sample(floats(3, 4, dtype=dtype), np.array([0, 5, 11]), floats(3, dtype=dtype, seed=1))
        if dtype != "bool":
            yield Sample(floats(3, 4, dtype=dtype), np.array([[0, 5], [5, -1]]), floats(2, 2, dtype=dtype, seed=1), True)
    yield Sample(floats(4, 3).T, np.array([1, -12, 7]), floats(3, seed=1))
    yield Sample(floats(67), integers(0), floats(0))
    yield Sample(floats(), np.array([0]), floats(1))
    yield Sample(floats(2, 3, dtype="float64"), np.array([1, 4]), floats(2, dtype="float64", seed=1))


def put(x, index, source, accumulate=False):
    result = x.copy().reshape(-1)
    if accumulate:
        np.add.at(result, index.reshape(-1), source.reshape(-1))
    else:
        result[index.reshape(-1)] = source.reshape(-1)
    return result.reshape(x.shape)


op("put", "weft Tensor Tensor_", puts, put, result="same",
   errors=[Error(RuntimeError, "as many values", floats(3), integers(2), floats(3)), Error(TypeError, "integer", floats(3), floats(2), floats(2)), Error(TypeError, "bools", floats(3) > 0, integers(1), floats(1) > 0, True)])  # fmt: skip


def index_puts():
    for dtype in (*KINDS, "bool"):
        yield Sample(floats(3, 4, dtype=dtype), (np.array([0, 2, -1]), np.array([1, 3, 0])), floats(3, dtype=dtype, seed=1))
    x = floats(3, 4, 2)
    yield Sample(x, (np.array([0, 2]),), floats(2, 4, 2, seed=1))
    yield Sample(x, (np.array([0, 2]),), floats(2, seed=1))
    yield Sample(x, (np.array([[0], [2]]), np.array([1, 3])), floats(2, 2, 2, seed=1))
    yield Sample(x, (np.array([0, 0, 2]), np.array([1, 1, 3])), floats(3, 2, seed=1), True)
    yield Sample(x, (floats(3, 4, seed=2) > 0,), floats(seed=1))
    yield Sample(x, (np.array([True, False, True]), np.array([1, 3])), floats(2, 2, seed=1), accumulate=True)
    yield Sample(x.transpose(2, 0, 1), (np.array([1]), np.array([2, 0])), floats(1, seed=1))
    yield Sample(x, (np.array([], int),), floats(1))
    yield Sample(floats(2, 3, dtype="float64"), (np.array([0, 1]), np.array([2, 2])), floats(2, dtype="float64", seed=1))
    yield Sample(floats(2, 3, dtype="float64"), (np.array([0, 0]), np.array([2, 2])), floats(2, dtype="float64", seed=1), True)


def index_put(x, indices, values, accumulate=False):
    result = x.copy()
    if accumulate:
        np.add.at(result, indices, values)
    else:
        result[indices] = values
    return result


op("index_put", "weft Tensor Tensor_", index_puts, index_put, result="same",
   errors=[Error(IndexError, "too many", floats(3), (integers(1), integers(1)), floats(1)), Error(RuntimeError, "broadcast", floats(3), (integers(2),), floats(3)), Error(IndexError, "does not fit", floats(3), (floats(4) > 0,), floats())])  # fmt: skip


def fills():
    for dtype in (*KINDS, "bool"):
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4, seed=1) > 0, floats(12, dtype=dtype, seed=2))
    yield Sample(floats(3, 4), floats(4, seed=1) > 0, floats(3, 4, seed=2))
    yield Sample(floats(4, 3).T, floats(3, 1) > 0, floats(5, 4, seed=2).T)
    yield Sample(floats(67), floats(67, seed=1) > 0, floats(99)[::-1])
    yield Sample(floats(3), floats(3) > 9, floats(0))
    yield Sample(floats(0), floats(0) > 0, floats(3))
    yield Sample(floats(), np.array(True), floats(1))
    yield Sample(floats(2, 3, dtype="float64"), np.array([True, False, True]), floats(5, dtype="float64", seed=1))


def masked_scatter(x, mask, source):
    result, mask = x.copy(), np.broadcast_to(mask, x.shape)
    result[mask] = source.reshape(-1)[: mask.sum()]
    return result


op("masked_scatter", "weft Tensor Tensor_", fills, masked_scatter, result="same",
   errors=[Error(TypeError, "bool", floats(3), floats(3), floats(3)), Error(RuntimeError, "broadcast", floats(3), floats(2, 4) > 0, floats(8)), Error(TypeError, "must be x's", floats(3), floats(3) > 0, integers(3))])  # fmt: skip


# ---- slice by slice --------------------------------------------------------------------------------------------------


def slices(*more, reduce=(), ties=True):
    for dtype in KINDS:
        yield Sample(floats(3, 5, low=1, high=4, dtype=dtype), 1, np.array([4, 0, 2]), floats(3, 3, low=1, high=4, dtype=dtype, seed=1), *reduce)
    yield Sample(floats(5, 3), 0, np.array([1, 4]), floats(2, 3, seed=1), *reduce)
    yield Sample(floats(5, 3).T, -1, np.array([4, 2]), floats(2, 3, seed=1).T, *reduce)
    yield Sample(floats(67), 0, np.arange(67)[::-3], floats(67, seed=1)[::3], *reduce)
    yield Sample(floats(3, 2), 0, integers(0), floats(0, 2), *reduce)
    yield Sample(floats(2, 3, 4)[::-1], 1, np.array([2, 0], "int32"), floats(2, 2, 4, seed=1), *reduce).unlike_torch("i32 indices")
    yield Sample(distinct(2, 3), 1, np.array([0, 2]), distinct(2, 2, seed=3) + 0.11, *reduce)
    if ties:
        yield Sample(floats(5, 3), 0, np.array([1, 4, 1, 1]), floats(4, 3, seed=1), *reduce)
        yield Sample(distinct(2, 3), 1, np.array([0, 0]), distinct(2, 2, seed=3) + 0.11, *reduce)


def moved(x, dim):
    return np.moveaxis(x, dim, 0)


def index_copy(x, dim, index, source):
    result = x.copy()
    moved(result, dim)[index] = moved(source, dim)
    return result


def index_fill(x, dim, index, value):
    result = x.copy()
    moved(result, dim)[index] = value
    return result


def index_reduce(x, dim, index, source, reduce, include_self=True):
    rows = joined(moved(x, dim).copy(), (index,), moved(source, dim), reduce, include_self)
    if reduce == "mean":
        counts = np.full(x.shape[dim], 1 if include_self else 0)
        np.add.at(counts, index, 1)
        total = joined(moved(x, dim).copy(), (index,), moved(source, dim), "sum", include_self)
        counts = np.maximum(counts, 1).reshape([-1] + [1] * (x.ndim - 1))
        rows = total / counts if x.dtype.kind == "f" else total // counts
    return np.moveaxis(rows, 0, dim)


def scaled_add(x, dim, index, source, alpha=1):
    result = x.copy()
    np.add.at(moved(result, dim), index, moved(source, dim) * alpha)
    return result


BAD_SLICES = [
    Error(IndexError, "out of range", floats(3), 1, integers(2), floats(2)), Error(RuntimeError, "one axis", floats(3), 0, integers(2, 2), floats(2)),
    Error(RuntimeError, "source must have shape", floats(3), 0, integers(3), floats(2)), Error(TypeError, "integer", floats(3), 0, floats(2), floats(2)),
]  # fmt: skip
op("index_copy", "weft Tensor Tensor_", lambda: slices(ties=False), index_copy, result="same", errors=BAD_SLICES)
op("index_fill", "weft Tensor Tensor_", lambda: [Sample(*s.args[:3], 3) for s in slices()] + [Sample(floats(3, 4), 1, np.array([0]), floats())], index_fill, result="same", gradient=(0,), torch=lambda torch, x, dim, index, value: x.index_fill(dim, index.long(), value),
   errors=[Error(RuntimeError, "one number", floats(3), 0, integers(2), floats(2)), Error(TypeError, "does not fit", integers(3), 0, integers(2), 2.5)])  # fmt: skip
op("index_reduce", "weft Tensor Tensor_",
   lambda: [s for r in ("prod", "mean", "amax", "amin") for s in slices(reduce=(r,))] + [Sample(*s.args, include_self=False) for r in ("prod", "mean", "amax", "amin") for s in slices(reduce=(r,)) if not s.unlike],
   index_reduce, result="same", gradients=lambda: [s for r in ("prod", "mean", "amax", "amin") for s in slices(reduce=(r,)) if s.args[0].dtype == "float64" and s.args[0].size < 12],
   errors=[Error(ValueError, "'amin'", floats(3), 0, integers(2), floats(2), "sum")])  # fmt: skip
op("index_add", "weft Tensor Tensor_", lambda: [Sample(*s.args, alpha=2) for s in slices() if not s.unlike] + [Sample(floats(3), 0, np.array([1]), floats(1), alpha=-0.5)], scaled_add, result="same",
   errors=[*BAD_SLICES, Error(TypeError, "alpha", integers(3), 0, integers(2), integers(2), alpha=0.5)])  # fmt: skip


# ---- a part replaced -------------------------------------------------------------------------------------------------


def replaced(part):
    def oracle(x, source, *args, **kwargs):
        result = x.copy()
        part(result, *args, **kwargs)[...] = source
        return result

    return oracle


def parts(shape, source_shape, *argument_lists, **kwargs):
    for dtype in (*KINDS, "bool"):
        yield Sample(floats(*shape, dtype=dtype), floats(*source_shape, dtype=dtype, seed=1), *argument_lists[0])
    for arguments in argument_lists:
        yield Sample(floats(*shape), floats(*source_shape, seed=1), *arguments, **kwargs)
        yield Sample(floats(*shape[::-1]).T, floats(*source_shape, seed=1)[::-1], *arguments, **kwargs)


def diagonal_view(x, offset=0, dim1=0, dim2=1):
    view = np.moveaxis(x, (dim1, dim2), (-2, -1))
    n = min(view.shape[-2] + min(offset, 0), view.shape[-1] - max(offset, 0))
    rows, columns = view.strides[-2:]
    first = view[..., max(-offset, 0) :, max(offset, 0) :]
    return np.lib.stride_tricks.as_strided(first, view.shape[:-2] + (n,), view.strides[:-2] + (rows + columns,))


op("select_scatter", "weft Tensor", lambda: parts((3, 4), (3,), (1, 2), (-1, 0), (1, -1)), replaced(lambda x, dim, index: np.moveaxis(x, dim, 0)[index]), result="same",
   gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, dtype="float64", seed=1), 1, 2)],
   errors=[Error(IndexError, "out of range", floats(3, 4), floats(3), 1, 4), Error(RuntimeError, "the part's shape", floats(3, 4), floats(4), 1, 0)])  # fmt: skip
op("slice_scatter", "weft Tensor", lambda: parts((3, 4), (3, 2), (1, 1, 3), (1, None, 2), (1, -2), (-1, 0, 4, 2)), replaced(lambda x, dim=0, start=None, end=None, step=1: np.moveaxis(np.moveaxis(x, dim, 0)[start:end:step], 0, dim)),
   result="same", gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, 2, dtype="float64", seed=1), 1, 0, 3, 2)], errors=[Error(RuntimeError, "the part's shape", floats(3, 4), floats(4), 0, 0, 1)])  # fmt: skip
op("diagonal_scatter", "weft Tensor", lambda: [*parts((3, 3), (3,), (), (0, 1, 0)), *parts((3, 3), (2,), (1,), (-1,), (-1, 0, 1)), Sample(floats(2, 3, 4), floats(2, 3), 0, 1, 2), Sample(floats(67, 3), floats(3))], replaced(diagonal_view), result="same",
   gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, dtype="float64", seed=1), 1)], errors=[Error(RuntimeError, "the part's shape", floats(3, 3), floats(2))])  # fmt: skip
