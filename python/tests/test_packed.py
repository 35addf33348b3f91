"""Sequences of several lengths: a layer on packed ones does what it does on each alone; what mistakes say."""

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import rnn


def sequences(*lengths):
    rng = np.random.default_rng(0)
    return [weft.tensor(rng.standard_normal((n, 3)).astype("float32")) for n in lengths]


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_packed_sequences_are_computed_as_each_alone(kind):
    weft.manual_seed(0)
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    given = sequences(2, 5, 1, 3)
    output, last = layer(rnn.pack_sequence(given, enforce_sorted=False))
    last = last[0] if kind == "LSTM" else last
    for i, (alone, together) in enumerate(zip(given, rnn.unpack_sequence(output))):
        expected, state = layer(alone)
        state = state[0] if kind == "LSTM" else state
        np.testing.assert_allclose(together.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last[:, i].detach().numpy(), state.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_padding_gets_no_gradient_and_counts_nothing():
    layer = nn.GRU(3, 2)
    x = weft.randn(5, 2, 3).requires_grad_()
    output, _ = layer(rnn.pack_padded_sequence(x, [5, 2]))
    output.data.sum().backward()
    assert x.grad[2:, 1].abs().max().item() == 0 and x.grad[:2, 1].abs().min().item() > 0
    poisoned = weft.cat([x.detach()[:, :1], x.detach()[:, 1:].clone()], 1)
    poisoned[2:, 1] = float("nan")
    again, _ = layer(rnn.pack_padded_sequence(poisoned, [5, 2]))
    assert np.array_equal(again.data.detach().numpy(), output.data.detach().numpy())


def test_a_packed_sequence_is_a_tuple_with_another_type():
    packed = rnn.pack_sequence(sequences(3, 2))
    data, sizes, order, back = packed
    assert sizes.tolist() == [2, 2, 1] and order is None and back is None
    assert packed.double().data.dtype is weft.float64 and packed.double().batch_sizes is sizes
    assert rnn.PackedSequence(data, sizes).data is data


@pytest.mark.parametrize("call, kind, text", [
    (lambda: rnn.pack_padded_sequence(weft.zeros(4, 2, 3), [2, 4]), RuntimeError, "must go down"),
    (lambda: rnn.pack_padded_sequence(weft.zeros(4, 2, 3), [4, 0]), RuntimeError, "1 or more"),
    (lambda: rnn.pack_padded_sequence(weft.zeros(4, 2, 3), [5, 1]), RuntimeError, "5 is more than the 4"),
    (lambda: rnn.pack_padded_sequence(weft.zeros(4, 2, 3), [1, 1, 1]), ValueError, "3 lengths for 2"),
    (lambda: rnn.pack_padded_sequence(weft.zeros(4), [1]), ValueError, "axis of times"),
    (lambda: rnn.pack_padded_sequence([weft.zeros(4, 2)], [1]), TypeError, "pack_sequence"),
    (lambda: rnn.pad_sequence([]), RuntimeError, "empty"),
    (lambda: rnn.pad_sequence([weft.zeros(2, 3), weft.zeros(2, 4)]), RuntimeError, "first size only"),
    (lambda: rnn.pad_sequence([weft.zeros(2)], padding_side="up"), ValueError, "'left' or 'right'"),
    (lambda: rnn.pad_packed_sequence(weft.zeros(2)), TypeError, "PackedSequence"),
    (lambda: rnn.pad_packed_sequence(rnn.pack_sequence(sequences(3)), total_length=2), ValueError, "total_length 2"),
    (lambda: nn.LSTM(3, 2)([1, 2]), TypeError, "PackedSequence, not list"),
    (lambda: nn.Transformer(8, 2, 1, 1)(weft.zeros(2, 3, 8), weft.zeros(2, 4, 8)), RuntimeError, "batch of 3"),
    (lambda: nn.Transformer(8, 2, 1, 1)(weft.zeros(2, 3, 8), weft.zeros(2, 3, 4)), RuntimeError, "d_model is 8"),
    (lambda: nn.TransformerDecoderLayer(8, 2, activation="tan"), RuntimeError, "'relu', 'gelu'"),
])  # fmt: skip
def test_mistakes(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
