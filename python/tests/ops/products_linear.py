"""Linear and bilinear maps."""

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

# ---- linear maps -----------------------------------------------------------------------------------------------------


def linears():
    for dtype in FLOATS:
        yield Sample(floats(3, 4, dtype=dtype), floats(5, 4, dtype=dtype, seed=1), floats(5, dtype=dtype, seed=2))
    yield from (Sample(floats(*shape, 4), floats(5, 4, seed=1)) for shape in ((), (0,), (2, 3), (67,)))
    yield Sample(floats(4, 3).T, floats(4, 5, seed=1).T)
    yield Sample(floats(3, 67)[::-1], floats(33, 67, seed=1)[:, ::-1], floats(33))
    yield Sample(floats(2, 3, dtype="float64"), floats(2, 3, dtype="float64", seed=1), floats(2, dtype="float64"))


op(
    "linear",
    "F",
    linears,
    lambda x, w, b=None: x @ w.T + (0 if b is None else b),
    result="same",
    errors=[Error(RuntimeError, "must equal", floats(3, 4), floats(5, 3))],
)


def bilinears():
    for dtype in FLOATS:
        yield Sample(
            floats(3, 4, dtype=dtype),
            floats(3, 2, dtype=dtype, seed=1),
            floats(5, 4, 2, dtype=dtype, seed=2),
            floats(5, dtype=dtype, seed=3),
        )
    yield from (Sample(floats(*shape, 4), floats(*shape, 2, seed=1), floats(5, 4, 2, seed=2)) for shape in ((0,), (1,), (2, 3), (7,)))
    yield Sample(floats(4, 3).T, floats(3, 2)[::-1], floats(5, 4, 2)[..., ::-1])
    yield Sample(floats(2, 2, dtype="float64"), floats(2, 2, dtype="float64", seed=1), floats(1, 2, 2, dtype="float64", seed=2))


op(
    "bilinear",
    "F",
    bilinears,
    lambda a, b, w, bias=None: np.einsum("...i,oij,...j->...o", a, w, b) + (0 if bias is None else bias),
    result="same",
    errors=[Error(RuntimeError, "must equal", floats(3, 4), floats(3, 2), floats(5, 3, 2))],
)
