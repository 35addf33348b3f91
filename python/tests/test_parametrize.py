"""Parametrizations: what holds of the computed weights, caching, setting, and what mistakes say."""

import copy
import pickle

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import parametrizations, parametrize


class Doubled(nn.Module):
    calls = 0

    def forward(self, x):
        Doubled.calls += 1
        return x * 2


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)], ids=str)
def test_orthogonal(how, sizes):
    layer = parametrizations.orthogonal(nn.Linear(*sizes), orthogonal_map=how)
    optimizer = weft.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        w = layer.weight.detach().numpy().astype("float64")
        w = w if w.shape[0] >= w.shape[1] else w.T
        np.testing.assert_allclose(w.T @ w, np.eye(w.shape[1]), atol=2e-5)
        layer(weft.ones(2, sizes[0])).square().sum().backward()
        optimizer.step(), optimizer.zero_grad()
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((max(sizes), min(sizes))))
    q = (q if layer.weight.shape[0] >= layer.weight.shape[1] else q.T).astype("float32")
    if q.shape[0] == q.shape[1]:
        q *= np.sign(np.linalg.det(q))
    layer.weight = weft.tensor(q)
    np.testing.assert_allclose(layer.weight.detach().numpy(), q, atol=2e-5)


def test_the_spectral_norm_is_1():
    layer = parametrizations.spectral_norm(nn.Conv2d(3, 8, 3), n_power_iterations=50)
    singular = np.linalg.svd(layer.weight.detach().numpy().reshape(8, -1), compute_uv=False)
    assert singular[0] == pytest.approx(1, rel=1e-3)


def test_cached_values_are_computed_once():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    Doubled.calls = 0
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert Doubled.calls == 1 and layer.weight is not layer.weight and Doubled.calls == 3


def test_copies_are_apart_and_pickling_is_refused():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    assert np.array_equal(twin.weight.detach().numpy(), layer.weight.detach().numpy())
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(twin)


def test_optimisers_keep_what_they_train():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert layer.parametrizations.weight.original is weight
    assert parametrize.remove_parametrizations(layer, "weight").weight is weight


def test_skip_init_draws_nothing():
    weft.manual_seed(3)
    expected = weft.rand(4).numpy()
    weft.manual_seed(3)
    assert tuple(nn.utils.skip_init(nn.Linear, 3, 4).weight.shape) == (4, 3)
    assert np.array_equal(weft.rand(4).numpy(), expected)


class Shrinks(nn.Module):
    def forward(self, x):
        return x[:1]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: parametrize.register_parametrization(nn.Linear(2, 2), "wait", Doubled()), ValueError, "no parameter or buffer 'wait'"),
    (lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", abs), TypeError, "must be a Module"),
    (lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", Shrinks()), ValueError, "type nor shape"),
    (lambda: parametrize.remove_parametrizations(nn.Linear(2, 2), "weight"), ValueError, "no parametrization of 'weight'"),
    (lambda: setattr(parametrize.register_parametrization(nn.Linear(2, 2), "bias", Doubled()), "bias", weft.ones(2)), RuntimeError,
     "no right_inverse"),
    (lambda: parametrizations.orthogonal(nn.Linear(2, 2), "bias"), ValueError, "must be a matrix"),
    (lambda: parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr"), ValueError, "'cayley'"),
    (lambda: parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0), ValueError, "1 or more"),
    (lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)), ValueError, "has no weight_norm"),
    (lambda: nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))), RuntimeError, "has one already"),
    (lambda: nn.utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1)), AssertionError, "eval"),
    (lambda: nn.utils.skip_init(len), RuntimeError, "subclass of Module"),
])  # fmt: skip
def test_mistakes(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
