"""The package as it is installed: a wheel, built and tried in a fresh environment; what an import costs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import weft

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
    assert {"weft/_weft/__init__.pyi", "weft/_weft/functional.pyi", "weft/_weft/_linalg.pyi", "weft/lib/libweft.so", "weft/include/weft/weft.h"} <= set(names)
    assert {"weft/data/iris/iris-features-idx2-float.gz", "weft/data/digits/digits-images-idx3-ubyte.gz"} <= set(names)
    assert sum(name.startswith("weft/_weft.") for name in names) == 1
    assert all(name.startswith(("weft/", "weft-")) for name in names), names
    stable = sys.version_info >= (3, 12)
    assert ("abi3" in wheel.name) == stable


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    python("-m", "venv", "--without-pip", folder)
    place = subprocess.run(
        [folder / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], check=True, capture_output=True, text=True
    ).stdout.strip()
    python("-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", place, wheel)

    def run(*args):
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.run([folder / "bin" / "python", *args], check=True, capture_output=True, text=True, cwd=folder, env=env).stdout

    run.folder = folder
    return run


def test_the_wheel_works(installed):
    code = "import weft; print(weft.__file__); print((weft.ones(3) * 2).sum().item())"
    file, value = installed("-c", code).split()
    assert file.startswith(str(installed.folder)) and value == "6.0"
    assert installed("-c", "import weft; print(len(weft.datasets.iris().labels), len(weft.datasets.digits().labels))").split() == ["150", "1797"]


def test_it_says_what_runs_here(installed):
    text = installed("-m", "weft")
    for word in ("Weft", weft.__version__, "CPU", "caches", "backend", "threads", str(installed.folder)):
        assert word in text
    assert installed("-m", "weft", "--version").strip() == weft.__version__


def test_cpp_programs_find_the_wheel(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
        project(user LANGUAGES CXX)
        find_package(weft 0.1 REQUIRED)
        add_executable(user user.cpp)
        target_link_libraries(user PRIVATE weft::weft)""")
    (tmp_path / "user.cpp").write_text("""#include <weft/weft.h>
        #include <iostream>
        int main() {
            weft::Tensor x = weft::tensor({1, 2, 3}, weft::f32);
            x.set_requires_grad();
            try {
                weft::matmul(x, weft::ones({2, 2}));
            } catch (const weft::ShapeError&) {
                (x * x).sum().backward();
            }
            std::cout << x.grad() << std::endl;
        }""")
    folder = installed("-m", "weft", "--cmake-dir").strip()
    build = tmp_path / "build"
    for command in (["cmake", "-S", tmp_path, "-B", build, f"-Dweft_DIR={folder}", "-DCMAKE_BUILD_TYPE=Release"], ["cmake", "--build", build]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([build / "user"], check=True, capture_output=True, text=True).stdout == "tensor([2., 4., 6.])\n"
    assert Path(installed("-m", "weft", "--include").strip(), "weft", "tensor.h").is_file()
