"""Layers, activations and losses as functions, under PyTorch's names."""

from .._weft import where
from .._weft.functional import *  # noqa: F403
from .._weft.functional import hardtanh, softplus


def selu(input, inplace=False):
    """A scaled ELU that keeps mean and variance."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return scale * where(input > 0, input, alpha * input.clamp(max=0).expm1())


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    return input * softplus(input).tanh()


def hardsigmoid(input, inplace=False):
    """A sigmoid of three lines."""
    return hardtanh(input + 3, 0, 6) / 6


def hardswish(input, inplace=False):
    """x * hardsigmoid(x)."""
    return input * hardsigmoid(input)


def softsign(input):
    """x / (1 + |x|)."""
    return input / (1 + input.abs())


def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x / max(norm(x), eps) along an axis."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def adaptive_avg_pool2d(input, output_size):
    """The mean of windows that divide an image into so many parts, which must divide its sizes."""
    rows, columns = (output_size, output_size) if isinstance(output_size, int) or output_size is None else output_size
    *front, height, width = input.shape
    rows, columns = rows or height, columns or width
    if height % rows or width % columns:
        raise ValueError(f"adaptive_avg_pool2d(): {rows} x {columns} parts do not divide an image of {height} x {width}")
    return input.reshape(*front, rows, height // rows, columns, width // columns).mean((-3, -1))


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """softmax(query keyᵀ * scale) value, with a mask that is added, or of bools that says what is seen."""
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        from .._weft import bool as bools
        from .._weft import ones, tril

        attn_mask = tril(ones(query.shape[-2], key.shape[-2])).to(bools)
    if attn_mask is not None:
        scores = scores + attn_mask if attn_mask.is_floating_point() else where(attn_mask, scores, float("-inf"))
    return dropout(softmax(scores, -1), dropout_p) @ value  # noqa: F405
