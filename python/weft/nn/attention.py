"""Attention in several heads, and the encoder of a transformer. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

import copy

from .._types import makes_on_device
from . import functional as F
from . import init
from ._start import empty
from .containers import ModuleList
from .linear import Dropout, Linear
from .module import Module
from .norm import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._tensor import Tensor


class MultiheadAttention(Module):
    """Query (L, n, embed), key (S, n, kdim) and value (S, n, vdim) to (L, n, embed), and the weights; n first with batch_first."""

    @makes_on_device
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: Any = None,
        vdim: Any = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: embed_dim {embed_dim} cannot be divided into {num_heads} heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = same = self.kdim == embed_dim == self.vdim
        self.register_parameter("q_proj_weight", empty(embed_dim, embed_dim, dtype=dtype, wanted=not same))
        self.register_parameter("k_proj_weight", empty(embed_dim, self.kdim, dtype=dtype, wanted=not same))
        self.register_parameter("v_proj_weight", empty(embed_dim, self.vdim, dtype=dtype, wanted=not same))
        self.register_parameter("in_proj_weight", empty(3 * embed_dim, embed_dim, dtype=dtype, wanted=same))
        self.register_parameter("in_proj_bias", empty(3 * embed_dim, dtype=dtype, wanted=bias))
        self.register_parameter("bias_k", empty(1, 1, embed_dim, dtype=dtype, wanted=add_bias_kv))
        self.register_parameter("bias_v", empty(1, 1, embed_dim, dtype=dtype, wanted=add_bias_kv))
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0), init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k), init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        transposed = self.batch_first and query.ndim == 3
        if transposed:  # one object stays one, so that one product projects it
            done = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = done[id(query)], done[id(key)], done[id(value)]
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights, is_causal)  # fmt: skip
        return (output.transpose(0, 1) if transposed else output), weights


def activation_of(layer: str, activation: Any) -> Any:
    """The function that a transformer's layer is told by name, or as it is."""
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"{layer}: activation must be 'relu', 'gelu' or a function, not {activation!r}")
    return getattr(F, activation)


class TransformerEncoderLayer(Module):
    """Self attention and two linear layers, each with a normalised sum around it: (length, n, d_model) → the same."""

    @makes_on_device
    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype)
        self.norm_first, self.activation = norm_first, activation_of("TransformerEncoderLayer", activation)
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def _attend(self, x: Tensor, mask: Tensor | None, padding_mask: Any, is_causal: bool) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding_mask, False, mask, is_causal=is_causal)[0])

    def _feed_forward(self, x: Tensor) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        masks = src_mask, src_key_padding_mask, is_causal
        if self.norm_first:
            x = src + self._attend(self.norm1(src), *masks)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(src + self._attend(src, *masks))
        return self.norm2(x + self._feed_forward(x))


class TransformerEncoder(Module):
    """Copies of a layer one after the other, and a norm at the end if one is given."""

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check  # for programs that ask; neither changes a result

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)
