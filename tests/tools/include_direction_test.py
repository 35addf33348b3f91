#!/usr/bin/env python3
"""Who may include whom, no file past 700 lines, no declaration in a header that only collects others, and no public
header whose declarations a shared library would hide.

The table below is the one in docs/architecture.md ("Who may include whom"). Run without arguments it first checks itself on small made-up
trees, then the repository; it exits non-zero and lists every offence.
"""

import re
import sys
import tempfile
from pathlib import Path

MAX_LINES = 700
VALUE_HEADERS = {"device.h", "dtype.h", "shape.h", "error.h"}  # every folder may include them

UMBRELLAS = {"functional.h", "nn.h", "ops.h", "weft.h"}  # they only include: a function is declared in the header of its topic

# Folder of src/ -> folders it may include besides itself.
FOLDERS = {
    "core": set(),
    "ir": {"core"},
    "numerics": {"core", "ir"},
    "tensor": {"core", "ir", "numerics"},
    "grad": {"core", "ir"},
    "schedule": {"core", "ir"},
    "kernel": {"core", "ir"},
    "backend": {"core", "ir", "kernel"},
    "device": {"core", "ir", "kernel", "backend"},
    "pipeline": {"core", "ir", "schedule", "kernel", "backend", "device"},
    "cells": {"core", "ir", "tensor", "grad", "schedule", "backend", "device", "pipeline"},
    "tracing": {"core", "ir", "tensor", "schedule", "device", "pipeline", "cells"},
    "inspect": {"core", "ir", "tensor", "schedule", "kernel", "backend", "device", "pipeline", "cells"},
    "nn": set(),
    "optim": set(),
    "data": set(),
    "io": {"data"},  # checksums and decompression, for zip archives
}
SEES_PUBLIC_API = {"tensor", "pipeline", "cells", "tracing", "inspect", "nn", "optim", "data", "io"}  # all of <weft/...>, not only the value headers

