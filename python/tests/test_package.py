"""The package as it is installed: a wheel, built and tried in a fresh environment; what an import costs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(*args, **options):
    return subprocess.run([sys.executable, *map(str, args)], check=True, capture_output=True, text=True, **options).stdout


def test_an_import_is_quick_and_brings_no_numpy():
    code = """if True:
        import time
        start = time.process_time()  # not wall time: other tests run beside this one
        import weft
        took = time.process_time() - start
        import sys
        assert "numpy" not in sys.modules
        print(took)"""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}  # an installation has compiled files
    best = min(float(python("-c", code, env=env)) for _ in range(6))
    assert best < 0.06


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    compiler = {"CXX": os.environ.get("CXX", "c++")}  # as CMake itself chooses, so that ccache has most of it already
    try:
        python("-m", "pip", "wheel", ROOT, "--no-build-isolation", "--no-deps", "--quiet", "-w", folder, env=os.environ | compiler)
    except subprocess.CalledProcessError as error:
        pytest.fail(error.stdout + error.stderr)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_is_small_and_complete(wheel):
    assert wheel.stat().st_size < 3_000_000
    names = zipfile.ZipFile(wheel).namelist()
    assert "weft/__init__.py" in names and "weft/nn/functional.py" in names and "weft/py.typed" in names
    assert sum(name.startswith("weft/_weft.") for name in names) == 1
    assert all(name.startswith(("weft/", "weft-")) for name in names), names
    stable = sys.version_info >= (3, 12)
    assert ("abi3" in wheel.name) == stable


def test_the_wheel_works(wheel, tmp_path):
    python("-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", tmp_path, wheel)
    code = "import weft; print(weft.__file__); print((weft.ones(3) * 2).sum().item())"
    file, value = python("-c", code, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}).split()
    assert file.startswith(str(tmp_path)) and value == "6.0"
