"""Parts copied, and places in a flattened tensor."""

import numpy as np

from .creation_series import KINDS
from .registry import Error, Sample, floats, integers, op

op("narrow_copy", "weft Tensor", lambda: [*(Sample(floats(3, 4, dtype=d), 1, 1, 2) for d in KINDS), Sample(floats(3, 4).T, 0, -2, 2), Sample(floats(5), 0, 5, 0), Sample(floats(2, 3, dtype="float64"), 1, 0, 2)], lambda x, dim, start, length: x.take(range(start % x.shape[dim] if start < 0 else start, (start % x.shape[dim] if start < 0 else start) + length), dim),
   result="same", errors=[Error(IndexError, "leave axis 0", floats(3), 0, 2, 2)])  # fmt: skip
op("unravel_index", "weft", lambda: [*(Sample(integers(5, high=24, dtype=d), (2, 3, 4)) for d in ("int64", "int32", "int16", "uint8")), *(Sample(integers(*s, high=24), (2, 3, 4)) for s in ((), (0,), (67,), (2, 3))), Sample(integers(5, high=6), 6), Sample(integers(5, high=6)[::-1], (6, 1))],
   lambda x, shape: [*np.unravel_index(x, shape)], result=lambda s: s.args[0].dtype.name, gradient=False, torch=lambda torch, x, shape: [r.to(x.dtype) for r in torch.unravel_index(x, shape)], errors=[Error(TypeError, "integers", floats(3), (2, 2))])  # fmt: skip
