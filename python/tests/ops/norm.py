"""Normalisations."""

import numpy as np

from .registry import FLOATS, Error, Sample, floats, op

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
