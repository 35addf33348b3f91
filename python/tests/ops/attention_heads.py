"""Attention in several heads."""

import numpy as np

from .registry import Error, Sample, floats, op

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
