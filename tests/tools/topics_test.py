#!/usr/bin/env python3
"""Each op has one topic name: in the public header, the source, the binding, the C++ test and the registry of the Python tests.

A function's name is declared in one header. A topic is a header that weft/ops.h or weft/functional.h includes. Each other kind of file has the topic's name, or begins with
it and an underscore: src/tensor/loss_ctc.cpp belongs to weft/loss.h. A file there that belongs to no topic is listed below with
its reason. Without arguments the check first tries itself on small made-up trees, then the repository; it exits non-zero and
lists every offence.
"""

import re
import sys
import tempfile
from pathlib import Path

UMBRELLAS = ("ops", "functional")

# Kind -> folder and how its files end.
KINDS = {
    "source": ("src/tensor", ".cpp"),
    "binding": ("python/src", ".cpp"),
    "test": ("tests/tensor", "_test.cpp"),
    "registry": ("python/tests/ops", ".py"),
}

# (kind, topic) without a file of its own, and why.
ABSENT = {
    ("test", "attention"): "tests/nn/layers_test.cpp and the registry have it",
    ("test", "recurrent"): "tests/nn/layers_test.cpp has it",
    ("test", "tensor"): "tests/cells has what a tensor is",
    ("registry", "recurrent"): "the functions are private in Python: python/tests/test_nn.py has the layers",
}

# Files that are no topic's, by kind: what several topics share, and what is no op.
OTHERS = {
    "source": "cell check contract correlate custom_gradient hooks indices mapped nodes windows",
    "binding": "arguments autocast autograd buffer convert cuda custom data debug dlpack dtype errors file_objects files init "
    "interrupt jit lifetime module operators optim out profile",
    "test": "",
    "registry": "__init__ array_api pending registry test_registry",
}


def topics(root):
    found = set()
    for umbrella in UMBRELLAS:
        text = (root / "include/weft" / f"{umbrella}.h").read_text(encoding="utf-8")
        found |= set(re.findall(r"#include <weft/(\w+)\.h>", text))
    return found - set(UMBRELLAS)


def topic_of(stem, names):
    fitting = [name for name in names if stem == name or stem.startswith(name + "_")]
    return max(fitting, key=len) if fitting else None


def functions(text):
    """The functions that a header declares, with the namespace inside of weft."""
    inside = ""
    for line in text.splitlines():
        if space := re.match(r"namespace (\w+) \{", line):
            inside = f"{space[1]}::"
        elif line.startswith("}  // namespace"):
            inside = ""
        elif name := re.match(r"(?!class|struct|enum|using)\w[\w:<>, ]*[ &](\w+)\(", line):
            yield inside + name[1]


def declared_twice(root, names):
    homes = {}
    for topic in sorted(names):
        header = root / "include/weft" / f"{topic}.h"
        for name in functions(header.read_text(encoding="utf-8") if header.exists() else ""):
            homes.setdefault(name, set()).add(f"weft/{topic}.h")
    return [f"{name}() is declared in {' and '.join(sorted(at))}" for name, at in sorted(homes.items()) if len(at) > 1]


def offences(root, absent=ABSENT, others=OTHERS):
    names = topics(root)
    found = declared_twice(root, names)
    for kind, (folder, ending) in KINDS.items():
        known, seen = set(others[kind].split()), set()
        for file in sorted((root / folder).glob(f"*{ending}")):
            stem = file.name[: -len(ending)]
            topic = topic_of(stem, names)
            if stem in known:
                seen.add(stem)
            elif topic is None:
                found.append(f"{folder}/{file.name}: no topic of weft/ops.h has this name, or begins it")
            else:
                seen.add(topic)
        for name in sorted(names):
            if (name in seen) == ((kind, name) in absent):
                why = "has a file now: take it out of ABSENT" if name in seen else f"has no {kind}: {folder}/{name}{ending}"
                found.append(f"weft/{name}.h: {why}")
        found += [f"{folder}/{stem}{ending}: is in OTHERS, but not there" for stem in sorted(known - seen)]
    found += [f"{kind} of {name}: is in ABSENT, but weft/ops.h has no such topic" for kind, name in absent if name not in names]
    return found


def self_check():
    whole = [
        "include/weft/loss.h",
        "src/tensor/loss_ctc.cpp",
        "src/tensor/nodes.cpp",
        "python/src/loss.cpp",
        "tests/tensor/loss_test.cpp",
        "python/tests/ops/loss.py",
    ]
    cases = [(whole, False), (whole + ["src/tensor/pool.cpp"], True), (whole + ["src/tensor/losses.cpp"], True)]
    cases += [([path for path in whole if path != missing], True) for missing in whole[1:]]
    others = {kind: "nodes" if kind == "source" else "" for kind in KINDS}
    for paths, offends in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in paths + [f"include/weft/{umbrella}.h" for umbrella in UMBRELLAS]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("#include <weft/loss.h>\n" if path.endswith("ops.h") else "", encoding="utf-8")
            found = offences(root, {}, others)
            if bool(found) != offends:
                sys.exit(f"the check itself is broken: {paths} gave {found or 'no offence'}")
    declared = [
        ("Tensor add(const Tensor& a);\nstd::pair<Tensor, Tensor> frexp(const Tensor& x);\nvoid f() {", ["add", "frexp", "f"]),
        ("struct Label {\n    Tensor add(const Tensor& a);\n};\n// add(a)", []),
        ("namespace linalg {\nTensor trace(const Tensor& x);\n}  // namespace linalg\nTensor dot(const Tensor& a);", ["linalg::trace", "dot"]),
    ]
    for text, wanted in declared:
        if list(functions(text)) != wanted:
            sys.exit(f"the check itself is broken: {text!r} declares {list(functions(text))}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "include/weft").mkdir(parents=True)
        for topic in ("loss", "norm"):
            (root / f"include/weft/{topic}.h").write_text("Tensor f(const Tensor& x);\n", encoding="utf-8")
        if not declared_twice(root, {"loss", "norm"}) or declared_twice(root, {"loss"}):
            sys.exit("the check itself is broken: a function in two headers, or in one")


if __name__ == "__main__":
    self_check()
    bad = offences(Path(__file__).resolve().parents[2])
    print("\n".join(bad) if bad else "topics: all fine")
    sys.exit(1 if bad else 0)
