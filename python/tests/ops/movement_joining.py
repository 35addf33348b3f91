"""Several tensors to one, pieces, diagonals, views by strides, shapes changed in place."""

import itertools

import numpy as np

import weft

from .registry import Error, Sample, floats, integers, op, strided

KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16")


def arrays(*shape, kinds=KINDS):
    """The same shape in all strides and some dtypes."""
    yield from strided(*shape)
    for dtype in kinds:
        yield floats(*shape, dtype=dtype)


def moves(*argument_lists, shape=(2, 3, 4)):
    """Every argument list on a plain tensor; the first one on all strides and dtypes too."""
    for arguments in argument_lists:
        yield Sample(floats(*shape), *arguments)
    for array in arrays(*shape):
        yield Sample(array, *argument_lists[0])


def move(name, oracle, *argument_lists, forms="weft Tensor", shape=(2, 3, 4), more=(), **settings):
    """An op that moves elements: the dtype stays."""
    return op(name, forms, lambda: [*moves(*argument_lists, shape=shape), *more], oracle, result="same", **settings)


SMALL = floats(2, 3, dtype="float64")


# ---- views -----------------------------------------------------------------------------------------------------------


def unflatten(x, dim, sizes):
    dim %= x.ndim
    return x.reshape(x.shape[:dim] + tuple(sizes) + x.shape[dim + 1 :])


move("unflatten", unflatten, (2, (2, 2)), (-1, (1, -1)), (0, (2,)), (1, (-1, 3, 1)), more=[Sample(floats(6), 0, (2, 3)), Sample(floats(0, 2), 0, (0, 3)), Sample(SMALL, 1, (3, 1))],
     errors=[Error(RuntimeError, "unflatten", floats(6), 0, (4, 2)), Error(IndexError, "out of range", floats(6), 1, (6,)), Error(ValueError, "one size", floats(6), 0, ())])  # fmt: skip
move("swapdims", lambda x, a, b: x.swapaxes(a, b), (0, 1), (0, -1), (1, 1), more=[Sample(floats(0, 3), 0, 1), Sample(SMALL, 0, 1)], errors=[Error(IndexError, "out of range", floats(2, 3), 0, 2)])
move("fliplr", np.fliplr, (), more=[Sample(floats(3, 0)), Sample(SMALL)], errors=[Error(RuntimeError, "two axes", floats(3))])
move("flipud", np.flipud, (), more=[Sample(floats(67)), Sample(SMALL)], errors=[Error(RuntimeError, "one axis", floats())])
move("rot90", lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims), (), (2,), (3,), (4,), (-1,), (1, (1, 2)), (3, (2, 0)), (2, (-1, 0)), more=[Sample(floats(3, 0)), Sample(SMALL)],
     errors=[Error(ValueError, "differ", floats(2, 3), 1, (0, 0)), Error(IndexError, "out of range", floats(2, 3), 1, (0, 2)), Error(ValueError, "two axes", floats(2, 3), 1, (0,))])  # fmt: skip
move("movedim", lambda x, a, b: np.moveaxis(x, a, b), ((0, 1), (1, 2)), ((2, 0), (0, 1)), ((-1,), (0,)), more=[Sample(SMALL, (0, 1), (1, 0))],
     errors=[Error(ValueError, "twice", floats(2, 3), (0, 0), (0, 1)), Error(ValueError, "two axes", floats(2, 3), (0, 1), (1, 1)), Error(ValueError, "one new place", floats(2, 3), (0, 1), (1,))])  # fmt: skip
move("diagonal", lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2), (), (1,), (-1,), (0, 1, 2), (1, 2, 0), (-1, -1, 0), (7,), (-7,),
     more=[Sample(floats(5, 3)), Sample(floats(3, 5), 2), Sample(floats(67, 67), -3), Sample(floats(0, 3)), Sample(floats(3, 0), 1), Sample(SMALL), Sample(SMALL, 1)],
     errors=[Error(IndexError, "out of range", floats(3)), Error(ValueError, "differ", floats(2, 2), 0, 1, 1)])  # fmt: skip


def unfold(x, dimension, size, step):
    if x.ndim == 0:
        return x.reshape(1)[:size]
    axis = dimension % x.ndim
    starts = range(0, x.shape[axis] - size + 1, step)
    return np.stack([np.moveaxis(np.take(x, range(s, s + size), axis), axis, -1) for s in starts], axis)


