"""The wheel in $WEFT_WHEEL, installed in a fresh environment of the Python that runs this: it works, from Python and from C++, and passes
a part of the Python tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
(WHEEL,) = Path(os.environ["WEFT_WHEEL"]).glob("*.whl")
VERSION = WHEEL.name.split("-")[1]
SUITE = ["tensor", "functions", "indexing", "shapes", "autograd", "autograd_function", "nn", "optim", "data", "jit", "numpy", "array_api", "serialization", "errors",
         "memory", "package"]  # fmt: skip


def succeed(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Runs the Python of a fresh environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    succeed(sys.executable, "-m", "venv", "--without-pip", folder)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*args):
        return succeed(folder / "bin" / "python", *args, cwd=folder, env=env)

    run.folder = folder
    run.place = run("-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip()
    succeed(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", run.place, WHEEL)
    return run


def test_it_works(installed):
    code = "import weft; print(weft.__file__); print((weft.ones(3) * 2).sum().item())"
    file, value = installed("-c", code).split()
    assert file.startswith(str(installed.folder)) and value == "6.0"
    assert installed("-c", "import weft; print(len(weft.datasets.iris().labels), len(weft.datasets.digits().labels))").split() == ["150", "1797"]


def test_it_says_what_runs_here(installed):
    text = installed("-m", "weft")
    for word in ("Weft", VERSION, "CPU", "caches", "backend", "threads", str(installed.folder)):
        assert word in text
    assert installed("-m", "weft", "--version").strip() == VERSION


def test_cpp_programs_find_it(installed, tmp_path):
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
    succeed("cmake", "-S", tmp_path, "-B", build, f"-Dweft_DIR={folder}", "-DCMAKE_BUILD_TYPE=Release")
    succeed("cmake", "--build", build)
    assert succeed(build / "user") == "tensor([2., 4., 6.])\n"
    assert Path(installed("-m", "weft", "--include").strip(), "weft", "tensor.h").is_file()


def test_it_passes_the_short_suite(installed):
    files = [ROOT / "python/tests" / f"test_{topic}.py" for topic in SUITE]
    succeed(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=ROOT, env=os.environ | {"PYTHONPATH": installed.place})
