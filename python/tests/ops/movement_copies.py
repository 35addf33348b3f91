"""Views as copies, parts by strides, and what real numbers make of complex functions."""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.lib.stride_tricks import sliding_window_view

from .registry import ALL, D, Error, Sample, floats, integers, op

SHAPES = ((2, 3), (1, 3), (3, 1), (4, 5), (2, 3, 4), (1, 1, 2), (3, 0))
NO_AXIS = [Error(IndexError, "axis 5 is out of range", floats(2, 3), 5)]


def typed(*arguments, shape=(2, 3), **kwargs):
    """The same call for all types."""
    for dtype in ALL:
        yield Sample(floats(*shape, dtype=dtype), *arguments, **kwargs)
    yield Sample(floats(*reversed(shape)).T, *arguments, **kwargs)


def over(*calls, shape=(2, 3)):
    """All types for the first call, and the others once, in float64 too."""
    first, *others = calls
    yield from typed(*first, shape=shape)
    for each in others:
        yield Sample(floats(*shape), *each)
        yield Sample(floats(*shape, dtype="float64"), *each)


def copied(name, samples, oracle, errors=NO_AXIS, **how):
    op(name, "weft", samples, oracle, result="same", errors=errors, **how)


copied("expand_copy", lambda: over(((4, 2, 3),), ((2, 3),), ((-1, 3),), ((5, -1, -1),)), lambda x, size: np.broadcast_to(x, [x.shape[i - len(size)] if s == -1 else s for i, s in enumerate(size)]),
       errors=[Error(RuntimeError, "size", floats(2, 3), (4, 3))])  # fmt: skip
copied("view_copy", lambda: over(((3, 2),), ((-1,),), ((1, 6, 1),)), lambda x, size: x.reshape(size), errors=[Error(RuntimeError, "6", floats(2, 3), (4, 2))])
copied("view_as_copy", lambda: typed(floats(3, 2)), lambda x, other: x.reshape(other.shape), gradient=(0,), gradients=[Sample(floats(2, 3, dtype="float64"), floats(3, 2))], torch=lambda torch, x, other: x.view_as(other) if x.is_contiguous() else x.reshape(other.shape), errors=[Error(RuntimeError, "6", floats(2, 3), floats(4))])  # fmt: skip
copied("permute_copy", lambda: over(((1, 0),), ((-1, 0),)), np.transpose, errors=[Error(ValueError, "axis 0 is given twice", floats(2, 3), (0, 0))])
copied("transpose_copy", lambda: over((0, 1), (-1, 0)), np.swapaxes, errors=[Error(IndexError, "axis 5 is out of range", floats(2, 3), 5, 0)])
copied("t_copy", lambda: [*typed(), Sample(floats(3)), Sample(floats())], lambda x: x.T, errors=[Error(RuntimeError, "t(", floats(2, 3, 4))])
copied("squeeze_copy", lambda: over((), (0,), (1,), ((0, 2),), shape=(1, 3, 1)), lambda x, dim=None: np.squeeze(x) if dim is None else np.squeeze(x, tuple(d for d in np.atleast_1d(dim) if x.shape[d] == 1)))  # fmt: skip
copied("unsqueeze_copy", lambda: over((0,), (1,), (-1,)), np.expand_dims)
copied("diagonal_copy", lambda: over((), (1,), (-1, 1, 0), shape=(3, 4)), lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2), errors=[Error(IndexError, "axis 1 is out of range", floats(3))])
copied("select_copy", lambda: over((0, 1), (1, -1), (-1, 2)), lambda x, dim, index: np.take(x, index, dim), errors=[Error(IndexError, "out of range", floats(2, 3), 0, 7)])  # fmt: skip
copied("slice_copy", lambda: over((), (1, 1), (1, 0, 2), (0, -1), (-1, 0, 3, 2)), lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)], errors=[])  # fmt: skip
copied("unfold_copy", lambda: over((1, 2, 1), (0, 3, 2), (-1, 4, 3), shape=(4, 6)), lambda x, dim, size, step: np.take(sliding_window_view(x, size, dim), range(0, x.shape[dim] - size + 1, step), dim % x.ndim),
       errors=[Error(RuntimeError, "unfold", floats(2, 3), 0, 9, 1)])  # fmt: skip
