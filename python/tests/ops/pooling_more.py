"""Maxima put back, and other pools."""

import math

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

# ---- unpooling -------------------------------------------------------------------------------------------------------


def unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None):
    axes = x.ndim - 2
    stride = kernel_size if stride is None else stride
    size = [(n - 1) * stride + kernel_size - 2 * padding for n in x.shape[2:]] if output_size is None else list(output_size)[-axes:]
    result = np.zeros((*x.shape[:2], math.prod(size)))
    for at in np.ndindex(*x.shape):
        result[(*at[:2], indices[at])] = x[at]
    return result.reshape(*x.shape[:2], *size)


def places(*shape, high, seed=0):
    """Different indices in each channel, as a pool gives them where its windows do not overlap."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(high)[: math.prod(shape[2:])] for _ in range(math.prod(shape[:2]))]).reshape(shape)


for axes in (1, 2, 3):
    small = (1, 1, *[2] * axes)
    op(
        f"max_unpool{axes}d",
        "F",
        [
            *(Sample(floats(2, 3, *[3] * axes, dtype=dtype), places(2, 3, *[3] * axes, high=6**axes), 2) for dtype in FLOATS),
            Sample(floats(2, 3, *[3] * axes), places(2, 3, *[3] * axes, high=7**axes), 3, 2, output_size=[7] * axes),
            *(Sample(floats(*n, *[3] * axes), places(*n, *[3] * axes, high=5**axes), 3, 2, 1) for n in ((2, 3), (1, 1), (2, 1), (3, 5))),
            Sample(floats(*[3] * axes, 3, 2).T, places(2, 3, *[3] * axes, high=3**axes), 1),
        ],
        unpool,
        result="same",
        gradients=[Sample(floats(*small, dtype="float64"), places(*small, high=4**axes), 2)],
        errors=[
            Error(ValueError, "within a stride", floats(*small), places(*small, high=8), 2, output_size=[9] * axes),
            Error(RuntimeError, "the shape of x", floats(*small), places(1, 2, *small[2:], high=8), 2),
        ],
    )


# ---- norms of windows and of channels --------------------------------------------------------------------------------


def lp_pool(x, norm_type, kernel_size, stride=None, ceil_mode=False):
    axes = x.ndim - 2
    stride = kernel_size if stride is None else stride
    windows = np.lib.stride_tricks.sliding_window_view(x, [kernel_size] * axes, axis=tuple(range(2, x.ndim)))
    windows = windows[(slice(None), slice(None), *[slice(None, None, stride)] * axes)]
    return (windows**norm_type).sum(tuple(range(-axes, 0))) ** (1 / norm_type)


for axes in (1, 2, 3):
    op(
        f"lp_pool{axes}d",
        "F",
        [
            *(Sample(floats(2, 3, *[6] * axes, low=0.1, dtype=dtype), 2, 2) for dtype in ("float32", "float64")),
            Sample(floats(2, 3, *[6] * axes), 2.0, 3, 1),
            *(Sample(floats(1, 2, *[5] * axes, low=0.1), p, k, s) for p in (3.0, 1.0, 1.5) for k, s in ((2, 2), (1, 2), (3, 1))),
        ],
        lp_pool,
        result="same",
        gradients=[Sample(floats(1, 1, *[2] * axes, low=0.5, dtype="float64"), 2, 2)],
        errors=[Error(ValueError, "kernel_size", floats(1, 1, *[4] * axes), 2, [2] * 5)],
    )


# ---- random windows --------------------------------------------------------------------------------------------------


def fractional(x, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    axes = x.ndim - 2
    outputs = [output_size] * axes if output_ratio is None else [int(n * output_ratio[0]) for n in x.shape[2:]]
    result = np.zeros((*x.shape[:2], *outputs))
    for n, c in np.ndindex(*x.shape[:2]):
        starts = []
        for axis, (size, count) in enumerate(zip(x.shape[2:], outputs)):
            u = _random_samples[n, c, 1 - axis if axes == 2 else axis]
            step = (size - kernel_size) / (count - 1)
            starts.append([int((i + u) * step) - int(u * step) for i in range(count - 1)] + [size - kernel_size])
        for at in np.ndindex(*outputs):
            window = tuple(slice(s[i], s[i] + kernel_size) for s, i in zip(starts, at))
            result[(n, c, *at)] = x[(n, c, *window)].max()
    return result


for axes in (2, 3):
    drawn = floats(2, 3, axes, low=0, high=1, seed=5)
    op(
        f"fractional_max_pool{axes}d",
        "F",
        [
            *(Sample(floats(2, 3, *[7] * axes, seed=k), k, n, _random_samples=drawn) for k, n in ((2, 3), (1, 4), (3, 2), (2, 5))),
            *(Sample(floats(2, 3, *[9] * axes), k, n, _random_samples=drawn) for k in (2, 3) for n in (3, 5, 6)),
            Sample(floats(2, 3, *[8] * axes), 3, output_ratio=(0.6,) * axes, _random_samples=drawn),
        ],
        fractional,
        result="same",
        gradient=(0,),
        gradients=[Sample(floats(1, 1, *[4] * axes, dtype="float64"), 2, 2, _random_samples=drawn[:1, :1].astype("float64"))],
        errors=[
            Error(ValueError, "either output_size", floats(1, 1, *[4] * axes), 2),
            Error(RuntimeError, "do not fit", floats(1, 1, *[4] * axes), 2, 5),
            Error(ValueError, "between 0 and 1", floats(1, 1, *[4] * axes), 2, output_ratio=1.5),
        ],
    )
