"""Products of f32 as tf32, by choice. The oracle is NumPy in f64, of factors that are rounded by their bits."""

from __future__ import annotations

import numpy as np
import pytest
import weft
import weft.nn.functional as F

# Without and with tensor cores; a GPU where there is one.
DEVICES = ["simulated", "simulated:1", *(["cuda"] if weft.cuda.is_available() else [])]


@pytest.fixture(autouse=True)
def _restored():
    yield
    weft.set_float32_matmul_precision("highest")


def rounded(x):
    """To 10 bits behind the point, ties away from zero."""
    return ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def close(got, expected, terms):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got.detach().cpu().numpy(), expected, rtol=0, atol=scale * 1e-7 * terms**0.5 * 4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", ["high", "medium"])
def test_products_are_of_rounded_factors(device, precision):
    a, b, c = normal(70, 90), normal(90, 80, seed=1), normal(80, seed=2)
    x, w, bias = (weft.from_numpy(n).to(device) for n in (a, np.ascontiguousarray(b.T), c))
    weft.set_float32_matmul_precision(precision)
    expected = rounded(a) @ rounded(b)
    assert np.abs(expected - a.astype(np.float64) @ b).max() > 1e-3  # the tolerance can tell
    close(x @ w.T, expected, 90)
    close(F.relu(F.linear(x, w, bias)), np.maximum(expected + c, 0), 90)
    close(weft.einsum("ik,jk->ji", x, w), expected.T, 90)
    close(weft.bmm(x[None], w.T[None]), expected[None], 90)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_products_of_rounded_factors(device):
    a, b, g = normal(70, 90), normal(90, 80, seed=1), normal(70, 80, seed=2)
    x, y = (weft.from_numpy(n).to(device).requires_grad_() for n in (a, b))
    weft.set_float32_matmul_precision("high")
    (x @ y).backward(weft.from_numpy(g).to(device))
    close(x.grad, rounded(g) @ rounded(b).T, 80)
    close(y.grad, rounded(a).T @ rounded(g), 70)


@pytest.mark.parametrize("device", DEVICES)
def test_a_captured_function_follows_the_setting(device):
    a, b = normal(70, 90), normal(90, 80, seed=1)
    x, y = (weft.from_numpy(n).to(device) for n in (a, b))
    product = weft.jit(lambda x, y: x @ y)
    for precision, expected in [("highest", a.astype(np.float64) @ b), ("high", rounded(a) @ rounded(b))] * 2:
        weft.set_float32_matmul_precision(precision)
        close(product(x, y), expected, 90)


def test_the_cpu_is_exact():
    x, y = weft.from_numpy(normal(70, 90)), weft.from_numpy(normal(90, 80, seed=1))
    exact = (x @ y).numpy()
    weft.set_float32_matmul_precision("high")
    assert ((x @ y).numpy() == exact).all()


def test_settings_agree():
    matmul = weft.backends.cuda.matmul
    assert weft.get_float32_matmul_precision() == "highest" and not matmul.allow_tf32 and matmul.fp32_precision == "ieee"
    weft.set_float32_matmul_precision("medium")
    assert weft.get_float32_matmul_precision() == "medium" and matmul.allow_tf32
    matmul.allow_tf32 = False
    assert weft.get_float32_matmul_precision() == "highest"
    matmul.fp32_precision = "tf32"
    assert weft.get_float32_matmul_precision() in ("high", "medium") and matmul.allow_tf32
    with pytest.raises(ValueError, match="precision"):
        weft.set_float32_matmul_precision("low")
    with pytest.raises(ValueError, match="fp32_precision"):
        matmul.fp32_precision = "low"
