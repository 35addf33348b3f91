"""Types: mypy accepts the package and a user's program, and finds mistakes in another one."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import weft

HERE = Path(__file__).parent
PACKAGE = Path(weft.__file__).parent


def mypy(*arguments, settings=("--config-file", str(HERE.parent.parent / "pyproject.toml"))):
    if importlib.util.find_spec("mypy") is None:
        pytest.fail("mypy is missing: tools/setup.sh python installs it")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", *settings, "--cache-dir", os.devnull, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_package():
    done = mypy(PACKAGE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_program():
    done = mypy(HERE / "typing" / "program.py", settings=["--strict", "--config-file", os.devnull, "--follow-imports", "silent"])
    assert done.returncode == 0, done.stdout + done.stderr
    program = runpy.run_path(str(HERE / "typing" / "program.py"))
    assert program["main"]() > 0


def test_mistakes_are_found():
    path = HERE / "typing" / "wrong.py"
    expected = {n for n, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# error")}
    found = {int(n) for n in re.findall(r"wrong\.py:(\d+): error", mypy(path).stdout)}
    assert found == expected


def test_stubs_have_everything():
    text = (PACKAGE / "_weft" / "__init__.pyi").read_text()
    for name in ("softmax", "tensor", "Tensor", "einsum" if hasattr(weft, "einsum") else "matmul"):
        assert re.search(rf"^(def|class) {name}\b", text, re.M), name
    for name in dir(weft.Tensor):
        assert name.startswith("__") or re.search(rf"^    (def {name}\(|{name}: )", text, re.M), name
    assert '"""The values in another element type' in text  # docs, for editors
