"""Functions of weft.nn.functional that are made of others and cost nothing by it."""

from __future__ import annotations

import math

from .. import _weft
from .._tensor import Tensor
from .._weft import functional as core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "alpha_dropout", "feature_alpha_dropout", "fractional_max_pool2d", "fractional_max_pool3d", "local_response_norm", "lp_pool1d",
    "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "triplet_margin_with_distance_loss", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def _per_axis(call: str, name: str, value: Any, axes: int) -> tuple[Any, ...]:
    sizes = (value,) * axes if isinstance(value, (int, float)) else tuple(value)
    sizes = sizes * axes if len(sizes) == 1 else sizes
    if len(sizes) != axes:
        raise ValueError(f"{call}(): argument '{name}' must be a number or {axes} of them, not {value}")
    return sizes


def _tensor(call: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{call}(): argument 'input' must be a Tensor, not {type(input).__name__}")


# ---- dropout that keeps mean and variance ----------------------------------------------------------------------------

_SATURATION = -1.7580993408473766  # what selu tends to for small numbers


def _alpha_dropped(call: str, x: Any, shape: Sequence[int], p: float, training: bool, inplace: bool) -> Any:
    if not 0 <= p <= 1:
        raise ValueError(f"{call}(): argument 'p' must be between 0 and 1, not {p}")
    if not x.is_floating_point():
        raise TypeError(f"{call}(): argument 'input' must be a float tensor, not {x.dtype}")
    if not training or p == 0:
        return x
    if p == 1:
        result = x * 0.0
    else:
        kept = _weft.rand(shape, device=x.device) >= p
        scale = ((1 - p) * (1 + p * _SATURATION**2)) ** -0.5
        result = _weft.where(kept, x, _SATURATION) * scale - scale * _SATURATION * p
        result = result.to(x.dtype)
    return x.copy_(result) if inplace else result


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for selu: what is dropped becomes selu's lowest value, and all is scaled so that mean and variance stay."""
    _tensor("alpha_dropout", input)
    return _alpha_dropped("alpha_dropout", input, input.shape, p, training, inplace)  # type: ignore[no-any-return]


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels, (n, c, …)."""
    _tensor("feature_alpha_dropout", input)
    if input.ndim < 2:
        raise RuntimeError(f"feature_alpha_dropout(): the input needs two axes at least, (n, channels, …), not {input.ndim}")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return _alpha_dropped("feature_alpha_dropout", input, shape, p, training, inplace)  # type: ignore[no-any-return]


# ---- pools and norms -------------------------------------------------------------------------------------------------


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * the mean square of the `size` nearest channels) ** beta."""
    _tensor("local_response_norm", input)
    if input.ndim < 3:
        raise ValueError(f"local_response_norm(): the input needs three axes at least, (n, channels, …), not {input.ndim}")
    if size < 1:
        raise ValueError(f"local_response_norm(): argument 'size' must be 1 or more, not {size}")
    if input.numel() == 0:
        return input
    squares = (input * input).flatten(2).movedim(1, -1)
    padded = core.pad(squares, [size // 2, (size - 1) // 2])
    means = core.avg_pool1d(padded, size, 1).movedim(-1, 1).reshape(input.shape)
    return input / (means * alpha + k) ** beta


def _lp_pool(call: str, pool: Any, axes: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    _tensor(call, input)
    window = _per_axis(call, "kernel_size", kernel_size, axes)
    means = pool(input.pow(norm_type), window, stride, 0, ceil_mode)
    result: Tensor = (means.sign() * core.relu(means.abs()) * math.prod(window)).pow(1.0 / norm_type)
    return result


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of sequences, without absolute values: (sum x ** p) ** (1 / p)."""
    return _lp_pool("lp_pool1d", core.avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of images, without absolute values: (sum x ** p) ** (1 / p)."""
    return _lp_pool("lp_pool2d", core.avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of volumes, without absolute values: (sum x ** p) ** (1 / p)."""
    return _lp_pool("lp_pool3d", core.avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpool(call: str, axes: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Tensor:
    _tensor(call, input)
    window = _per_axis(call, "kernel_size", kernel_size, axes)
    steps = window if stride is None else _per_axis(call, "stride", stride, axes)
    widths = _per_axis(call, "padding", padding, axes)
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-axes:], steps, window, widths)]
    sizes = usual if output_size is None else list(output_size)[-axes:]
    if len(sizes) != axes or any(abs(size - n) >= s for size, n, s in zip(sizes, usual, steps)):
        raise ValueError(f"{call}(): argument 'output_size' must be within a stride of {usual}, not {output_size}")
    return core._max_unpool(input, indices, sizes)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of max_pool1d(return_indices=True) where they stood, and zeros elsewhere."""
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of max_pool2d(return_indices=True) where they stood, and zeros elsewhere."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of max_pool3d(return_indices=True) where they stood, and zeros elsewhere."""
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def _fractional(
    call: str, axes: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    _tensor(call, input)
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(f"{call}(): the input must have {axes + 1} or {axes + 2} axes, not {input.ndim}")
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{call}(): give either output_size or output_ratio")
    batched = input.ndim == axes + 2
    x = input if batched else input.unsqueeze(0)
    window = _per_axis(call, "kernel_size", kernel_size, axes)
    if output_size is None:
        ratios = _per_axis(call, "output_ratio", output_ratio, axes)
        if any(not 0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"{call}(): argument 'output_ratio' must be between 0 and 1, not {output_ratio}")
        outputs = tuple(int(size * ratio) for size, ratio in zip(x.shape[2:], ratios))
    else:
        outputs = _per_axis(call, "output_size", output_size, axes)
    for n, k, size in zip(x.shape[2:], window, outputs):
        if size < 1 or size + k - 1 > n:
            raise RuntimeError(f"{call}(): {size} windows of {k} do not fit a size of {n}")
    batch = tuple(x.shape[:2])
    drawn = _weft.rand(*batch, axes, dtype=x.dtype, device=x.device) if samples is None else samples
    values, places = x, _weft.zeros((*batch, *[1] * axes), dtype=_weft.int64, device=x.device)
    for axis in range(axes):
        n, k, size = x.shape[2 + axis], window[axis], outputs[axis]
        start = drawn[..., 1 - axis if axes == 2 else axis].unsqueeze(-1)  # the first number is an image's width, a volume's depth
        step = (n - k) / (size - 1) if size > 1 else 0.0
        windows, inside = _weft.arange(size, device=x.device), _weft.arange(k, device=x.device)
        first = ((windows + start) * step).to(_weft.int64) - (start * step).to(_weft.int64)
        first = _weft.where(windows == size - 1, n - k, first)
        at = (first.unsqueeze(-1) + inside).reshape(*batch, size * k)  # all elements of all windows along this axis
        along = [size * k if d == axis else 1 for d in range(axes)]
        wanted = (*batch, *[size * k if d == axis else m for d, m in enumerate(values.shape[2:])])
        values = values.gather(2 + axis, at.reshape(*batch, *along).expand(wanted))
        places = places * n + at.reshape(*batch, *along)
    split = [size for pair in zip(outputs, window) for size in pair]
    order = [0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 3 + 2 * axes, 2)]
    values, places = (each.reshape(*batch, *split).permute(order).flatten(2 + axes) for each in (values, places))
    best = values.argmax(-1, keepdim=True)
    maxima, indices = (each.gather(-1, best).squeeze(-1) for each in (values, places))
    maxima, indices = (maxima, indices) if batched else (maxima.squeeze(0), indices.squeeze(0))
    return (maxima, indices) if return_indices else maxima


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The maxima of so many windows of images, which stand at random, about equal distances."""
    return _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The maxima of so many windows of volumes, which stand at random, about equal distances."""
    return _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# ---- older names, and a loss of any distance -------------------------------------------------------------------------


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """The older name of interpolate()."""
    return core.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="nearest")."""
    return core.interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True)."""
    return core.interpolate(input, size, scale_factor, "bilinear", True)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)), for any function of two tensors as distance."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"triplet_margin_with_distance_loss(): argument 'reduction' must be 'none', 'mean' or 'sum', not '{reduction}'")
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss(): argument 'margin' must be positive, not {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("triplet_margin_with_distance_loss(): all three tensors must have the same number of axes")
    distance = core.pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = _weft.minimum(far, distance(positive, negative))
    losses: Tensor = (distance(anchor, positive) - far + margin).clamp_min(0)
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses
