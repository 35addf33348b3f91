"""Layers with the batch norm behind them as one, for evaluation."""

from __future__ import annotations

import copy

from ... import _weft
from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _scaled(w: Any, b: Any, mean: Any, var: Any, eps: float, bn_w: Any, bn_b: Any, axis: int) -> tuple[Parameter, Parameter]:
    scale = (var + eps).rsqrt() if bn_w is None else bn_w * (var + eps).rsqrt()
    shift = -mean * scale if b is None else (b - mean) * scale
    shift = shift if bn_b is None else shift + bn_b
    shape = [-1 if d == axis else 1 for d in range(w.ndim)]
    wanted = b.requires_grad if b is not None else False
    weight, bias = (w * scale.reshape(shape)).to(w.dtype), shift.to(w.dtype if b is None else b.dtype)
    return Parameter(weight, w.requires_grad), Parameter(bias, wanted)


def _check_eval(call: str, layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError(f"{call}(): both modules must be in eval() mode; in training the norm depends on the batch")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(f"{call}(): the norm has no running statistics; make it with track_running_stats=True")


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution with the norm in them."""
    return _scaled(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that gives what `bn(conv(x))` does; `transpose`: for ConvTranspose layers."""
    _check_eval("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer with the norm in them."""
    if bn_rm.numel() == 1:  # one channel for all outputs
        of_norm = (bn_rm, bn_rv, bn_w, bn_b)
        bn_rm, bn_rv, bn_w, bn_b = (None if each is None else each.expand(linear_w.shape[0]) for each in of_norm)
    return _scaled(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that gives what `bn(linear(x))` does."""
    _check_eval("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(f"fuse_linear_bn_eval(): the norm has {bn.num_features} features, the layer {linear.out_features} outputs")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
