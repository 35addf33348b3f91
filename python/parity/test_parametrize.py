"""Weights that are computed from others, against PyTorch: names of the state, values, gradients, and removal."""

import copy

import helpers
import pytest
import torch
import torch.nn as tnn
import torch.nn.utils as theirs
from helpers import assert_close, assert_same_state, check_module, floats

import weft
from weft import nn
from weft.nn import utils as ours


@pytest.fixture(autouse=True)
def tolerance(monkeypatch):
    monkeypatch.setitem(helpers.TOLERANCE, "float32", 2e-5)


LAYERS = {
    "Linear": ((4, 5), floats(3, 4)),
    "Conv2d": ((3, 4, 3), floats(2, 3, 6, 6)),
    "ConvTranspose1d": ((3, 4, 2), floats(2, 3, 5)),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("place", ["", "parametrizations"])
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("layer", LAYERS)
def test_norms(layer, name, place):
    sizes, x = LAYERS[layer]
    wrap, other = (getattr(getattr(side, place) if place else side, name) for side in (ours, theirs))
    for settings in ({}, {"dim": 1}, {"dim": None} if name == "weight_norm" else {"n_power_iterations": 3}):
        a, b = wrap(getattr(nn, layer)(*sizes), **settings), other(getattr(tnn, layer)(*sizes), **settings)
        for mode in (True, False):
            a.train(mode), b.train(mode)
            a.zero_grad(), b.zero_grad()
            check_module(a, b, x)
        if place:
            assert type(a).__name__ == type(b).__name__
            ours.parametrize.remove_parametrizations(a, "weight"), theirs.parametrize.remove_parametrizations(b, "weight")
            assert type(a) is getattr(nn, layer)
        else:
            getattr(ours, "remove_" + name)(a), getattr(theirs, "remove_" + name)(b)
        assert_same_state({**a.state_dict()}, {**b.state_dict()})
        check_module(a, b, x)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT


class TorchSymmetric(tnn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


class TorchDoubled(tnn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def test_chains_of_parametrizations():
    a, b = nn.Linear(3, 3), tnn.Linear(3, 3)
    for first, second in ((Symmetric, TorchSymmetric), (Doubled, TorchDoubled)):
        ours.parametrize.register_parametrization(a, "weight", first())
        theirs.parametrize.register_parametrization(b, "weight", second())
    ours.parametrize.register_parametrization(a, "bias", Doubled())
    theirs.parametrize.register_parametrization(b, "bias", TorchDoubled())
    check_module(a, b, floats(2, 3))
    with weft.no_grad(), torch.no_grad():
        a.bias, b.bias = weft.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0])
    assert_close(a.parametrizations.bias.original, b.parametrizations.bias.original)
    twin = copy.deepcopy(a)
    for leave in (False, True):
        name = "weight" if leave else "bias"
        ours.parametrize.remove_parametrizations(a, name, leave), theirs.parametrize.remove_parametrizations(b, name, leave)
    assert_same_state(a, b)
    assert ours.parametrize.is_parametrized(twin, "weight") and not ours.parametrize.is_parametrized(a)
    assert_close(twin.weight, a.weight)


def test_fusion():
    for conv, norm, size, transpose in (("Conv2d", "BatchNorm2d", (6, 6), False), ("ConvTranspose1d", "BatchNorm1d", (5,), True)):
        for settings in ({}, {"bias": False}):
            a, b = getattr(nn, conv)(3, 4, 3, **settings).eval(), getattr(tnn, conv)(3, 4, 3, **settings).eval()
            m, n = getattr(nn, norm)(4), getattr(tnn, norm)(4)
            n(torch.tensor(floats(5, 4, *size)))
            helpers.copy_weights(b, a), helpers.copy_weights(n, m)
            m.eval(), n.eval()
            fused = ours.fuse_conv_bn_eval(a, m, transpose)
            assert_same_state(fused, theirs.fuse_conv_bn_eval(b, n, transpose))
            x = weft.tensor(floats(2, 3, *size))
            assert_close(fused(x), n(b(torch.tensor(floats(2, 3, *size)))))
    a, b, m, n = nn.Linear(3, 4).eval(), tnn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval(), tnn.BatchNorm1d(4).eval()
    helpers.copy_weights(b, a)
    assert_same_state(ours.fuse_linear_bn_eval(a, m), theirs.fuse_linear_bn_eval(b, n))


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
def test_total_norms(norm_type):
    arrays = [floats(3, 4), floats(5, seed=1), floats(seed=2)]
    mine, other = [weft.tensor(x) for x in arrays], [torch.tensor(x) for x in arrays]
    assert_close(ours.get_total_norm(mine, norm_type), theirs.get_total_norm(other, norm_type))
    for side, values in ((ours, mine), (theirs, other)):
        for value in values:
            value.requires_grad_()
            (value * value).sum().backward()
        side.clip_grads_with_norm_(values, 0.5, side.get_total_norm([value.grad for value in values], norm_type))
    assert_close([x.grad for x in mine], [x.grad for x in other])
