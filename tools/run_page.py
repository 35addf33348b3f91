#!/usr/bin/env python3
"""Runs the Python blocks of a Markdown page, in order, in one interpreter, and compares what they print with the text blocks below them.

    tools/run_page.py PAGE           says which outputs differ, and fails if any does
    tools/run_page.py PAGE --write   writes the outputs into the page

How a kernel is scheduled depends on the machine: such lines, and blocks marked `text varies`, are run but not compared. A block marked
`python no-run` is not run. What is between `<!-- run` and `-->` is run and not shown: set-up that readers need not see.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```(?P<kind>text[^\n]*)\n(?P<text>.*?)^```\n)?|^<!-- run\n(?P<hidden>.*?)^-->\n", re.M | re.S
)
SCHEDULE = re.compile(r"^  schedule .*\n(?:^ {12}(?!%|return).*\n)*", re.M)
SCRATCH = re.compile(r"scratch \d+ B")


def comparable(text):
    return SCRATCH.sub("scratch", SCHEDULE.sub("", text)).rstrip()


def run(page):
    """(line of the block, kind of the output block, what the page says, what was printed, where in the page that stands) for each block."""
    source, names = page.read_text(), {"__name__": "__page__"}
    for block in BLOCK.finditer(source):
        part = "code" if block["hidden"] is None else "hidden"
        line = source.count("\n", 0, block.start(part)) + 1
        code = compile("\n" * (line - 1) + block[part], str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        text = "".join(each.rstrip() + "\n" for each in printed.getvalue().rstrip().splitlines())
        yield line, block["kind"], block["text"], text, block.span("text")


def differences(page):
    """A message for each block whose output is not the page's."""
    found = []
    for line, kind, said, printed, _ in run(page):
        if kind == "text varies":
            continue
        if kind is None and printed or kind is not None and comparable(said) != comparable(printed):
            found.append(f"{page}:{line}: the page says\n{said or '(nothing)'}\nbut this was printed:\n{printed}")
    return found


def write(page):
    source, result, at = page.read_text(), [], 0
    for _, kind, _, printed, (start, end) in run(page):
        if kind is not None:
            result += [source[at:start], printed]
            at = end
    page.write_text("".join(result) + source[at:])


def main(name, *options):
    if options == ("--write",):
        write(Path(name))
        return 0
    found = differences(Path(name))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
