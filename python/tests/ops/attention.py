"""Attention."""

import numpy as np

from .products_matmul import DIFFER
from .registry import FLOATS, Error, Sample, floats, op


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
    tolerance={"float16": (1e-3, 1e-3), "bfloat16": (1.6e-2, 4e-3)},
    reason="the weights are halves before the second product, as in PyTorch",
    gradients=[Sample(*heads(1, 2, 2, dtype="float64")), Sample(*heads(1, 2, 2, dtype="float64"), is_causal=True)],
    errors=[Error(RuntimeError, DIFFER, floats(2, 3, 4), floats(2, 3, 5), floats(2, 3, 5))],
)
