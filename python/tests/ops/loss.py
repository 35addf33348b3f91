"""Losses and distances."""

import numpy as np
from scipy import special

from .registry import FLOATS, Error, Sample, floats, integers, op

BAD_REDUCTION = "reduction"


def reduced(oracle):
    """An oracle of one loss per element, and its reduction."""

    def call(*args, reduction="mean", **kwargs):
        each = oracle(*args, **kwargs)
        return {
            "none": each,
            "mean": np.mean(each) if each.size else np.nan,
            "sum": np.sum(each),
            "batchmean": np.sum(each) / max(len(args[0]) if args[0].ndim else 1, 1),
        }[reduction]

    return call


def pairs(low=-2.0, high=2.0, low2=None, high2=None, more=(), reductions=("mean", "sum", "none"), **kwargs):
    """Inputs and targets in two ranges: shapes, strides, dtypes, reductions."""
    low2, high2 = low if low2 is None else low2, high if high2 is None else high2

    def samples():
        for shape in ((5,), (3, 4), (2, 3, 5), (67,), (1,)):
            yield Sample(floats(*shape, low=low, high=high), floats(*shape, low=low2, high=high2, seed=1), **kwargs)
        for reduction in reductions:
            for dtype in FLOATS:
                yield Sample(
                    floats(3, 4, low=low, high=high, dtype=dtype),
                    floats(3, 4, low=low2, high=high2, dtype=dtype, seed=1),
                    reduction=reduction,
                    **kwargs,
                )
        yield Sample(floats(4, 3, low=low, high=high).T, floats(3, 4, low=low2, high=high2, seed=1)[::-1], **kwargs)
        yield Sample(floats(0, low=low, high=high), floats(0), reduction="sum", **kwargs)
        yield from more

    return samples


def small(low=-2.0, high=2.0, low2=None, high2=None, **kwargs):
    return Sample(
        floats(2, 3, low=low, high=high, dtype="float64"),
        floats(2, 3, low=low if low2 is None else low2, high=high if high2 is None else high2, dtype="float64", seed=1),
        **kwargs,
    )


def loss(name, oracle, samples, *, gradients, errors=(), **settings):
    """A loss of an input and a target; f16 and bf16 are computed in f32 and rounded once."""
    return op(
        name,
        "F",
        samples,
        reduced(oracle),
        result="same",
        gradients=gradients,
        errors=[Error(ValueError, BAD_REDUCTION, *samples().__next__().args, reduction="some"), *errors],
        **settings,
    )


MORE = Sample(floats(3, 4, dtype="float64"), floats(3, 4, dtype="float64", seed=1))
loss(
    "mse_loss",
    lambda x, y: (x - y) ** 2,
    pairs(),
    gradients=[small(), small(reduction="none")],
    errors=[Error(RuntimeError, "does not broadcast", floats(3), floats(4))],
)
loss("l1_loss", lambda x, y: np.abs(x - y), pairs(), gradients=[small()])


def smooth_l1(x, y, beta=1.0):
    d = np.abs(x - y)
    return np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta) if beta else d


def huber(x, y, delta=1.0):
    d = np.abs(x - y)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))


loss(
    "smooth_l1_loss",
    smooth_l1,
    pairs(more=[Sample(*MORE.args, beta=0.5), Sample(*MORE.args, beta=0.0)]),
    gradients=[small(), small(beta=0.5)],
    errors=[Error(ValueError, "beta", floats(3), floats(3), beta=-1.0)],
)
loss(
    "huber_loss",
    huber,
    pairs(more=[Sample(*MORE.args, delta=0.5)]),
    gradients=[small(), small(delta=0.5)],
    errors=[Error(ValueError, "delta", floats(3), floats(3), delta=-1.0)],
)
loss(
    "log_cosh_loss",
    lambda x, y: np.logaddexp(x - y, y - x) - np.log(2),
    pairs(),
    gradients=[small()],
    torch=None,
    reason="PyTorch has none",
)


# ---- yes or no -------------------------------------------------------------------------------------------------------


def xlog(a, b):
    return np.where(a == 0, 0.0, a * np.maximum(np.log(np.where(b > 0, b, 1e-300)), -100))


def bce(p, t, weight=None):
    each = -(xlog(t, p) + xlog(1 - t, 1 - p))
    return each if weight is None else each * weight


def bce_logits(x, t, weight=None, pos_weight=None):
    each = (1 - t) * x + (1 + ((1 if pos_weight is None else pos_weight) - 1) * t) * np.logaddexp(0, -x)
    return each if weight is None else each * weight


