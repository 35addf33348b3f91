"""weft.signal.windows against torch.signal.windows: names, signatures, values."""

import inspect

import pytest
import torch
import torch.signal.windows as theirs
from helpers import assert_close

import weft
import weft.signal.windows as ours

SETTINGS = {"exponential": {"tau": 2.5}, "gaussian": {"std": 1.7}, "general_cosine": {"a": [0.4, 0.3, 0.2]}, "general_hamming": {"alpha": 0.6}, "kaiser": {"beta": 9.0}}


def test_every_name_is_there():
    assert set(theirs.__all__) <= set(ours.__all__)


@pytest.mark.parametrize("name", theirs.__all__)
def test_windows(name):
    settings = SETTINGS.get(name, {})
    for M in (0, 1, 2, 7, 64):
        for sym in (True, False):
            got = getattr(ours, name)(M, sym=sym, dtype=weft.float64, **settings)
            want = getattr(theirs, name)(M, sym=sym, dtype=torch.float64, **settings)
            assert_close(got, want, f"{name}({M}, sym={sym})", rtol=1e-11, atol=1e-12)
            assert_close(getattr(ours, name)(M, sym=sym, **settings), getattr(theirs, name)(M, sym=sym, **settings), name, rtol=1e-5, atol=1e-6)
    defaults = {k: v.default for k, v in inspect.signature(getattr(theirs, name)).parameters.items() if k != "layout"}
    assert {k: v.default for k, v in inspect.signature(getattr(ours, name)).parameters.items()} == defaults