move("unfold", unfold, (2, 2, 1), (1, 2, 1), (0, 1, 2), (-1, 3, 2), (2, 4, 1), (2, 2, 2), forms="Tensor",
     more=[Sample(floats(67), 0, 5, 3), Sample(floats(), 0, 1, 1), Sample(floats(7), 0, 1, 4), Sample(floats(3, 4), 1, 0, 2), Sample(SMALL, 1, 2, 1), Sample(floats(6, dtype="float64"), 0, 2, 3)],
     errors=[Error(RuntimeError, "does not fit", floats(3), 0, 4, 1), Error(ValueError, "step", floats(3), 0, 2, 0), Error(IndexError, "out of range", floats(3), 1, 1, 1)])  # fmt: skip


def as_strided(x, size, stride, storage_offset=0):
    flat, place = np.ascontiguousarray(x).reshape(-1), np.full(size, storage_offset or 0)
    for d, (n, s) in enumerate(zip(size, stride)):
        place = place + s * np.arange(n).reshape([-1 if i == d else 1 for i in range(len(size))])
    return flat[place.astype(int)] if flat.size else np.zeros(size)


move("as_strided", as_strided, ((2, 2), (1, 3)), ((3, 3), (1, 1)), ((2,), (5,), 3), ((4, 2, 2), (2, 1, 1)), ((3, 2), (0, 1)), ((), (), 5), ((0, 2), (1, 1)), shape=(3, 4),
     more=[Sample(floats(67), (60, 8), (1, 1)), Sample(floats(0), (0,), (1,)), Sample(SMALL, (2, 2), (1, 2))],
     torch=lambda torch, x, *args: x.contiguous().as_strided(*args),
     errors=[Error(ValueError, "not all among", floats(6), (3, 3), (3, 1)), Error(ValueError, "one stride", floats(6), (3, 3), (3,)), Error(ValueError, "negative", floats(6), (2,), (-1,))])  # fmt: skip


# ---- pieces ----------------------------------------------------------------------------------------------------------


def several(name, oracle, samples, forms="weft Tensor", **settings):
    kind = lambda s: s.args[0].dtype.name if type(s.args[0]) is np.ndarray else "bfloat16"  # noqa: E731
    return op(name, forms, samples, oracle, result=kind, **settings)


def tensor_split(x, sections, dim=0):
    if isinstance(sections, np.ndarray):
        sections = int(sections) if sections.ndim == 0 else [int(s) for s in sections]
    return [*np.array_split(x, sections, dim)] if isinstance(sections, int) else [*np.split(x, sections, dim)]


several("tensor_split", tensor_split, lambda: [*moves((3,), (2, 1), ([1, 3], 1), ([1, 1], 0), ([-1], 2), (7, -1), ((5, 9), 0)), Sample(floats(7), np.array(3)), Sample(floats(7), np.array([2, 5])), Sample(floats(0, 3), 2), Sample(SMALL, 2, 1)],
        torch=lambda torch, x, s, dim=0: torch.tensor_split(x, s, dim), errors=[Error(ValueError, "positive", floats(4), 0), Error(IndexError, "out of range", floats(4), 2, 1), Error(TypeError, "indices_or_sections", floats(4), "a")])  # fmt: skip
for _name, _function, _axis in (("hsplit", np.hsplit, 1), ("vsplit", np.vsplit, 0), ("dsplit", np.dsplit, 2)):
    several(_name, lambda x, sections, function=_function: [*function(x, sections)], lambda: [*moves((2,), ([1],), ([1, 3],), ((0, 2),), shape=(4, 4, 4)), Sample(floats(2, 2, 2, dtype="float64"), 2)],
            errors=[Error(RuntimeError, "equal parts", floats(5, 5, 5), 2), Error(RuntimeError, "axes at least", floats(), 1)])  # fmt: skip
several("split_with_sizes", lambda x, sizes, dim=0: [*np.split(x, np.cumsum(sizes)[:-1], dim)], lambda: [*moves(([1, 2], 1), ([2], 0), ([0, 4], -1), ([1, 1], 0)), Sample(SMALL, [1, 1])],
        errors=[Error(RuntimeError, "add up", floats(4), [1, 2]), Error(ValueError, "negative", floats(4), [5, -1])])  # fmt: skip
