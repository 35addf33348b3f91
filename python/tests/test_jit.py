"""jit: the same results, traced once, without the GIL."""

import copy

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn


def test_training_step():
    def train(wrap):
        weft.manual_seed(5)
        model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 3))
        optimizer = weft.optim.Adam(model.parameters(), lr=1e-2)
        scheduler = weft.optim.lr_scheduler.StepLR(optimizer, 3)
        x, y = weft.rand(40, 8).realize(), weft.randint(3, (40,)).realize()

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        step, losses = wrap(step), []
        for i in range(10):
            losses.append(step(x[4 * i : 4 * i + 4], y[4 * i : 4 * i + 4]).item())
            scheduler.step()
        return losses, model[0].weight.tolist(), step

    plain, weights, _ = train(lambda step: step)
    traced, same, step = train(weft.jit)
    np.testing.assert_allclose(traced, plain, rtol=1e-5)
    np.testing.assert_allclose(same, weights, rtol=1e-4)
    assert step.traces() <= 2


def test_results_keep_their_form():
    @weft.jit
    def f(x, y):
        return {"sum": x + y, "parts": (x, [y * 2])}, None

    result, none = f(weft.ones(2), weft.ones(2))
    assert none is None and result["sum"].tolist() == [2, 2] and result["parts"][1][0].tolist() == [2, 2]
    assert f(weft.zeros(2), weft.ones(2))[0]["sum"].tolist() == [1, 1] and f.traces() <= 2


def same(x):
    return x


def test_errors():
    with pytest.raises(TypeError, match="arguments of same.* must be tensors, not int"):
        weft.jit(same)(3)
    with pytest.raises(TypeError, match="must return tensors, or tuples, lists or dicts of them, not str"):
        weft.jit(lambda x: "a")(weft.ones(1))
    with pytest.raises(ValueError):
        weft.jit(lambda x: x * x.sum().item())(weft.ones(2))

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weft.jit(fails)(weft.ones(1))


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_captured_step_has_the_bits_of_a_plain_one(name):
    """Also for few classes and a small batch: how a sum of products is rounded does not depend on what else a plan computes."""
    weft.manual_seed(1)
    plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    traced = copy.deepcopy(plain)
    x, y = weft.randn(4, 8), weft.tensor([0, 2, 1, -100])

    def training(model):
        optimizer = getattr(weft.optim, name)(model.parameters(), lr=1e-2)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    one, other = training(plain), weft.jit(training(traced))
    for _ in range(3):
        assert one(x, y).item() == other(x, y).item()
        for p, q in zip(plain.parameters(), traced.parameters(), strict=True):
            assert np.array_equal(p.grad.numpy(), q.grad.numpy())
            assert np.array_equal(p.detach().numpy(), q.detach().numpy())
