"""Makes a failing program's text smaller while it still fails: fewer lines, then smaller numbers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable


def shrink(text: str, fails: Callable[[str], bool], seconds: float = 30) -> str:
    end = time.monotonic() + seconds
    lines = text.splitlines()

    def late() -> bool:
        return time.monotonic() > end

    def still(candidate: list[str]) -> bool:
        try:
            compile("\n".join(candidate), "<program>", "exec")
        except SyntaxError:
            return False
        return fails("\n".join(candidate) + "\n")

    smaller = True
    while smaller and not late():
        smaller = False
        size = max(len(lines) // 2, 1)
        while size >= 1 and not late():  # runs of lines, from the end, where reads are
            at = len(lines) - size
            while at >= 0 and not late():
                candidate = lines[:at] + lines[at + size :]
                if candidate and still(candidate):
                    lines, smaller = candidate, True
                at -= size
            size //= 2
        for simpler in simpler_lines(lines):
            if late():
                break
            if simpler != lines and len(simpler) == len(lines) and still(simpler):
                lines, smaller = simpler, True
                break
    return "\n".join(lines) + "\n"


def simpler_lines(lines: list[str]):
    """One line with a part left out, or all occurrences of a size made smaller."""
    for i, line in enumerate(lines):
        head, equals, tail = line.partition(" = ")
        if equals:
            for inner in re.findall(r"\b[a-z]\w*\b(?=[^(\w=])", tail):
                if inner != tail:
                    yield [*lines[:i], f"{head} = {inner}", *lines[i + 1 :]]
        for part in re.findall(r" [-+*/] [\w.]+$| \* [\d.]+|\.requires_grad_\(\)", line):
            yield [*lines[:i], line.replace(part, "", 1), *lines[i + 1 :]]
        for a, b in re.findall(r"torch\.(\w+)\((\w+)\)", line):
            yield [*lines[:i], line.replace(f"torch.{a}({b})", b, 1), *lines[i + 1 :]]
    numbers = sorted({int(n) for line in lines for n in re.findall(r"(?<![\w.])\d+(?![\w.])", line)}, reverse=True)
    for n in numbers:
        for m in sorted({1, 2, 3, n // 2, n - 1}):
            if 0 < m < n:
                yield [re.sub(rf"(?<![\w.]){n}(?![\w.])", str(m), line) for line in lines]