copied("as_strided_copy", lambda: [s for s in over(((2, 2), (1, 2)), ((3,), (2,), 1), shape=(2, 4)) if s.args[0].flags.c_contiguous], lambda x, size, stride, offset=0: as_strided(x.ravel()[offset:], size, [s * x.itemsize for s in stride]),
       errors=[Error(ValueError, "are not all among", floats(2), (4,), (1,))])  # fmt: skip
copied("alias_copy", typed, lambda x: x, errors=[])
copied("detach_copy", typed, lambda x: x, errors=[], gradient=False)


def several(name, samples, oracle, errors, torch="same"):
    op(name, "weft", samples, oracle, result=lambda sample: sample.args[0].dtype.name if sample.args[0].dtype != np.float32 else "float32", errors=errors, torch=torch,
       reason="PyTorch has no such function" if torch is None else "", gradients=[Sample(floats(4, 3, dtype="float64"), *next(iter(samples())).args[1:])])  # fmt: skip


def plain(*calls, shape):
    """As over(), without bfloat16, whose name an array does not tell."""
    return [s for s in over(*calls, shape=shape) if type(s.args[0]) is np.ndarray]


def split_at(x, sizes, dim=0):
    return tuple(np.split(x, np.cumsum(sizes)[:-1], dim))


def split_by(x, size, dim=0):
    return tuple(np.split(x, range(size, x.shape[dim], size), dim)) if isinstance(size, int) else split_at(x, size, dim)


def chunks(x, count, dim=0):
    return split_by(x, math.ceil(x.shape[dim] / count), dim)


TOO_FEW = [Error(RuntimeError, "split", floats(4, 3), (1, 1))]
several("unbind_copy", lambda: plain((), (1,), (-1,), shape=(4, 3)), lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)), NO_AXIS)
several("split_copy", lambda: plain((2,), (2, 1), (3, -2), shape=(4, 3)), split_by, [Error(IndexError, "out of range", floats(4, 3), 2, 5)])
several("split_with_sizes_copy", lambda: plain(((1, 3),), ((2, 1), 1), shape=(4, 3)), split_at, TOO_FEW)
for safe, unsafe, calls, oracle in (
    ("chunk", "unsafe_chunk", ((2,), (3,), (2, 1)), chunks),
    ("split", "unsafe_split", ((2,), (3, 1)), split_by),
    ("split_with_sizes", "unsafe_split_with_sizes", (((1, 3),), ((2, 1), 1)), split_at),
):
    op(unsafe, "weft Tensor", lambda calls=calls: plain(*calls, shape=(4, 3)), oracle, result=lambda sample: sample.args[0].dtype.name,
       gradients=[Sample(floats(4, 3, dtype="float64"), *calls[0])], errors=[Error(IndexError, "out of range", floats(4, 3), calls[0][0], 5)])  # fmt: skip


# ---- by strides ------------------------------------------------------------------------------------------------------


def strided_scatter(x, src, size, stride, offset=0):
    result = np.array(x)
    as_strided(result.ravel()[offset:], size, [s * result.itemsize for s in stride])[...] = src
    return result


def their_strided_scatter(torch, x, src, size, stride, offset=0):
    """By indices: the gradient of the function of this name is that of what is overwritten."""
    at = torch.arange(x.numel()).as_strided(size, stride, offset)
    return x.flatten().scatter(0, at.flatten(), src.flatten()).reshape(x.shape)