several("unstack", lambda x, dim=0: [*np.moveaxis(x, dim, 0)], lambda: [*moves((), (1,), (-1,)), Sample(SMALL), Sample(floats(3, 0), 0)], forms="weft", torch=lambda torch, x, dim=0: x.unbind(dim),
        errors=[Error(IndexError, "out of range", floats(4), 1)])  # fmt: skip


# ---- joints ----------------------------------------------------------------------------------------------------------


def lists(*shapes):
    yield from (Sample([floats(*s) for s in shapes]), Sample([floats(*shapes[0])]), Sample(tuple(floats(*s, seed=i) for i, s in enumerate(shapes * 2))))
    for dtype in KINDS:
        yield Sample([floats(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes)])
    yield Sample([floats(*s, dtype=d) for s, d in zip(shapes, itertools.cycle(("uint8", "float32", "bool")))])


def stack_op(name, oracle, shape_lists, **settings):
    op(name, "weft", lambda: [s for shapes in shape_lists for s in lists(*shapes)], oracle, promotes=False, **settings)


DIFFER = [Error(RuntimeError, "must equal", [floats(2, 3, 2), floats(3, 2, 3)]), Error(ValueError, "one tensor at least", []), Error(TypeError, "tensors", floats(2))]
stack_op("dstack", np.dstack, [((2, 3), (2, 3)), ((3,), (3,)), ((), ()), ((2, 3, 1), (2, 3, 4)), ((0,), (0,))], errors=DIFFER)
stack_op("column_stack", np.column_stack, [((3,), (3,)), ((3, 2), (3,)), ((), ()), ((67, 1), (67, 2))], errors=DIFFER)
stack_op("row_stack", np.vstack, [((3,), (3,)), ((2, 3), (3,)), ((), ()), ((0, 3), (4, 3))], errors=DIFFER, torch=lambda torch, t: torch.vstack(t))


def star(samples):
    """fn(a, b) instead of fn([a, b])."""
    return [Sample(*s.args[0], **s.kwargs) for s in samples]


