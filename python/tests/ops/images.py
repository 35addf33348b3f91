"""Patches, resizing and shuffling of images."""

import math

import numpy as np

from .registry import FLOATS, Error, Sample, floats, integers, op

KINDS = ("float32", "float64", "int64", "float16", "bfloat16", "uint8")


def pair(value):
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value)


# ---- patches ---------------------------------------------------------------------------------------------------------


def places(size, window, dilation, padding, stride):
    return [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in zip(size, pair(window), pair(dilation), pair(padding), pair(stride))]


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (kernel_size, dilation, padding, stride))
    oh, ow = places(x.shape[2:], kernel_size, dilation, padding, stride)
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    taps = [padded[:, :, i * dh : i * dh + sh * (oh - 1) + 1 : sh, j * dw : j * dw + sw * (ow - 1) + 1 : sw] for i in range(kh) for j in range(kw)]
    return np.stack(taps, 2).reshape(x.shape[0], x.shape[1] * kh * kw, oh * ow)


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 2:
        return fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    (h, w), (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (output_size, kernel_size, dilation, padding, stride))
    oh, ow = places((h, w), kernel_size, dilation, padding, stride)
    channels = x.shape[1] // (kh * kw)
    columns, result = x.reshape(x.shape[0], channels, kh, kw, oh, ow), np.zeros((x.shape[0], channels, h + 2 * ph, w + 2 * pw), x.dtype)
    for i in range(kh):
        for j in range(kw):
            result[:, :, i * dh : i * dh + sh * (oh - 1) + 1 : sh, j * dw : j * dw + sw * (ow - 1) + 1 : sw] += columns[:, :, i, j]
    return result[:, :, ph : ph + h, pw : pw + w]


SETTINGS = ({}, {"padding": 1}, {"stride": 2}, {"dilation": 2}, {"stride": (1, 3), "padding": (2, 0)}, {"stride": 2, "padding": 1, "dilation": (1, 2)})


def images():
    for settings in SETTINGS:
        yield Sample(floats(2, 3, 7, 9), (2, 3), **settings)
        yield Sample(floats(3, 7, 9), 3, **settings)
    for dtype in FLOATS:
        yield Sample(floats(1, 2, 5, 5, dtype=dtype), 2, stride=2)
    yield Sample(floats(2, 3, 9, 7).transpose(0, 1, 3, 2)[:, :, ::-1], 2)
    yield Sample(floats(1, 1, 3, 3, dtype="float64"), 2, padding=1)


op("unfold", "F", images, unfold, result="same",
   errors=[Error(RuntimeError, "does not fit", floats(1, 1, 2, 2), 3), Error(RuntimeError, "must be [n, c, h, w]", floats(2, 2), 1), Error(ValueError, "stride", floats(1, 1, 2, 2), 1, stride=0)])  # fmt: skip


def columns():
    for settings in SETTINGS:
        count = math.prod(places((7, 9), (2, 3), settings.get("dilation", 1), settings.get("padding", 0), settings.get("stride", 1)))
        yield Sample(floats(2, 3 * 6, count), (7, 9), (2, 3), **settings)
        yield Sample(floats(6, count), (7, 9), (2, 3), **settings)
    for dtype in FLOATS:
        yield Sample(floats(1, 8, 9, dtype=dtype), 4, 2)
    yield Sample(floats(9, 8).T[::-1], 4, 2)
    yield Sample(floats(1, 4, 4, dtype="float64"), 3, 2)


op("fold", "F", columns, fold, result="same",
   errors=[Error(RuntimeError, "multiple", floats(1, 7, 9), 4, 2), Error(RuntimeError, "places", floats(1, 8, 8), 4, 2), Error(RuntimeError, "must be", floats(3), 4, 2)])  # fmt: skip


# ---- pixels and channels ---------------------------------------------------------------------------------------------


