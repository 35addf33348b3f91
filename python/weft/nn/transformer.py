"""The decoder of a transformer, and encoder and decoder together. The arithmetic is in weft.nn.functional."""

from __future__ import annotations

import copy

from .._types import makes_on_device
from .. import _weft
from . import functional as F
from . import init
from .attention import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer, activation_of
from .containers import ModuleList
from .linear import Dropout, Linear
from .module import Module
from .norm import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._tensor import Tensor

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer"]


class TransformerDecoderLayer(Module):
    """Self attention, attention to the encoder's output, and two linear layers: (length, n, d_model) → the same."""

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
        settings = {"dropout": dropout, "bias": bias, "batch_first": batch_first, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, **settings)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **settings)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype)
        self.norm_first, self.activation = norm_first, activation_of("TransformerDecoderLayer", activation)
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)

    def _attend(self, x: Any, mask: Any, padding_mask: Any, is_causal: bool) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding_mask, False, mask, is_causal=is_causal)[0])

    def _look_up(self, x: Any, memory: Any, mask: Any, padding_mask: Any, is_causal: bool) -> Any:
        return self.dropout2(self.multihead_attn(x, memory, memory, padding_mask, False, mask, is_causal=is_causal)[0])

    def _feed_forward(self, x: Any) -> Any:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        others = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = tgt + self._attend(self.norm1(tgt), *own)
            x = x + self._look_up(self.norm2(x), *others)
            return x + self._feed_forward(self.norm3(x))
        x = self.norm1(tgt + self._attend(tgt, *own))
        x = self.norm2(x + self._look_up(x, *others))
        return self.norm3(x + self._feed_forward(x))


class TransformerDecoder(Module):
    """Copies of a decoder layer one after the other, and a norm at the end if one is given."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal),
                        memory_is_causal=memory_is_causal)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder: a source (S, n, d_model) and a target (T, n, d_model) to (T, n, d_model); n first with batch_first."""

    @makes_on_device
    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias

        def norm() -> Any:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*sizes, dtype=dtype), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*sizes, dtype=dtype), num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def _check(self, src: Any, tgt: Any) -> None:
        batch = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim:
            raise RuntimeError(f"Transformer: src has {src.ndim} axes and tgt {tgt.ndim}; both need 2 or, with a batch, 3")
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(f"Transformer: src has a batch of {src.shape[batch]} and tgt one of {tgt.shape[batch]}")
        for name, x in (("src", src), ("tgt", tgt)):
            if x.shape[-1] != self.d_model:
                raise RuntimeError(f"Transformer: {name} has {x.shape[-1]} features, and d_model is {self.d_model}")

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        self._check(src, tgt)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)  # fmt: skip

    @staticmethod
    @makes_on_device
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask to add: -inf above the diagonal, so that no place sees a later one, and 0 elsewhere."""
        return _weft.full((sz, sz), float("-inf"), dtype=dtype).triu(1)
