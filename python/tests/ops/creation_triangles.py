"""Triangles of matrices."""

import numpy as np

from .creation_series import KINDS
from .movement import move
from .registry import Error, Sample, floats, op

move(
    "tril",
    lambda x, diagonal=0: np.tril(x, diagonal),
    (),
    (1,),
    (-1,),
    more=[Sample(floats(0, 0)), Sample(floats(5, 3), diagonal=2), Sample(floats(3, 67))],
    errors=[Error(RuntimeError, "2", floats(3))],
)
move(
    "triu",
    lambda x, diagonal=0: np.triu(x, diagonal),
    (),
    (1,),
    (-1,),
    more=[Sample(floats(0, 0)), Sample(floats(5, 3), diagonal=2), Sample(floats(3, 67))],
    errors=[Error(RuntimeError, "2", floats(3))],
)
for _name, _function in (("tril", np.tril), ("triu", np.triu)):
    op(_name, "Tensor_", lambda: [*(Sample(floats(3, 4, dtype=d), k) for d in KINDS for k in (0, 1)), Sample(floats(4, 3).T), Sample(floats(2, 3, 3), -1), Sample(floats(2, 3, dtype="float64"))], lambda x, k=0, f=_function: f(x, k), result="same", errors=[Error(RuntimeError, "two axes", floats(3))])
