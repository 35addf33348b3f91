"""The programs of python/tests/scripts, run by PyTorch and by `python -m weft`: the same lines, and the same losses."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft

SCRIPTS = Path(__file__).parents[1] / "tests" / "scripts"
PACKAGE = str(Path(weft.__file__).resolve().parent.parent)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])]),
    "OMP_NUM_THREADS": "1",  # the programs are small
    "TORCHDYNAMO_DISABLE": "1",  # torch.compile hands back the model: what is compared is its arithmetic
}
CALLS = [path.stem for path in sorted(SCRIPTS.glob("*.py")) if path.stem != "steady"] + ["transformer --amp"]
NUMBER = re.compile(r"(?<=loss )-?\d+\.\d+")


def printed(call, *hook):
    name, *arguments = call.split()
    done = subprocess.run([sys.executable, *hook, str(SCRIPTS / f"{name}.py"), *arguments], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("call", CALLS)
def test_script(call):
    ours, theirs = printed(call, "-m", "weft"), printed(call)
    assert NUMBER.sub("x", ours) == NUMBER.sub("x", theirs)
    got, want = ([float(number) for number in NUMBER.findall(text)] for text in (ours, theirs))
    tolerance = 1e-2 if "--amp" in call else 1e-4  # bfloat16 has 8 bits, and where a sum is rounded depends on its order
    assert len(want) > 3
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance / 100)
