"""Packed sequences and transformers against PyTorch: values, gradients, and the order of batches that are not sorted."""

import helpers
import numpy as np
import pytest
import torch
import torch.nn as tnn
import torch.nn.utils.rnn as theirs
from helpers import assert_close, check_module, floats

import weft
from weft import nn
from weft.nn.utils import rnn as ours


@pytest.fixture(autouse=True)
def tolerance(monkeypatch):
    monkeypatch.setitem(helpers.TOLERANCE, "float32", 1e-5)


LENGTHS = ([5, 3, 3, 1], [4], [2, 2, 2], [3, 5, 1, 5, 2])


def sequences(lengths, *rest, dtype="float32"):
    return [floats(n, *rest, dtype=dtype, seed=i) for i, n in enumerate(lengths)]


def falls(lengths):
    return lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)], ids=str)
def test_packing(lengths, rest):
    arrays = sequences(lengths, *rest)
    a = ours.pack_sequence([weft.tensor(x) for x in arrays], enforce_sorted=falls(lengths))
    b = theirs.pack_sequence([torch.tensor(x) for x in arrays], enforce_sorted=falls(lengths))
    assert_close(list(a), list(b))
    for batch_first in (False, True):
        for settings in ({}, {"padding_value": -1.5}, {"total_length": 7, "padding_value": 2.0}):
            assert_close(ours.pad_packed_sequence(a, batch_first, **settings), theirs.pad_packed_sequence(b, batch_first, **settings))
        for side in ("left", "right"):
            how = {"batch_first": batch_first, "padding_value": 0.5, "padding_side": side}
            padded = ours.pad_sequence([weft.tensor(x) for x in arrays], **how)
            assert_close(padded, theirs.pad_sequence([torch.tensor(x) for x in arrays], **how))
        padded = np.stack([np.pad(x, [(0, 6 - len(x))] + [(0, 0)] * len(rest)) for x in arrays], 0 if batch_first else 1)
        c = ours.pack_padded_sequence(weft.tensor(padded), weft.tensor(lengths), batch_first, enforce_sorted=False)
        d = theirs.pack_padded_sequence(torch.tensor(padded), torch.tensor(lengths), batch_first, enforce_sorted=False)
        assert_close(list(c), list(d))
        pieces = ours.unpad_sequence(weft.tensor(padded), lengths, batch_first)
        assert_close(pieces, [torch.tensor(x) for x in arrays])
    assert_close(ours.unpack_sequence(a), [torch.tensor(x) for x in arrays])


class Packed(nn.Module):
    def __init__(self, inner, lengths, state):
        super().__init__()
        self.inner, self.lengths, self.state = inner, lengths, state

    def forward(self, x, *states):
        packed = ours.pack_padded_sequence(x, self.lengths, enforce_sorted=False)
        output, last = self.inner(packed, (states if len(states) == 2 else states[0]) if self.state else None)
        return [output.data, ours.pad_packed_sequence(output)[0], *(last if isinstance(last, tuple) else [last])]


class TorchPacked(tnn.Module):
    def __init__(self, inner, lengths, state):
        super().__init__()
        self.inner, self.lengths, self.state = inner, lengths, state

    def forward(self, x, *states):
        packed = theirs.pack_padded_sequence(x, self.lengths, enforce_sorted=False)
        output, last = self.inner(packed, (states if len(states) == 2 else states[0]) if self.state else None)
        return [output.data, theirs.pad_packed_sequence(output)[0], *(last if isinstance(last, tuple) else [last])]


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("settings", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_recurrent_layers(kind, settings, lengths):
    sides = 2 if settings.get("bidirectional") else 1
    shape = (sides * settings.get("num_layers", 1), len(lengths), 4)
    states = [floats(*shape, seed=7 + i) for i in range(2 if kind == "LSTM" else 1)]
    for given in ([], states):
        check_module(
            Packed(getattr(nn, kind)(3, 4, **settings), lengths, bool(given)),
            TorchPacked(getattr(tnn, kind)(3, 4, **settings), lengths, bool(given)),
            floats(5, len(lengths), 3), *given,
        )  # fmt: skip


def test_projections_and_nonlinearities():
    for kind, settings in (("LSTM", {"proj_size": 2}), ("RNN", {"nonlinearity": "relu"})):
        check_module(
            Packed(getattr(nn, kind)(3, 4, **settings), [4, 5, 2], False),
            TorchPacked(getattr(tnn, kind)(3, 4, **settings), [4, 5, 2], False),
            floats(5, 3, 3),
        )


# ---- transformers ----------------------------------------------------------------------------------------------------


def masks(length, sources, batch, seed=0):
    later = np.triu(np.ones((length, length), bool), 1)
    padding = np.zeros((batch, sources), bool)
    padding[0, -2:] = True
    return later, padding


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("settings", [
    {}, {"norm_first": True}, {"batch_first": True, "activation": "gelu"}, {"bias": False, "layer_norm_eps": 1e-3},
    {"norm_first": True, "batch_first": True, "bias": False},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_transformer(settings, mode):
    first = settings.get("batch_first", False)
    source, target = (floats(3, 6, 8), floats(3, 4, 8, seed=1)) if first else (floats(6, 3, 8), floats(4, 3, 8, seed=1))
    later, padding = masks(4, 6, 3)
    given = {"tgt_mask": later, "src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    added = {"src_mask": floats(6, 6, seed=3), "tgt_mask": np.where(later, -np.inf, 0).astype("f4"), "memory_mask": floats(4, 6, seed=4)}
    for masked in ({}, given, added):
        a = nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, **settings)
        b = tnn.Transformer(8, 2, 2, 2, 16, dropout=0.0, **settings)
        a.train(mode == "train"), b.train(mode == "train")
        check_module(
            Called(a, {name: weft.tensor(mask) for name, mask in masked.items()}),
            TorchCalled(b, {name: torch.tensor(mask) for name, mask in masked.items()}), source, target,
        )  # fmt: skip


class Called(nn.Module):
    def __init__(self, inner, masks):
        super().__init__()
        self.inner, self.masks = inner, masks

    def forward(self, *inputs):
        return self.inner(*inputs, **self.masks)


class TorchCalled(tnn.Module):
    def __init__(self, inner, masks):
        super().__init__()
        self.inner, self.masks = inner, masks

    def forward(self, *inputs):
        return self.inner(*inputs, **self.masks)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_decoder_alone_without_a_batch_and_causal():
    a, b = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), tnn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    check_module(a, b, floats(4, 8), floats(6, 8, seed=1))
    a, b = nn.TransformerDecoder(a, 3, nn.LayerNorm(8)), tnn.TransformerDecoder(b, 3, tnn.LayerNorm(8))
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    other = tnn.Transformer.generate_square_subsequent_mask(4)
    assert_close(mask, other)
    hint = {"tgt_is_causal": True}
    check_module(Called(a, {"tgt_mask": mask, **hint}), TorchCalled(b, {"tgt_mask": other, **hint}), floats(4, 2, 8), floats(6, 2, 8, seed=1))