op("as_strided_scatter", "weft Tensor", lambda: [Sample(floats(3, 4, dtype=d), floats(2, 2, dtype=d, seed=1), (2, 2), (1, 2)) for d in ALL] + [Sample(floats(3, 4), floats(3, seed=1), (3,), (4,), 1)],
   strided_scatter, result="same", promotes=False, gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, dtype="float64", seed=1), (2,), (2,), 1)],
   torch=their_strided_scatter, errors=[Error(RuntimeError, "the part's shape [2, 2]", floats(3, 4), floats(3), (2, 2), (1, 2))])  # fmt: skip
KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16", "int32", "int8")
op("empty_strided", "weft", lambda: [Sample((2, 3), (3, 1), dtype=D(d)) for d in KINDS] + [Sample((2, 3), (1, 2)), Sample((), ())], check=lambda got, size, stride, dtype=None: shaped(got, size), torch=None,
   reason="what is there is not specified", errors=[Error(ValueError, "2 sizes, but 1 strides", (2, 3), (1,))], gradient=False)  # fmt: skip
op("empty_permuted", "weft", lambda: [Sample((2, 3), (1, 0), dtype=D(d)) for d in KINDS] + [Sample((2, 3, 4), (2, 0, 1)), Sample((), ())], check=lambda got, size, order, dtype=None: shaped(got, size), torch=None,
   reason="what is there is not specified", errors=[Error(ValueError, "each of 2 axes once", (2, 3), (0, 0))], gradient=False)  # fmt: skip
op("new_empty_strided", "Tensor", lambda: [Sample(floats(3, dtype=d), (2, 3), (3, 1)) for d in KINDS], check=lambda got, x, size, stride: shaped(got, size), torch=None,
   reason="what is there is not specified", errors=[], gradient=False)  # fmt: skip
op("scalar_tensor", "weft", lambda: [Sample(v) for v in (0, 1, -2.5, True, 1e30)] + [Sample(3, dtype=D(d)) for d in KINDS], lambda s, dtype=None: np.array(s), result="float32", gradient=False,
   errors=[Error(TypeError, "fill_value", "a")])  # fmt: skip


def shaped(got, size):
    assert tuple(got.shape) == tuple(size) and not got.to(KIND).any().item()


def static(x, *, size, fill_value=-1):
    found = np.argwhere(x)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill_value)])


KIND = __import__("weft").float32
op("nonzero_static", "weft Tensor", lambda: [Sample(integers(3, 4, high=2, seed=seed), size=size, **more) for seed in (0, 1) for size in (0, 1, 4, 20) for more in ({}, {"fill_value": 7})] + [Sample(floats(0), size=2)], static, result="int64",
   promotes=False, gradient=False, errors=[Error(ValueError, "must not be negative", floats(3), size=-1)])  # fmt: skip
op("constant_pad_nd", "weft", lambda: over(((1, 2),), ((0, 1, 2, 0),), ((1, -1),), ((2, 2), 1)), lambda x, pad, value=0: padded(x, pad, value), result="same",
   errors=[Error(ValueError, "pairs", floats(2, 3), (1,))])  # fmt: skip


def padded(x, pad, value):
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape))
    return np.pad(x[cut], [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


# ---- complex functions of real numbers -------------------------------------------------------------------------------

NO_TENSOR = []
for name in ("conj", "conj_physical", "resolve_conj", "resolve_neg"):
    op(name, "weft Tensor", typed, lambda x: x, result="same", errors=NO_TENSOR)
op("real", "weft", typed, lambda x: x, result="same", errors=NO_TENSOR)
op("angle", "weft Tensor", lambda: [*typed(), Sample(np.array([math.nan, -math.inf, math.inf, -0.0, 0.0, -1.0, 2.0])), Sample(floats(0))],
   lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)), result="float", errors=NO_TENSOR)  # fmt: skip
op("adjoint", "weft Tensor", lambda: typed(shape=(2, 3, 4)), lambda x: np.swapaxes(x, -1, -2), result="same",
   errors=[Error(RuntimeError, "no last two", floats(3))], torch=lambda torch, x: x.mT)  # fmt: skip
