"""Loads the fuzzer's own build of Weft's module, which has the oracle in it, and switches its configuration.

    weft = load("build/release")
    configure(weft, {"WEFT_BACKEND": "x86", "WEFT_OPT": "tile"})
    with oracle(weft): ...                # every op computed on its own, in order
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys

NAMES = ["WEFT_BACKEND", "WEFT_THREADS", "WEFT_CPU", "WEFT_OPT"]
_hooks = None


def load(build: str):
    """Weft, with the module of the build folder's fuzz/ in place of its own. Nothing has read a configuration yet."""
    global _hooks
    path = os.path.abspath(os.path.join(build, "fuzz", "_weft.so"))
    spec = importlib.util.spec_from_file_location("weft._weft", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["weft._weft"] = module
    spec.loader.exec_module(module)
    sys.path.insert(0, os.path.abspath(os.path.join(build, "python")))
    _hooks = ctypes.CDLL(path)
    _hooks.weft_fuzz_passes.restype = ctypes.c_char_p
    _hooks.weft_fuzz_configure.restype = ctypes.c_bool
    return importlib.import_module("weft")


def passes() -> list[str]:
    return _hooks.weft_fuzz_passes().decode().split()


def configure(settings: dict[str, str]) -> None:
    for name in NAMES:
        os.environ.pop(name, None)
    os.environ.update(settings)
    if not _hooks.weft_fuzz_configure():
        raise ValueError(f"a bad configuration: {settings}")


@contextlib.contextmanager
def oracle():
    _hooks.weft_fuzz_oracle(1)
    try:
        yield
    finally:
        _hooks.weft_fuzz_oracle(0)
