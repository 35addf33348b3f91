"""Limits from one side."""

import numpy as np

from .arithmetic import pairwise
from .elementwise_pairs import BOTH
from .registry import NUMBERS

# ---- limits ----------------------------------------------------------------------------------------------------------


def beyond(choose):
    return lambda x, limit: np.where(np.isnan(x) if np.asarray(x).dtype.kind == "f" else False, x, choose(x, limit))


for _name, _choose in (("clamp_min", np.maximum), ("clamp_max", np.minimum)):
    pairwise(_name, beyond(_choose), forms=BOTH, dtypes=NUMBERS, numbers=(1, 0.5), special=False)
