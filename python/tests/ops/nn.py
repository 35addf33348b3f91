"""Layers as functions: convolutions, pooling, normalisation."""

import itertools

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

# ---- linear maps -----------------------------------------------------------------------------------------------------


def linears():
    for dtype in FLOATS:
        yield Sample(floats(3, 4, dtype=dtype), floats(5, 4, dtype=dtype, seed=1), floats(5, dtype=dtype, seed=2))
    yield from (Sample(floats(*shape, 4), floats(5, 4, seed=1)) for shape in ((), (0,), (2, 3), (67,)))
    yield Sample(floats(4, 3).T, floats(4, 5, seed=1).T)
    yield Sample(floats(3, 67)[::-1], floats(33, 67, seed=1)[:, ::-1], floats(33))
    yield Sample(floats(2, 3, dtype="float64"), floats(2, 3, dtype="float64", seed=1), floats(2, dtype="float64"))


op(
    "linear",
    "F",
    linears,
    lambda x, w, b=None: x @ w.T + (0 if b is None else b),
    result="same",
    errors=[Error(RuntimeError, "must equal", floats(3, 4), floats(5, 3))],
)


def bilinears():
    for dtype in FLOATS:
        yield Sample(
            floats(3, 4, dtype=dtype),
            floats(3, 2, dtype=dtype, seed=1),
            floats(5, 4, 2, dtype=dtype, seed=2),
            floats(5, dtype=dtype, seed=3),
        )
    yield from (Sample(floats(*shape, 4), floats(*shape, 2, seed=1), floats(5, 4, 2, seed=2)) for shape in ((0,), (1,), (2, 3), (7,)))
    yield Sample(floats(4, 3).T, floats(3, 2)[::-1], floats(5, 4, 2)[..., ::-1])
    yield Sample(floats(2, 2, dtype="float64"), floats(2, 2, dtype="float64", seed=1), floats(1, 2, 2, dtype="float64", seed=2))


op(
    "bilinear",
    "F",
    bilinears,
    lambda a, b, w, bias=None: np.einsum("...i,oij,...j->...o", a, w, b) + (0 if bias is None else bias),
    result="same",
    errors=[Error(RuntimeError, "must equal", floats(3, 4), floats(3, 2), floats(5, 3, 2))],
)

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

# ---- normalisations --------------------------------------------------------------------------------------------------


def standard(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def scaled(x, weight, bias, axis=None):
    if axis is not None:
        weight, bias = (None if v is None else v.reshape([-1 if d == axis else 1 for d in range(x.ndim)]) for v in (weight, bias))
    return x * (1 if weight is None else weight) + (0 if bias is None else bias)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return scaled(standard(x, tuple(range(-len(shape), 0)), eps), weight, bias)


def rms_norm(x, shape, weight=None, eps=None):
    eps = np.finfo("float32").eps if eps is None else eps
    return scaled(x / np.sqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps), weight, None)


def layers(bias=True):
    def samples():
        for dtype in FLOATS:
            yield Sample(
                floats(3, 8, dtype=dtype),
                (8,),
                floats(8, dtype=dtype, seed=1),
                *([floats(8, dtype=dtype, seed=2)] if bias else []),
                eps=1e-5,
            )
        for shape, last in (((3, 8), (8,)), ((2, 3, 4), (3, 4)), ((5,), (5,)), ((0, 4), (4,)), ((33, 67), (67,)), ((3, 1), (1,))):
            yield Sample(floats(*shape), last, eps=1e-5)
        yield Sample(floats(8, 3).T, (8,), eps=1e-2)
        yield Sample(floats(3, 8)[::-1, ::-1], (8,), floats(8, seed=1), eps=1e-5)
        yield Sample(floats(3, 8) + 100, (8,), eps=1e-5)
        yield Sample(floats(2, 3, dtype="float64"), (3,), floats(3, dtype="float64"))

    return samples


