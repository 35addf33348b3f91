"""Convolutions and their transposes."""

import itertools

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

# ---- convolutions ----------------------------------------------------------------------------------------------------


def tuples(value, n):
    return (value,) * n if np.ndim(value) == 0 else tuple(value)


def windows(x, kernel, stride, dilation, n):
    """All windows of the last n axes: (…, out sizes, kernel sizes)."""
    view = np.lib.stride_tricks.sliding_window_view(x, [d * (k - 1) + 1 for k, d in zip(kernel, dilation)], tuple(range(-n, 0)))
    view = view[(..., *(slice(None, None, s) for s in stride), *(slice(None),) * n)]
    return view[(..., *(slice(None, None, d) for d in dilation))]


def convolution(n):
    def oracle(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        single = x.ndim == n + 1
        x = x[None] if single else x
        stride, dilation, kernel = tuples(stride, n), tuples(dilation, n), w.shape[2:]
        if isinstance(padding, str):
            spans = [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilation)]
            widths = [(s // 2, s - s // 2) for s in spans]
        else:
            widths = [(p, p) for p in tuples(padding, n)]
        x = np.pad(x, [(0, 0), (0, 0), *widths])
        view = windows(x, kernel, stride, dilation, n)  # N C out… kernel…
        parts = []
        for g in range(groups):
            channels, outputs = x.shape[1] // groups, len(w) // groups
            part = view[:, g * channels : (g + 1) * channels]
            parts.append(
                np.moveaxis(
                    np.tensordot(part, w[g * outputs : (g + 1) * outputs], ([1, *range(n + 2, 2 * n + 2)], [1, *range(2, n + 2)])), -1, 1
                )
            )
        result = np.concatenate(parts, 1)
        if bias is not None:
            result = result + bias.reshape(-1, *(1,) * n)
        return result[0] if single else result

    return oracle


def transposed(n):
    def oracle(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        single = x.ndim == n + 1
        x = x[None] if single else x
        stride, dilation, padding, extra, kernel = (
            tuples(stride, n),
            tuples(dilation, n),
            tuples(padding, n),
            tuples(output_padding, n),
            w.shape[2:],
        )
        full = [(i - 1) * s + d * (k - 1) + 1 + e for i, s, d, k, e in zip(x.shape[2:], stride, dilation, kernel, extra)]
        per = w.shape[1]
        result = np.zeros((len(x), per * groups, *full))
        ins = x.shape[1] // groups
        for g in range(groups):
            for place in itertools.product(*(range(k) for k in kernel)):
                part = np.moveaxis(
                    np.tensordot(x[:, g * ins : (g + 1) * ins], w[(slice(g * ins, (g + 1) * ins), slice(None), *place)], ([1], [0])), -1, 1
                )
                where = tuple(slice(p * d, p * d + (i - 1) * s + 1, s) for p, d, i, s in zip(place, dilation, x.shape[2:], stride))
                result[(slice(None), slice(g * per, (g + 1) * per), *where)] += part
        result = result[(..., *(slice(p, size - p) for p, size in zip(padding, full)))]
        if bias is not None:
            result = result + bias.reshape(-1, *(1,) * n)
        return result[0] if single else result

    return oracle


def convolutions(n, transpose=False):
    size, kernel = (7, 6, 5)[:n], (3, 2, 2)[:n]

    def weight(outputs, inputs, dtype="float32"):
        return floats(*((inputs, outputs) if transpose else (outputs, inputs)), *kernel, dtype=dtype, seed=1)

    def samples():
        for dtype in FLOATS:
            sample = Sample(floats(2, 4, *size, dtype=dtype), weight(3, 4, dtype), floats(3, dtype=dtype, seed=2))
            yield sample.unlike_torch("adds up in float16") if transpose and dtype == "float16" else sample
        yield Sample(floats(2, 4, *size), weight(3, 4))
        yield Sample(floats(4, *size), weight(3, 4))
        yield Sample(floats(2, 4, *size), weight(3, 4), stride=2, padding=1)
        yield Sample(floats(2, 4, *size), weight(3, 4), None, (2, 1, 2)[:n], (1, 0, 1)[:n])
        yield Sample(floats(2, 4, *size), weight(3, 4), dilation=2)
        yield Sample(floats(2, 4, *size), floats(4, 3, *kernel) if transpose else floats(6, 2, *kernel), groups=2)
        yield Sample(floats(2, 4, *size), floats(4, 1, *kernel), groups=4)
        yield Sample(floats(0, 4, *size), weight(3, 4))
        yield Sample(floats(*size[::-1], 4, 2).T, weight(3, 4)[::-1])
        if transpose:
            yield Sample(floats(2, 4, *size), weight(3, 4), stride=2, padding=1, output_padding=1)
        else:
            yield Sample(floats(2, 4, *size), weight(3, 4), padding="same")
            yield Sample(floats(2, 4, *size), weight(3, 4), padding="valid")

    return samples


def tiny(n, transpose=False, **kwargs):
    shape = (1, 2, *(3, 2, 2)[:n])
    return Sample(
        floats(*shape, dtype="float64"), floats(2, 2, *(2, 1, 1)[:n], dtype="float64", seed=1), floats(2, dtype="float64"), **kwargs
    )


for _n in (1, 2, 3):
    op(
        f"conv{_n}d",
        "F",
        convolutions(_n),
        convolution(_n),
        result="same",
        gradients=[tiny(_n), tiny(_n, stride=2, padding=1)],
        errors=[
            Error(RuntimeError, "channels", floats(1, 3, *(4,) * _n), floats(2, 4, *(2,) * _n)),
            Error(ValueError, "stride", floats(1, 4, *(4,) * _n), floats(2, 4, *(2,) * _n), stride=0),
        ],
    )
    op(
        f"conv_transpose{_n}d",
        "F",
        convolutions(_n, True),
        transposed(_n),
        result="same",
        gradients=[tiny(_n), tiny(_n, stride=2)],
        errors=[Error(RuntimeError, "channels", floats(1, 3, *(4,) * _n), floats(4, 2, *(2,) * _n))],
    )
