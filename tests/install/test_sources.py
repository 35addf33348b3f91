"""What `pip install .` and `make` start from: the source distribution has all that a wheel needs, and a Python that cannot be served is told so."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_source_distribution_is_complete(tmp_path):
    make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", make, tmp_path], cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    needed = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake/", "data/iris/", "data/digits/", "include/", "python/", "src/", "tools/")
    assert [name for name in tracked if name.startswith(needed) and name not in packed] == []
    assert not [name for name in packed if name.startswith((".venv", "build/", "data/mnist/"))]
    assert path.stat().st_size < 3_000_000


def test_free_threaded_python_is_refused(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1")
    flags = [f"-DPython_EXECUTABLE={sys.executable}", "-DWEFT_BUILD_PYTHON=ON", "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_BENCH=OFF"]
    configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build", *flags]
    done = subprocess.run(configure, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode != 0 and "Weft does not support free-threaded Python yet" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "change, name",
    [
        ("import sys; sys.version_info = (3, 9, 18, 'final', 0)", "Python 3.9"),
        ("import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1", "free-threaded Python 3."),
    ],
)
def test_make_refuses_such_a_python_before_it_makes_an_environment(tmp_path, change, name):
    (tmp_path / "sitecustomize.py").write_text(change)
    for folder in ("tools", "bin"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "tools/setup.sh", tmp_path / "tools")
    python = tmp_path / "bin/python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    env = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    done = subprocess.run([tmp_path / "tools/setup.sh", "python"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"python3 is {name}" in done.stdout and "Weft needs Python 3.10 or newer" in done.stdout
    assert not (tmp_path / ".venv").exists()
