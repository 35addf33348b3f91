"""bench/plot.py: what it reads of a report, and the files that it draws (where matplotlib is installed)."""

import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench/plot.py"
REPORT = {
    "threads": 2,
    "geometric_mean": 1.5,
    "rows": [
        {"row": "matmul 256", "seconds": {"weft": 2e-4, "weft.jit": 1e-4, "torch": 2e-4, "torch.compile": 3e-4, "jax": 4e-4}, "ratio": 2.0, "notes": []},
        {"row": "svd 64", "seconds": {"weft": 4e-3, "torch": 2e-3}, "ratio": 0.5, "notes": []},
        {"row": "alone", "seconds": {"weft": 1e-3, "weft.jit": 1e-3}, "ratio": None, "notes": []},
        {"row": "failed", "seconds": {"torch": 1e-3}, "ratio": None, "notes": ["weft: it ended with status 1"]},
        {"row": "odd", "seconds": {"weft": 1e-3, "torch": 0.0, "jax": None}, "ratio": None, "notes": []},
        {"row": "none", "seconds": {}, "ratio": None, "notes": ["…"]},
    ],
}


@pytest.fixture
def plot():
    spec = importlib.util.spec_from_file_location("weft_bench_plot", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_that_can_be_drawn(plot):
    rows = plot.read(json.dumps(REPORT))
    assert [row for row, _ in rows] == ["matmul 256", "svd 64"]
    assert rows[0][1] == pytest.approx({"torch": 2, "torch.compile": 3, "jax": 4}) and rows[1][1] == pytest.approx({"torch": 0.5})
    assert plot.mean_of_best(rows) == pytest.approx(1)


def test_what_is_no_report(plot, tmp_path, capsys):
    for text, said in (("{", "Expecting"), ("[]", "no list"), ("{}", "no list"), ('{"rows": []}', "no row")):
        file = tmp_path / "rows.json"
        file.write_text(text)
        assert plot.main([str(file)]) == 1 and said in capsys.readouterr().err
    assert plot.main([str(tmp_path / "missing.json")]) == 1 and "No such file" in capsys.readouterr().err


def test_two_pictures(plot, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(REPORT))
    assert plot.main([str(file), "--title", "a title"]) == 0
    for theme in ("light", "dark"):
        picture = tmp_path / f"rows-{theme}.svg"
        assert str(picture) in capsys.readouterr().out or theme == "dark"
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert plot.THEMES["dark"]["text"] in picture.read_text()
    before = picture.read_text()
    assert plot.main([str(file), "--title", "a title", "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again-dark.svg").read_text() == before
    assert plot.main([str(file), "--only", "svd"]) == 0 and plot.main([str(file), "--only", "nothing"]) == 1
