"""`python -m weft` says what runs here; `--cmake-dir` where find_package(weft) looks, `--include` and `--lib` what it finds."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import weft


def _folder(*parts: str) -> str:
    folder = Path(weft.__file__).parent.joinpath(*parts)
    if not folder.is_dir():
        sys.exit(f"weft: this package has no {folder}: it was built without the C++ library; the installed wheel has it")
    return str(folder)


def _size(count: int) -> str:
    if count <= 0:
        return "unknown"
    return f"{count / 2**20:g} MB" if count >= 2**20 else f"{count / 2**10:g} KB"


def report() -> str:
    """The versions, the processor and how it is used, a line each."""
    info = weft._weft._system_info()
    l1, l2, l3 = map(_size, info["caches"])
    rows = {
        "Weft": weft.__version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})",
        "CPU": f"{info['cpu']}, used as {info['level']}",
        "caches": f"L1 {l1}, L2 {l2}, L3 {l3}",
        "backend": info["backend"],
        "threads": info["threads"],
        "package": Path(weft.__file__).parent,
    }
    return "\n".join(f"{name:<9}{value}" for name, value in rows.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m weft", description="Says what Weft is here, or where its C++ library is.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--version", action="store_true", help="the version alone")
    group.add_argument("--cmake-dir", action="store_true", help="the folder for cmake -Dweft_DIR=$(python -m weft --cmake-dir)")
    group.add_argument("--include", action="store_true", help="the folder of the headers")
    group.add_argument("--lib", action="store_true", help="the folder of the library")
    options = parser.parse_args()
    if options.version:
        print(weft.__version__)
    elif options.cmake_dir:
        print(_folder("lib", "cmake", "weft"))
    elif options.include:
        print(_folder("include"))
    elif options.lib:
        print(_folder("lib"))
    else:
        print(report())


if __name__ == "__main__":
    main()
