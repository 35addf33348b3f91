"""What the registry of ops does not see: views that are written, settings, files, layers' shapes and errors."""

import io
import math

import numpy as np
import pytest

import weft
from weft import nn


def test_views_are_written_through():
    x = weft.zeros(3, 4)
    x.diagonal().fill_(1)
    x.unflatten(1, (2, 2))[:, 1, 1] = 7
    x.movedim((0, 1), (1, 0))[1, 0] = 5
    x.swapdims(0, 1)[2, 0] = 2
    assert x.tolist() == [[1, 5, 2, 7], [0, 1, 0, 7], [0, 0, 1, 7]]
    y = weft.arange(6.0)
    y.unfold(0, 2, 3)[1] = -1
    y.tensor_split(3)[0][0] = 9
    y.as_strided((2,), (1,), 1)[0] = 8
    assert y.tolist() == [9, 8, 2, -1, -1, 5]
    with pytest.raises(ValueError, match="share one place"):
        y.unfold(0, 2, 1)[0] = 0


def test_shapes_change_in_place():
    x = weft.arange(6).reshape(1, 2, 3)
    before = x
    assert x.squeeze_() is x and x.shape == (2, 3) and before.shape == (2, 3)
    x.t_()
    x.unsqueeze_(0).transpose_(0, 1)
    assert x.shape == (3, 1, 2) and x.tolist() == [[[0, 3]], [[1, 4]], [[2, 5]]]
    leaf = weft.ones(1, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.squeeze_()
    y = leaf * 2
    assert y.detach_() is y and not y.requires_grad


def test_facts():
    x = weft.zeros(2, 3, 4, dtype=weft.float16)
    assert x.stride() == (12, 4, 1) and x.stride(-2) == 4 and x.storage_offset() == 0 and weft.tensor(1).stride() == ()
    assert x.type() == "weft.HalfTensor" and x.type(weft.int32).dtype is weft.int32 and x.type("weft.FloatTensor").dtype is weft.float32
    assert x.is_signed() and not weft.zeros(1, dtype=weft.uint8).is_signed() and not x.is_complex() and x.ndimension() == 3
    assert x.is_same_size(weft.ones(2, 3, 4)) and not weft.is_same_size(x, weft.ones(2)) and x.get_device() == -1 and x.is_cpu
    assert weft.tensor([3]).is_nonzero() and not weft.tensor(0.0).is_nonzero()
    with pytest.raises(ValueError, match="exactly one"):
        x.is_nonzero()
    with pytest.raises(IndexError, match="out of range"):
        x.stride(3)
    assert weft.tensor([1.0]).view(weft.int32).item() == 0x3F800000
    with pytest.raises(TypeError, match="same size"):
        weft.tensor([1.0]).view(weft.int64)


def test_indices_of_all_kinds():
    x = weft.arange(24).reshape(2, 3, 4)
    a = x.numpy().copy()
    i, j = weft.tensor([0, 1]), weft.tensor([3, -1])
    np.testing.assert_array_equal(x[i, :, j].numpy(), a[[0, 1], :, [3, -1]])
    np.testing.assert_array_equal(x[:, [0, 2], [1, 3]].numpy(), a[:, [0, 2], [1, 3]])
    y, b = x.clone(), a.copy()
    y[i, :, j], b[[0, 1], :, [3, -1]] = weft.tensor([[7], [8]]), np.array([[7], [8]])
    np.testing.assert_array_equal(y.numpy(), b)
    y.index_put_((None, weft.tensor([0, 0])), weft.tensor(1), accumulate=True)
    np.add.at(b, (slice(None), [0, 0]), 1)
    np.testing.assert_array_equal(y.numpy(), b)
    rows, columns = weft.where(weft.tensor([[0, 1], [1, 0]]))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    assert weft.repeat_interleave(weft.tensor([2, 0, 1])).tolist() == [0, 0, 2]
    with pytest.raises(RuntimeError, match="output_size"):
        weft.repeat_interleave(weft.ones(3), 2, 0, output_size=5)


def test_default_dtype():
    assert weft.get_default_dtype() is weft.float32
    weft.set_default_dtype(weft.float64)
    try:
        assert weft.get_default_dtype() is weft.float64
        made = [weft.tensor([0.5]), weft.zeros(2), weft.ones(2), weft.empty(2), weft.full((2,), 0.5), weft.rand(2), weft.randn(2), weft.linspace(0, 1, 3),
                weft.arange(0.5, 2), weft.eye(2), weft.tensor([1, 2]) / 2, weft.tensor([1]).exp(), weft.tensor(3) * 0.1, weft.hann_window(4), weft.Tensor([1]),
                nn.Linear(2, 3).weight, nn.Transformer.generate_square_subsequent_mask(2)]  # fmt: skip
        layers = [nn.BatchNorm2d(2), nn.InstanceNorm1d(2, affine=True), nn.GroupNorm(1, 2), nn.LayerNorm(2), nn.RMSNorm(2), nn.PReLU()]
        made += [parameter for layer in layers for parameter in layer.parameters()]
        assert all(t.dtype is weft.float64 for t in made) and weft.finfo().bits == 64
        assert weft.tensor(0.1).item() == 0.1 and repr(weft.tensor([0.5])) == "tensor([0.5000])"
        assert (weft.ones(2, dtype=weft.float32) * 0.5).dtype is weft.float32
    finally:
        weft.set_default_dtype(weft.float32)
    with pytest.raises(TypeError, match="float type"):
        weft.set_default_dtype(weft.int64)


def test_print_options():
    x = weft.tensor([1 / 3, 1000.0])
    plain = repr(x)
    try:
        weft.set_printoptions(precision=2)
        assert repr(x) == "tensor([3.33e-01, 1.00e+03])"
        weft.set_printoptions(precision=2, sci_mode=False)
        assert repr(x) == "tensor([   0.33, 1000.00])"
        weft.set_printoptions(profile="default", threshold=5, edgeitems=1)
        assert repr(weft.arange(9)) == "tensor([0,  ..., 8])"
        weft.set_printoptions(threshold=math.inf, linewidth=30)
        assert repr(weft.arange(12)) == "tensor([ 0,  1,  2,  3,  4,\n         5,  6,  7,  8,  9,\n        10, 11])"
    finally:
        weft.set_printoptions(profile="default")
    assert repr(x) == plain
    with pytest.raises(ValueError, match="'profile'"):
        weft.set_printoptions(profile="long")
    with pytest.raises(ValueError, match="negative"):
        weft.set_printoptions(edgeitems=-1)


def test_an_op_on_a_writable_buffer_sees_it_as_it_is_at_the_call():
    data = bytearray(np.arange(4, dtype="f").tobytes())
    x = weft.frombuffer(data, dtype=weft.float32)
    y = x * 2
    data[:4] = np.float32(9).tobytes()
    assert y.tolist() == [0, 2, 4, 6] and x.tolist() == [9, 1, 2, 3]
    assert weft.frombuffer(data, dtype=weft.float32, requires_grad=True).requires_grad
    a = np.ones(3, "f")
    assert weft.asarray(a, requires_grad=True).requires_grad and weft.asarray(weft.ones(2)).tolist() == [1, 1]


def test_layers_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="ReflectionPad2d: padding"):
        nn.ReflectionPad2d((1, 2))
    with pytest.raises(RuntimeError, match="ReflectionPad2d: the input"):
        nn.ReflectionPad2d(1)(weft.zeros(3, 3))
    with pytest.raises(RuntimeError, match="to repeat"):
        nn.ReflectionPad1d(3)(weft.zeros(1, 1, 3))
    with pytest.raises(ValueError, match="EmbeddingBag: padding_idx"):
        nn.EmbeddingBag(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match="Embedding: the weight"):
        nn.Embedding(3, 2, _weight=weft.zeros(2, 3))
    table = nn.EmbeddingBag.from_pretrained(weft.arange(6.0).reshape(3, 2), mode="sum")
    assert table(weft.tensor([[0, 2]])).tolist() == [[4, 6]] and not table.weight.requires_grad
    assert repr(nn.EmbeddingBag(3, 2, mode="max", padding_idx=1)) == "EmbeddingBag(3, 2, mode='max', padding_idx=1)"