# A value of 100 leaves the variance with half the digits of the mean.
op(
    "layer_norm",
    "F",
    layers(),
    layer_norm,
    result="same",
    gradients=[Sample(floats(2, 3, dtype="float64"), (3,), floats(3, dtype="float64"), floats(3, dtype="float64", seed=1))],
    errors=[
        Error(RuntimeError, "last sizes", floats(3, 4), (3,)),
        Error(RuntimeError, "weight must have shape", floats(3, 4), (4,), floats(3)),
    ],
    torch_tolerance={"float32": (1e-5, 5e-5)},
    reason="inputs far from 0 lose the digits of their mean",
)
op(
    "rms_norm",
    "F",
    layers(False),
    rms_norm,
    result="same",
    gradients=[Sample(floats(2, 3, dtype="float64"), (3,), floats(3, dtype="float64"), 1e-5)],
    errors=[Error(RuntimeError, "last sizes", floats(3, 4), (3,))],
)


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    parts = x.reshape(len(x), groups, -1)
    return scaled((standard(parts, (2,), eps) if x.size else parts).reshape(x.shape), weight, bias, 1)


def groups():
    for dtype in FLOATS:
        yield Sample(floats(2, 4, 3, dtype=dtype), 2, floats(4, dtype=dtype, seed=1), floats(4, dtype=dtype, seed=2))
    yield from (Sample(floats(2, 4, *rest), 2) for rest in ((5,), (3, 5), (2, 2, 3), (67,)))
    yield Sample(floats(2, 4, 3), 4)
    yield Sample(floats(2, 4, 3), 1, eps=0.1)
    yield Sample(floats(3, 4, 2).T, 2)
    yield Sample(floats(2, 4), 2)


op(
    "group_norm",
    "F",
    groups,
    group_norm,
    result="same",
    gradients=[Sample(floats(1, 4, 2, dtype="float64"), 2, floats(4, dtype="float64"), floats(4, dtype="float64", seed=1))],
    errors=[Error(RuntimeError, "3 groups", floats(2, 4, 3), 3)],
)


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    axes = (0, *range(2, x.ndim))
    if training or mean is None:
        return scaled(standard(x, axes, eps), weight, bias, 1)
    shape = [-1 if d == 1 else 1 for d in range(x.ndim)]
    return scaled((x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps), weight, bias, 1)


def batches():
    for dtype in ("float32", "float64"):
        for training in (False, True):
            yield Sample(
                floats(4, 3, 5, dtype=dtype),
                floats(3, dtype=dtype),
                floats(3, low=0.5, dtype=dtype),
                floats(3, dtype=dtype, seed=1),
                floats(3, dtype=dtype, seed=2),
                training,
            )
    yield from (Sample(floats(4, 3, *rest), None, None, training=True) for rest in ((), (5,), (3, 5), (2, 2, 3), (67,)))
    yield Sample(floats(3, 3, 4).T, floats(3), floats(3, low=0.5), eps=0.1)
    yield Sample(floats(4, 3)[::-1], floats(3), floats(3, low=0.5), floats(3))
    yield Sample(floats(0, 3), floats(3), floats(3, low=0.5))


op(
    "batch_norm",
    "F",
    batches,
    batch_norm,
    result="same",
    gradient=(0, 3, 4),
    gradients=[
        Sample(floats(3, 2, dtype="float64"), None, None, floats(2, dtype="float64"), floats(2, dtype="float64", seed=1), True),
        Sample(floats(3, 2, dtype="float64"), floats(2, dtype="float64"), floats(2, low=0.5, dtype="float64")),
    ],
    errors=[Error(RuntimeError, "running_mean must have shape", floats(4, 3), floats(2), floats(2))],
)


def instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if use_input_stats:
        return scaled(standard(x, tuple(range(2, x.ndim)), eps), weight, bias, 1)
    return batch_norm(x, mean, var, weight, bias, False, momentum, eps)


