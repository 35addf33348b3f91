"""Functions of the package itself: comparisons, limits, files, help by name."""

import numpy as np
import pytest

import weft


def test_comparisons():
    x = weft.tensor([1.0, 2.0])
    assert weft.allclose(x, x + 1e-7) and not weft.allclose(x, x + 1e-3) and weft.equal(x, x.clone())
    assert not weft.equal(x, weft.ones(3)) and not weft.allclose(x * float("nan"), x * float("nan"))
    assert weft.allclose(x * float("nan"), x * float("nan"), equal_nan=True)
    assert weft.allclose(weft.tensor([float("inf")]), weft.tensor([float("inf")]))
    assert weft.vstack([x, x]).shape == (2, 2) and weft.hstack([x, x]).shape == (4,)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo(name):
    mine, numpys = weft.finfo(getattr(weft, name)), np.finfo(name)
    for key in ("eps", "max", "min", "tiny", "bits"):
        assert getattr(mine, key) == pytest.approx(float(getattr(numpys, key)), rel=1e-12), key
    assert mine.resolution == pytest.approx(float(numpys.resolution), rel=1e-3)
    assert weft.finfo(weft.bfloat16).eps == 2**-7


@pytest.mark.parametrize("name", ["uint8", "int8", "int32", "int64", "uint64"])
def test_iinfo(name):
    mine, numpys = weft.iinfo(getattr(weft, name)), np.iinfo(name)
    assert (mine.min, mine.max, mine.bits) == (numpys.min, numpys.max, numpys.bits)
    with pytest.raises(TypeError, match="must be an integer type"):
        weft.iinfo(weft.float32)
    with pytest.raises(TypeError, match="must be a float type"):
        weft.finfo(weft.int32)


def test_files(tmp_path):
    model = weft.nn.Linear(2, 2)
    weft.save(model.state_dict(), tmp_path / "model")
    state = weft.load(tmp_path / "model")
    assert weft.equal(state["weight"], model.weight)


def test_help_by_name():
    names = weft.search_api("soft")
    assert {"weft.softmax", "weft.Tensor.softmax", "weft.nn.functional.log_softmax", "weft.nn.Softplus"} <= set(names)
    text = weft.describe_api("softmax")
    assert "weft.softmax(input, dim, dtype=None, *, out=None)" in text and "without overflow" in text
    with pytest.raises(ValueError, match="nothing is named"):
        weft.describe_api("nonsense")
