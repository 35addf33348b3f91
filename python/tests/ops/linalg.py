"""Products of matrices, decompositions, einsum, attention."""

import numpy as np

from .registry import FLOATS, NUMBERS, Error, Sample, floats, op


def products(*shapes, dtypes=FLOATS):
    """Pairs of these shapes; the first pair in all dtypes and other strides."""
    for a, b in shapes:
        yield Sample(floats(*a), floats(*b, seed=1))
    (a, b), *_ = shapes
    for dtype in dtypes:
        yield Sample(floats(*a, dtype=dtype), floats(*b, dtype=dtype, seed=1))
    yield Sample(floats(*a[::-1]).T, floats(*b[::-1], seed=1).T)
    yield Sample(floats(*a)[..., ::-1], floats(*b, seed=1)[::-1])
    yield Sample(floats(*a[:-1], 2 * a[-1])[..., ::2], floats(2 * b[0], *b[1:], seed=1)[::2])
    special = floats(*a)
    special.flat[0], special.flat[-1] = np.nan, np.inf
    yield Sample(special, floats(*b, seed=1))


DIFFER = "must equal"
PAIR = [Sample(floats(2, 3, dtype="float64"), floats(3, 2, dtype="float64", seed=1))]
op(
    "matmul",
    "weft Tensor",
    lambda: products(
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4, 3)),
        ((3, 0), (0, 2)),
        ((17, 67), (67, 33)),
        dtypes=NUMBERS,
    ),
    np.matmul,
    gradients=PAIR,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(5, 3)), Error(RuntimeError, "scalar", floats(), floats(3))],
)
op(
    "mm",
    "weft Tensor",
    lambda: products(((3, 4), (4, 5)), ((0, 4), (4, 3)), ((3, 0), (0, 2)), ((17, 67), (67, 33))),
    np.matmul,
    gradients=PAIR,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(5, 3))],
)
op(
    "bmm",
    "weft Tensor",
    lambda: [
        Sample(floats(*a, dtype=d), floats(*b, dtype=d, seed=1))
        for d in ("float32", "float64", "float16")
        for a, b in (((2, 3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((3, 1, 2), (3, 2, 1)), ((2, 3, 0), (2, 0, 2)))
    ],
    np.matmul,
    errors=[Error(RuntimeError, "2 and 3", floats(2, 3, 4), floats(3, 4, 5))],
    gradients=[Sample(floats(2, 2, 3, dtype="float64"), floats(2, 3, 1, dtype="float64"))],
)
op(
    "mv",
    "weft Tensor",
    lambda: products(((3, 4), (4,)), ((0, 4), (4,)), ((3, 0), (0,)), ((17, 67), (67,))),
    np.matmul,
    errors=[Error(RuntimeError, DIFFER, floats(3, 4), floats(3))],
)
op(
    "dot",
    "weft Tensor",
    lambda: products(((4,), (4,)), ((0,), (0,)), ((1,), (1,)), ((67,), (67,)), dtypes=NUMBERS),
    np.dot,
    errors=[Error(RuntimeError, "must be equal", floats(3), floats(4)), Error(RuntimeError, "one axis", floats(3, 4), floats(4))],
)
op(
    "outer",
    "weft Tensor",
    lambda: products(((3,), (4,)), ((0,), (4,)), ((1,), (1,)), ((67,), (5,)), dtypes=NUMBERS),
    np.outer,
    errors=[Error(RuntimeError, "one axis", floats(3, 2), floats(4))],
)


def softmax(x):
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == bool else scores + attn_mask
    return softmax(scores) @ v


def heads(*shape, dtype="float32", keys=None):
    return [floats(*shape[:-2], n, shape[-1], dtype=dtype, seed=i) for i, n in enumerate((shape[-2], keys or shape[-2], keys or shape[-2]))]


def attentions():
    for dtype in FLOATS:
        yield Sample(*heads(2, 3, 5, 4, dtype=dtype))
    yield Sample(*heads(2, 3, 5, 4), is_causal=True)
    yield Sample(*heads(2, 3, 5, 4), scale=0.3)
    yield Sample(*heads(2, 5, 4, keys=7), attn_mask=floats(5, 7))
    yield Sample(*heads(2, 5, 4, keys=7), attn_mask=floats(5, 7) > -1.5)
    yield Sample(*heads(5, 4))
    yield Sample(*heads(1, 33, 8), is_causal=True)
    yield Sample(*[h.swapaxes(1, 2) for h in heads(2, 5, 3, 4)])
    yield Sample(*heads(2, 3, 2, dtype="float64"))


op(
    "scaled_dot_product_attention",
    "F",
    attentions,
    attention,
    result="same",
    gradients=[Sample(*heads(1, 2, 2, dtype="float64")), Sample(*heads(1, 2, 2, dtype="float64"), is_causal=True)],
    errors=[Error(RuntimeError, DIFFER, floats(2, 3, 4), floats(2, 3, 5), floats(2, 3, 5))],
)
