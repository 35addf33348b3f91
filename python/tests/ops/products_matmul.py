"""Products of matrices and vectors."""

import numpy as np

from .registry import FLOATS, NUMBERS, Error, Sample, floats, op


def products(*shapes, dtypes=FLOATS):
    """Pairs of these shapes; the first pair in all dtypes and other strides."""
    for a, b in shapes:
        yield Sample(floats(*a), floats(*b, seed=1))
    (a, b), *_ = shapes
    for dtype in dtypes:
        yield Sample(floats(*a, dtype=dtype), floats(*b, dtype=dtype, seed=1))
    yield Sample(floats(*a[::-1]).T, floats(*b[::-1], seed=1).T)
    yield Sample(floats(*a)[..., ::-1], floats(*b, seed=1)[::-1])
    yield Sample(floats(*a[:-1], 2 * a[-1])[..., ::2], floats(2 * b[0], *b[1:], seed=1)[::2])
    special = floats(*a)
    special.flat[0], special.flat[-1] = np.nan, np.inf
    yield Sample(special, floats(*b, seed=1))


DIFFER = "must equal"
PAIR = [Sample(floats(2, 3, dtype="float64"), floats(3, 2, dtype="float64", seed=1))]
op(
    "matmul",
    "weft Tensor",
    lambda: products(
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4, 3)),
        ((3, 0), (0, 2)),
        ((17, 67), (67, 33)),
        dtypes=NUMBERS,
    ),
    np.matmul,
    gradients=PAIR,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(5, 3)), Error(RuntimeError, "scalar", floats(), floats(3))],
)
op(
    "mm",
    "weft Tensor",
    lambda: products(((3, 4), (4, 5)), ((0, 4), (4, 3)), ((3, 0), (0, 2)), ((17, 67), (67, 33))),
    np.matmul,
    gradients=PAIR,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(5, 3))],
)
op(
    "bmm",
    "weft Tensor",
    lambda: [
        Sample(floats(*a, dtype=d), floats(*b, dtype=d, seed=1))
        for d in ("float32", "float64", "float16")
        for a, b in (((2, 3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((3, 1, 2), (3, 2, 1)), ((2, 3, 0), (2, 0, 2)))
    ],
    np.matmul,
    errors=[Error(RuntimeError, "2 and 3", floats(2, 3, 4), floats(3, 4, 5))],
    gradients=[Sample(floats(2, 2, 3, dtype="float64"), floats(2, 3, 1, dtype="float64"))],
)
op(
    "mv",
    "weft Tensor",
    lambda: products(((3, 4), (4,)), ((0, 4), (4,)), ((3, 0), (0,)), ((17, 67), (67,))),
    np.matmul,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(3))],
)
op(
    "dot",
    "weft Tensor",
    lambda: products(((4,), (4,)), ((0,), (0,)), ((1,), (1,)), ((67,), (67,)), dtypes=NUMBERS),
    np.dot,
    errors=[Error(RuntimeError, "must be equal", floats(3), floats(4)), Error(RuntimeError, "one axis", floats(3, 4), floats(4))],
)
op(
    "outer",
    "weft Tensor",
    lambda: products(((3,), (4,)), ((0,), (4,)), ((1,), (1,)), ((67,), (5,)), dtypes=NUMBERS),
    np.outer,
    errors=[Error(RuntimeError, "one axis", floats(3, 2), floats(4))],
)
