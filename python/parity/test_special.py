"""weft.special against torch.special: names, values, types and gradients."""

import inspect

import numpy as np
import pytest
import torch
from helpers import assert_close, both

import weft

UNARY = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_ndtr logit "
    "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi round scaled_modified_bessel_k0 "
    "scaled_modified_bessel_k1 sinc spherical_bessel_j0"
).split()
POLYNOMIALS = [name for name in dir(torch.special) if "_polynomial_" in name]
# PyTorch's own error in float64; python/tests/test_special.py is stricter, with SciPy's values
LOOSE = {"airy_ai": 1e-5, "bessel_j0": 2e-6, "bessel_j1": 2e-6, "bessel_y0": 2e-6, "bessel_y1": 2e-6}


def test_every_name_is_there():
    theirs = {n for n in dir(torch.special) if not n.startswith("_") and callable(getattr(torch.special, n)) and not inspect.ismodule(getattr(torch.special, n))}
    ours = set(dir(weft.special))
    assert theirs - ours - {"Tensor"} == set()


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    ours, theirs = getattr(weft.special, name), getattr(torch.special, name)
    inside = name in ("erfinv", "logit", "ndtri")
    for dtype, exact in (("float64", LOOSE.get(name, 1e-11)), ("float32", 1e-5)):
        at = np.linspace(0.02, 0.98, 49) if inside else np.concatenate([np.linspace(-8.87, 9.13, 61), [1e-6, -1e-6, 25.0]])
        at = at[at > 0] if "_k" in name or "_y" in name or name == "entr" else at
        a, b = both(at.astype(dtype))
        got, want = ours(a), theirs(b)
        assert_close(got, want, name, rtol=exact, atol=exact)
        if want.requires_grad and name != "round":
            try:
                (g,) = torch.autograd.grad(want.sum(), [b])
            except (NotImplementedError, RuntimeError):
                continue
            keep = np.isfinite(g.numpy())
            (h,) = weft.autograd.grad(got.sum(), [a])
            close = np.isclose(h.numpy(), g.numpy(), rtol=max(exact, 1e-5 if dtype == "float32" else 1e-9) * 10, atol=exact * 10)
            assert close[keep].all(), f"gradient of {name} at {at[keep & ~close]}: {h.numpy()[keep & ~close]} instead of {g.numpy()[keep & ~close]}"


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    x = np.linspace(-1.0, 2.0, 25) if "shifted" not in name else np.linspace(0.0, 1.0, 25)
    for n in (-1, 0, 1, 2, 5, 6, 7, 9, 12):
        degrees = np.full(25, n)
        got = getattr(weft.special, name)(weft.tensor(x), weft.tensor(degrees))
        want = getattr(torch.special, name)(torch.tensor(x), torch.tensor(degrees))
        if n <= 6 or "chebyshev" not in name or name.endswith("t"):  # PyTorch's trigonometric forms differ in V and W beyond degree 8
            assert_close(got, want, f"{name} {n}", rtol=1e-9, atol=1e-8)
        assert_close(getattr(weft.special, name)(weft.tensor(x), n), getattr(torch.special, name)(torch.tensor(x), n)) if n <= 6 else None


def test_functions_of_two():
    a, b = np.array([0.5, 2.0, 10.0, 1.0]), np.array([0.3, 3.0, 9.0, 0.0])
    for name in ("gammainc", "gammaincc", "xlogy", "xlog1py", "zeta"):
        first = a + 1 if name == "zeta" else a
        second = b + 0.5 if name == "zeta" else b
        (x, u), (y, v) = both(first, False), both(second)
        got, want = getattr(weft.special, name)(x, y), getattr(torch.special, name)(u, v)
        assert_close(got, want, name, rtol=1e-10)
        (g,), (h,) = weft.autograd.grad(got.sum(), [y]), torch.autograd.grad(want.sum(), [v])
        keep = np.isfinite(h.numpy())
        assert np.allclose(g.numpy()[keep], h.numpy()[keep], rtol=1e-8), name
    for p in (1, 2, 4):
        x, u = both(np.array([2.5, 7.0, 30.0]))
        assert_close(weft.special.multigammaln(x, p), torch.special.multigammaln(u, p), "multigammaln", rtol=1e-11)
    x, u = both(np.array([[2.5, 7.0, 30.0]]))
    for name in ("softmax", "log_softmax", "logsumexp"):
        assert_close(getattr(weft.special, name)(x, -1), getattr(torch.special, name)(u, -1), name)
    assert_close(weft.special.polygamma(2, x), torch.special.polygamma(2, u), rtol=1e-8)
