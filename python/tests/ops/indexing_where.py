"""Where conditions hold, and elements taken."""

import numpy as np

from .registry import Error, Sample, floats, integers, op
from .scatter import KINDS

# ---- where -----------------------------------------------------------------------------------------------------------


def conditions():
    for dtype in (*KINDS, "bool"):
        yield Sample(floats(3, 4, dtype=dtype))
    yield Sample(floats(4, 3).T > 0)
    yield Sample(np.zeros(67, "float32"))
    yield Sample(floats(0, 3))
    yield Sample(np.array([np.nan, 0, -0.0, np.inf], "float32"))


op("argwhere", "weft Tensor", conditions, np.argwhere, result="int64", gradient=False, errors=[Error(TypeError, "input", [1])])
op("where", "weft", lambda: [*conditions(), Sample(np.array(True)), Sample(np.array(0.0))], lambda x: [*np.nonzero(np.atleast_1d(x))], result="int64", gradient=False, errors=[Error(TypeError, "other", floats(3) > 0, floats(3))])
op("take", "weft Tensor", lambda: [*(Sample(floats(3, 4, dtype=d), integers(5, high=4), dim=1) for d in KINDS), Sample(floats(3, 4), integers(2, 2, low=-3, high=3), dim=0), Sample(floats(3), integers(0), dim=-1), Sample(floats(2, 3, dtype="float64"), integers(2, high=3), dim=1)],
   lambda x, index, dim: np.take(x, index, dim), result="same", torch=None, reason="the array API's form; PyTorch's take has no axis", errors=[Error(IndexError, "out of range", floats(3), integers(2), dim=1)])  # fmt: skip
op("take_along_dim", "weft Tensor", lambda: [*(Sample(floats(3, 4, dtype=d), integers(5, high=12)) for d in KINDS), Sample(floats(3, 4).T, integers(2, 2, high=12)), Sample(floats(2, 3, dtype="float64"), integers(2, high=6))],
   lambda x, index: np.take_along_axis(x.reshape(-1), index.reshape(-1), 0), result="same", errors=[Error(TypeError, "ind", floats(3), floats(3))])  # fmt: skip
