"""The same training program on both sides: from the same weights come the same losses."""

import re
import types
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_same_state, copy_weights

SOURCE = Path(__file__).with_name("training_program.py").read_text()


def for_weft(source):
    """The program with its import lines changed."""
    lines = []
    for line in source.splitlines():
        if re.match(r"(import|from) torch\b", line):
            line = "import weft as torch" if line == "import torch" else re.sub(r"\btorch\b", "weft", line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def module(name, source):
    result = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), result.__dict__)
    return result


@pytest.fixture(scope="module")
def programs():
    return module("on_weft", for_weft(SOURCE)), module("on_pytorch", SOURCE)


def data(count=128):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, count)
    prototypes = rng.standard_normal((10, 8, 8))
    images = prototypes[labels] + 0.5 * rng.standard_normal((count, 8, 8))
    return images.astype("float32"), labels


def twins(programs, name):
    ours, theirs = (program.MODELS[name]() for program in programs)
    copy_weights(theirs, ours)
    return ours, theirs


def same(got, want, rtol):
    assert got.keys() == want.keys()
    for key in want:
        np.testing.assert_allclose(got[key], want[key], rtol=rtol, atol=rtol, err_msg=key)


def test_only_import_lines_differ():
    changed = [(a, b) for a, b in zip(SOURCE.splitlines(), for_weft(SOURCE).splitlines(), strict=True) if a != b]
    assert len(changed) == 7 and all(a.startswith(("import torch", "from torch")) for a, _ in changed)
    assert ("import torch", "import weft as torch") in changed and ("import torch.nn as nn", "import weft.nn as nn") in changed


@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training(programs, name, optimizer):
    ours, theirs = twins(programs, name)
    got, want = (program.train(model, optimizer, *data()) for program, model in zip(programs, (ours, theirs)))
    same(got, want, 5e-5)
    assert want["losses"][-1] < want["losses"][0]
    assert_same_state(ours, theirs, 2e-4, 2e-4)


@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer"])
def test_accumulated_gradients(programs, name):
    ours, theirs = twins(programs, name)
    same(programs[0].accumulate(ours, *data(256)), programs[1].accumulate(theirs, *data(256)), 5e-5)
    assert_same_state(ours, theirs, 2e-4, 2e-4)


@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer"])
def test_tricks(programs, name):
    ours, theirs = twins(programs, name)
    got, want = programs[0].tricks(ours, *data()), programs[1].tricks(theirs, *data())
    assert len(want["seen"]) == 4
    same(got, want, 5e-5)
    assert_same_state(ours, theirs, 2e-4, 2e-4)
