"""Grids, unpooling and other pools, dropout that keeps mean and variance."""

import itertools
import math

import numpy as np

from .registry import FLOATS, Error, Sample, floats, integers, op

# ---- grids -----------------------------------------------------------------------------------------------------------


def reflect(x, low, high):
    """Back into [low, high] by turning round at the ends, as often as it takes."""
    if high <= low:
        return 0.0
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def cubic(d):
    d = abs(d)
    return 1.25 * d**3 - 2.25 * d**2 + 1 if d <= 1 else -0.75 * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Place by place, tap by tap."""
    sizes = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))

    def inside(value, size):
        if padding_mode == "reflection":
            value = reflect(value, 0, size - 1) if align_corners else reflect(value, -0.5, size - 0.5)
        return value if padding_mode == "zeros" else min(max(value, 0), size - 1)

    for at in np.ndindex(*grid.shape[:-1]):
        taps = []
        for value, size in zip(grid[at][::-1], sizes):
            value = (value + 1) / 2 * (size - 1) if align_corners else ((value + 1) * size - 1) / 2
            if mode == "bicubic":
                first = math.floor(value)
                taps.append([(inside(i, size), cubic(value - i)) for i in range(first - 1, first + 3)])
                continue
            value = inside(value, size)
            if mode == "nearest":
                taps.append([(np.rint(value), 1.0)])
            else:
                first = math.floor(value)
                taps.append([(first, 1 - (value - first)), (first + 1, value - first)])
        for chosen in itertools.product(*taps):
            place = [int(i) for i, _ in chosen]
            if all(0 <= i < size for i, size in zip(place, sizes)):
                result[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *place)] * math.prod(w for _, w in chosen)
    return result


def grids():
    for mode, padding, align in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
        for shape, places in (((2, 3, 5, 4), (2, 3, 6, 2)), ((2, 2, 3, 4, 5), (2, 2, 3, 4, 3))):
            if len(shape) == 4 or mode != "bicubic":
                yield Sample(floats(*shape), floats(*places, low=-2.4, high=2.4, seed=1), mode, padding, align)
    for dtype in ("float32", "float64"):
        yield Sample(floats(1, 2, 3, 3, dtype=dtype), floats(1, 4, 5, 2, low=-1, high=1, dtype=dtype, seed=1), align_corners=False)
    yield Sample(floats(2, 1, 1, 1), floats(2, 2, 2, 2, seed=1), padding_mode="reflection", align_corners=True)
    yield Sample(floats(4, 3, 1, 1).T, floats(1, 2, 2, 2, seed=1), align_corners=True)
    yield Sample(floats(2, 3, 4, 5), floats(2, 0, 4, 2), align_corners=True)


op(
    "grid_sample",
    "F",
    grids,
    grid_sample,
    result="same",
    gradients=[
        Sample(floats(1, 1, 3, 3, dtype="float64"), floats(1, 2, 2, 2, low=-0.9, high=0.9, dtype="float64", seed=1), mode, padding, align)
        for mode, padding, align in (("bilinear", "zeros", False), ("bilinear", "reflection", True), ("bicubic", "border", False))
    ],
    errors=[
        Error(RuntimeError, "the input must be", floats(2, 3, 4), floats(2, 3, 2)),
        Error(RuntimeError, "the grid must be [2, h, w, 2]", floats(2, 3, 4, 5), floats(2, 3, 4, 3)),
        Error(ValueError, "'mode' must be", floats(2, 3, 4, 5), floats(2, 3, 4, 2), "linear"),
        Error(ValueError, "'padding_mode' must be", floats(2, 3, 4, 5), floats(2, 3, 4, 2), padding_mode="reflect"),
        Error(ValueError, "images only", floats(1, 1, 2, 2, 2), floats(1, 2, 2, 2, 3), "bicubic"),
        Error(TypeError, "one type", floats(2, 3, 4, 5), floats(2, 3, 4, 2, dtype="float64")),
    ],
    tolerance={"float32": (2e-5, 2e-5)},
    reason="a place is rounded before it is multiplied by the size, and values at it differ as far",
)


def affine_grid(theta, size, align_corners=None):
    lines = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in size[2:]]
    lines = lines if align_corners else [line * (n - 1) / n for line, n in zip(lines, size[2:])]
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], -1)
    return np.einsum("...k,njk->n...j", places, theta)


op(
    "affine_grid",
    "F",
    lambda: [
        Sample(floats(n, len(size), len(size) + 1, dtype=dtype), [n, 2, *size], align)
        for dtype in ("float32", "float64") for n in (1, 2) for size in ((4, 5), (3, 2, 4)) for align in (False, True)
    ],  # fmt: skip
    affine_grid,
    result="same",
    gradients=[Sample(floats(1, 2, 3, dtype="float64"), [1, 1, 2, 3], False)],
    errors=[
        Error(RuntimeError, "theta must be [2, 2, 3]", floats(2, 3, 3), [2, 1, 4, 4]),
        Error(ValueError, "size must be", floats(2, 2, 3), [2, 4, 4]),
        Error(ValueError, "positive", floats(2, 2, 3), [2, 1, 0, 4]),
    ],
)

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
        tolerance={"float32": (1e-5, 1e-5)},
        reason="a root of a sum of powers, each of which is rounded",
    )


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    padded = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    means = sum(padded[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (k + alpha * means) ** beta


op(
    "local_response_norm",
    "F",
    [
        *(Sample(floats(2, 5, 3, dtype=dtype), 3, 0.3) for dtype in ("float32", "float64")),
        *(Sample(floats(2, 6, *rest), size, 0.5, 0.6, 1.5) for rest in ((4,), (2, 3), (2, 2, 2)) for size in (1, 2, 5)),
    ],
    local_response_norm,
    result="same",
    gradients=[Sample(floats(1, 3, 2, dtype="float64"), 2, 0.5)],
    errors=[Error(ValueError, "three axes", floats(3, 4), 2), Error(ValueError, "'size'", floats(3, 4, 2), 0)],
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
            *(Sample(floats(2, 3, *[7] * axes, seed=i), k, n, _random_samples=drawn) for i, (k, n) in enumerate(((2, 3), (1, 4), (3, 2), (2, 5)))),
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

# ---- alpha dropout ---------------------------------------------------------------------------------------------------


def alpha_dropped(axes):
    def check(result, x, p=0.5, training=False):
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
        errors=[Error(ValueError, "'p' must be between", floats(3, 4), 1.5), Error(TypeError, "must be a float tensor", integers(3, 4), training=True)],
    )

# ---- older names -----------------------------------------------------------------------------------------------------


def upsampled(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return np.repeat(np.repeat(x, scale_factor, -1), scale_factor, -2)


for name in ("upsample", "upsample_nearest"):
    op(
        name,
        "F",
        [Sample(floats(1, 2, 3, 4, dtype=dtype), None, factor) for dtype in FLOATS for factor in (1, 2, 3)],
        upsampled,
        result="same",
        gradients=[Sample(floats(1, 1, 2, 2, dtype="float64"), None, 2)],
        errors=[Error(ValueError, "interpolate", floats(1, 1, 2, 2))],
    )


def bilinear(x, size):
    for axis in (-1, -2):
        count = x.shape[axis]
        at = np.linspace(0, count - 1, size)
        x = np.apply_along_axis(lambda line, at=at, count=count: np.interp(at, np.arange(count), line), axis, x)
    return x


op(
    "upsample_bilinear",
    "F",
    [Sample(floats(1, 2, 3, 4, dtype=dtype), size) for dtype in ("float32", "float64") for size in (2, 5, 6, 7, 11)],
    bilinear,
    result="same",
    gradients=[Sample(floats(1, 1, 2, 2, dtype="float64"), 3)],
    errors=[Error(ValueError, "interpolate", floats(1, 1, 2, 2))],
)
