"""Running sums and products."""

import numpy as np

from .registry import FLOATS, D, Error, Sample, floats, op, scan

BAD_AXIS = [Error(IndexError, "axis 2 is out of range", floats(3, 4), dim=2), Error(TypeError, "dim", floats(3))]


def along(function):
    """A NumPy scan: integers in int64, 0-d tensors as they are."""

    def oracle(x, dim, dtype=None):
        x = x.astype(dtype or ("int64" if x.dtype.kind in "iub" else x.dtype))
        return x if x.ndim == 0 else function(x, axis=dim)

    return oracle


def samples():
    yield from scan()
    yield Sample(floats(3, 4, dtype="int8"), dim=1, dtype=D("float32"))
    yield Sample(floats(3, 4, dtype="int8"), dim=1, dtype=D("int16"))
    yield Sample(floats(3, 4, dtype="bool"), dim=1)
    yield Sample(floats(3, 4) > 0, dim=0)


op("cumsum", "weft Tensor", samples, along(np.cumsum), result="sum", errors=BAD_AXIS)


def products():
    yield from scan(0.5, 1.5)
    yield Sample(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), dim=1)


op("cumprod", "weft Tensor", products, along(np.cumprod), result="sum", errors=BAD_AXIS)
for _name, _oracle in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
    op(
        _name,
        "Tensor_",
        lambda: scan(0.5, 1.5, dtypes=FLOATS),
        lambda x, dim, f=_oracle: x if x.ndim == 0 else f(x, axis=dim),
        result="same",
        errors=[Error(IndexError, "axis 2 is out of range", floats(3, 4), dim=2)],
    )