def instances():
    for dtype in ("float32", "float64"):
        yield Sample(floats(4, 3, 5, dtype=dtype), None, None, floats(3, dtype=dtype, seed=1), floats(3, dtype=dtype, seed=2))
        yield Sample(floats(4, 3, 5, dtype=dtype), floats(3, dtype=dtype), floats(3, low=0.5, dtype=dtype), use_input_stats=False)
    yield from (Sample(floats(4, 3, *rest)) for rest in ((5,), (3, 5), (2, 2, 3), (67,)))
    yield Sample(floats(5, 3, 4).T, eps=0.1)
    yield Sample(floats(4, 3, 5)[::-1, :, ::-1])


op(
    "instance_norm",
    "F",
    instances,
    instance_norm,
    result="same",
    gradient=(0, 3, 4),
    gradients=[Sample(floats(1, 2, 3, dtype="float64"), None, None, floats(2, dtype="float64"), floats(2, dtype="float64", seed=1))],
    errors=[Error(RuntimeError, "weight must have shape", floats(4, 3, 5), None, None, floats(2))],
)

# ---- attention -------------------------------------------------------------------------------------------------------


def heads_of(x, count):
    return np.moveaxis(x.reshape(*x.shape[:-1], count, -1), -2, -3)


def multi_head(
    query,
    key,
    value,
    width,
    heads,
    in_weight,
    in_bias,
    bias_k,
    bias_v,
    zero,
    dropout,
    out_weight,
    out_bias,
    training=True,
    need_weights=True,
    attn_mask=None,
):
    """Batches first inside; the arguments have the length first."""
    weights, biases = np.split(in_weight, 3), np.split(in_bias, 3)
    q, k, v = (heads_of(np.moveaxis(x, 0, 1) @ w.T + b, heads) for x, w, b in zip((query, key, value), weights, biases))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(width // heads)
    if attn_mask is not None:
        scores = np.where(attn_mask, -np.inf, scores) if attn_mask.dtype == bool else scores + attn_mask
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    out = np.moveaxis(shares @ v, -3, -2)
    out = np.moveaxis(out.reshape(*out.shape[:-2], -1) @ out_weight.T + out_bias, 0, 1)
    return [out, shares.mean(1)] if need_weights else [out, None]


def multi(length, keys, batch, width, heads, dtype="float32", **kwargs):
    sizes = ((length, batch, width), (keys, batch, width), (keys, batch, width))
    q, k, v = (floats(*s, dtype=dtype, seed=i) for i, s in enumerate(sizes))
    return Sample(
        q,
        k,
        v,
        width,
        heads,
        floats(3 * width, width, low=-0.5, high=0.5, dtype=dtype, seed=3),
        floats(3 * width, dtype=dtype, seed=4),
        None,
        None,
        False,
        0.0,
        floats(width, width, low=-0.5, high=0.5, dtype=dtype, seed=5),
        floats(width, dtype=dtype, seed=6),
        **kwargs,
    )


def multis():
    for dtype in ("float32", "float64"):
        for heads in (1, 2, 4):
            yield multi(5, 5, 2, 8, heads, dtype)
    yield multi(3, 7, 2, 8, 2)
    yield multi(1, 1, 1, 4, 2)
    yield multi(5, 5, 2, 8, 2, attn_mask=np.triu(np.ones((5, 5), bool), 1))
    yield multi(5, 7, 2, 8, 2, attn_mask=floats(5, 7))
    yield multi(33, 33, 1, 8, 2)


op(
    "multi_head_attention_forward",
    "F",
    multis,
    multi_head,
    result="same",
    gradients=[multi(2, 2, 1, 2, 1, "float64")],
    errors=[Error(ValueError, "cannot be divided into 3 heads", *multi(3, 3, 1, 4, 2).args[:3], 4, 3, *multi(3, 3, 1, 4, 2).args[5:])],
)
