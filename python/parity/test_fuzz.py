"""Programs that were wrong once, and random ones, against PyTorch: python/fuzz says more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft

FUZZ = Path(__file__).parents[1] / "fuzz"
BUILD = Path(weft.__file__).parents[2]


def fuzz(*arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    command = [sys.executable, FUZZ / "fuzz.py", "--build", BUILD, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", sorted((FUZZ / "corpus").glob("*.py")), ids=lambda path: path.stem)
def test_what_was_wrong_once(program):
    fuzz("--program", program)


def test_random_programs():
    fuzz("--seconds", "60")