BINARY = [
    Sample(floats(3, 4, low=0.05, high=0.95), floats(3, 4, low=0, high=1), floats(4, low=0.5, high=2)),
    Sample(np.array([0.0, 1, 0, 1], "float32"), np.array([0.0, 1, 1, 0], "float32"), reduction="none"),
]
loss(
    "binary_cross_entropy",
    bce,
    pairs(0.05, 0.95, 0, 1, more=BINARY),
    gradients=[small(0.05, 0.95, 0, 1)],
    errors=[Error(ValueError, "same shape", floats(3), floats(3, 1))],
)
LOGITS = [
    Sample(floats(3, 4), floats(3, 4, low=0, high=1), floats(4, low=0.5, high=2)),
    Sample(floats(3, 4) * 100, floats(3, 4, low=0, high=1), pos_weight=floats(4, low=0.5, high=2)),
]
loss(
    "binary_cross_entropy_with_logits",
    bce_logits,
    pairs(-2, 2, 0, 1, more=LOGITS),
    gradients=[small(-2, 2, 0, 1)],
    errors=[Error(ValueError, "same shape", floats(3), floats(3, 1))],
)


def sigmoid_focal(x, t, alpha=0.25, gamma=2.0):
    p = special.expit(x)
    each = bce_logits(x, t) * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
    return each * (alpha * t + (1 - alpha) * (1 - t)) if alpha >= 0 else each


def focal_samples():
    for reduction in ("none", "mean", "sum"):
        for alpha in (0.25, 0.7, -1):
            for gamma in (0.0, 2.0):
                yield Sample(floats(3, 4), (floats(3, 4, seed=1) > 0).astype("float32"), alpha, gamma, reduction=reduction)
    yield Sample(floats(67), (floats(67, seed=1) > 0).astype("float32"), reduction="mean")


op(
    "sigmoid_focal_loss",
    "F",
    focal_samples,
    lambda x, t, *a, reduction="none": reduced(sigmoid_focal)(x, t, *a, reduction=reduction),
    result="same",
    torch=None,
    reason="torchvision has it",
    gradients=[Sample(floats(2, 3, dtype="float64"), (floats(2, 3, seed=1) > 0).astype("float64"))],
    gradient=(0,),
    errors=[Error(ValueError, BAD_REDUCTION, floats(3), floats(3), reduction="some")],
)


# ---- classes ---------------------------------------------------------------------------------------------------------


def log_softmax(x, axis):
    return x - special.logsumexp(x, axis=axis, keepdims=True)


def nll(x, target, weight=None, ignore_index=-100, reduction="mean", smoothing=0.0):
    """x holds logarithms with the classes on axis 1 (0 of a vector)."""
    axis = 0 if x.ndim == 1 else 1
    moved = np.moveaxis(x, axis, -1)
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    w = np.ones(moved.shape[-1]) if weight is None else weight
    each = -np.take_along_axis(moved, safe[..., None], -1)[..., 0] * w[safe] * kept
    total = (w[safe] * kept).sum()
    if smoothing:
        smooth = -(moved * w).sum(-1) * kept / moved.shape[-1]
        each = (1 - smoothing) * each + smoothing * smooth
    return {"none": each, "sum": each.sum(), "mean": each.sum() / total}[reduction]


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = 0 if x.ndim == 1 else 1
    logs = log_softmax(x, axis)
    if target.dtype.kind != "f":
        return nll(logs, target, weight, ignore_index, reduction, label_smoothing)
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    w = 1 if weight is None else np.moveaxis(np.expand_dims(weight, tuple(range(1, x.ndim))), 0, axis)
    each = -(logs * target * w).sum(axis)
    return {"none": each, "sum": each.sum(), "mean": each.sum() / max(each.size, 1)}[reduction]


def labelled(more=()):
    for reduction in ("mean", "sum", "none"):
        for dtype in FLOATS:
            yield Sample(floats(6, 4, dtype=dtype), integers(6, high=4), reduction=reduction)
    yield Sample(floats(4), np.array(2))
    yield Sample(floats(3, 4, 5), integers(3, 5, high=4))
    yield Sample(floats(6, 4), integers(6, high=4), floats(4, low=0.5, high=2))
    yield Sample(floats(6, 4), integers(6, high=4), ignore_index=2)
    yield Sample(floats(4, 6).T, integers(6, high=4)[::-1])
    yield Sample(floats(33, 67), integers(33, high=67))
    yield from more


