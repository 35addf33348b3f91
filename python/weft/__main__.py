"""`python -m weft train.py` runs a PyTorch script on Weft, and `--missing` lists what Weft lacks for it.

Without a script it says what runs here; `--cmake-dir` where find_package(weft) looks, `--include` and `--lib` what it finds.
"""

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


def run(script: str, arguments: list[str], as_module: bool) -> None:
    """Runs a script, or a module, as `python` would, with Weft in the place of PyTorch."""
    import runpy

    if not as_module and not Path(script).exists():
        sys.exit(f"weft: there is no file {script}")
    weft.install_as_torch()
    sys.argv = [script, *arguments]
    if as_module:
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(script).resolve().parent)
        runpy.run_path(script, run_name="__main__")


def list_missing(script: str) -> None:
    """Prints the names of PyTorch that a script uses and Weft does not have."""
    from ._torch.uses import missing

    try:
        lines = missing(script)
    except (OSError, SyntaxError) as error:
        sys.exit(f"weft: {script} cannot be read: {error}")
    print("\n".join(lines) if lines else f"{script}: Weft has every name of PyTorch that it uses")
    sys.exit(1 if lines else 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m weft",
        usage="python -m weft [options] | script.py … | -m module …",
        description="Runs a PyTorch script on Weft, unchanged; without one says what Weft is here, or where its C++ library is.",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--missing", metavar="script.py", help="the names of PyTorch that a script uses and Weft does not have, without running it")
    group.add_argument("--version", action="store_true", help="the version alone")
    group.add_argument("--cmake-dir", action="store_true", help="the folder for cmake -Dweft_DIR=$(python -m weft --cmake-dir)")
    group.add_argument("--include", action="store_true", help="the folder of the headers")
    group.add_argument("--lib", action="store_true", help="the folder of the library")
    given = sys.argv[1:]
    if given and given[0] == "-m":
        if len(given) == 1:
            parser.error("-m needs the name of a module")
        run(given[1], given[2:], as_module=True)
        return
    if given and not given[0].startswith("-"):
        run(given[0], given[1:], as_module=False)
        return
    options = parser.parse_args()
    if options.missing:
        list_missing(options.missing)
    elif options.version:
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
