#!/usr/bin/env python3
"""A new backend is a folder and a line of src/backend/backends.def: no other file has to know it.

    backend_skeleton_test.py COMPILER

The skeletons are those of docs/howto/backend.md. Each is put into a copy of the sources, with its line of the list; then what expands the list
compiles, and nobody includes what he must not. That no other file names a backend is looked up for those that there are.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import include_direction_test

ROOT = Path(__file__).resolve().parents[2]
LIST = "src/backend/backends.def"
SKELETON = re.compile(r"^ *```cpp\n((?:(?!```).)*\bmine_backend\(\)(?:(?!```).)*)^ *```\n", re.M | re.S)

# Who may name a backend, outside of its folder.
MAY_NAME = {
    "ref": {"src/backend/", "src/core/target.h"},  # it stands in where another one is not usable
    "x86": {"src/backend/no_x86.cpp", "CMakeLists.txt", "tests/support/backends.h"},  # left out of some builds
    "cuda": {"src/cells/cuda.cpp", "src/io/pt.cpp", "CMakeLists.txt"},  # weft/cuda.h; PyTorch's name in a file; what is not compiled for size
}


def copy_with(skeleton, root):
    for folder in ("src", "include"):
        shutil.copytree(ROOT / folder, root / folder)
    (root / "python" / "src").mkdir(parents=True)
    (root / "src/backend/mine").mkdir()
    (root / "src/backend/mine/mine.cpp").write_text(skeleton)
    with open(root / LIST, "a") as file:
        file.write("WEFT_BACKEND(mine)\n")


def compiles(compiler, root, file):
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root / 'include'}", f"-I{root / 'src'}"]
    return subprocess.run([*command, str(root / file)], capture_output=True, text=True)


def named_elsewhere():
    """Lines that name a backend, or its devices, and need not know them."""
    files = [ROOT / "CMakeLists.txt", ROOT / "tests/support/backends.h", *sorted((ROOT / "src").rglob("*.[ch]*"))]
    for name in re.findall(r"^WEFT_BACKEND\((\w+)\)", (ROOT / LIST).read_text(), re.M):
        own = f"src/backend/{name}/"
        devices = {device for file in (ROOT / own).glob("*.cpp") for device in re.findall(r'\{\.name = "(\w+)"', file.read_text())}
        texts = "|".join(text for text in {name, *devices} if len(text) > 1)  # "c" is many things
        known = re.compile(rf'\b{name}_backend\b|\bbackend/{name}/' + (f'|"({texts})"' if texts else ""))
        for file in files:
            path = file.relative_to(ROOT).as_posix()
            if path.startswith((own, *MAY_NAME.get(name, ()))):
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if match := known.search(line.split("//")[0]):
                    yield f"{path}:{number}: {match[0]}: only the list of backends knows this one"


def main(compiler):
    skeletons = SKELETON.findall((ROOT / "docs/howto/backend.md").read_text())
    bad = [] if len(skeletons) == 2 else [f"docs/howto/backend.md: {len(skeletons)} skeletons, not 2"]
    bad += named_elsewhere()
    for skeleton in skeletons:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            copy_with(skeleton, root)
            bad += include_direction_test.offences(root)
            for file in ("src/backend/mine/mine.cpp", "src/backend/backend.cpp"):
                done = compiles(compiler, root, file)
                if done.returncode:
                    bad.append(done.stderr)
    print("\n".join(bad) if bad else "a new backend is a folder and a line: all fine")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
