"""Lazy layers, the newer losses as layers, and what mistakes say."""

import copy
import pickle

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F


def test_a_lazy_layer_is_an_ordinary_one_after_its_first_input():
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)).double()
    twin, stored = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    x = weft.ones(2, 3, 6, 6, dtype=weft.float64)
    for each in (net, twin, stored):
        assert each(x).dtype is weft.float64
        assert [type(layer) for layer in each][:2] == [nn.Conv2d, nn.BatchNorm2d] and type(each[4]) is nn.Linear
        assert each[0].in_channels == 3 and each[1].num_features == 4 and each[4].in_features == 64
    other = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)).double()
    other.load_state_dict(net.state_dict())
    assert np.array_equal(other.eval()(x).detach().numpy(), net.eval()(x).detach().numpy())


def test_what_has_no_values_is_not_used():
    layer = nn.LazyLinear(3)
    assert isinstance(layer.weight, nn.UninitializedParameter) and repr(layer.weight) == "<UninitializedParameter>"
    for use in (lambda: layer.weight.shape, lambda: weft.optim.SGD(layer.parameters(), lr=0.1)):
        with pytest.raises(ValueError, match="call its module once"):
            use()


def test_dropout_of_selu_keeps_mean_and_variance():
    weft.manual_seed(0)
    x = weft.randn(400, 500)
    for layer, given in ((nn.AlphaDropout(0.3), x), (nn.FeatureAlphaDropout(0.3), x.reshape(200, 200, 5))):
        y = layer(given)
        assert abs(y.mean().item()) < 0.02 and abs(y.var().item() - 1) < 0.03
        assert layer.eval()(given) is given


def test_channels_are_dropped_in_any_number_of_axes():
    for shape in ((40, 50), (40, 50, 3), (40, 50, 2, 2), (40, 50, 2, 2, 2)):
        y = F.dropout2d(weft.ones(*shape), 0.5).reshape(40, 50, -1).numpy()
        assert set(np.unique(y)) == {0.0, 2.0} and (y == y[..., :1]).all()


def test_ctc_costs_the_same_for_each_time_and_length():
    """Other lengths and labels are other contents, not other kernels."""
    def loss(lengths, labels):
        x = weft.randn(20, 3, 5).requires_grad_()
        F.ctc_loss(x.log_softmax(-1), weft.tensor(labels), lengths, (2, 3, 1)).backward()
        return x.grad.numpy()

    loss((20, 18, 15), [[1, 2, 3]] * 3)
    before = weft.counters()["kernels_compiled"]
    assert np.isfinite(loss((12, 20, 9), [[4, 2, 2], [1, 1, 1], [3, 0, 0]])).all()
    assert weft.counters()["kernels_compiled"] == before


@pytest.mark.parametrize("call, kind, text", [
    (lambda: nn.LazyConv2d(4, 3)(weft.zeros(3, 4)), RuntimeError, "3 or 4 axes"),
    (lambda: nn.LazyConv2d(4, 3, groups=2)(weft.zeros(1, 3, 4, 4)), ValueError, "3 channels must be divisible"),
    (lambda: nn.LazyLinear(3)(), TypeError, "by position"),
    (lambda: nn.LazyBatchNorm2d()(weft.zeros(3, 4)), ValueError, "has 2 axes"),
    (lambda: nn.MultiMarginLoss(p=3), ValueError, "p must be 1 or 2"),
    (lambda: nn.TripletMarginWithDistanceLoss(margin=0), ValueError, "margin must be positive"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3]), ValueError, "increasing"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, []), ValueError, "one number at least"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(weft.zeros(2, 4), weft.tensor([1, 10])), RuntimeError, "between 0 and 9"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(weft.zeros(2, 3), weft.tensor([1, 1])), RuntimeError, "the input must be"),
    (lambda: nn.FractionalMaxPool2d(2), ValueError, "either output_size"),
    (lambda: nn.SyncBatchNorm(3)(weft.zeros(3)), ValueError, "two at least"),
    (lambda: F.dropout2d(weft.zeros(3)), RuntimeError, "two axes at least"),
    (lambda: F.linear(weft.zeros(2, 3), weft.zeros(4, 3), weft.zeros(2, 2, 4)), RuntimeError, "bias must have shape"),
])  # fmt: skip
def test_mistakes(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