# First folder of a third party's header -> the only places that may include it.
THIRD_PARTY = {"asmjit": ("src/backend/x86/",), "nanobind": ("python/src/",)}
SYSTEM_FOLDERS = {"sys", "linux"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = ("*.h", "*.cpp")
TEXTS = SOURCES + ("*.py", "*.pyi")


def files(root, folder, patterns):
    return sorted(p for pattern in patterns for p in (root / folder).rglob(pattern))


def angle_offence(path, name):
    """Why the file at `path` (relative to the root) may not include <name>; None if it may."""
    top, _, rest = name.partition("/")
    if top == "weft" and rest:
        place = path.split("/")
        if place[0] == "src" and place[1] not in SEES_PUBLIC_API and rest not in VALUE_HEADERS:
            allowed = ", ".join(f"<weft/{header}>" for header in sorted(VALUE_HEADERS))
            return f"{place[1]} sees only {allowed} of the public API"
        return None
    if not rest or top in SYSTEM_FOLDERS:
        return None
    if top in THIRD_PARTY:
        places = THIRD_PARTY[top]
        return None if path.startswith(places) else f"{top} belongs to {' '.join(places)}"
    if top in FOLDERS:
        return f'our own files are included with quotes: "{name}"'
    return f"unknown library {top}/: if it is meant, add it to {Path(__file__).name}"


def quote_offence(root, path, name):
    """Why the file at `path` may not include "name"; None if it may."""
    place = path.split("/")
    if place[0] == "include":
        return "a public header includes only the standard library and <weft/...>"
    if place[0] == "python":
        found = (root / path).parent / name, root / "python" / "src" / name
        return None if any(p.is_file() for p in found) else "a binding includes only <weft/...> and its neighbours"
    target = name.split("/")
    if target[0] == "weft":
        return f"public headers are included with angles: <{name}>"
    if target[0] not in FOLDERS or len(target) < 2 or not (root / "src" / name).is_file():
        return "no such file: write the path from src/"
    folder = place[1]
    if target[0] != folder and target[0] not in FOLDERS[folder]:
        return f"{folder} may include {', '.join(sorted(FOLDERS[folder])) or 'no other folder'}, not {target[0]}"
    parts = [p[2] if len(p) > 3 else None for p in (place, ["src", *target])]  # backend/<part>/...
    if folder == target[0] == "backend" and None not in parts and parts[0] != parts[1]:
        return f"backend/{parts[0]} may not know backend/{parts[1]}"
    return None


def offences(root):
    found = []
    for folder in ("src", "include", "python/src"):
        for file in files(root, folder, SOURCES):
            path = file.relative_to(root).as_posix()
            place = path.split("/")
            if place[0] == "src" and (len(place) < 3 or place[1] not in FOLDERS):
                found.append(f"{path}: no such folder; add {place[1]} to {Path(__file__).name} and docs/architecture.md")
                continue
            umbrella = place[:2] == ["include", "weft"] and len(place) == 3 and place[2] in UMBRELLAS
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if umbrella and line and not line.startswith(("//", "#")):
                    found.append(f"{path}:{number}: an umbrella header declares nothing; {line.strip()!r} belongs to a topic's header")
                if place[0] == "include" and line.startswith("namespace weft"):
                    found.append(f"{path}:{number}: a shared library exports what is in `namespace WEFT_API weft` (weft/api.h)")
                if match := INCLUDE.match(line):
                    bracket, name = match.groups()
                    why = angle_offence(path, name) if bracket == "<" else quote_offence(root, path, name)
                    if why:
                        found.append(f"{path}:{number}: {match.group(0).strip()}: {why}")
    for folder in ("src", "include", "python"):
        for file in files(root, folder, TEXTS):
            lines = file.read_text(encoding="utf-8").count("\n")
            if lines > MAX_LINES:
                found.append(f"{file.relative_to(root)}: {lines} lines, more than {MAX_LINES}: split it by topic")
    return found


def self_check():
    """Each made-up file has one line; it must offend exactly when it is said to."""
    cases = [
        ("src/core/size.h", "#include <vector>", False),
        ("src/core/size.h", "#include <sys/mman.h>", False),
        ("src/core/size.h", "#include <weft/dtype.h>", False),
        ("src/core/size.h", "#include <weft/tensor.h>", True),
        ("src/core/size.h", '#include "ir/node.h"', True),
        ("src/core/size.h", "#include <ir/node.h>", True),
        ("src/ir/node.cpp", '#include "ir/node.h"', False),
        ("src/ir/node.cpp", '#include "node.h"', True),
        ("src/ir/node.cpp", '#include "ir/absent.h"', True),
        ("src/ir/node.cpp", '#include "core/size.h"', False),
        ("src/ir/node.cpp", '#include "kernel/loop.h"', True),
        ("src/ir/node.cpp", '#include "weft/dtype.h"', True),
        ("src/tensor/ops.cpp", "#include <weft/tensor.h>", False),
        ("src/tensor/ops.cpp", '  #  include "grad/rules.h"', True),
        ("src/schedule/fuse.cpp", '#include "kernel/loop.h"', True),
        ("src/grad/rules.cpp", "#include <weft/tensor.h>", True),
        ("src/kernel/loop.cpp", '#include "backend/backend.h"', True),
        ("src/backend/c/emit.cpp", '#include "backend/backend.h"', False),
        ("src/backend/c/emit.cpp", '#include "backend/c/emit.h"', False),
        ("src/backend/c/emit.cpp", '#include "backend/ref/eval.h"', True),
        ("src/backend/registry.cpp", '#include "backend/ref/eval.h"', False),
        ("src/backend/c/emit.cpp", "#include <asmjit/x86.h>", True),
        ("src/backend/x86/emit.cpp", "#include <asmjit/x86.h>", False),
        ("src/pipeline/launch.cpp", '#include "backend/ref/eval.h"', False),
        ("src/cells/run.cpp", '#include "nn/layer.h"', True),
        ("src/nn/layer.cpp", "#include <weft/tensor.h>", False),
        ("src/nn/layer.cpp", '#include "core/size.h"', True),
        ("src/io/file.cpp", "#include <boost/any.hpp>", True),
        ("src/attic/old.cpp", "#include <vector>", True),
        ("include/weft/ops.h", "#include <weft/tensor.h>", False),
        ("include/weft/ops.h", '#include "core/size.h"', True),
        ("include/weft/ops.h", "Tensor add(const Tensor& a, const Tensor& b);", True),
        ("include/weft/arithmetic.h", "namespace weft {", True),
        ("include/weft/arithmetic.h", "namespace WEFT_API weft {", False),
        ("include/weft/arithmetic.h", "Tensor add(const Tensor& a, const Tensor& b);", False),
        ("python/src/norm.cpp", "#include <nanobind/nanobind.h>", False),
        ("python/src/norm.cpp", '#include "core/size.h"', True),
        ("src/ir/long.cpp", "\n" * MAX_LINES, False),
        ("src/ir/long.cpp", "\n" * (MAX_LINES + 1), True),
        ("python/weft/long.py", "\n" * (MAX_LINES + 1), True),
    ]
    headers = ("core/size ir/node kernel/loop grad/rules backend/backend backend/c/emit backend/ref/eval nn/layer").split()
    for path, text, offends in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, content in {**{f"src/{header}.h": "" for header in headers}, path: text}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            found = offences(root)
            if bool(found) != offends:
                sys.exit(f"the check itself is broken: {path} with {text.strip()!r} gave {found or 'no offence'}")


if __name__ == "__main__":
    self_check()
    repository = Path(__file__).resolve().parents[2]
    bad = offences(repository)
    print("\n".join(bad) if bad else "include directions and file sizes: all fine")
    sys.exit(1 if bad else 0)
