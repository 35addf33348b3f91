"""Movement: views, joins, splits, rolls, padding."""

import numpy as np

from .registry import Error, Sample, floats, op, strided

KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16")
NO_TENSOR = Error(TypeError, "input", "text")


def arrays(*shape):
    """The same shape in all strides and some dtypes."""
    yield from strided(*shape)
    for dtype in KINDS:
        yield floats(*shape, dtype=dtype)


def moves(*argument_lists, shape=(2, 3, 4), **kwargs):
    """Every argument list on a plain tensor; the first one on all strides and dtypes too."""
    for arguments in argument_lists:
        yield Sample(floats(*shape), *arguments, **kwargs)
    for array in arrays(*shape):
        yield Sample(array, *argument_lists[0], **kwargs)


def move(name, oracle, *argument_lists, forms="weft Tensor", shape=(2, 3, 4), more=(), **settings):
    """An op that moves elements: the dtype stays."""

    def samples():
        yield from moves(*argument_lists, shape=shape)
        yield from more

    return op(name, forms, samples, oracle, result="same", **settings)


# ---- views -----------------------------------------------------------------------------------------------------------

move(
    "reshape",
    lambda x, shape: x.reshape(shape),
    ((4, 6),),
    ((-1,),),
    ((2, -1, 2),),
    ((24, 1),),
    ((1, 24),),
    more=[Sample(floats(), (1, 1)), Sample(floats(0, 3), (3, 0)), Sample(floats(1), ())],
    errors=[Error(RuntimeError, "shape", floats(3), (2, 2)), Error(ValueError, "-1", floats(0), (-1, 0))],
)
move(
    "view",
    lambda x, *shape: x.reshape(shape),
    (4, 6),
    (-1,),
    (2, -1, 2),
    forms="Tensor",
    more=[Sample(floats(0, 3), 3, 0), Sample(floats(2, 3), -1)],
    torch=lambda torch, x, *shape: x.reshape(shape),
    errors=[Error(RuntimeError, "shape", floats(3), 2, 2)],
)
for name, kind in (("reshape_as", {}), ("view_as", {"torch": lambda torch, x, y: x.reshape(y.shape)})):
    move(
        name,
        lambda x, y: x.reshape(y.shape),
        (floats(4, 6),),
        forms="Tensor",
        more=[Sample(floats(), floats(1, 1)), Sample(floats(0, 3), floats(3, 0))],
        gradient=(0,),
        gradients=[Sample(floats(2, 3, dtype="float64"), floats(3, 2))],
        **kind,
    )
move(
    "permute",
    lambda x, dims: x.transpose(dims),
    ((2, 0, 1),),
    ((0, 1, 2),),
    ((-1, 1, 0),),
    forms="weft",
    more=[Sample(floats(), ()), Sample(floats(0, 3), (1, 0))],
    errors=[Error(ValueError, "axis", floats(2, 3), (0, 0)), Error(ValueError, "2 axes", floats(2, 3), (0,))],
)
move("permute", lambda x, *dims: x.transpose(dims), (2, 0, 1), (0, 1, 2), (-1, 1, 0), forms="Tensor", more=[Sample(floats(0, 3), 1, 0)])
move(
    "transpose",
    lambda x, a, b: x.swapaxes(a, b),
    (0, 1),
    (0, -1),
    (1, 1),
    aliases="weft.swapaxes Tensor.swapaxes",
    more=[Sample(floats(0, 3), 0, 1), Sample(floats(67, 5), 0, 1)],
    errors=[Error(IndexError, "out of range", floats(2, 3), 0, 2)],
)
op(
    "t",
    "weft Tensor",
    lambda: [Sample(a) for a in (*arrays(3, 4), floats(5), floats(), floats(0, 3))],
    np.transpose,
    result="same",
    errors=[Error(RuntimeError, "2", floats(2, 3, 4))],
)
move(
    "movedim",
    lambda x, a, b: np.moveaxis(x, a, b),
    (0, 1),
    (0, -1),
    aliases="weft.moveaxis Tensor.moveaxis",
    errors=[Error(IndexError, "out of range", floats(2, 3), 0, 2)],
)
move(
    "unsqueeze",
    lambda x, dim: np.expand_dims(x, dim),
    (1,),
    (0,),
    (-1,),
    (3,),
    (-4,),
    more=[Sample(floats(), 0), Sample(floats(0), -1)],
    errors=[Error(IndexError, "out of range", floats(2, 3), 4)],
)


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else [d % max(x.ndim, 1) for d in np.atleast_1d(dim)]
    return x.reshape([n for i, n in enumerate(x.shape) if not (n == 1 and i in dims)])


move(
    "squeeze",
    squeeze,
    (),
    (0,),
    (1,),
    (-1,),
    ((0, 2),),
    shape=(1, 3, 1),
    more=[Sample(floats()), Sample(floats(1, 0, 1)), Sample(floats(2, 1, 3), dim=1)],
    errors=[Error(IndexError, "out of range", floats(1, 3), 2)],
)


def flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(x.shape[:start] + (int(np.prod(x.shape[start : end + 1])),) + x.shape[end + 1 :])


move(
    "flatten",
    flatten,
    (),
    (1,),
    (0, 1),
    (-2, -1),
    (1, 1),
    more=[Sample(floats()), Sample(floats(0, 3)), Sample(floats(2, 3, 4), start_dim=1)],
    errors=[Error(ValueError, "first axis", floats(2, 3), 1, 0)],
)
op(
    "ravel",
    "weft Tensor",
    lambda: [Sample(a) for a in (*arrays(3, 4), floats(), floats(0, 3), floats(2, 3, 5))],
    np.ravel,
    result="same",
    errors=[NO_TENSOR],
)
move(
    "expand",
    lambda x, *size: np.broadcast_to(x, [a if n == -1 else n for n, a in zip(size, (1,) * (len(size) - x.ndim) + x.shape)]),
    (2, 3, 4),
    (5, 2, 3, 4),
    (-1, 3, -1),
    forms="Tensor",
    shape=(2, 1, 4),
    more=[Sample(floats(), 3), Sample(floats(1), 0), Sample(floats(3, 1), 3, 67)],
    errors=[Error(RuntimeError, "expand", floats(3), 4)],
)
move(
    "expand_as",
    lambda x, y: np.broadcast_to(x, y.shape),
    (floats(2, 3, 4),),
    forms="Tensor",
    shape=(2, 1, 4),
    more=[Sample(floats(1), floats(0)), Sample(floats(), floats(3))],
    gradient=(0,),
    gradients=[Sample(floats(2, 1, dtype="float64"), floats(2, 3))],
)
move(
    "broadcast_to",
    lambda x, size: np.broadcast_to(x, size),
    ((2, 3, 4),),
    ((5, 2, 3, 4),),
    shape=(2, 1, 4),
    more=[Sample(floats(), (3,)), Sample(floats(1), (0,))],
    errors=[Error(RuntimeError, "expand", floats(3), (4,))],
)
move(
    "narrow",
    lambda x, dim, start, length: x.take(
        range(start % x.shape[dim] if start < 0 else start, (start % x.shape[dim] if start < 0 else start) + length), dim
    ),
    (1, 1, 2),
    (0, 0, 2),
    (-1, -2, 2),
    (2, 4, 0),
    errors=[Error(IndexError, "leave axis 0", floats(3), 0, 2, 2)],
)
move(
    "select",
    lambda x, dim, index: x.take(index, dim),
    (1, 1),
    (0, -1),
    (-1, 0),
    errors=[Error(IndexError, "out of range", floats(3), 0, 3)],
)

# ---- orders ----------------------------------------------------------------------------------------------------------

move(
    "flip",
    lambda x, dims: np.flip(x, dims),
    ((0,),),
    ((0, 2),),
    ((-1,),),
    forms="weft Tensor",
    more=[Sample(floats(0, 3), (0,)), Sample(floats(67), (0,))],
    errors=[Error(IndexError, "out of range", floats(3), (1,)), Error(ValueError, "twice", floats(3), (0, 0))],
)
move(
    "roll",
    lambda x, shifts, dims=None: np.roll(x, shifts, dims),
    (1, 0),
    (5,),
    (-2, 1),
    ((1, 2), (0, 2)),
    (7, -1),
    more=[Sample(floats(0, 3), 1, 0), Sample(floats(67), 3)],
    errors=[Error(IndexError, "out of range", floats(3), 1, 1), Error(ValueError, "one shift for each", floats(3), (1, 2), (0,))],
)

# ---- copies ----------------------------------------------------------------------------------------------------------

move(
    "repeat",
    lambda x, *repeats: np.tile(x, repeats),
    (1, 2, 1),
    (2, 1, 3, 1),
    (0, 1, 1),
    forms="Tensor",
    more=[Sample(floats(), 3), Sample(floats(5), 2, 2)],
    errors=[Error(RuntimeError, "3", floats(2, 3, 4), 2)],
)
move(
    "tile", lambda x, dims: np.tile(x, dims), ((2, 1, 1),), ((2,),), ((2, 1, 3, 1),), more=[Sample(floats(), (3,)), Sample(floats(5), (0,))]
)
move(
    "repeat_interleave",
    lambda x, repeats, dim=None: np.repeat(x, repeats, dim),
    (2, 1),
    (3,),
    (2, -1),
    (0, 0),
    more=[Sample(floats(0, 3), 2, 0), Sample(floats(5), 3)],
    errors=[Error(ValueError, "negative", floats(3), -1), Error(IndexError, "out of range", floats(3), 2, 1)],
)


