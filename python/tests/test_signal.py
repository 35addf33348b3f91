"""weft.signal.windows against SciPy's windows, and the closed forms of the others."""

import numpy as np
import pytest
from scipy.signal import windows as reference

import weft
import weft.signal.windows as windows

CASES = {
    "bartlett": ({}, lambda M, sym: reference.bartlett(M, sym)),
    "blackman": ({}, lambda M, sym: reference.blackman(M, sym)),
    "cosine": ({}, lambda M, sym: reference.cosine(M, sym)),
    "exponential": ({"tau": 2.5}, lambda M, sym: reference.exponential(M, None, 2.5, sym)),
    "gaussian": ({"std": 1.7}, lambda M, sym: reference.gaussian(M, 1.7, sym)),
    "general_cosine": ({"a": [0.4, 0.3, 0.2, 0.1]}, lambda M, sym: reference.general_cosine(M, [0.4, 0.3, 0.2, 0.1], sym)),
    "general_hamming": ({"alpha": 0.6}, lambda M, sym: reference.general_hamming(M, 0.6, sym)),
    "hamming": ({}, lambda M, sym: reference.hamming(M, sym)),
    "hann": ({}, lambda M, sym: reference.hann(M, sym)),
    "kaiser": ({"beta": 9.0}, lambda M, sym: reference.kaiser(M, 9.0, sym)),
    "nuttall": ({}, lambda M, sym: reference.nuttall(M, sym)),
}


@pytest.mark.parametrize("name", CASES)
def test_windows(name):
    settings, known = CASES[name]
    window = getattr(windows, name)
    for M in (0, 1, 2, 3, 8, 65):
        for sym in (True, False):
            got = window(M, sym=sym, dtype=weft.float64, **settings)
            assert got.shape == (M,) and np.allclose(got.numpy(), known(M, sym), atol=3e-15, rtol=1e-13), (M, sym)
            assert np.allclose(window(M, sym=sym, **settings).numpy(), known(M, sym).astype("f4"), rtol=6e-8, atol=1e-9), (M, sym)
    assert window(4, **settings).dtype == weft.float32 and window(4, dtype=weft.float16, **settings).dtype == weft.float16
    assert window(4, requires_grad=True, **settings).requires_grad
    for M, kind, message in ((-1, ValueError, "must not be negative"), (2.5, TypeError, "must be an int, not float")):
        with pytest.raises(kind, match=rf"^{name}\(\): argument 'M' {message}"):
            window(M, **settings)
    with pytest.raises(ValueError, match=rf"^{name}\(\): argument 'dtype' must be a float type"):
        window(3, dtype=weft.int64, **settings)


def test_a_large_beta_does_not_overflow():
    assert np.allclose(windows.kaiser(9, beta=1000.0, dtype=weft.float64).numpy()[4], 1)
    assert windows.kaiser(9, beta=0.0).tolist() == [1.0] * 9


def test_a_centre_of_its_own():
    got = windows.exponential(5, center=1.0, tau=2.0, sym=False, dtype=weft.float64).numpy()
    assert np.allclose(got, np.exp(-np.abs(np.arange(5) - 1.0) / 2))


def test_mistakes():
    for call, kind, message in (
        (lambda: windows.gaussian(5, std=0.0), ValueError, r"^gaussian\(\): argument 'std' must be positive, but is 0.0"),
        (lambda: windows.exponential(5, tau=-1.0), ValueError, r"^exponential\(\): argument 'tau' must be positive"),
        (lambda: windows.exponential(5, center=1.0), ValueError, "must be None where 'sym' is True"),
        (lambda: windows.kaiser(5, beta=-1.0), ValueError, r"^kaiser\(\): argument 'beta' must not be negative"),
        (lambda: windows.general_cosine(5, a=0.5), TypeError, "must be a list of numbers, not float"),
        (lambda: windows.general_cosine(5, a=[]), ValueError, "at least one number"),
        (lambda: windows.hann(5, device="mps"), RuntimeError, "no device 'mps'"),
    ):
        with pytest.raises(kind, match=message):
            call()