def pixel_shuffle(x, f):
    *front, c, h, w = x.shape
    n = len(front)
    moved = x.reshape(*front, c // f**2, f, f, h, w).transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*front, c // f**2, h * f, w * f)


def pixel_unshuffle(x, f):
    *front, c, h, w = x.shape
    n = len(front)
    moved = x.reshape(*front, c, h // f, f, w // f, f).transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*front, c * f**2, h // f, w // f)


def channel_shuffle(x, groups):
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


def grids(*shape, numbers=(1, 2)):
    for number in numbers:
        yield Sample(floats(*shape), number)
        yield Sample(floats(*shape)[::-1], number)
        yield Sample(floats(*shape[::-1]).T, number)
        yield Sample(floats(0, *shape[1:]), number).unlike_torch("no elements: the shape stays in pixel_unshuffle")
    for dtype in KINDS:
        yield Sample(floats(*shape, dtype=dtype), 2)
    yield Sample(floats(1, *shape[1:], dtype="float64"), 2)


SHUFFLED = [Error(ValueError, "positive", floats(1, 4, 2, 2), 0)]
op("pixel_shuffle", "weft F", lambda: [*grids(2, 4, 2, 3), Sample(floats(9, 2, 2), 3), Sample(floats(4, 1, 1, dtype="float64"), 2)], pixel_shuffle, result="same", errors=[*SHUFFLED, Error(RuntimeError, "multiple", floats(1, 3, 2, 2), 2), Error(RuntimeError, "c, h, w", floats(4, 2), 2)])
op("pixel_unshuffle", "weft F", lambda: [*grids(2, 3, 2, 4), Sample(floats(2, 3, 6), 3), Sample(floats(1, 2, 4, dtype="float64"), 2)], pixel_unshuffle, result="same", errors=[*SHUFFLED, Error(RuntimeError, "multiples", floats(1, 3, 3, 2), 2)])
op("channel_shuffle", "weft F", lambda: [*grids(2, 4, 2, 3, numbers=(1, 2, 4)), Sample(floats(2, 6, 5), 3), Sample(floats(1, 4, 2, dtype="float64"), 2)], channel_shuffle, result="same", errors=[*SHUFFLED, Error(RuntimeError, "multiple", floats(1, 3, 2, 2), 2)])


# ---- resizing --------------------------------------------------------------------------------------------------------


def cubic(d, a):
    d = abs(d)
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0


def weights(n, m, mode, align, factor, antialias=False):
    """The matrix [m, n] that resizes one axis."""
    step = ((n - 1) / (m - 1) if m > 1 else 0) if align else 1 / factor if factor else n / m
    result = np.zeros((m, n))
    for i in range(m):
        if antialias:
            wide, centre = max(step, 1), (i + 0.5) * step
            reach = wide * (2 if mode == "cubic" else 1)
            for j in range(max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), n)):
                d = (j + 0.5 - centre) / wide
                result[i, j] = cubic(d, -0.5) if mode == "cubic" else max(0, 1 - abs(d))
            result[i] /= result[i].sum()
            continue
        if mode == "area":
            low, high = i * n // m, -(-(i + 1) * n // m)
            result[i, low:high] = 1 / (high - low)
            continue
        if mode.startswith("nearest"):
            at = np.float32(i + (0.5 if mode == "nearest-exact" else 0)) * np.float32(step)
            result[i, min(int(np.floor(at)), n - 1)] = 1
            continue
        at = i * step if align else (i + 0.5) * step - 0.5
        at = at if mode == "cubic" else max(at, 0.0)
        low = math.floor(at)
        for tap in range(low - 1, low + 3):
            d = abs(at - tap)
            result[i, min(max(tap, 0), n - 1)] += cubic(d, -0.75) if mode == "cubic" else max(0.0, 1 - d)
    return result


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    kind = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    for axis in range(2, x.ndim):
        n, factor = x.shape[axis], None
        if size is not None:
            m = size if isinstance(size, int) else size[axis - 2]
        else:
            factor = scale_factor if isinstance(scale_factor, (int, float)) else scale_factor[axis - 2]
            m = math.floor(n * factor)
        matrix = weights(n, m, kind, align_corners, None if recompute_scale_factor else factor, antialias)
        x = np.moveaxis(np.tensordot(matrix, np.asarray(x, x.dtype if x.dtype.kind == "f" else "float64"), (1, axis)), 0, axis).astype(x.dtype)
    return x