def joins():
    x, y = floats(2, 3), floats(2, 3, seed=1)
    yield from (
        Sample([x, y]),
        Sample([x, y], 1),
        Sample((x, y), dim=-1),
        Sample([x]),
        Sample([x, y, x]),
        Sample([floats(1, 3), floats(0, 3), floats(4, 3)]),
    )
    yield Sample([floats(3, 2).T, floats(2, 3)[::-1], floats(2, 6)[:, ::2]])
    for dtype in KINDS:
        yield Sample([floats(3, dtype=dtype), floats(2, dtype=dtype, seed=1)])
    yield Sample([floats(3), floats(3, dtype="int64")])
    yield Sample([floats(3, dtype="uint8"), floats(3, dtype="int8")])
    yield Sample([floats(67, 2), floats(5, 2)], 0)
    yield Sample([floats(2, 2, dtype="float64"), floats(1, 2, dtype="float64")])


op(
    "cat",
    "weft",
    joins,
    lambda tensors, dim=0: np.concatenate(tensors, dim),
    aliases="weft.concat weft.concatenate",
    promotes=False,
    errors=[
        Error(RuntimeError, "3", [floats(2, 3), floats(2, 4)]),
        Error(ValueError, "one tensor at least", []),
        Error(IndexError, "out of range", [floats(2)], 1),
        Error(TypeError, "tensors", floats(2)),
    ],
)


def stacks():
    x, y = floats(2, 3), floats(2, 3, seed=1)
    yield from (
        Sample([x, y]),
        Sample([x, y], 1),
        Sample((x, y), dim=-1),
        Sample([x]),
        Sample([floats(), floats(seed=1)]),
        Sample([floats(0), floats(0)]),
    )
    yield Sample([floats(3, 2).T, floats(2, 3)[::-1], floats(2, 6)[:, ::2]])
    for dtype in KINDS:
        yield Sample([floats(3, dtype=dtype), floats(3, dtype=dtype, seed=1)])
    yield Sample([floats(67), floats(67, seed=1)], 1)
    yield Sample([floats(2, dtype="float64"), floats(2, dtype="float64", seed=1)])


op(
    "stack",
    "weft",
    stacks,
    lambda tensors, dim=0: np.stack(tensors, dim),
    promotes=False,
    errors=[
        Error(RuntimeError, "must equal", [floats(2), floats(3)]),
        Error(ValueError, "one tensor at least", []),
        Error(IndexError, "out of range", [floats(2)], 2),
    ],
)
for _name, _function in (("hstack", np.hstack), ("vstack", np.vstack)):
    op(
        _name,
        "weft",
        lambda: [s for s in stacks() if "dim" not in s.kwargs and len(s.args) == 1],
        _function,
        promotes=False,
        errors=[Error(RuntimeError, "3", [floats(2, 3), floats(3, 2)][:: -1 if _name == "vstack" else 1])],
    )


# ---- pieces ----------------------------------------------------------------------------------------------------------


def pieces(x, size, dim=0):
    sizes = size if isinstance(size, (list, tuple)) else [size] * (-(-x.shape[dim] // size) or 1)
    return [*np.split(x, np.cumsum(sizes)[:-1], dim)] if sizes else []


def several(name, oracle, *argument_lists, **settings):
    def samples():
        yield from moves(*argument_lists, shape=(4, 5))

    return op(
        name,
        "weft Tensor",
        samples,
        oracle,
        result=lambda s: s.args[0].dtype.name if type(s.args[0]) is np.ndarray else "bfloat16",
        **settings,
    )


several(
    "split",
    pieces,
    (2,),
    (3, 1),
    ([1, 3], 0),
    ([2, 3], -1),
    (9,),
    errors=[Error(RuntimeError, "4", floats(4), [1, 2]), Error(ValueError, "positive", floats(4), 0)],
)
several(
    "chunk",
    lambda x, chunks, dim=0: pieces(x, -(-x.shape[dim] // chunks), dim),
    (2,),
    (3, 1),
    (4, -1),
    (9,),
    errors=[Error(ValueError, "positive", floats(4), 0)],
)
several("unbind", lambda x, dim=0: [*np.moveaxis(x, dim, 0)], (), (1,), (-1,), errors=[Error(IndexError, "out of range", floats(4), 1)])


# ---- padding ---------------------------------------------------------------------------------------------------------


def pad(x, pad, mode="constant", value=None):
    widths = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        widths[-1 - i] = (pad[2 * i], pad[2 * i + 1])
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape))]
    widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        return np.pad(cut, widths, constant_values=0 if value is None else value)
    return np.pad(cut, widths, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def pads():
    yield from moves(((1, 2),), ((0, 1, 2, 0),), ((1, 1, 1, 1, 1, 1),), ((-1, 1),), ((0, 0),), ((-1, -1),))
    yield Sample(floats(3), (2, 1), value=7.5)
    yield Sample(floats(3), (2, 1), "constant", -np.inf)
    yield Sample(floats(0, 3), (1, 1, 1, 0))
    yield Sample(floats(67), (3, 3))
    yield Sample(floats(3, dtype="float64"), (1, 1))


op(
    "pad",
    "F",
    pads,
    pad,
    result="same",
    errors=[Error(ValueError, "pairs", floats(3), (1,)), Error(ValueError, "pairs", floats(3), (1, 1, 1, 1))],
)
