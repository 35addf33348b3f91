"""Pooling: maxima and means of windows."""

import itertools

import numpy as np

from .convolution import tuples, windows
from .registry import FLOATS, Error, Sample, floats, op

# ---- pooling ---------------------------------------------------------------------------------------------------------


def pooled_windows(x, kernel, stride, padding, dilation, ceil_mode, n, fill):
    kernel, padding, dilation = tuples(kernel, n), tuples(padding, n), tuples(dilation, n)
    stride = kernel if stride is None else tuples(stride, n)
    widths = []
    for size, k, s, p, d in zip(x.shape[-n:], kernel, stride, padding, dilation):
        span = d * (k - 1) + 1
        count = -(-(size + 2 * p - span) // s) if ceil_mode else (size + 2 * p - span) // s
        if ceil_mode and count * s >= size + p:
            count -= 1
        widths.append((p, max(count * s + span - size - p, 0)))
    padded = np.pad(x, [(0, 0)] * (x.ndim - n) + widths, constant_values=fill)
    ends = tuple(slice(size + a + b) for size, (a, b) in zip(x.shape[-n:], widths))
    return windows(padded[(..., *ends)], kernel, stride, dilation, n)


def average(n):
    def oracle(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        axes = tuple(range(-n, 0))
        total = pooled_windows(x, kernel_size, stride, padding, 1, ceil_mode, n, 0).sum(axes)
        if divisor_override:
            return total / divisor_override
        real = np.ones(x.shape)
        if count_include_pad:  # the padding counts, what ceil_mode adds beyond it does not
            real = np.pad(real, [(0, 0)] * (x.ndim - n) + [(p, p) for p in tuples(padding, n)], constant_values=1)
            padding = 0
        counts = pooled_windows(real, kernel_size, stride, padding, 1, ceil_mode, n, 0)
        return total / counts[tuple(slice(size) for size in total.shape)].sum(axes)

    return oracle


def maximum(n):
    def oracle(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        view = pooled_windows(x, kernel_size, stride, padding, dilation, ceil_mode, n, -np.inf)
        values = view.max(tuple(range(-n, 0)))
        if not return_indices:
            return values
        places = np.arange(np.prod(x.shape[-n:]), dtype="float64").reshape(x.shape[-n:])
        where = pooled_windows(np.broadcast_to(places, x.shape), kernel_size, stride, padding, dilation, ceil_mode, n, -1)
        flat, index = view.reshape(*values.shape, -1), where.reshape(*values.shape, -1)
        return [values, np.take_along_axis(index, flat.argmax(-1)[..., None], -1)[..., 0]]

    return oracle


def pools(n, average):
    size = (7, 6, 5)[:n]

    def samples():
        for dtype in FLOATS:
            sample = Sample(floats(2, 3, *size, dtype=dtype), 2)
            yield sample.unlike_torch("has no kernel") if average and dtype in ("float16", "bfloat16") else sample
        yield Sample(floats(3, *size), 2)
        yield Sample(floats(2, 3, *size), 3, 1, 1)
        yield Sample(floats(2, 3, *size), (3, 2, 1)[:n], (2, 1, 1)[:n])
        yield Sample(floats(2, 3, *size), 3, 2, 1, ceil_mode=True)
        yield Sample(floats(2, 3, *size), 2, 3, ceil_mode=True)
        yield Sample(floats(*size[::-1], 3, 2).T, 2)
        yield Sample(floats(2, 3, *size)[..., ::-1], 2)
        yield Sample(floats(0, 3, *size), 2)
        if average:
            yield Sample(floats(2, 3, *size), 3, 2, 1, count_include_pad=False)
            if n > 1:
                yield Sample(floats(2, 3, *size), 2, divisor_override=3)
        else:
            yield Sample(floats(2, 3, *size), 2, dilation=2)
            yield Sample(floats(2, 3, *size), 3, 2, 1, return_indices=True)

    return samples


def values_and_places(sample):
    kind = "bfloat16" if type(sample.args[0]) is not np.ndarray else sample.args[0].dtype.name
    return (kind, "int64") if sample.kwargs.get("return_indices") else kind


def adaptive(n, function):
    def oracle(x, output_size):
        sizes = (
            [x.shape[-n + i] if s is None else s for i, s in enumerate(tuples(output_size, n))]
            if not isinstance(output_size, int)
            else [output_size] * n
        )
        result = np.empty((*x.shape[:-n], *sizes))
        for place in itertools.product(*(range(s) for s in sizes)):
            cut = tuple(slice(i * a // s, -(-(i + 1) * a // s)) for i, s, a in zip(place, sizes, x.shape[-n:]))
            result[(..., *place)] = function(x[(..., *cut)], axis=tuple(range(-n, 0)))
        return result

    return oracle


def adaptives(n):
    size = (7, 6, 5)[:n]

    def samples():
        for dtype in FLOATS:
            yield Sample(floats(2, 3, *size, dtype=dtype), 3)
        yield from (Sample(floats(2, 3, *size), k) for k in (1, 2, 5))
        yield Sample(floats(3, *size), 2)
        yield Sample(floats(2, 3, *size), (3, 2, 1)[:n])
        yield Sample(floats(*size[::-1], 3, 2).T, 2)
        yield Sample(floats(0, 3, *size), 2)

    return samples


for _n in (1, 2, 3):
    _small = floats(1, 1, *(4, 3, 2)[:_n], dtype="float64")
    _bad = [Error(RuntimeError, "x must be", floats(3), 2), Error(ValueError, "window", floats(1, 1, *(3,) * _n), 0)]
    op(
        f"avg_pool{_n}d",
        "F",
        pools(_n, True),
        average(_n),
        result="same",
        gradients=[Sample(_small, 2), Sample(_small, 2, 1, 1)],
        errors=_bad,
    )
    op(
        f"max_pool{_n}d",
        "F",
        pools(_n, False),
        maximum(_n),
        result=values_and_places,
        gradients=[Sample(_small, 2), Sample(_small, 2, 1, 1)],
        errors=_bad,
    )
    op(f"adaptive_avg_pool{_n}d", "F", adaptives(_n), adaptive(_n, np.mean), result="same", gradients=[Sample(_small, 2)])
    op(f"adaptive_max_pool{_n}d", "F", adaptives(_n), adaptive(_n, np.max), result="same", gradients=[Sample(_small, 2)])
