#!/usr/bin/env python3
"""What a shared libweft exports of Weft stands in a public header, and what users cannot do without is exported.

Arguments: nm, and the library. Instances of the standard library's templates are left alone: whoever uses them has them, too.
"""

import re
import subprocess
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include" / "weft"
NEEDED = [
    "weft::zeros(",
    "weft::linalg::svd(",
    "weft::optim::SGD::SGD(",
    "weft::nn::Module::load(",
    "weft::Tensor::item<double>() const",
    "weft::Tensor::to_vector<weft::Half>() const",
    "typeinfo for weft::Error",
    "typeinfo for weft::ShapeError",
    "vtable for weft::nn::Linear",
]


def own_name(symbol):
    """The namespaces and the function or class of a name of Weft, without what is inside of a class: weft::ir::Node::shape() -> ir, Node."""
    if match := re.match(r"(?:non-virtual thunk to |(?:typeinfo|typeinfo name|vtable|guard variable|VTT) for )?(.*)", symbol):
        symbol = match[1]
    depth, plain = 0, ""
    for c in symbol.replace("operator<", "operator").replace("operator>", "operator").replace("(anonymous namespace)", "anonymous"):
        depth += c == "<"
        if depth == 0:
            if c == "(":
                break
            plain += c
        depth -= c == ">"
    match = re.search(r"(?:^|\s|\*|&)weft::((?:\w+::)*~?\w+)", plain)
    parts = match[1].split("::") if match else []
    classes = [i for i, part in enumerate(parts) if part[0].isupper()]
    return parts[: classes[0] + 1] if classes else parts


def main(nm, library):
    lines = subprocess.run([nm, "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    symbols = [line.split(" ", 2)[2] for line in lines]
    words = set(re.findall(r"\w+", " ".join(header.read_text(encoding="utf-8") for header in INCLUDE.rglob("*.h"))))
    hidden = [symbol for symbol in symbols if not all(part.startswith("operator") or part in words for part in own_name(symbol))]
    missing = [name for name in NEEDED if not any(name in symbol for symbol in symbols)]
    ours = sum(bool(own_name(symbol)) for symbol in symbols)
    print(f"{len(symbols)} symbols, {ours} of Weft")
    for symbol in hidden:
        print(f"exported, but in no public header: {symbol}")
    for name in missing:
        print(f"not exported: {name}")
    return 1 if hidden or missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
