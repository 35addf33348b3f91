#!/usr/bin/env python3
"""Removes one condition of the compiler at a time and checks that a test notices: `make mutants` (ARGS="plan_donatable kernel_copy").

A mutant is a file tests/mutants/<name>.txt: lines `file:`, `test:` (the arguments of build/release/bin, several are allowed) and `why:`,
then the lines `--- from`, what stands in the file once, `--- to`, and what it becomes. The source is copied, so the checkout stays as it is.
A mutant that no test notices is an error, and so is one whose text is no longer there (`--check` looks for that alone).
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "mutants"


def read(path):
    head, _, rest = path.read_text().partition("--- from\n")
    old, _, new = rest.partition("--- to\n")
    fields = re.findall(r"^(\w+): (.*)$", head, re.M)
    return {
        "name": path.stem,
        "file": next(value for key, value in fields if key == "file"),
        "tests": [value for key, value in fields if key == "test"],
        "from": old.removesuffix("\n"),
        "to": new.removesuffix("\n"),
    }


def copy_sources():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for folder in ("src", "tests"):  # what is gone must not be compiled
        for file in (SCRATCH / folder).rglob("*"):
            if file.is_file() and file.relative_to(SCRATCH).as_posix() not in names:
                file.unlink()
    for name in filter(None, names):
        source, target = ROOT / name, SCRATCH / name
        if not source.is_file() or (target.is_file() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def build(tests):
    targets = sorted({test.split()[0] for test in tests})
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    done = subprocess.run(["cmake", "--build", "--preset", "release", "-j", jobs, "--target", *targets], cwd=SCRATCH,
                          capture_output=True, text=True)
    return done.returncode == 0, done.stdout[-2000:]


def fails(tests):
    """The first test that fails, or None."""
    for test in tests:
        program, *arguments = test.split()
        try:
            done = subprocess.run([SCRATCH / "build/release/bin" / program, *arguments], cwd=SCRATCH, timeout=300,
                                  capture_output=True)
        except subprocess.TimeoutExpired:
            return test + " (timeout)"
        if done.returncode != 0:
            return test
    return None


def occurrences(mutant, root):
    return (root / mutant["file"]).read_text().count(mutant["from"])


def check(mutants):
    """Whether the text of every mutant stands once in its file: quick enough for every run of the suite."""
    stale = [m for m in mutants if occurrences(m, ROOT) != 1]
    for m in stale:
        print(f"{m['name']}: its text stands {occurrences(m, ROOT)} times in {m['file']}")
    return bool(stale)


def main(wanted):
    mutants = [read(path) for path in sorted((ROOT / "tests" / "mutants").glob("*.txt"))]
    if wanted == ["--check"]:
        return check(mutants)
    mutants = [m for m in mutants if not wanted or m["name"] in wanted]
    copy_sources()
    subprocess.run(["cmake", "--preset", "release", "--log-level=WARNING"], cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL)
    built, log = build([test for m in mutants for test in m["tests"]])
    if not built:
        sys.exit("the tests do not build without a mutant:\n" + log)
    if broken := fails(sorted({test for m in mutants for test in m["tests"]})):
        sys.exit(f"{broken} fails without a mutant")
    survivors = 0
    print(f"{'mutant':28} {'seconds':>8}  noticed by")
    for m in mutants:
        start = time.monotonic()
        path = SCRATCH / m["file"]
        text = path.read_text()
        if (count := occurrences(m, SCRATCH)) != 1:
            outcome = f"ERROR: its text stands {count} times in {m['file']}"
        else:
            path.write_text(text.replace(m["from"], m["to"]))
            built, log = build(m["tests"])
            outcome = (fails(m["tests"]) or "NOBODY") if built else "ERROR: it does not build\n" + log
            path.write_text(text)
        survivors += outcome.startswith(("ERROR", "NOBODY"))
        print(f"{m['name']:28} {time.monotonic() - start:8.0f}  {outcome}", flush=True)
    print(f"{len(mutants)} mutants, {survivors} of them unnoticed")
    return survivors > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