def test_inside_jit():
    table, index, offsets = weft.arange(8.0).reshape(4, 2), weft.tensor([0, 3, 1]), weft.tensor([0, 1])

    def work(x):
        y = nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear")
        bags = nn.functional.embedding_bag(index, table, offsets, mode="max")
        z = y.flatten().unfold(0, 2, 2).diagonal().diag_embed(1)
        return z.sum() + bags.sum() + y.scatter_reduce(0, weft.tensor([[[[0]]]]), y, "amax").sum()

    run = weft.jit(work)
    for seed in (1, 2, 3):
        weft.manual_seed(seed)
        x = weft.rand(1, 2, 4, 4)
        assert abs(run(x).item() - work(x).item()) < 1e-4


def test_gradients_reach_through_views_and_writes():
    x = weft.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.diagonal().mul_(2)
    y.unfold(1, 1, 2)[0] = 0
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0, 4, 0], [8, 40, 12]]
    w = weft.ones(4, requires_grad=True)
    w.as_strided((2, 3), (1, 1)).sum().backward()
    assert w.grad.tolist() == [1, 2, 2, 1]


def test_cat_of_nothing():
    collected = weft.tensor([])
    for _ in range(2):
        collected = weft.cat([collected, weft.ones(1, 2)])
    assert collected.shape == (2, 2) and weft.hstack([weft.zeros(0), weft.ones(2, 1)]).shape == (2, 1)
    assert weft.chunk(weft.zeros(0, 2), 3)[2].shape == (0, 2)
    assert weft.gather(weft.ones(2, 3), 0, weft.zeros(0, dtype=weft.int64)).shape == (0,)
    assert weft.ones(2, 3).scatter(0, weft.zeros(0, dtype=weft.int64), weft.zeros(0)).sum().item() == 6
