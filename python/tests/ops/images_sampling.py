"""Values of images at the places of a grid, and upsampling by its old names."""

import itertools
import math

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

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
