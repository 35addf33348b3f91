"""Dropout: elements, whole channels, and in a way that keeps mean and variance."""

import math

import numpy as np

from .random import near, values
from .registry import FLOATS, Error, Sample, dtype_of, floats, integers, op

# ---- alpha dropout ---------------------------------------------------------------------------------------------------


def alpha_dropped(axes):
    def check(result, x, p=0.5, training=False):
        result = values(result, x.shape, dtype_of(x))
        if not training or p == 0:
            np.testing.assert_array_equal(result, x)
            return
        low = -1.7580993408473766
        scale = ((1 - p) * (1 + p * low**2)) ** -0.5
        dropped = np.isclose(result, scale * low * (1 - p), atol=1e-3)
        kept = np.isclose(result, scale * (x - low * p), atol=1e-3)
        assert (dropped | kept).all()
        share = dropped.reshape(*x.shape[:axes], -1).all(-1)
        assert (share == dropped.reshape(*x.shape[:axes], -1).any(-1)).all()
        assert abs(share.mean() - p) < 5 * math.sqrt(p * (1 - p) / share.size)

    return check


for name, shape, axes in (("alpha_dropout", (50, 60), 2), ("feature_alpha_dropout", (50, 40, 5), 2)):
    op(
        name,
        "F",
        [*(Sample(floats(*shape, low=1, high=2), p, True) for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
         Sample(floats(*shape), 0.5), Sample(floats(*shape), 0.0, True)],
        check=alpha_dropped(axes),
        result="same",
        gradient=False,
        errors=[
            Error(ValueError, "'p' must be between", floats(3, 4), 1.5),
            Error(TypeError, "must be a float tensor", integers(3, 4), training=True),
        ],
    )


# ---- dropout ---------------------------------------------------------------------------------------------------------


def dropped(channels):
    """Each element (or, with channels, each of the first two axes) is 0 or scaled by 1 / (1 - p)."""

    def check(result, x, p=0.5, training=True, inplace=False):
        got, x = values(result, x.shape, dtype_of(x)), np.asarray(x, "float64")
        if not training or p == 0:
            np.testing.assert_array_equal(got, x)
            return
        if p == 1:
            assert not got.any()
            return
        kept = got != 0
        np.testing.assert_allclose(got[kept], (x / (1 - p))[kept], rtol=1e-2 if x.itemsize < 4 else 2e-2)
        if channels:
            flat = kept.reshape(*x.shape[:channels], -1)
            assert (flat.all(-1) | ~flat.any(-1)).all()
            kept = flat[..., 0]
        if kept.size >= 1000:
            near(kept.mean(), 1 - p, np.sqrt(p * (1 - p) / kept.size), "share")

    return check


def drops(*shape):
    def samples():
        for dtype in FLOATS:
            yield Sample(floats(*shape, low=1, high=2, dtype=dtype))
        for p in (0.0, 0.1, 0.9, 1.0):
            yield Sample(floats(*shape, low=1, high=2), p)
        yield Sample(floats(*shape, low=1, high=2), 0.5, False)
        yield Sample(floats(*shape, low=1, high=2), p=0.3, training=True)
        yield Sample(floats(*shape[:-1], 2 * shape[-1], low=1, high=2)[..., ::-2], 0.3)

    return samples


BAD_SHARE = [Error(ValueError, "p", floats(3, 2, 2, 2, 2), 1.5)]
op("dropout", "F", drops(50, 60), check=dropped(0), gradient=False, errors=BAD_SHARE)
op("dropout1d", "F", drops(50, 40, 3), check=dropped(2), gradient=False, errors=[Error(ValueError, "p", floats(3, 2, 2), 1.5)])
op("dropout2d", "F", drops(50, 40, 2, 3), check=dropped(2), gradient=False, errors=[Error(ValueError, "p", floats(3, 2, 2, 2), 1.5)])
op("dropout3d", "F", drops(50, 40, 2, 1, 3), check=dropped(2), gradient=False, errors=BAD_SHARE)
