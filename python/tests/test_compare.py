"""bench/compare.py runs without the peers, too: its Weft columns agree with each other, and its options are checked."""

import json
import subprocess
import sys
from pathlib import Path

COMPARE = Path(__file__).resolve().parents[2] / "bench/compare.py"


def compare(*arguments):
    command = [sys.executable, str(COMPARE), "--peers", "", "--rounds", "1", "--seconds", "0.01", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_rows_without_peers(tmp_path):
    file = tmp_path / "rows.json"
    run = compare("--only", "tiny", "--only", "linear", "--only", "cold", "--json", str(file))
    assert run.returncode == 0, run.stdout + run.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["row"] for row in rows] == ["linear relu", "tiny mlp sgd", "cold start"]
    for row in rows:
        assert set(row["seconds"]) == {"weft", "weft.jit"} and all(0 < time < 60 for time in row["seconds"].values())
        assert row["ratio"] is None and row["notes"] == []


def test_unknown_names():
    assert "no such peer: numpy; there are torch, torch.compile, jax" in compare("--peers", "numpy").stderr
    assert "no row has that in its name" in compare("--only", "nothing").stderr


def test_results_must_agree():
    sys.path.insert(0, str(COMPARE.parent))
    try:
        from compare import disagreement
    finally:
        sys.path.pop(0)
    assert disagreement({"weft": [2.0, 1.0], "torch": [2.001, 1.0]}) == ""
    assert disagreement({"weft": [2.0, 1.0], "torch": [2.0, 1.01]}) == "weft has 1 where torch has 1.01"
    assert disagreement({"weft": [2.0], "jax": [float("nan")]}) == "weft has 2 where jax has nan"
