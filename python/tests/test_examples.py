"""Every example in examples/python, in its short form: it runs, and it learns what it should."""

import importlib.util
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "python"


@pytest.fixture
def run(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(ROOT)

    def short(name, *arguments):
        return importlib.import_module(name).main(["--short", *arguments])

    return short


def test_all_are_here():
    tested = set(re.findall(r'run\("(\w+)"', Path(__file__).read_text()))
    assert tested == {path.stem for path in EXAMPLES.glob("*.py")} - {"generation"}  # what others import


def test_linear_regression(run):
    from_truth, from_exact = run("linear_regression")
    assert from_truth < 0.02 and from_exact < 1e-4


def test_logistic_regression(run):
    right, slope = run("logistic_regression")
    assert right >= 0.93 and slope < 1e-3  # at the bottom, where the gradient is 0


def test_iris(run):
    assert run("iris") >= 0.93


def test_kmeans(run):
    missed, history = run("kmeans")
    assert missed < 0.2 and all(a >= b * (1 - 1e-6) for a, b in zip(history, history[1:]))


def test_custom_function(run):
    assert run("custom_function") == 0


def test_bandit(run):
    assert run("bandit") > 0.6


def test_digits_cnn(run):
    assert run("digits_cnn") >= 0.97


def test_mnist_cnn(run):
    assert run("mnist_cnn") > 0.85


def test_char_transformer(run):
    loss, written = run("char_transformer")
    assert loss < 2.7 and written.startswith("When I ") and len(written) == 87  # letters by their frequency alone: 3.1


def test_gpt2(run):
    assert run("gpt2")  # with a cache it writes what it writes without


def test_llama(run):
    assert run("llama")


def test_bert(run):
    assert [len(set(row)) for row in run("bert")] == [5] * 4


def test_resnet(run):
    losses = run("resnet")
    assert losses[-1] < 0.1 * losses[0]


def test_gpt2_splits_words_as_its_files_say(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from gpt2 import Words

    letters = ["l", "o", "w", "e", "r", "Ġ", "lo", "low", "er", "Ġlow", "!"]
    (tmp_path / "vocab.json").write_text(json.dumps({part: i for i, part in enumerate(letters)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nl o\nlo w\ne r\nĠ low\n")
    words = Words(tmp_path)
    ids = words.encode("lower lowe!")
    assert [letters[i] for i in ids] == ["low", "er", "Ġlow", "e", "!"] and words.decode(ids) == "lower lowe!"


def test_mnist_mlp_and_its_picture(run, tmp_path, capsys):
    picture, page = tmp_path / "demo.png", tmp_path / "demo.html"
    assert run("mnist_mlp", "--picture", str(picture), "--page", str(page)) > 0.88
    assert "F.cross_entropy(model(x), y)" in page.read_text(encoding="utf-8")
    said = capsys.readouterr().out
    for line in (r"test accuracy   \d\d\.\d\d%", r"images/s        [\d,]+", r"kernels         \d+ compiled", r"compile time    [\d.]+ ms"):
        assert re.search(line, said), line
    if importlib.util.find_spec("matplotlib") is None:
        assert "needs matplotlib" in said and not picture.exists()
        return
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and struct.unpack_from(">II", data, 16) == (1000, 430)


def test_as_a_program():
    done = subprocess.run([sys.executable, str(EXAMPLES / "iris.py"), "--short"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and re.search(r"\d+\.\d% of 45 flowers", done.stdout), done.stderr
