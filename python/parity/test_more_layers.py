"""Lazy layers, further pools, norms and losses as modules, against PyTorch with the same weights."""

import warnings

import helpers
import numpy as np
import pytest
import torch
import torch.nn as tnn
from helpers import assert_close, assert_same_state, check_function, check_module, copy_weights, floats, integers

import weft
from weft import nn


@pytest.fixture(autouse=True)
def tolerance(monkeypatch):
    monkeypatch.setitem(helpers.TOLERANCE, "float32", 2e-5)


LAZY = [
    ("LazyLinear", (5,), {}, (3, 4)), ("LazyLinear", (5,), {"bias": False}, (2, 3, 4)),
    *((f"LazyConv{d}d", (4, 3), {"groups": 2}, (2, 6, *[5] * d)) for d in (1, 2, 3)),
    *((f"LazyConvTranspose{d}d", (4, 2), {"stride": 2, "bias": False}, (2, 3, *[4] * d)) for d in (1, 2, 3)),
    *((f"LazyBatchNorm{d}d", (), {}, (4, 3, *[4] * d)) for d in (1, 2, 3)),
    *((f"LazyInstanceNorm{d}d", (), {"affine": True, "track_running_stats": True}, (4, 3, *[4] * d)) for d in (1, 2, 3)),
    ("LazyConv2d", (4, 3), {}, (3, 6, 6)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, args, settings, shape", LAZY, ids=lambda value: str(value))
def test_lazy_layers(name, args, settings, shape):
    x = floats(*shape)
    a, b = getattr(nn, name)(*args, **settings), getattr(tnn, name)(*args, **settings)
    assert list(a.state_dict()) == list(b.state_dict()) and a.has_uninitialized_params()
    a.eval()(weft.tensor(x)), b.eval()(torch.tensor(x))
    assert type(a).__name__ == type(b).__name__ == name[4:]
    assert a.extra_repr() == b.extra_repr() or "Conv" in name or "Norm" in name
    check_module(a.train(), b.train(), x)
    fresh = getattr(nn, name)(*args, **settings)
    fresh.load_state_dict(a.state_dict())
    assert type(fresh) is type(a)
    assert_same_state(fresh, b)


def test_sync_batch_norm():
    check_module(nn.SyncBatchNorm(3), tnn.BatchNorm1d(3), floats(4, 3, 5))
    net = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert converted is net and type(net[1][0]) is nn.SyncBatchNorm
    other = tnn.Sequential(tnn.Conv2d(3, 4, 3, bias=False), tnn.Sequential(tnn.BatchNorm2d(4), tnn.ReLU()))
    check_module(net, other, floats(2, 3, 6, 6))


@pytest.mark.parametrize("name, args, shape", [
    ("LocalResponseNorm", (3, 0.2), (2, 5, 4)), ("LPPool1d", (2, 3), (2, 3, 9)), ("LPPool2d", (2, (2, 3), 2), (2, 3, 8, 9)),
    ("LPPool3d", (2, 2), (1, 2, 4, 4, 4)),
], ids=str)  # fmt: skip
def test_pools_and_norms(name, args, shape):
    check_module(getattr(nn, name)(*args), getattr(tnn, name)(*args), floats(*shape))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling(axes):
    def through(side):
        pool, back = getattr(side, f"MaxPool{axes}d")(2, 2, return_indices=True), getattr(side, f"MaxUnpool{axes}d")(2, 2)

        def call(x):
            values, indices = pool(x)
            return back(values, indices, output_size=x.shape)

        return call

    check_function(through(nn), through(tnn), floats(2, 3, *[7] * axes))


PAIR = floats(4, 5), floats(4, 5, seed=1)
LOSSES = {
    "MultiMarginLoss": (({}, {"p": 2, "margin": 0.5}), (PAIR[0], integers(4, high=5))),
    "MultiLabelMarginLoss": (({},), (PAIR[0], np.array([[1, 3, -1, 0, 0], [0, -1, 1, 1, 1], [4, 3, 2, 1, 0], [-1, 0, 0, 0, 0]]))),
    "MultiLabelSoftMarginLoss": (({},), (PAIR[0], (PAIR[1] > 0).astype("float32"))),
    "SoftMarginLoss": (({},), (PAIR[0], np.sign(PAIR[1]))),
    "NLLLoss2d": (({},), (floats(2, 3, 4, 4), integers(2, 4, 4, high=3))),
    "MSELoss": (({},), PAIR), "L1Loss": (({},), PAIR), "SmoothL1Loss": (({"beta": 0.5},), PAIR), "KLDivLoss": (({},), PAIR),
    "CrossEntropyLoss": (({"label_smoothing": 0.1},), (PAIR[0], integers(4, high=5))),
    "PoissonNLLLoss": (({},), PAIR), "BCEWithLogitsLoss": (({},), PAIR), "HingeEmbeddingLoss": (({},), (PAIR[0], np.sign(PAIR[1]))),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("old", [{}, {"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}], ids=str)
def test_losses_and_their_old_arguments(name, old):
    choices, (x, y) = LOSSES[name]
    for settings in choices:
        a, b = getattr(nn, name)(**settings, **old), getattr(tnn, name)(**settings, **old)
        mine, other = weft.tensor(y), torch.tensor(y)
        check_function(lambda x, a=a: a(x, mine), lambda x, b=b: b(x, other), x)


def test_old_arguments_and_broadcasting_warn():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        nn.MSELoss(size_average=False)
    with pytest.warns(UserWarning, match="reduction='none'"):
        weft.nn.functional.mse_loss(weft.ones(2), weft.ones(2), reduce=False)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        with pytest.warns(UserWarning, match="broadcast"):
            got = getattr(weft.nn.functional, name)(weft.tensor(PAIR[0]), weft.tensor(PAIR[1][0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_close(got, getattr(torch.nn.functional, name)(torch.tensor(PAIR[0]), torch.tensor(PAIR[1][0])))


@pytest.mark.parametrize("settings", [{}, {"div_value": 2.0, "head_bias": True}], ids=str)
def test_adaptive_log_softmax(settings):
    a, b = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], **settings), tnn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], **settings)
    assert list(a.state_dict()) == list(b.state_dict())
    copy_weights(b, a)
    labels = np.array([0, 3, 4, 9, 19, 12, 2])
    x = floats(7, 16)
    check_function(lambda x: list(a(x, weft.tensor(labels))), lambda x: list(b(x, torch.tensor(labels))), x)
    helpers.assert_same_gradients(a, b)
    check_function(a.log_prob, b.log_prob, x)
    assert_close(a.predict(weft.tensor(x)), b.predict(torch.tensor(x)))
    check_function(lambda x: list(a(x, weft.tensor(12))), lambda x: list(b(x, torch.tensor(12))), x[0])


def test_ctc_behind_log_softmax():
    labels, lengths, counts = integers(4, 6, low=1, high=8), [30, 25, 20, 28], [6, 4, 0, 5]
    for reduction in ("mean", "sum", "none"):
        a, b = nn.CTCLoss(reduction=reduction), tnn.CTCLoss(reduction=reduction)
        check_function(
            lambda x, a=a: a(x.log_softmax(-1), weft.tensor(labels), weft.tensor(lengths), weft.tensor(counts)),
            lambda x, b=b: b(x.log_softmax(-1), torch.tensor(labels), torch.tensor(lengths), torch.tensor(counts)), floats(30, 4, 8),
        )  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("widths", [(2, -1), (-1, 2), (3, -3), (-2, -1), (-3, 2), (2, -2)], ids=str)
def test_negative_pads(mode, widths):
    pads = weft.nn.functional.pad, torch.nn.functional.pad
    check_function(lambda x: pads[0](x, widths, mode), lambda x: pads[1](x, widths, mode), floats(1, 2, 4))


@pytest.mark.parametrize("shape", [(5,), (1,), (), (3, 5), (3, 1), (1, 5)], ids=str)
def test_a_bias_broadcasts(shape):
    check_function(weft.nn.functional.linear, torch.nn.functional.linear, floats(3, 4), floats(5, 4, seed=1), floats(*shape, seed=2))
