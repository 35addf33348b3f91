"""Mistakes that mypy must find: a line with `# error` is one, no other line is."""

import weft
import weft.nn.functional as F

x = weft.ones(2, 3)
weft.softmax(x, dim="last")  # error
x.reshape("a")  # error
F.relu(3)  # error
x.no_such_method()  # error
weft.zeros(2, dtyp=weft.float32)  # error
y: int = x.sum()  # error
weft.zeros(2, dtype=weft.float32).sum(0, keepdim=True)
(2 - x) @ x.T + x[0, 1:] ** 2
