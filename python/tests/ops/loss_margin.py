"""Losses with margins, and of sequences whose labels are at no known times."""

import itertools

import numpy as np

from .loss import reduced
from .registry import Error, Sample, floats, integers, op

REDUCTIONS = ("mean", "sum", "none")
TYPES = ("float32", "float64")


@reduced
def multi_margin(x, y, p=1, margin=1.0, weight=None):
    rows, labels = np.atleast_2d(x), np.atleast_1d(y)
    each = []
    for row, label in zip(rows, labels):
        terms = [max(0, margin - row[label] + value) ** p for i, value in enumerate(row) if i != label]
        each.append(sum(terms) * (1 if weight is None else weight[label]) / len(row))
    return np.array(each).reshape(np.shape(y))


op(
    "multi_margin_loss",
    "F",
    [
        *(Sample(floats(4, 5, dtype=d), integers(4, high=5), reduction=r) for d in ("float32", "float64") for r in REDUCTIONS),
        *(Sample(floats(4, 5), integers(4, high=5), p, 0.7, floats(5, low=0.2, high=2, seed=3)) for p in (1, 2)),
        Sample(floats(5), integers(high=5), 2, 0.3),
        Sample(floats(67, 33), integers(67, high=33)),
        Sample(floats(5, 4).T, integers(4, high=5), 2),
    ],
    multi_margin,
    result="same",
    gradient=(0,),
    gradients=[Sample(floats(2, 3, dtype="float64"), integers(2, high=3), p, 0.7) for p in (1, 2)],
    errors=[
        Error(ValueError, "p must be 1 or 2", floats(2, 3), integers(2, high=3), 3),
        Error(RuntimeError, "labels must have the shape", floats(2, 3), integers(3, high=3)),
        Error(RuntimeError, "weight must have the shape [3]", floats(2, 3), integers(2, high=3), weight=floats(2)),
        Error(TypeError, "labels must be integers", floats(2, 3), floats(2)),
        Error(IndexError, "5", floats(2, 3), np.array([1, 5])),
    ],
)
LABELS = np.array([[1, 3, -1, 2], [0, -1, -1, -1], [-1, 2, 0, 1], [3, 2, 1, 0]])


@reduced
def multilabel_margin(x, y):
    each = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(y)):
        wanted = list(itertools.takewhile(lambda label: label >= 0, labels))
        each.append(sum(max(0, 1 - (row[j] - row[i])) for j in wanted for i in range(len(row)) if i not in wanted) / len(row))
    return np.array(each).reshape(x.shape[:-1])


op(
    "multilabel_margin_loss",
    "F",
    [
        *(Sample(floats(4, 4, dtype=d), LABELS, reduction=r) for d in ("float32", "float64") for r in REDUCTIONS),
        Sample(floats(4), LABELS[0]),
        Sample(floats(4), LABELS[2]),
        Sample(floats(4, 4).T, LABELS[::-1]),
        Sample(floats(4, 4, dtype="float64"), np.full((4, 4), -1)),
    ],
    multilabel_margin,
    result="same",
    gradient=(0,),
    gradients=[Sample(floats(2, 4, dtype="float64"), LABELS[:2], reduction="sum")],
    errors=[
        Error(RuntimeError, "the input's shape", floats(2, 4), LABELS),
        Error(TypeError, "labels must be integers", floats(4, 4), floats(4, 4)),
    ],
)


@reduced
def soft(x, y):
    return np.log1p(np.exp(-y * x))


SIGNS = np.sign(floats(3, 4, seed=1))
op(
    "soft_margin_loss",
    "F",
    [
        *(Sample(floats(3, 4, dtype=d), SIGNS.astype(d), reduction=r) for d in TYPES for r in REDUCTIONS),
        *(Sample(floats(*shape), np.sign(floats(*shape, seed=1))) for shape in ((7,), (67,), (2, 3, 4), (1,))),
    ],
    soft,
    result="same",
    gradient=(0,),
    gradients=[Sample(floats(3, 4, dtype="float64"), SIGNS.astype("float64"), reduction="none")],
    errors=[Error(RuntimeError, "soft_margin_loss", floats(3), floats(4)), Error(TypeError, "float tensor", integers(3), integers(3))],
)


@reduced
def multilabel_soft(x, y, weight=None):
    each = y * np.log1p(np.exp(-x)) + (1 - y) * np.log1p(np.exp(x))
    return (each * (1 if weight is None else weight)).mean(-1)


op(
    "multilabel_soft_margin_loss",
    "F",
    [
        *(Sample(floats(3, 4, dtype=d), floats(3, 4, low=0, high=1, dtype=d, seed=1), reduction=r) for d in TYPES for r in REDUCTIONS),
        Sample(floats(3, 4), floats(3, 4, low=0, high=1, seed=1), floats(4, low=0.1, high=2, seed=2)),
        *(Sample(floats(*shape), floats(*shape, low=0, high=1, seed=1)) for shape in ((4,), (67, 33), (2, 3, 4))),
    ],
    multilabel_soft,
    result="same",
    gradient=(0,),
    gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, 3, low=0, high=1, dtype="float64", seed=1))],
    errors=[Error(RuntimeError, "the same shape", floats(3, 4), floats(4))],
)


