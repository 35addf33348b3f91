"""Builds the wheel of the Python that runs this, into $WEFT_WHEEL, and looks at it: what is in it, its size, which systems it fits."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ["WEFT_WHEEL"])


@pytest.fixture(scope="module")
def wheel():
    for old in FOLDER.glob("*.whl"):
        old.unlink()
    env = os.environ | {"CXX": os.environ.get("CXX", "c++")}  # as CMake itself chooses, so that ccache has the library already
    build = [sys.executable, "-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "--quiet", "-w", FOLDER]
    done = subprocess.run(build, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = FOLDER.glob("*.whl")
    return path


def test_it_is_small_and_complete(wheel):
    assert wheel.stat().st_size < 3.6e6
    names = zipfile.ZipFile(wheel).namelist()
    assert "weft/__init__.py" in names and "weft/nn/functional.py" in names and "weft/py.typed" in names
    assert {"weft/_weft/__init__.pyi", "weft/_weft/functional.pyi", "weft/_weft/_linalg.pyi", "weft/include/weft/weft.h"} <= set(names)
    assert [name for name in names if "libweft" in name] == ["weft/lib/libweft.so"]  # once, and not again under the names with versions
    assert {"weft/data/iris/iris-features-idx2-float.gz", "weft/data/digits/digits-images-idx3-ubyte.gz"} <= set(names)
    assert all(name.startswith(("weft/", "weft-")) for name in names), names


def test_it_is_for_this_python_or_for_all_from_3_12_on(wheel):
    (module,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("weft/_weft."))
    if sys.version_info >= (3, 12):
        assert "-cp312-abi3-" in wheel.name and module == "weft/_weft.abi3.so"
    else:
        version = f"3{sys.version_info[1]}"
        assert f"-cp{version}-cp{version}-" in wheel.name and module.startswith(f"weft/_weft.cpython-{version}-")


def test_it_runs_where_glibc_is_2_34_or_newer(wheel):
    text = subprocess.run([ROOT / ".venv-audit/bin/auditwheel", "show", wheel], check=True, capture_output=True, text=True).stdout
    text = " ".join(text.split())
    found = re.search(r'is consistent with the following platform tag: "manylinux_2_(\d+)_', text)
    assert found and int(found[1]) <= 34, text
