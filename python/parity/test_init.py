"""Initial values: the same distributions as PyTorch's, by their statistics, and the same deterministic ones."""

import math

import numpy as np
import pytest
import torch
from helpers import assert_close, numpy_of
from torch.nn import init as oracle

import weft
from weft.nn import init

LINEAR, CONV = (400, 300), (60, 40, 5, 3)


def drawn(module, side, name, shape, *args, **settings):
    tensor = side.empty(shape) if side is torch else side.zeros(shape)
    assert getattr(module, name)(tensor, *args, **settings) is tensor
    return numpy_of(tensor).astype("f8")


def quantiles(values):
    return np.quantile(values, [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1])


def same_distribution(ours, theirs):
    """Means, deviations and quantiles within what samples of this size leave open; the ends of normal ones count for less."""
    scale = theirs.std()
    assert ours.shape == theirs.shape
    assert abs(ours.mean() - theirs.mean()) < 0.02 * scale
    assert ours.std() == pytest.approx(theirs.std(), rel=0.02)
    np.testing.assert_allclose(quantiles(ours)[1:-1], quantiles(theirs)[1:-1], atol=0.06 * scale)
    np.testing.assert_allclose(quantiles(ours)[[0, -1]], quantiles(theirs)[[0, -1]], atol=scale)


@pytest.mark.parametrize("shape", [LINEAR, CONV])
@pytest.mark.parametrize("name, settings", [
    ("uniform_", {}), ("uniform_", {"a": -3, "b": 1}), ("normal_", {}), ("normal_", {"mean": 2, "std": 0.1}),
    ("trunc_normal_", {}), ("trunc_normal_", {"mean": 0.5, "std": 2, "a": -1, "b": 4}), ("trunc_normal_", {"std": 0.02}),
    ("trunc_normal_", {"a": 1, "b": 1.5}), ("xavier_uniform_", {}), ("xavier_uniform_", {"gain": 2}), ("xavier_normal_", {}),
    ("kaiming_uniform_", {}), ("kaiming_uniform_", {"a": math.sqrt(5)}), ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_normal_", {}), ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}), ("kaiming_normal_", {"nonlinearity": "tanh"}),
])  # fmt: skip
def test_distributions(name, settings, shape):
    same_distribution(drawn(init, weft, name, shape, **settings), drawn(oracle, torch, name, shape, **settings))


@pytest.mark.parametrize("limits", [(-2, 2), (1, 3), (-4, -3), (0, 0.1)])
def test_truncated_normal_within_limits(limits):
    values = drawn(init, weft, "trunc_normal_", (300, 300), 0, 1, *limits)
    assert limits[0] <= values.min() and values.max() <= limits[1]
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in limits]
    for x in np.linspace(*limits, 7):  # the distribution function
        want = (0.5 * math.erfc(-x / math.sqrt(2)) - below[0]) / (below[1] - below[0])
        assert (values <= x).mean() == pytest.approx(want, abs=0.01)


@pytest.mark.parametrize("name, variance", [("lecun_uniform_", 1 / 300), ("lecun_normal_", 1 / 300)])
def test_lecun(name, variance):
    values = drawn(init, weft, name, LINEAR)
    assert values.var() == pytest.approx(variance, rel=0.03) and abs(values.mean()) < 0.02 * variance**0.5
    if name == "lecun_uniform_":
        assert np.abs(values).max() <= math.sqrt(3 * variance)


@pytest.mark.parametrize("shape", [(40, 40), (20, 50), (50, 20), (6, 4, 3, 3), (64, 4, 3, 3), (1, 5), (5, 1)])
@pytest.mark.parametrize("gain", [1, 1.5])
def test_orthogonal(shape, gain):
    values = drawn(init, weft, "orthogonal_", shape, gain=gain).reshape(shape[0], -1)
    if values.shape[0] > values.shape[1]:
        values = values.T
    np.testing.assert_allclose(values @ values.T, gain**2 * np.eye(len(values)), atol=1e-5)


def test_orthogonal_is_uniform_among_rotations():
    """No direction is preferred: elements of a 3 x 3 rotation have mean 0 and variance 1 / 3, for each place."""
    many = np.stack([drawn(init, weft, "orthogonal_", (3, 3)) for _ in range(600)])
    assert np.abs(many.mean(0)).max() < 0.1
    np.testing.assert_allclose(many.var(0), 1 / 3, atol=0.05)


@pytest.mark.parametrize("name, shape, settings", [
    ("zeros_", (3, 4), {}), ("ones_", (3, 4), {}), ("constant_", (3, 4), {"val": 0.3}), ("eye_", (3, 5), {}), ("eye_", (5, 3), {}),
    ("dirac_", (4, 4, 3), {}), ("dirac_", (6, 3, 3, 5), {}), ("dirac_", (4, 6, 2, 3, 3), {}), ("dirac_", (6, 3, 3, 4), {"groups": 3}),
])  # fmt: skip
def test_deterministic(name, shape, settings):
    ours, theirs = drawn(init, weft, name, shape, **settings), drawn(oracle, torch, name, shape, **settings)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("sparsity", [0.0, 0.1, 0.55, 1.0])
def test_sparse(sparsity):
    ours, theirs = (drawn(m, s, "sparse_", (40, 300), sparsity=sparsity, std=0.5) for m, s in ((init, weft), (oracle, torch)))
    assert ((ours == 0).sum(0) == (theirs == 0).sum(0)).all()
    assert ours[ours != 0].std() == pytest.approx(0.5, rel=0.05) if sparsity < 1 else not ours.any()


def test_gains():
    for name in ("linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert init.calculate_gain(name) == pytest.approx(oracle.calculate_gain(name))
    assert init.calculate_gain("leaky_relu", 0.3) == pytest.approx(oracle.calculate_gain("leaky_relu", 0.3))
    with pytest.raises(ValueError, match="'swoosh'"):
        init.calculate_gain("swoosh")


def test_mistakes_and_gradients():
    for wrong in (lambda: init.xavier_uniform_(weft.zeros(3)), lambda: init.eye_(weft.zeros(3)), lambda: init.dirac_(weft.zeros(3, 3)),
                  lambda: init.dirac_(weft.zeros(4, 3, 3), groups=3), lambda: init.orthogonal_(weft.zeros(3)),
                  lambda: init.kaiming_normal_(weft.zeros(3, 3), mode="both"), lambda: init.sparse_(weft.zeros(3), 0.1),
                  lambda: init.trunc_normal_(weft.zeros(3), a=2, b=1)):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError, match="must be a Tensor"):
        init.zeros_([1.0])
    p = weft.nn.Parameter(weft.zeros(3, 3))
    assert init.xavier_normal_(p) is p and p.requires_grad and p.is_leaf
    half = init.trunc_normal_(weft.zeros(300, 300, dtype=weft.float16))
    assert half.dtype == weft.float16 and half.float().std().item() == pytest.approx(0.88, abs=0.02)
    assert_close(init.ones_(weft.zeros(2, dtype=weft.float64)), torch.ones(2, dtype=torch.float64))
