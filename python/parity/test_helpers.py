"""The helpers find what differs, and say where."""

import numpy as np
import pytest
import torch
import torch.nn as tnn
import torch.nn.functional as TF
from helpers import assert_close, both, check_function, check_module, copy_weights, floats

import weft
import weft.nn.functional as F
from weft import nn


def test_what_is_equal_passes():
    check_function(F.gelu, TF.gelu, floats(4, 5), approximate="tanh")
    check_module(nn.Linear(3, 4), tnn.Linear(3, 4), floats(5, 3))
    ours, theirs = both(np.array([np.nan, np.inf, 1.0]))
    assert_close(ours, theirs)


def test_what_differs_is_named():
    with pytest.raises(AssertionError, match=r"1 of 3 elements differ; the worst, at \(1,\), is 2.5 instead of 2.0"):
        assert_close(weft.tensor([1.0, 2.5, 3.0]), torch.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(AssertionError, match=r"shape \(2,\) instead of \(3,\)"):
        assert_close(weft.ones(2), torch.ones(3))
    with pytest.raises(AssertionError, match="float64 instead of float32"):
        assert_close(weft.ones(2, dtype=weft.float64), torch.ones(2))
    with pytest.raises(AssertionError, match="gradient of argument 0"):
        check_function(lambda x: x.detach() * 2 + x, lambda x: x * 3, floats(3))


def test_weights_go_both_ways():
    ours, theirs = nn.Linear(3, 4), tnn.Linear(3, 4)
    copy_weights(ours, theirs)
    assert ours.weight.tolist() == theirs.weight.tolist()
    theirs = tnn.Linear(3, 4)
    copy_weights(theirs, ours)
    assert ours.bias.tolist() == theirs.bias.tolist()