def triplet(a, b, c, margin=1.0, swap=False, reduction="mean"):
    def distance(x, y):
        return np.sqrt(((x - y + 1e-6) ** 2).sum(-1))

    far = np.minimum(distance(a, c), distance(b, c)) if swap else distance(a, c)
    each = np.maximum(0, distance(a, b) - far + margin)
    return {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]


THREE = [floats(4, 3, seed=i) for i in range(3)]
op(
    "triplet_margin_with_distance_loss",
    "F",
    [
        Sample(*(x.astype(d) for x in THREE), margin=0.7, swap=swap, reduction=r)
        for d in TYPES for swap in (False, True) for r in REDUCTIONS
    ],  # fmt: skip
    triplet,
    result="same",
    gradients=[Sample(*(x.astype("float64") for x in THREE), swap=True)],
    errors=[
        Error(ValueError, "'reduction'", *THREE, reduction="some"), Error(ValueError, "'margin'", *THREE, margin=-1.0),
        Error(RuntimeError, "same number of axes", *THREE[:2], floats(3)),
    ],  # fmt: skip
)


# ---- labels at unknown times -----------------------------------------------------------------------------------------


def ctc(x, labels, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The sum over every path there is: what it reads as is compared with the labels."""
    batched = x.ndim == 3
    x = x if batched else x[:, None]
    each, first = [], 0
    for n, (times, count) in enumerate(zip(input_lengths, target_lengths)):
        wanted = list(labels[n, :count]) if labels.ndim == 2 else list(labels[first : first + count])
        first += count
        total = 0.0
        for path in itertools.product(range(x.shape[2]), repeat=times):
            if [c for c, _ in itertools.groupby(path) if c != blank] == wanted:
                total += np.exp(sum(x[t, n, c] for t, c in enumerate(path)))
        with np.errstate(divide="ignore"):
            value = -np.log(total)
        each.append(0.0 if zero_infinity and np.isinf(value) else value)
    each = np.array(each)
    if reduction == "mean":
        return (each / np.maximum(target_lengths, 1)).mean()
    return each.sum() if reduction == "sum" else each if batched else each[0]


def log_softmax(x):
    return (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(x.dtype)


def torch_ctc(torch, x, *args, reduction="mean", **kwargs):
    """PyTorch's loss, with the derivative for log_probs as they are: its own has exp(log_probs) more, which log_softmax takes away."""
    loss = torch.nn.functional.ctc_loss(x, *args, reduction=reduction, **kwargs)
    if reduction != "sum" or x.ndim != 3:
        return loss
    more = sum(x[:times, n].exp().sum() for n, times in enumerate(args[1]))
    return loss - more + more.detach()


def sequences():
    rows = np.array([[1, 2, 0], [2, 2, 0], [1, 0, 0]])
    line = np.array([1, 2, 2, 2, 1])
    for dtype in ("float32", "float64"):
        x = log_softmax(floats(5, 3, 3, dtype=dtype))
        for reduction in REDUCTIONS:
            yield Sample(x, rows, (5, 4, 3), (2, 2, 1), reduction=reduction)
            yield Sample(x, line, (5, 4, 3), (2, 2, 1), reduction=reduction)
    x = log_softmax(floats(5, 3, 3))
    yield Sample(x, np.array([[0, 1], [2, 0], [1, 1]]) % 2, (5, 5, 5), (2, 2, 2), 2)
    yield Sample(x, rows, (5, 5, 5), (0, 2, 1))
    yield Sample(x, np.array([[1, 1, 1]] * 3), (5, 4, 3), (3, 3, 3), reduction="none")
    yield Sample(x, np.array([[1, 1, 1]] * 3), (5, 4, 3), (3, 3, 3), reduction="sum", zero_infinity=True)
    yield Sample(x[:, 0], np.array([1, 2]), (5,), (2,))


op(
    "ctc_loss",
    "F",
    sequences,
    ctc,
    result="same",
    gradient=(0,),
    gradients=[Sample(log_softmax(floats(4, 2, 3, dtype="float64")), np.array([[1, 2], [2, 2]]), (4, 3), (2, 2), reduction="sum")],
    errors=[
        Error(ValueError, "blank 3", log_softmax(floats(4, 1, 3)), np.array([[1]]), (4,), (1,), 3),
        Error(ValueError, "input length 5", log_softmax(floats(4, 1, 3)), np.array([[1]]), (5,), (1,)),
        Error(RuntimeError, "labels must be", log_softmax(floats(4, 1, 3)), np.array([[1]]), (4,), (2,)),
        Error(RuntimeError, "input_lengths", log_softmax(floats(4, 1, 3)), np.array([[1]]), (4, 4), (1,)),
        Error(TypeError, "labels must be integers", log_softmax(floats(4, 1, 3)), floats(1, 1), (4,), (1,)),
        Error(IndexError, "7", log_softmax(floats(4, 1, 3)), np.array([[7]]), (4,), (1,)),
    ],
    torch=torch_ctc,
)