def resizes():
    for mode in ("nearest", "nearest-exact"):
        for shape in ((2, 3, 7), (2, 3, 4, 6), (1, 2, 3, 4, 5)):
            yield Sample(floats(*shape), scale_factor=2, mode=mode)
            yield Sample(floats(*shape), 5, mode=mode)
            yield Sample(floats(*shape), scale_factor=(1.5, 0.5, 2.3)[: len(shape) - 2], mode=mode)
            yield Sample(floats(*shape), (2, 8, 3)[: len(shape) - 2], mode=mode)
        for dtype in KINDS:
            if dtype == "uint8" or dtype in FLOATS:
                yield Sample(floats(1, 2, 4, 4, dtype=dtype), 3, mode=mode)
    for mode, shape in (("linear", (2, 3, 7)), ("bilinear", (2, 3, 4, 6)), ("bicubic", (2, 3, 5, 6)), ("trilinear", (1, 2, 3, 4, 5))):
        axes = len(shape) - 2
        for align in (None, True):
            yield Sample(floats(*shape), scale_factor=2.0, mode=mode, align_corners=align)
            yield Sample(floats(*shape), (9, 3, 4)[:axes], mode=mode, align_corners=align)
            yield Sample(floats(*shape), 1, mode=mode, align_corners=align)
            yield Sample(floats(*shape), scale_factor=1.7, mode=mode, align_corners=align, recompute_scale_factor=True)
            yield Sample(floats(*shape), scale_factor=0.6, mode=mode, align_corners=align)
        for dtype in FLOATS:
            yield Sample(floats(*shape, dtype=dtype), scale_factor=2, mode=mode)
        yield Sample(floats(*shape)[..., ::-1], 8, mode=mode)
    for shape in ((2, 3, 7), (2, 3, 4, 6), (1, 2, 3, 4, 5)):
        yield Sample(floats(*shape), 3, mode="area")
        yield Sample(floats(*shape), scale_factor=0.5, mode="area")
    yield Sample(floats(1, 1, 1, 1), 3, mode="bilinear")
    for mode in ("bilinear", "bicubic"):
        for align in (None, True):
            for size in ((3, 4), (1, 1), (9, 23), (11, 5), 2):
                yield Sample(floats(2, 3, 11, 17), size, mode=mode, align_corners=align, antialias=True)
        for factor in (0.3, (0.51, 1.7)):
            yield Sample(floats(2, 3, 11, 17), scale_factor=factor, mode=mode, antialias=True)
        for dtype in FLOATS:
            sample = Sample(floats(1, 2, 9, 8, dtype=dtype), 3, mode=mode, antialias=True)
            yield sample if dtype in ("float32", "float64") else sample.unlike_torch("not for halves")
        yield Sample(floats(1, 1, 64, 50), 2, mode=mode, antialias=True)


op(
    "interpolate", "F", resizes, interpolate, result="same", torch_tolerance={"float32": (2e-6, 2e-5)}, reason="two roundings for each axis",
    gradients=[Sample(floats(1, 1, 3, 2, dtype="float64"), 4, mode=m) for m in ("nearest", "bilinear", "bicubic", "area")] + [Sample(floats(1, 1, 5, 4, dtype="float64"), 2, mode="bicubic", antialias=True)] + [Sample(floats(1, 1, 5, dtype="float64"), 3, mode="linear", align_corners=True), Sample(floats(1, 1, 4, dtype="float64"), 2)],
    errors=[
        Error(ValueError, "antialias is for", floats(1, 1, 3, 3), 2, antialias=True), Error(ValueError, "antialias is for", floats(1, 1, 3), 2, mode="linear", antialias=True),
        Error(ValueError, "either sizes or factors", floats(1, 1, 3)), Error(ValueError, "either sizes or factors", floats(1, 1, 3), 2, 2.0),
        Error(RuntimeError, "needs an input of 4 axes", floats(1, 1, 3), 2, mode="bilinear"), Error(ValueError, "'mode' must be", floats(1, 1, 3), 2, mode="cubic"),
        Error(ValueError, "align_corners", floats(1, 1, 3), 2, align_corners=True), Error(RuntimeError, "spatial axes", floats(3, 3), 2), Error(ValueError, "must be positive", floats(1, 1, 3), 0),
        Error(TypeError, "floats", integers(1, 1, 3), 2, mode="linear"),
    ],
)  # fmt: skip
