"""Every layer against PyTorch's with the same weights: names and shapes of the state, values, gradients, and buffers afterwards."""

import helpers
import numpy as np
import pytest
import torch
import torch.nn as tnn
import torch.nn.functional as TF
from helpers import assert_close, check_function, check_module, floats, integers

import weft
import weft.nn.functional as F
from weft import nn


@pytest.fixture(autouse=True)
def tolerance(monkeypatch):
    monkeypatch.setitem(helpers.TOLERANCE, "float32", 1e-5)


def check(kind, inputs, *args, modes=("train",), call=None, **settings):
    """nn.kind(*args, **settings) on both sides, in these modes one after the other."""
    ours, theirs = getattr(nn, kind)(*args, **settings), getattr(tnn, kind)(*args, **settings)
    shapes = {name: tuple(value.shape) for name, value in theirs.state_dict().items()}
    assert {name: tuple(value.shape) for name, value in ours.state_dict().items()} == shapes
    randomize(theirs)
    for mode in modes:
        ours.train(mode == "train"), theirs.train(mode == "train")
        ours.zero_grad(), theirs.zero_grad()
        if call is None:
            check_module(ours, theirs, *inputs)
        else:
            check_module(Called(ours, call), TorchCalled(theirs, call), *inputs)


def randomize(module):
    """Norms start with weights of 1 and biases of 0, which would hide a mistake."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.unique().numel() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)


class Called(nn.Module):
    """A module that is called in another way, or of which the results are taken apart."""

    def __init__(self, inner, call):
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, *inputs):
        return self.call(self.inner, *inputs)


class TorchCalled(tnn.Module):
    def __init__(self, inner, call):
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, *inputs):
        return self.call(self.inner, *inputs)


def cases(*rows):
    return pytest.mark.parametrize("args, settings", rows, ids=[f"{a}{s or ''}".replace(" ", "") for a, s in rows])


# ---- linear, embedding, shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("front", [(5,), (), (2, 3), (2, 3, 4), (1,)])
def test_linear(front, bias):
    check("Linear", [floats(*front, 7)], 7, 4, bias=bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("front", [(5,), (), (2, 3)])
def test_bilinear(front, bias):
    check("Bilinear", [floats(*front, 4), floats(*front, 3, seed=1)], 4, 3, 6, bias=bias)


@pytest.mark.parametrize("padding_idx", [None, 0, 3, -1])
@pytest.mark.parametrize("shape", [(4,), (2, 5), (), (2, 1, 3)])
def test_embedding(shape, padding_idx):
    check("Embedding", [integers(*shape, high=7)], 7, 3, padding_idx=padding_idx)


def test_embedding_rows():
    table = floats(4, 2)
    ours = nn.Embedding.from_pretrained(weft.tensor(table))
    assert not ours.weight.requires_grad and ours.weight.tolist() == table.tolist()
    assert nn.Embedding(5, 3, padding_idx=-2).weight[3].tolist() == [0, 0, 0]
    with pytest.raises(IndexError):
        nn.Embedding(5, 3)(weft.tensor([5])).realize()


@cases(((), {}), ((0,), {}), ((1, 2), {}), ((-2,), {}))
def test_flatten(args, settings):
    check("Flatten", [floats(2, 3, 4, 5)], *args)


@cases(((1, (2, 3)), {}), ((-3, (3, 2)), {}), ((0, (1, 2)), {}))
def test_unflatten(args, settings):
    check("Unflatten", [floats(2, 6, 4, 5)], *args)


# ---- convolution -----------------------------------------------------------------------------------------------------

CONVS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"stride": 2, "padding": 1, "bias": False},
    {"dilation": 2},
    {"stride": 3, "padding": 2, "dilation": 2},
    {"groups": 2},
    {"groups": 4, "padding": 1},
    {"padding": "same"},
    {"padding": "same", "dilation": 2},
    {"padding": "valid"},
    {"padding": 1, "padding_mode": "reflect"},
    {"padding": 2, "padding_mode": "replicate"},
    {"padding": 1, "padding_mode": "circular", "stride": 2},
    {"padding": "same", "padding_mode": "reflect"},
]


@pytest.mark.parametrize("settings", CONVS, ids=str)
@pytest.mark.parametrize("kernel", [3, 1, 4])
def test_conv1d(kernel, settings):
    if settings.get("padding_mode") and kernel == 1 and settings["padding"] == "same":
        settings = {**settings, "padding": 1}
    check("Conv1d", [floats(2, 4, 11)], 4, 8, kernel, **settings)


@pytest.mark.parametrize("settings", CONVS, ids=str)
@pytest.mark.parametrize("kernel", [3, (2, 3), (1, 4)])
def test_conv2d(kernel, settings):
    check("Conv2d", [floats(2, 4, 9, 8)], 4, 8, kernel, **settings)


@pytest.mark.parametrize("settings", [s for s in CONVS if s.get("padding_mode") != "reflect"], ids=str)
@pytest.mark.parametrize("kernel", [2, (1, 3, 2)])
def test_conv3d(kernel, settings):
    check("Conv3d", [floats(2, 4, 6, 5, 7)], 4, 4, kernel, **settings)


def test_conv_without_a_batch_and_with_pairs():
    check("Conv2d", [floats(3, 7, 8)], 3, 4, 3, stride=(2, 1), padding=(0, 2))
    check("Conv1d", [floats(3, 7)], 3, 4, 3)
    check("Conv3d", [floats(2, 4, 5, 6)], 2, 3, 2, stride=(1, 2, 1), dilation=(2, 1, 3))
    check("Conv2d", [floats(1, 1, 5, 5)], 1, 1, 5)


def test_conv_large_enough_to_take_fewer_products():
    check("Conv2d", [floats(4, 48, 21, 27)], 48, 64, 3, padding=1)
    check("Conv2d", [floats(4, 64, 24, 31)], 64, 48, (3, 3), groups=2, padding=(0, 2))
    check("Conv1d", [floats(4, 96, 1100)], 96, 96, 3, padding="same")
    check("Conv3d", [floats(1, 32, 14, 14, 14)], 32, 32, 3)


TRANSPOSED = [
    {},
    {"stride": 2},
    {"stride": 2, "padding": 1, "output_padding": 1},
    {"stride": 3, "padding": 2, "output_padding": 2, "bias": False},
    {"dilation": 2, "padding": 1},
    {"dilation": 2, "stride": 2, "output_padding": 1},
    {"groups": 2, "stride": 2},
    {"groups": 4, "padding": 1},
]


@pytest.mark.parametrize("settings", TRANSPOSED, ids=str)
@pytest.mark.parametrize("kernel", [3, 4, 2])
def test_conv_transpose1d(kernel, settings):
    check("ConvTranspose1d", [floats(2, 4, 6)], 4, 8, kernel, **settings)


@pytest.mark.parametrize("settings", TRANSPOSED, ids=str)
@pytest.mark.parametrize("kernel", [3, (2, 4)])
def test_conv_transpose2d(kernel, settings):
    check("ConvTranspose2d", [floats(2, 4, 5, 6)], 4, 8, kernel, **settings)


def test_conv_transpose_more():
    check("ConvTranspose3d", [floats(1, 4, 3, 4, 2)], 4, 2, 3, stride=2, padding=1, output_padding=(1, 0, 1), groups=2)
    check("ConvTranspose2d", [floats(4, 5, 6)], 4, 3, (3, 2), stride=(1, 2), padding=(0, 1))
    for size in ([9, 11], (2, 3, 10, 12)):
        call = lambda module, x, size=size: module(x, output_size=list(size)[-2:])  # noqa: E731
        check("ConvTranspose2d", [floats(2, 4, 5, 6)], 4, 3, 3, stride=2, padding=1, call=call)
    with pytest.raises(ValueError, match="output_size must lie between"):
        nn.ConvTranspose2d(4, 3, 3, stride=2)(weft.zeros(1, 4, 5, 5), output_size=(20, 20))


def test_conv_mistakes():
    with pytest.raises(ValueError, match="divisible by 2 groups"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="needs a stride of 1"):
        nn.Conv2d(3, 4, 3, stride=2, padding="same")
    with pytest.raises(RuntimeError, match="x's 3 channels"):
        nn.Conv2d(4, 4, 3)(weft.zeros(1, 3, 8, 8))
    with pytest.raises(RuntimeError, match="the kernel reaches over 5 elements, the padded input has 4"):
        nn.Conv2d(4, 4, 5)(weft.zeros(1, 4, 4, 8))
    with pytest.raises(ValueError, match="output_padding 2 must be smaller"):
        nn.ConvTranspose1d(1, 1, 3, stride=2, output_padding=2)(weft.zeros(1, 1, 4))


# ---- pooling ---------------------------------------------------------------------------------------------------------


@cases(
    ((2,), {}), ((3,), {"stride": 2}), ((3,), {"stride": 2, "padding": 1}), ((2,), {"ceil_mode": True}),
    ((3,), {"stride": 2, "padding": 1, "ceil_mode": True}), ((3,), {"dilation": 2}), ((3,), {"stride": 1, "padding": 1}),
    ((2,), {"stride": 3, "ceil_mode": True}), ((2,), {"dilation": 3, "padding": 1, "ceil_mode": True}),
)  # fmt: skip
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_max_pool(axes, args, settings):
    shape = (2, 3, 7, 8, 9)[: 2 + axes]
    check(f"MaxPool{axes}d", [floats(*shape)], *args, **settings)
    check(f"MaxPool{axes}d", [np.round(floats(*shape))], *args, **settings)  # many equal maxima
    check(f"MaxPool{axes}d", [floats(*shape)], *args, return_indices=True, **settings)
    check(f"MaxPool{axes}d", [floats(*shape[1:])], *args, **settings)


def test_max_pool_pairs_and_infinities():
    check("MaxPool2d", [floats(2, 3, 7, 8)], (3, 2), stride=(2, 1), padding=(1, 0))
    x = np.full((1, 1, 4, 4), -np.inf, "float32")
    ours, where = F.max_pool2d(weft.tensor(x), 3, 2, 1, return_indices=True)
    theirs, there = TF.max_pool2d(torch.tensor(x), 3, 2, 1, return_indices=True)
    assert ours.tolist() == theirs.tolist() and where.tolist() == there.tolist()
    x = floats(1, 2, 5, 5)
    x[0, 0, 2, 2] = np.nan
    assert_close(F.max_pool2d(weft.tensor(x), 2, 1), TF.max_pool2d(torch.tensor(x), 2, 1))


@cases(
    ((2,), {}), ((3,), {"stride": 2}), ((3,), {"stride": 2, "padding": 1}), ((2,), {"ceil_mode": True}),
    ((3,), {"stride": 2, "padding": 1, "ceil_mode": True}), ((3,), {"padding": 1, "count_include_pad": False}),
    ((3,), {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}), ((2,), {"stride": 3, "ceil_mode": True}),
)  # fmt: skip
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_avg_pool(axes, args, settings):
    shape = (2, 3, 7, 8, 9)[: 2 + axes]
    check(f"AvgPool{axes}d", [floats(*shape)], *args, **settings)
    check(f"AvgPool{axes}d", [floats(*shape[1:])], *args, **settings)
    if axes > 1:
        check(f"AvgPool{axes}d", [floats(*shape)], *args, divisor_override=5, **settings)


@pytest.mark.parametrize("kind", ["Avg", "Max"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 13])
def test_adaptive_pool(kind, size):
    check(f"Adaptive{kind}Pool1d", [floats(2, 3, 12)], size)
    check(f"Adaptive{kind}Pool2d", [floats(2, 3, 12, 10)], size)
    check(f"Adaptive{kind}Pool2d", [np.round(floats(2, 3, 12, 10))], (size, None))
    check(f"Adaptive{kind}Pool2d", [floats(3, 7, 9)], (None, size))
    check(f"Adaptive{kind}Pool3d", [floats(1, 2, 4, 6, 5)], (2, size, 3))


# ---- normalisation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"affine": False}, {"momentum": 0.3, "eps": 1e-3}, {"momentum": None},
                                      {"track_running_stats": False}], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind, shape", [("1d", (6, 5)), ("1d", (4, 5, 3)), ("2d", (3, 5, 4, 2)), ("3d", (2, 5, 2, 3, 4))])
def test_batch_norm(kind, shape, settings):
    check(f"BatchNorm{kind}", [floats(*shape) * 3 + 1], 5, modes=("train", "train", "eval", "train"), **settings)


@pytest.mark.parametrize("settings", [{}, {"affine": True}, {"affine": True, "track_running_stats": True, "momentum": 0.3},
                                      {"track_running_stats": True, "eps": 1e-3}], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind, shape", [("1d", (4, 5, 3)), ("1d", (5, 7)), ("2d", (3, 5, 4, 2)), ("2d", (5, 4, 2)),
                                         ("3d", (2, 5, 2, 3, 4))])  # fmt: skip
def test_instance_norm(kind, shape, settings):
    check(f"InstanceNorm{kind}", [floats(*shape) * 3 + 1], 5, modes=("train", "train", "eval"), **settings)


@cases(((1, 6), {}), ((2, 6), {}), ((6, 6), {"affine": False}), ((3, 6), {"eps": 1e-2}))
@pytest.mark.parametrize("shape", [(4, 6), (2, 6, 5), (2, 6, 4, 3)])
def test_group_norm(shape, args, settings):
    if args[0] == 6 and len(shape) == 2:
        shape = (4, 6, 9)  # a single number has no spread
    check("GroupNorm", [floats(*shape) * 2 - 1], *args, **settings)


@cases(((7,), {}), (((7,),), {"bias": False}), (((3, 7),), {"eps": 1e-2}), ((7,), {"elementwise_affine": False}), (((2, 3, 7),), {}))
def test_layer_norm(args, settings):
    check("LayerNorm", [floats(2, 3, 7) * 2 + 5], *args, **settings)


@cases(((7,), {}), (((3, 7),), {"eps": 1e-2}), ((7,), {"elementwise_affine": False}))
def test_rms_norm(args, settings):
    check("RMSNorm", [floats(2, 3, 7) * 2 + 1], *args, **settings)


# ---- dropout ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, shape", [("Dropout", (40, 50)), ("Dropout1d", (40, 50, 3)), ("Dropout2d", (40, 50, 2, 3)),
                                         ("Dropout3d", (40, 50, 2, 1, 2)), ("Dropout1d", (2000, 3)), ("Dropout2d", (40, 50, 2)),
                                         ("Dropout3d", (2000, 1, 2, 3))])  # fmt: skip
def test_dropout(kind, shape):
    check(kind, [floats(*shape)], 0.3, modes=("eval",))
    layer, x = getattr(nn, kind)(0.3), weft.ones(*shape).requires_grad_()
    y = layer(x)
    y.sum().backward()
    values = y.detach().numpy()
    assert set(np.unique(values).tolist()) == {0.0, np.float32(1 / 0.7).item()}
    np.testing.assert_array_equal(x.grad.numpy(), values)  # the same mask
    assert abs((values == 0).mean() - 0.3) < 0.05
    if kind != "Dropout":  # whole channels
        channels = values.reshape(2000, -1)
        assert (channels == channels[:, :1]).all()


# ---- activations -----------------------------------------------------------------------------------------------------

KINKS = np.array([-30, -6, -3, -1, -0.5, -0.0, 0, 0.5, 1, 3, 6, 25, 100, np.inf, -np.inf, np.nan], "float32")


@pytest.mark.parametrize("kind, args", [
    ("ReLU", ()), ("ReLU6", ()), ("LeakyReLU", ()), ("LeakyReLU", (0.3,)), ("ELU", ()), ("ELU", (2.5,)), ("CELU", ()), ("CELU", (2.5,)),
    ("SELU", ()), ("SiLU", ()), ("Mish", ()), ("GELU", ()), ("GELU", ("tanh",)), ("Sigmoid", ()), ("LogSigmoid", ()), ("Tanh", ()),
    ("Hardtanh", ()), ("Hardtanh", (-2.0, 0.5)), ("Hardsigmoid", ()), ("Hardswish", ()), ("Hardshrink", ()), ("Hardshrink", (1.0,)),
    ("Softshrink", ()), ("Softshrink", (1.0,)), ("Softsign", ()), ("Softplus", ()), ("Softplus", (2.0, 5.0)), ("Tanhshrink", ()),
    ("Threshold", (0.5, -2.0)), ("PReLU", ()), ("PReLU", (3,)), ("GLU", (1,)), ("Softmin", (1,)), ("Softmax", (1,)), ("Softmax", (-1,)),
    ("LogSoftmax", (1,)), ("LogSoftmax", (0,)), ("Softmax2d", ())])  # fmt: skip
def test_activations(kind, args):
    shape = (4, 6) if kind == "GLU" else (2, 3, 4, 5) if kind in ("PReLU", "Softmax2d") else (4, 7)
    check(kind, [floats(*shape) * 3], *args)
    if kind not in ("GLU", "Softmin", "Softmax", "LogSoftmax", "Softmax2d") and args != (3,):
        ours, theirs = getattr(nn, kind)(*args), getattr(tnn, kind)(*args)
        check_module(ours, theirs, KINKS[:-3])
        if (kind, args) != ("GELU", ()):  # which is NaN at infinity in PyTorch, and infinity here
            assert_close(ours(weft.tensor(KINKS)), theirs(torch.tensor(KINKS)))
    assert repr(getattr(nn, kind)(*args)) == repr(getattr(tnn, kind)(*args)) or kind in ("Hardshrink", "Softshrink", "PReLU")


@pytest.mark.parametrize("kind", ["ReLU", "LeakyReLU", "ELU", "CELU", "SELU", "SiLU", "Hardtanh", "ReLU6", "Hardswish"])
def test_in_place(kind):
    def call(module, x):
        y = x * 2
        module(y)
        return y * 3

    check(kind, [floats(4, 5)], inplace=True, call=call)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_softmax_without_an_axis(rank):
    x = floats(*(2, 3, 4, 5)[:rank])
    for name in ("softmax", "log_softmax", "softmin"):
        with pytest.warns(UserWarning):
            want = getattr(TF, name)(torch.tensor(x))
        assert_close(getattr(F, name)(weft.tensor(x)), want)


# ---- attention -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"scale": 0.3}, {"is_causal": True, "scale": 2.0}], ids=str)
@pytest.mark.parametrize("front, lengths", [((2, 3), (5, 7)), ((), (4, 4)), ((2,), (6, 3))])
def test_scaled_dot_product_attention(front, lengths, settings):
    inputs = floats(*front, lengths[0], 8), floats(*front, lengths[1], 8, seed=1), floats(*front, lengths[1], 6, seed=2)
    check_function(F.scaled_dot_product_attention, TF.scaled_dot_product_attention, *inputs, **settings)


@pytest.mark.parametrize("mask", ["bool", "float", "hidden rows", "float hidden rows", "per head"])
def test_attention_masks(mask):
    q, k, v = floats(2, 3, 5, 8), floats(2, 3, 7, 8, seed=1), floats(2, 3, 7, 6, seed=2)
    seen = np.random.default_rng(3).random((2, 3, 5, 7) if mask == "per head" else (5, 7)) > 0.4
    seen[..., 0] = True
    if "hidden rows" in mask:
        seen[2] = False
    if "float" in mask:
        seen = np.where(seen, floats(5, 7, seed=4), -np.inf if "hidden" in mask else -2).astype("float32")
    if mask == "float":
        check_function(F.scaled_dot_product_attention, TF.scaled_dot_product_attention, q, k, v, seen)
    else:  # PyTorch gives the gradient of a mask that hides a row as NaN
        ours = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, weft.tensor(seen))  # noqa: E731
        theirs = lambda q, k, v: TF.scaled_dot_product_attention(q, k, v, torch.tensor(seen))  # noqa: E731
        check_function(ours, theirs, q, k, v)
    with pytest.raises((ValueError, RuntimeError), match="is_causal"):
        F.scaled_dot_product_attention(*map(weft.tensor, (q, k, v)), weft.tensor(seen), is_causal=True)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("heads, shared", [(6, 2), (4, 4), (3, 1)])
def test_grouped_query_attention(heads, shared, mask):
    q, k, v = floats(2, heads, 5, 8), floats(2, shared, 7, 8, seed=1), floats(2, shared, 7, 6, seed=2)
    extra = [floats(2, heads, 5, 7, seed=3)] if mask else []
    check_function(F.scaled_dot_product_attention, TF.scaled_dot_product_attention, q, k, v, *extra, enable_gqa=True)


def attend(padding=None, mask=None, **settings):
    def call(module, query, key, value):
        side = torch if isinstance(module, tnn.Module) else weft
        masks = [None if m is None else side.tensor(m) for m in (padding, mask)]
        return module(query, key, value, key_padding_mask=masks[0], attn_mask=masks[1], **settings)

    return call


PADDING = np.arange(7) >= np.array([[5], [7], [4]])  # (n, S): True where a key counts nothing
LATER = np.triu(np.ones((5, 7), bool), 1)


@pytest.mark.parametrize("call", [
    attend(), attend(need_weights=False), attend(average_attn_weights=False), attend(padding=PADDING), attend(mask=LATER),
    attend(padding=PADDING, mask=LATER, need_weights=False), attend(mask=floats(5, 7, seed=9)),
    attend(mask=np.repeat(LATER[None], 3 * 4, 0), padding=PADDING), attend(mask=floats(12, 5, 7, seed=9), need_weights=False),
    attend(padding=np.where(PADDING, -np.inf, 0).astype("float32"), mask=floats(5, 7))],
    ids=["plain", "no weights", "each head", "padding", "causal", "both", "float", "per head", "float per head", "floats"])  # fmt: skip
@pytest.mark.parametrize("settings", [{}, {"batch_first": True}, {"bias": False}, {"kdim": 6, "vdim": 10},
                                      {"add_bias_kv": True, "add_zero_attn": True}], ids=str)  # fmt: skip
def test_multihead_attention(call, settings):
    inputs = [floats(5, 3, 8), floats(7, 3, settings.get("kdim", 8), seed=1), floats(7, 3, settings.get("vdim", 8), seed=2)]
    if settings.get("batch_first"):
        inputs = [x.swapaxes(0, 1).copy() for x in inputs]
    check("MultiheadAttention", inputs, 8, 4, call=call, modes=("train", "eval"), **settings)


def test_self_attention():
    call = lambda module, x: module(x, x, x, need_weights=False)[0]  # noqa: E731
    for settings in ({}, {"batch_first": True}):
        check("MultiheadAttention", [floats(5, 3, 8)], 8, 2, call=call, **settings)
        check("MultiheadAttention", [floats(5, 8)], 8, 2, call=lambda module, x: module(x, x, x), **settings)


@pytest.mark.parametrize("settings", [{}, {"norm_first": True}, {"batch_first": True}, {"activation": "gelu"}, {"bias": False},
                                      {"layer_norm_eps": 1e-2, "norm_first": True, "batch_first": True}], ids=str)  # fmt: skip
def test_transformer_encoder_layer(settings):
    x = floats(3, 5, 8) if settings.get("batch_first") else floats(5, 3, 8)
    hidden, later = np.arange(5) >= np.array([[4], [5], [3]]), np.triu(np.ones((5, 5), bool), 1)

    def masked(module, x):
        side = torch if isinstance(module, tnn.Module) else weft
        return module(x, src_mask=side.tensor(later), src_key_padding_mask=side.tensor(hidden))

    def causal(module, x):
        side = torch if isinstance(module, tnn.Module) else weft
        return module(x, src_mask=side.tensor(later), is_causal=True)

    for call in (None, masked, causal):
        check("TransformerEncoderLayer", [x], 8, 2, 16, dropout=0.0, call=call, modes=("train", "eval"), **settings)


@pytest.mark.parametrize("norm", [False, True])
def test_transformer_encoder(norm):
    def model(side, layers):
        layer = layers.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        return layers.TransformerEncoder(layer, 3, norm=layers.LayerNorm(8) if norm else None)

    ours, theirs = model(weft, nn), model(torch, tnn)
    randomize(theirs)
    check_module(ours, theirs, floats(2, 5, 8))


# ---- recurrent -------------------------------------------------------------------------------------------------------

RECURRENT = [
    {},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
    {"bias": False, "num_layers": 3},
    {"batch_first": True},
]


def flat(module, x, *state):
    """The results of a recurrent layer in one tuple, so that all of them are compared and get gradients."""
    output, last = module(x, state if len(state) > 1 else state[0]) if state else module(x)
    return (output, *last) if isinstance(last, tuple) else (output, last)


@pytest.mark.parametrize("settings", RECURRENT, ids=str)
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent(kind, settings):
    x = floats(3, 4, 5) if settings.get("batch_first") else floats(4, 3, 5)
    count = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    states = [floats(count, 3, 6, seed=i) for i in range(2 if kind == "LSTM" else 1)]
    check(kind, [x], 5, 6, call=flat, **settings)
    check(kind, [x, *states], 5, 6, call=flat, **settings)
    check(kind, [floats(4, 5), *(s[:, 0].copy() for s in states)], 5, 6, call=flat, **settings)  # without a batch
    check(kind, [floats(1, 1, 5)], 5, 6, call=flat, **settings)


def test_recurrent_more():
    check("RNN", [floats(4, 3, 5)], 5, 6, nonlinearity="relu", call=flat)
    check("LSTM", [floats(4, 3, 5)], 5, 6, proj_size=2, num_layers=2, bidirectional=True, call=flat)
    for kind in ("RNN", "GRU", "LSTM"):
        check(kind, [floats(4, 3, 5)], 5, 6, num_layers=2, dropout=0.5, call=flat, modes=("eval",))
        assert repr(getattr(nn, kind)(5, 6, 2)) == repr(getattr(tnn, kind)(5, 6, 2))
    weft.manual_seed(0)
    layer = nn.LSTM(5, 6, 2, dropout=0.5)
    x = weft.tensor(floats(4, 3, 5))
    assert layer(x)[0].tolist() != layer(x)[0].tolist()  # dropout between the layers in training
    with pytest.raises(RuntimeError, match="the input has 4 features, the weights take 5"):
        layer(weft.zeros(4, 3, 4))
    with pytest.raises(RuntimeError, match="h must have the shape"):
        layer(x, (weft.zeros(2, 3, 5), weft.zeros(2, 3, 6)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind, settings", [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("GRUCell", {}), ("LSTMCell", {})])
def test_cells(kind, settings, bias):
    states = [floats(3, 6, seed=i) for i in range(2 if kind == "LSTMCell" else 1)]
    call = (lambda module, x, h, c: module(x, (h, c))) if kind == "LSTMCell" else None
    check(kind, [floats(3, 5), *states], 5, 6, bias=bias, call=call, **settings)
    check(kind, [floats(5), *(s[0].copy() for s in states)], 5, 6, bias=bias, call=call, **settings)
    check(kind, [floats(3, 5)], 5, 6, bias=bias, **settings)


# ---- functions that no layer has -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_pad(mode):
    check_function(F.pad, TF.pad, floats(2, 3, 5), (2, 1), mode=mode)
    check_function(F.pad, TF.pad, floats(2, 3, 5, 6), (2, 1, 0, 3), mode=mode)
    check_function(F.pad, TF.pad, floats(3, 5), (1, 2), mode=mode)
    check_function(F.pad, TF.pad, floats(2, 3, 4, 5, 6), (1, 1, 2, 0, 1, 2), mode=mode)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_types(dtype):
    for ours, theirs in ((nn.Linear(5, 4), tnn.Linear(5, 4)), (nn.LayerNorm(5), tnn.LayerNorm(5)), (nn.GELU(), tnn.GELU()),
                         (nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 3, 3), nn.AvgPool1d(2)),
                          tnn.Sequential(tnn.Unflatten(1, (1, 5)), tnn.Conv1d(1, 3, 3), tnn.AvgPool1d(2)))):  # fmt: skip
        theirs.to(getattr(torch, dtype)), ours.to(getattr(weft, dtype))
        check_module(ours, theirs, floats(6, 5, dtype=dtype))


def test_one_initial_distribution():
    """Initial values differ from PyTorch's, their spread does not."""
    for kind, args in (("Linear", (300, 200)), ("Conv2d", (30, 40, 3)), ("Embedding", (200, 300)), ("MultiheadAttention", (96, 4)),
                       ("LSTM", (60, 70)), ("ConvTranspose2d", (30, 40, 3)), ("Bilinear", (20, 30, 40)), ("GRUCell", (60, 70))):  # fmt: skip
        ours, theirs = getattr(nn, kind)(*args), getattr(tnn, kind)(*args)
        for (name, got), (_, want) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
            got, want = got.detach().numpy(), want.detach().numpy()
            if want.size > 1000:
                assert got.std() == pytest.approx(want.std(), rel=0.05), f"{kind}.{name}"
                assert np.abs(got).max() == pytest.approx(np.abs(want).max(), rel=0.3), f"{kind}.{name}"
            elif not want.any():
                assert not got.any(), f"{kind}.{name}"