PROBABILITIES = floats(3, 4, low=0.1, high=1, dtype="float64") / floats(3, 4, low=0.1, high=1, dtype="float64").sum(1, keepdims=True)
LABELS = [
    Sample(floats(2, 3, dtype="float64"), np.array([1, 2])),
    Sample(floats(2, 3, dtype="float64"), np.array([1, 2]), floats(3, low=0.5, high=2, dtype="float64"), reduction="none"),
]
BAD_LABELS = [
    Error(ValueError, BAD_REDUCTION, floats(3, 4), integers(3), reduction="some"),
    Error(RuntimeError, "labels must have shape", floats(3, 4), integers(2, high=4)),
]
op(
    "cross_entropy",
    "F",
    lambda: labelled(
        [
            Sample(floats(3, 4, dtype="float64"), PROBABILITIES),
            Sample(floats(6, 4), integers(6, high=4), label_smoothing=0.2),
            Sample(floats(3, 4) * 1000, integers(3, high=4)),
        ]
    ),
    cross_entropy,
    result="same",
    gradients=[*LABELS, Sample(floats(3, 4, dtype="float64"), PROBABILITIES)],
    gradient=(0,),
    errors=BAD_LABELS,
)
op("nll_loss", "F", labelled, nll, result="same", gradients=LABELS, gradient=(0,), errors=BAD_LABELS)


def focal(x, target, alpha=None, gamma=2.0, ignore_index=-100, reduction="mean"):
    cost = nll(log_softmax(x, 0 if x.ndim == 1 else 1), target, None, ignore_index, "none")
    each = cost * (1 - np.exp(-cost)) ** gamma * (1 if alpha is None else alpha[np.where(target == ignore_index, 0, target)])
    return {"none": each, "sum": each.sum(), "mean": each.sum() / (target != ignore_index).sum()}[reduction]


op(
    "focal_loss",
    "F",
    lambda: (s for s in labelled([Sample(floats(6, 4), integers(6, high=4), None, 0.5)])),
    focal,
    result="same",
    gradients=LABELS[:1],
    gradient=(0,),
    torch=None,
    reason="PyTorch has none",
    errors=BAD_LABELS[:1],
)


# ---- distributions ---------------------------------------------------------------------------------------------------


def kl_div(x, t, log_target=False):
    return np.exp(t) * (t - x) if log_target else special.xlogy(t, t) - t * x


loss(
    "kl_div",
    kl_div,
    pairs(
        -2, 2, 0.05, 1, more=[Sample(*MORE.args, log_target=True), Sample(floats(3, 4), floats(3, 4, low=0, high=1), reduction="batchmean")]
    ),
    gradients=[small(-2, 2, 0.05, 1), small(log_target=True)],
)


def poisson(x, t, log_input=True, full=False, eps=1e-8):
    each = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    return each + (
        np.where(t > 1, t * np.log(np.where(t > 1, t, 1)) - t + 0.5 * np.log(2 * np.pi * np.where(t > 1, t, 1)), 0) if full else 0
    )


loss(
    "poisson_nll_loss",
    poisson,
    pairs(
        0.1,
        2,
        0,
        4,
        more=[
            Sample(floats(5, low=0.1), floats(5, low=0, high=5), False),
            Sample(floats(5, low=0.1), floats(5, low=0, high=5), True, True),
        ],
    ),
    gradients=[small(0.1, 2, 0, 4), Sample(*small(0.1, 2, 0, 4).args, False)],
    gradient=(0,),
)


def gaussian(x, t, var, full=False, eps=1e-6):
    var = np.maximum(np.broadcast_to(var if np.ndim(var) in (0, x.ndim) else np.expand_dims(var, -1), x.shape), eps)
    return 0.5 * (np.log(var) + (x - t) ** 2 / var) + (0.5 * np.log(2 * np.pi) if full else 0)


def variances():
    for reduction in ("mean", "sum", "none"):
        for dtype in FLOATS:
            yield Sample(
                floats(3, 4, dtype=dtype), floats(3, 4, dtype=dtype, seed=1), floats(3, 4, low=0.5, dtype=dtype), reduction=reduction
            )
    yield Sample(floats(3, 4), floats(3, 4, seed=1), floats(3, low=0.5))
    yield Sample(floats(3, 4), floats(3, 4, seed=1), floats(3, 1, low=0.5), full=True)
    yield Sample(floats(3, 4), floats(3, 4, seed=1), 0.5)


op(
    "gaussian_nll_loss",
    "F",
    variances,
    reduced(gaussian),
    result="same",
    gradients=[Sample(floats(4, dtype="float64"), floats(4, dtype="float64", seed=1), floats(4, low=0.5, dtype="float64"))],
    errors=[Error(ValueError, "variance", floats(3, 4), floats(3, 4), floats(5))],
)


# ---- vectors ---------------------------------------------------------------------------------------------------------


