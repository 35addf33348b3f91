"""weft.array_api against array_api_strict, which accepts nothing but the standard."""

import sys
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

import weft

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from array_api_cases import CASES, OPERATORS  # noqa: E402

ours = weft.ones(1).__array_namespace__()
array_api_strict.set_array_api_strict_flags(api_version="2024.12")


def assert_same(got, want, what):
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), what
        for g, w in zip(got, want):
            assert_same(g, w, what)
    elif isinstance(got, weft.Tensor):
        name = str(want.dtype).rsplit(".", 1)[-1]
        want = np.asarray(want.__array__() if hasattr(want, "__array__") else np.from_dlpack(want))
        # Strict's default float is float64, Weft's float32; all other types must agree.
        asked = {"float64": ("float64", "float32")}.get(name, (name,))
        assert str(got.dtype).removeprefix("weft.") in asked, f"{what}: {got.dtype} instead of {name}"
        assert tuple(got.shape) == want.shape, f"{what}: {tuple(got.shape)} instead of {want.shape}"
        rtol = 1.3e-6 if got.dtype == weft.float32 else 1e-11
        np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=rtol, err_msg=what)
    else:
        assert got == want, f"{what}: {got} instead of {want}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CASES, *(f"operator {name}" for name in OPERATORS)])
def test_cases(name):
    cases = CASES[name] if name in CASES else OPERATORS[name.removeprefix("operator ")]
    with np.errstate(all="ignore"):
        for i, case in enumerate(cases):
            assert_same(case(ours), case(array_api_strict), f"{name}, case {i}")
