"""print(tensor) against PyTorch's, character by character."""

import numpy as np
import pytest
import torch

import weft

inf, nan = float("inf"), float("nan")
random = np.random.default_rng(0)

CASES = {
    "integers": np.array([1, 2, 3]),
    "negative": np.array([1, -20, 300]),
    "matrix": np.arange(6).reshape(2, 3),
    "int8": np.array([1, -128, 127], np.int8),
    "int16": np.array([[1, 2]], np.int16),
    "int32": np.array([1, 2], np.int32),
    "uint8": np.array([0, 255], np.uint8),
    "0-d int": np.array(7),
    "0-d float": np.array(2.5, np.float32),
    "0-d double": np.array(2.5),
    "0-d bool": np.array(True),
    "0-d whole": np.array(3.0, np.float32),
    "0-d nan": np.array(nan, np.float32),
    "0-d small": np.array(1e-7, np.float32),
    "0-d large": np.array(123456789.0, np.float32),
    "bools": np.array([True, False]),
    "bool matrix": np.array([[True, False], [False, False]]),
    "floats": np.array([1.5, 2.25, -3.125], np.float32),
    "whole": np.array([1.0, 2.0, 3.0], np.float32),
    "whole negative": np.array([-1.0, 20.0, 0.0], np.float32),
    "zeros": np.zeros((2, 3), np.float32),
    "minus zero": np.array([-0.0, 1.0], np.float32),
    "thirds": np.array([1 / 3, 2 / 3, 1.0], np.float32),
    "double": np.array([1 / 3, 1e3]),
    "half": np.array([1.5, 0.1], np.float16),
    "scientific small": np.array([1e-5, 1.0], np.float32),
    "scientific large": np.array([1e10, 1.0], np.float32),
    "scientific ratio": np.array([0.001, 1000.5], np.float32),
    "ratio of 1000": np.array([0.5, 500.0], np.float32),
    "large whole": np.array([1e6, 2e7], np.float32),
    "very large whole": np.array([1e9, 2.0], np.float32),
    "nan": np.array([1.0, nan, inf, -inf], np.float32),
    "only nan": np.array([nan, inf], np.float32),
    "nan and fractions": np.array([0.5, nan, -inf], np.float32),
    "empty": np.zeros(0, np.float32),
    "empty matrix": np.zeros((0, 3), np.float32),
    "empty inner": np.zeros((2, 0, 3), np.int64),
    "3-d": np.arange(12).reshape(2, 3, 2),
    "4-d": np.arange(16.0, dtype=np.float32).reshape(2, 2, 2, 2),
    "long row": np.arange(40),
    "long float row": random.normal(size=30).astype(np.float32),
    "long bool row": np.arange(50) % 3 == 0,
    "normal": random.normal(size=(3, 4)).astype(np.float32),
    "summarised": np.arange(2000),
    "summarised floats": random.normal(size=2000).astype(np.float32),
    "summarised matrix": random.normal(size=(100, 100)).astype(np.float32),
    "summarised 3-d": np.arange(4 * 30 * 20).reshape(4, 30, 20),
    "exactly 1000": np.arange(1000),
    "1001": np.arange(1001),
    "one row of many": np.arange(3000.0, dtype=np.float32).reshape(1, 3000),
    "tall": np.arange(3000.0, dtype=np.float32).reshape(3000, 1),
    "rows of eleven": random.normal(size=(3, 11)).astype(np.float32),
    "two lines of floats": np.arange(15.0, dtype=np.float32) * 1000.5,
    "wide numbers": np.array([123456789012, 1]),
    "tiny": np.array([1e-40, 1e-30], np.float32),
    "max": np.array([3.4e38, -3.4e38], np.float32),
}


def named(text):
    return text.replace("torch.", "weft.")


@pytest.mark.parametrize("case", CASES)
def test_repr(case):
    array = CASES[case]
    ours, theirs = weft.tensor(array), torch.tensor(array)
    assert named(repr(theirs)) == repr(ours)
    assert named(str(theirs)) == str(ours)


def test_gradients():
    for values in ([1.0, 2.5], 3.0):
        ours, theirs = weft.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
        assert repr(ours) == repr(theirs)
        assert repr(ours * 2) == repr(theirs * 2) and repr(ours.exp()) == repr(theirs.exp())
    ours, theirs = weft.ones(30, 2, dtype=weft.float64, requires_grad=True), torch.ones(30, 2, dtype=torch.float64, requires_grad=True)
    assert named(repr(theirs)) == repr(ours)


def test_bfloat16_and_sizes():
    assert named(repr(torch.tensor([1.5, 2], dtype=torch.bfloat16))) == repr(weft.tensor([1.5, 2], dtype=weft.bfloat16))
    assert named(repr(torch.ones(2, 3).shape)) == repr(weft.ones(2, 3).shape)
    assert f"{weft.tensor(3.14159):.2f}" == f"{torch.tensor(3.14159):.2f}" == "3.14"
    assert repr(weft.nn.Parameter(weft.ones(2))) == repr(torch.nn.Parameter(torch.ones(2)))