def cosine(x, y, dim=1, eps=1e-8):
    x, y = np.broadcast_arrays(x, y)
    a, b = (x * x).sum(dim), (y * y).sum(dim)
    return (x * y).sum(dim) / np.sqrt(np.maximum(a, eps * eps) * np.maximum(b, eps * eps))


def vectors(**kwargs):
    for dtype in FLOATS:
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4, dtype=dtype, seed=1), **kwargs)
    yield from (Sample(floats(*shape), floats(*shape, seed=1), **kwargs) for shape in ((2, 3, 5), (3, 67), (1, 1), (0, 3)))
    yield Sample(floats(4, 3).T, floats(3, 4, seed=1)[::-1], **kwargs)
    yield Sample(floats(3, 4), floats(1, 4, seed=1), **kwargs)


op(
    "cosine_similarity",
    "F",
    lambda: [*vectors(), Sample(floats(3, 4), floats(3, 4), dim=0), Sample(floats(3, 4), floats(3, 4), -1)],
    cosine,
    result="same",
    gradients=[small(), small(dim=0)],
    errors=[Error(IndexError, "out of range", floats(3), floats(3), dim=1)],
)


def distance(x, y, p=2.0, eps=1e-6, keepdim=False):
    return (np.abs(x - y + eps) ** p).sum(-1, keepdims=keepdim) ** (1 / p)


op(
    "pairwise_distance",
    "F",
    lambda: [*vectors(), Sample(*MORE.args, 1.0), Sample(*MORE.args, 3.0, keepdim=True)],
    distance,
    result="same",
    gradients=[small(), small(p=3.0)],
)


def signs(*shape, dtype="float32"):
    return np.where(floats(*shape, seed=7) > 0, 1, -1).astype(dtype)


def cosine_embedding(a, b, target, margin=0.0):
    cos = cosine(a, b, -1, 1e-12)
    return np.where(target == 1, 1 - cos, np.maximum(cos - margin, 0))


def with_signs(shape, rows, more=2):
    for reduction in ("mean", "sum", "none"):
        for dtype in ("float32", "float64"):
            for margin in (0.0, 0.3):
                yield Sample(
                    *(floats(*shape, dtype=dtype, seed=i) for i in range(more)), signs(*rows, dtype=dtype), margin, reduction=reduction
                )


BAD_SIGNS = [Error(ValueError, BAD_REDUCTION, floats(3, 4), floats(3, 4), signs(3), reduction="some")]
op(
    "cosine_embedding_loss",
    "F",
    lambda: with_signs((6, 4), (6,)),
    reduced(cosine_embedding),
    result="same",
    gradient=(0, 1),
    gradients=[Sample(*small().args, signs(2, dtype="float64"), 0.1)],
    errors=BAD_SIGNS,
)
op(
    "margin_ranking_loss",
    "F",
    lambda: with_signs((6,), (6,)),
    reduced(lambda a, b, t, margin=0.0: np.maximum(-t * (a - b) + margin, 0)),
    result="same",
    gradient=(0, 1),
    gradients=[Sample(floats(5, dtype="float64"), floats(5, dtype="float64", seed=1), signs(5, dtype="float64"), 0.1)],
    errors=BAD_SIGNS,
)
op(
    "hinge_embedding_loss",
    "F",
    lambda: with_signs((6, 4), (6, 4), 1),
    reduced(lambda x, t, margin=1.0: np.where(t == 1, x, np.maximum(margin - x, 0))),
    result="same",
    gradient=(0,),
    gradients=[Sample(floats(5, dtype="float64"), signs(5, dtype="float64"))],
    errors=[Error(ValueError, BAD_REDUCTION, floats(3), signs(3), reduction="some")],
)


def triplet(a, p, n, margin=1.0, power=2.0, eps=1e-6, swap=False, **named):
    power = named.get("p", power)
    far = distance(a, n, power, eps)
    far = np.minimum(far, distance(p, n, power, eps)) if swap else far
    return np.maximum(margin + distance(a, p, power, eps) - far, 0)


def triples():
    for reduction in ("mean", "sum", "none"):
        for dtype in FLOATS:
            yield Sample(*(floats(5, 4, dtype=dtype, seed=i) for i in range(3)), reduction=reduction)
    yield Sample(*(floats(5, 4, seed=i) for i in range(3)), 0.5, 1.0, swap=True)


op(
    "triplet_margin_loss",
    "F",
    triples,
    reduced(triplet),
    result="same",
    gradients=[Sample(*(floats(2, 3, dtype="float64", seed=i) for i in range(3)))],
    errors=[Error(ValueError, BAD_REDUCTION, floats(3, 4), floats(3, 4), floats(3, 4), reduction="some")],
)
