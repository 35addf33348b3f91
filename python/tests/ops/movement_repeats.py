"""Repeats that are data."""

import numpy as np

from .registry import Error, Sample, floats, op
from .scatter import KINDS

op("repeat_interleave", "weft Tensor",
   lambda: [*(Sample(floats(3, 4, dtype=d), np.array([2, 0, 1]), 0) for d in KINDS), Sample(floats(3, 4), np.array([1, 2, 3, 0]), -1), Sample(floats(3), np.array([3, 1, 2])), Sample(floats(3, 2), np.array([2]), 0), Sample(floats(3, 2).T, np.array([2, 1]), 0), Sample(floats(2, dtype="float64"), np.array([2, 3]))],
   lambda x, repeats, dim=None: np.repeat(x, repeats, dim), result="same", errors=[Error(RuntimeError, "one count", floats(3), np.array([1, 2])), Error(TypeError, "integers", floats(3), floats(3)), Error(ValueError, "negative", floats(2), np.array([1, -1]))])  # fmt: skip
