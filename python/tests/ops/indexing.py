"""Reading at indices that are data: gather, take, masks, one_hot."""

import numpy as np

from .registry import Error, Sample, floats, integers, op

KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16")
NEGATIVE = "negative indices count from the end"


def gathers():
    for dtype in KINDS:
        yield Sample(floats(3, 4, dtype=dtype), 1, integers(3, 2, high=4))
    yield Sample(floats(3, 4), 0, integers(2, 4, high=3))
    yield Sample(floats(3, 4), -1, integers(1, 6, high=4))
    yield Sample(floats(4, 3).T, 1, integers(2, 3, high=4).T[:2])
    yield Sample(floats(3, 4)[::-1, ::2], 1, integers(3, 2, high=2)[:, ::-1])
    yield Sample(floats(67), 0, integers(67, high=67))
    yield Sample(floats(5), 0, integers(0, high=5))
    yield Sample(floats(2, 3, 4), 1, integers(2, 5, 4, high=3))
    yield Sample(floats(2, 3, dtype="float64"), 1, integers(2, 2, high=3))


def gather(x, dim, index):
    cut = tuple(slice(n) if d != dim % x.ndim else slice(None) for d, n in enumerate(index.shape))
    return np.take_along_axis(x[cut], index, dim)


op(
    "gather",
    "weft Tensor",
    gathers,
    gather,
    result="same",
    errors=[
        Error(IndexError, "out of range", floats(3), 1, integers(2)),
        Error(TypeError, "index", floats(3), 0, floats(2)),
        Error(RuntimeError, "as many axes", floats(3, 3), 0, integers(2)),
    ],
)


def alongs():
    for s in gathers():
        x, dim, index = s.args
        if all(a == b or d == dim % x.ndim for d, (a, b) in enumerate(zip(index.shape, x.shape))):
            yield Sample(x, index, dim)
    yield Sample(floats(3, 4), integers(3, 2, low=-4, high=4), 1).unlike_torch(NEGATIVE)
    yield Sample(floats(3, 4), integers(1, 4, high=3), 0)


op(
    "take_along_dim",
    "weft Tensor",
    alongs,
    lambda x, index, dim: np.take_along_axis(x, index, dim),
    result="same",
    errors=[Error(TypeError, "ind", floats(3), floats(3), 0)],
)


def takes():
    for dtype in KINDS:
        yield Sample(floats(3, 4, dtype=dtype), integers(5, high=12))
    yield Sample(floats(3, 4).T, integers(2, 2, high=12))
    yield Sample(floats(3, 4), integers(5, low=-12, high=12))
    yield Sample(floats(67), integers(0))
    yield Sample(floats(2, 3, dtype="float64"), integers(3, high=6))


op("take", "weft", takes, lambda x, index: np.take(x, index), result="same", errors=[Error(TypeError, "index", floats(3), floats(3))])


def selections():
    for dtype in KINDS:
        yield Sample(floats(3, 4, dtype=dtype), 1, integers(5, high=4))
    yield Sample(floats(3, 4), 0, integers(2, high=3))
    yield Sample(floats(4, 3).T, -1, integers(2, high=4, dtype="int32"))
    yield Sample(floats(3, 4)[:, ::-1], 1, integers(0, high=4))
    yield Sample(floats(67, 2), 0, integers(99, high=67))
    yield Sample(floats(2, 3, dtype="float64"), 1, integers(4, high=3))


op(
    "index_select",
    "weft Tensor",
    selections,
    lambda x, dim, index: np.take(x, index, dim),
    result="same",
    errors=[Error(IndexError, "out of range", floats(3), 1, integers(2)), Error(TypeError, "index", floats(3), 0, floats(2))],
)


# ---- masks -----------------------------------------------------------------------------------------------------------


def masks():
    for dtype in KINDS:
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4, seed=1) > 0)
    yield Sample(floats(3, 4), floats(4) > 0)
    yield Sample(floats(4, 3).T, floats(3, 4)[::-1] > 0)
    yield Sample(floats(67), floats(67) > 9)
    yield Sample(floats(67), floats(67) > -9)
    yield Sample(floats(0), floats(0) > 0)
    yield Sample(floats(2, 3, dtype="float64"), np.array([True, False, True]))


op(
    "masked_select",
    "weft Tensor",
    masks,
    lambda x, mask: np.broadcast_arrays(x, mask)[0][np.broadcast_to(mask, np.broadcast_shapes(x.shape, mask.shape))],
    result="same",
    errors=[Error(TypeError, "bool", floats(3), floats(3)), Error(RuntimeError, "mask", floats(3), floats(4) > 0)],
)


def counted():
    for dtype in KINDS:
        yield Sample(floats(3, 4, dtype=dtype) * (floats(3, 4) > 0) if dtype not in ("bool", "bfloat16") else floats(3, 4, dtype=dtype))
    yield Sample(floats(3, 4) > 0, as_tuple=True)
    yield Sample(floats(4, 3).T > 0)
    yield Sample(np.zeros(67, "float32"))
    yield Sample(floats(0, 3))
    yield Sample(np.array([np.nan, 0, -0.0, np.inf], "float32"))
    yield Sample(np.array(1.0), as_tuple=True)


def nonzero(x, as_tuple=False):
    found = np.nonzero(np.atleast_1d(x))
    return list(found) if as_tuple else np.stack(found, -1)


op("nonzero", "weft Tensor", counted, nonzero, result="int64", gradient=False, errors=[Error(TypeError, "input", [1])])


# ---- tables ----------------------------------------------------------------------------------------------------------


def labels():
    for dtype in ("int64",):
        for shape in ((5,), (2, 3), (), (67,), (1,), (2, 3, 2)):
            yield Sample(integers(*shape, high=4, dtype=dtype))
            yield Sample(integers(*shape, high=4, dtype=dtype), 6)
    yield Sample(integers(0, high=4), 3)
    yield Sample(integers(4, 3, high=5).T[::-1], num_classes=5)


def one_hot(x, num_classes=-1):
    return np.eye(x.max() + 1 if num_classes == -1 else num_classes, dtype="int64")[x]


op(
    "one_hot",
    "F",
    labels,
    one_hot,
    result="int64",
    gradient=False,
    errors=[Error(TypeError, "one_hot", floats(3)), Error(ValueError, "no elements", integers(0))],
)