def block_diag(*blocks):
    blocks = [np.atleast_2d(b) for b in blocks]
    result = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), np.result_type(*blocks))
    row = column = 0
    for b in blocks:
        result[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return result


op("block_diag", "weft", lambda: star([*lists((2, 3), (1, 1)), *lists((3,), (), (2, 2)), Sample([floats(0, 2), floats(2, 1)]), Sample([SMALL, SMALL])]), block_diag, promotes=False,
   errors=[Error(RuntimeError, "two axes", floats(2, 2, 2))])  # fmt: skip
for _n, _function in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
    _kind = lambda s: s.args[0].dtype.name if type(s.args[0]) is np.ndarray else "bfloat16"  # noqa: E731
    op(f"atleast_{_n}d", "weft", lambda: [*moves(()), *(Sample(floats(*s)) for s in ((), (3,), (0,), (2, 3), (2, 3, 4, 5))), Sample(floats(), floats(3)), Sample(SMALL), Sample(floats(2, dtype="float64"))],
       lambda *xs, f=_function: f(xs[0]) if len(xs) == 1 else [f(x) for x in xs], result=_kind, errors=[Error(TypeError, "tensors", "text")])  # fmt: skip


def broadcast(*shapes):
    for dtype in KINDS:
        yield Sample(*(floats(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes)))
    yield Sample(floats(3, 1), floats(4))
    yield Sample(floats(), floats(0))
    yield Sample(floats(2, 3))
    yield Sample(floats(1, 67), floats(2, 1, 1), floats(3, 1))
    yield Sample(floats(2, 1, dtype="float64"), floats(3, dtype="float64"))


def same_kinds(sample):
    return tuple("bfloat16" if type(a) is not np.ndarray else a.dtype.name for a in sample.args)


op("broadcast_tensors", "weft", lambda: broadcast((3, 1), (1, 4)), lambda *xs: [*np.broadcast_arrays(*xs)], result=same_kinds,
   errors=[Error(RuntimeError, "do not broadcast", floats(3), floats(4))])  # fmt: skip


def check_shapes(got, *shapes):
    assert isinstance(got, weft.Size) and got == np.broadcast_shapes(*shapes)


op("broadcast_shapes", "weft", lambda: [Sample(*s) for s in (((3, 1), (4,)), ((), (0,)), ((1,), (0,)), ((2, 3),), ((5, 1, 1), (3, 1), (4,)), (3, (2, 1)), ((1, 1), 7), ((0, 1), (1, 5)), ((2,), (2,), (1,)), ((), ()))],
   check=check_shapes, gradient=False, errors=[Error(RuntimeError, "do not broadcast", (3,), (4,)), Error(ValueError, "negative", (-1,), (4,)), Error(TypeError, "shapes", "ab")])  # fmt: skip


def grids():
    for dtype in KINDS:
        yield Sample(floats(3, dtype=dtype), floats(2, dtype=dtype, seed=1), indexing="ij")
    for indexing in ("ij", "xy"):
        yield Sample(floats(3), floats(2), indexing=indexing)
        yield Sample(floats(3), floats(2)[::-1], floats(4), indexing=indexing)
        yield Sample(floats(), floats(2), indexing=indexing)
        yield Sample(floats(5), indexing=indexing)
        yield Sample(floats(0), floats(2), indexing=indexing)
        yield Sample(floats(2, dtype="float64"), floats(3, dtype="float64"), indexing=indexing)


op("meshgrid", "weft", grids, lambda *xs, indexing="ij": [*np.meshgrid(*xs, indexing=indexing)], result=same_kinds,
   errors=[Error(ValueError, "'ij' or 'xy'", floats(2), indexing="ab"), Error(RuntimeError, "one axis", floats(2, 2)), Error(TypeError, "one type", floats(2), integers(2))])  # fmt: skip
op("cartesian_prod", "weft", lambda: [Sample(*s.args) for s in grids() if s.args[0].ndim], lambda *xs: xs[0] if len(xs) == 1 else np.stack([g.reshape(-1) for g in np.meshgrid(*xs, indexing="ij")], 1), result="same",
   errors=[Error(RuntimeError, "one axis", floats(2, 2))])  # fmt: skip


def combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = [*choose(range(len(x)), r)] if r else []
    return x[np.array(rows, int).reshape(len(rows), r)] if r else np.zeros(0, x.dtype)


op("combinations", "weft", lambda: [*(Sample(a) for a in arrays(5)), *(Sample(floats(4), r, w) for r in (1, 2, 3, 4, 5, 0) for w in (False, True)), Sample(floats(0)), Sample(floats(1), 3, True), Sample(floats(3, dtype="float64"))], combinations, result="same",
   errors=[Error(RuntimeError, "one axis", floats(2, 2)), Error(ValueError, "negative", floats(2), -1)])  # fmt: skip


def krons():
    for dtype in KINDS:
        yield Sample(floats(2, 3, dtype=dtype), floats(2, 2, dtype=dtype, seed=1))
    for a, b in (((), ()), ((3,), (2,)), ((2, 3), (2,)), ((), (2, 2)), ((0, 2), (3, 3)), ((2, 1, 3), (1, 4)), ((5, 7), (3, 1))):
        yield Sample(floats(*a), floats(*b, seed=1))
    yield Sample(floats(3, 2).T, floats(2, 4)[::-1, ::2])
    yield Sample(floats(2, dtype="int64"), floats(3, seed=1))


op("kron", "weft Tensor", krons, lambda a, b: np.kron(a, b).reshape(tuple(np.multiply((1,) * (b.ndim - a.ndim) + a.shape, (1,) * (a.ndim - b.ndim) + b.shape))), errors=[Error(TypeError, "other", floats(2), "a")])

# ---- diagonals -------------------------------------------------------------------------------------------------------

op("diag", "weft Tensor", lambda: [*(Sample(a, k) for a in (floats(3), floats(3, 4), floats(5, 2)) for k in (0, 1, -2)), *(Sample(a) for a in (*arrays(3, 4), *arrays(3))), Sample(floats(0)), Sample(floats(67)), Sample(SMALL), Sample(floats(2, dtype="float64"), 1)],
   lambda x, k=0: np.diag(x, k), result="same", errors=[Error(RuntimeError, "vector or a matrix", floats()), Error(RuntimeError, "vector or a matrix", floats(2, 2, 2))])  # fmt: skip
op("diagflat", "weft Tensor", lambda: [*(Sample(a, k) for a in (floats(3), floats(2, 2), floats()) for k in (0, 1, -2)), *(Sample(a) for a in arrays(2, 3)), Sample(SMALL)], lambda x, k=0: np.diagflat(x, k), result="same",
   errors=[Error(TypeError, "input", 3)])  # fmt: skip


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    result = np.zeros(x.shape[:-1] + (n, n), x.dtype)
    i = np.arange(x.shape[-1])
    result[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


move("diag_embed", diag_embed, (), (1,), (-2,), (0, 0, 1), (1, 0, 2), (-1, 2, 1), (0, -1, -2), more=[Sample(floats(0)), Sample(floats(67)), Sample(np.array([np.nan, np.inf], "float32")), Sample(SMALL), Sample(floats(2, dtype="float64"), 1, 1, 0)],
     errors=[Error(RuntimeError, "one axis", floats()), Error(ValueError, "differ", floats(3), 0, 1, 1), Error(IndexError, "out of range", floats(3), 0, 0, 2)])  # fmt: skip
for _name, _function in (("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices)):
    op(_name, "weft", lambda: [Sample(*a) for a in ((3, 3), (3, 4), (4, 3, 1), (4, 3, -1), (2, 5, 2), (5, 2, -3), (0, 3), (3, 0), (3, 3, 9), (3, 3, -9), (67, 5))], lambda n, m, k=0, function=_function: np.stack(function(n, k, m)),
       result="int64", gradient=False, errors=[Error(ValueError, "negative", -1, 2), Error(TypeError, "i32 or i64", 2, 2, dtype=weft.float32)])  # fmt: skip


def filled(x, value, wrap=False):
    result = x.copy()
    if x.ndim == 2:
        np.fill_diagonal(result, value, wrap)
        if not wrap and x.shape[0] > x.shape[1]:
            result = x.copy()
            i = np.arange(min(x.shape))
            result[i, i] = value
    elif x.size:
        np.fill_diagonal(result, value)
    return result


op("fill_diagonal", "Tensor_", lambda: [*(Sample(a, 1) for a in arrays(3, 4)), Sample(floats(7, 3), 2.5), Sample(floats(7, 3), 2.5, True), Sample(floats(3, 7), 2.5, True), Sample(floats(3, 3, 3), 0), Sample(floats(0, 0), 1), Sample(SMALL, 2)], filled, result="same",
   torch=lambda torch, x, *args: x.clone().fill_diagonal_(*args), errors=[Error(RuntimeError, "two axes", floats(3), 1), Error(RuntimeError, "equal", floats(2, 3, 2), 1)])  # fmt: skip


def sum_to_size(x, *size):
    more = x.ndim - len(size)
    axes = tuple(d for d in range(x.ndim) if d < more or size[d - more] != x.shape[d])
    return x.sum(axis=axes, keepdims=True).reshape(size) if axes else x


op("sum_to_size", "Tensor", lambda: [*(Sample(floats(2, 3, 4, dtype=d), 3, 1) for d in ("float32", "float64", "float16", "bfloat16", "int64")), *(Sample(a, 1, 5) for a in strided(4, 5)), Sample(floats(2, 3), 2, 3), Sample(floats(2, 3), 3), Sample(floats(2, 3), 1), Sample(floats(0, 3), 1, 3), Sample(SMALL, 2, 1)], sum_to_size,
   result="same", errors=[Error(RuntimeError, "cannot be summed", floats(2, 3), 2)])  # fmt: skip


# ---- shapes changed in place -------------------------------------------------------------------------------------------


def changes(name, oracle, *argument_lists, shape=(2, 1, 3), **settings):
    def check(got, x, *args):
        want = oracle(np.asarray(x), *args)
        assert tuple(got.shape) == want.shape and (np.array(got.detach().float().tolist()).reshape(want.shape) == want.astype("float32")).all()

    op(name, "Tensor_", lambda: moves(*argument_lists, shape=shape), check=check, gradients=[Sample(floats(*shape, dtype="float64"), *argument_lists[0])], **settings)


changes("unsqueeze", np.expand_dims, (0,), (1,), (-1,), errors=[Error(IndexError, "out of range", floats(2), 3)])
changes("squeeze", lambda x, dim=None: x.squeeze(dim), (), (1,), errors=[Error(IndexError, "out of range", floats(2), 3)])
changes("transpose", np.swapaxes, (0, 1), (-1, 0), errors=[Error(IndexError, "out of range", floats(2), 0, 1)])
changes("swapaxes", np.swapaxes, (0, 1), (-1, 0), errors=[Error(IndexError, "out of range", floats(2), 0, 1)])
changes("swapdims", np.swapaxes, (0, 1), (-1, 0), errors=[Error(IndexError, "out of range", floats(2), 0, 1)])
changes("t", np.transpose, (), shape=(2, 3), errors=[Error(RuntimeError, "matrix", floats(2, 2, 2))])
