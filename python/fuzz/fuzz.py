"""Random training programs, Weft against a reference: PyTorch where it is installed, else the oracle of tests/support.

    fuzz.py --seconds 60                  fresh seeds; the first one is printed
    fuzz.py --seed 17 --count 1           one program again, in the configuration of that seed
    fuzz.py --program file.py             a program from a file, in many configurations

A program runs in a child process, so that a crash or an endless loop is a finding like any other.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from programs import random_program
from shrink import shrink

import sides
import weft_build

BATCH = 25  # programs of one child
PATIENCE = 300.0  # of the slowest configuration, on a machine that does other things too
REFUSED = ["through an expanded view"]  # what Weft documents to refuse, and PyTorch does

torch = None  # PyTorch, or None: the oracle is the reference


def configuration(seed: int) -> dict[str, str]:
    rng = random.Random(seed * 7919 + 1)
    backend = rng.choices(["x86", "ref", "c"], [93, 6.7, 0.3])[0]
    chosen = {"WEFT_BACKEND": backend, "WEFT_THREADS": rng.choice(["1", "2", "3"])}
    if backend == "x86":
        chosen["WEFT_CPU"] = rng.choice(["native", "native", "avx512", "avx2", "sse"])
    off = rng.random()
    if off < 0.3:
        chosen["WEFT_OPT"] = rng.choice([*weft_build.passes(), "donate"])
    elif off < 0.35:
        chosen["WEFT_OPT"] = "all"
    return chosen


def reference(text: str, dtype: str, nudge: int = 0) -> list:
    if torch is not None:
        return sides.run(torch, text, dtype, nudge=nudge)
    import weft

    with weft_build.oracle():
        return sides.run(weft, text, dtype, captured=False, nudge=nudge)


def verdict(text: str, settings: dict[str, str]) -> str:
    """Runs on Weft and on the reference. Empty: equal; "invalid": no program."""
    import weft

    dtype = sides.type_of(text)
    unit = 1e-6 if dtype == "float64" and "NAdam" in text else sides.UNITS[dtype]  # PyTorch keeps a product of NAdam's in f32
    try:
        sides.ties.clear()
        rounded, exact = reference(text, dtype), reference(text, "float64")
    except Exception:
        return "invalid"
    try:
        weft_build.configure(settings)
        got = sides.run(weft, text, dtype)
    except Exception as error:
        return "" if any(text in str(error) for text in REFUSED) else f"{type(error).__name__}: {error}"
    found = sides.difference(got, exact, rounded, unit, padded="Conv" in text)
    if found and any(sides.ties):
        return ""
    # What an operand that shares memory with the target is after the first write, PyTorch leaves open.
    apart = re.sub(r"^(\s*\w+\[[^=]*\] [-+*/]= )(\w+)$", r"\1\2.clone()", text, flags=re.MULTILINE)
    if found and apart != text and sides.difference(reference(apart, dtype), exact, rounded, unit):
        return ""
    # Where the last place of a half decides (a relu at 0), or training has diverged, nothing is determined.
    if found and (dtype in sides.HALVES or sides.has_diverged(exact)):
        nudged = (reference(text, dtype, nudge) for nudge in range(1, 6))
        if any(sides.difference(other, exact, rounded, unit) for other in nudged):
            return ""
    return found


def in_child(jobs: list[tuple[str, dict[str, str]]], patience: float = PATIENCE):
    """Yields the verdict on each program and configuration. A child that dies or hangs is replaced after the job that did it."""
    jobs = list(jobs)
    while jobs:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for text, settings in jobs:
                os.write(writer, (json.dumps(verdict(text, settings)) + "\n").encode())
            os._exit(0)
        os.close(writer)
        done, rest, dead, ended = 0, b"", "", False
        try:
            while done < len(jobs):
                ready, _, _ = select.select([reader], [], [], patience)
                if not ready:
                    dead = f"still running after {patience:.0f} s"
                    break
                chunk = os.read(reader, 65536)
                if ended := not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    done += 1
                    yield json.loads(line)
        finally:  # also if nobody asks for the other verdicts
            os.close(reader)
            if not ended and done < len(jobs):
                os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        if done < len(jobs):
            yield dead or f"killed by {signal.Signals(status & 127).name}"
            done += 1
        jobs = jobs[done:]


def alone(text: str, settings: dict[str, str]) -> str:
    found = next(in_child([(text, settings)]))
    return "" if found == "invalid" else found


def cures(text: str, settings: dict[str, str]) -> list[str]:
    """Which single changes of the configuration make the difference go away."""
    base = {k: v for k, v in settings.items() if k != "WEFT_OPT"}
    tries = {"ref": {**base, "WEFT_BACKEND": "ref"}, "1 thread": {**base, "WEFT_THREADS": "1"}}
    tries |= {name: {**base, "WEFT_OPT": name} for name in ["all", "donate", *weft_build.passes()]}
    return [name for name, changed in tries.items() if not alone(text, changed)]


def report(text: str, settings: dict[str, str], found: str, shrinking: float) -> str:
    if not alone(text, settings):
        return f"# {settings}: {found}\n# (not alone in a process: what ran before it matters)\n{text}"
    small = shrink(text, lambda t: bool(alone(t, settings)), shrinking)
    for name in list(settings):
        fewer = {k: v for k, v in settings.items() if k != name}
        if alone(small, fewer):
            settings = fewer
    return f"# {found}\n# {settings}; right with: {', '.join(cures(small, settings)) or 'nothing'}\n# {alone(small, settings)}\n{small}"


def replay(path: str) -> int:
    """A program from a file, in every configuration that the fuzzer may draw."""
    with open(path) as file:
        text = file.read()
    passes = [{"WEFT_OPT": name, "WEFT_THREADS": "2"} for name in ["all", "donate", *weft_build.passes()]]
    levels = [{"WEFT_CPU": cpu, "WEFT_THREADS": str(threads)} for cpu in ("native", "avx2", "sse") for threads in (1, 2, 3)]
    tried = [{"WEFT_BACKEND": "ref"}, *levels, *passes]
    wrong = [(settings, found) for settings, found in zip(tried, in_child([(text, settings) for settings in tried])) if found]
    for settings, found in wrong:
        print(f"{path}: {settings}: {found}")
    return len(wrong)


def main() -> int:
    global torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release", help="the build folder")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--shrink", type=float, default=30, help="seconds to spend on making a failing program smaller")
    parser.add_argument("--oracle", action="store_true", help="compare with the oracle, even where there is PyTorch")
    parser.add_argument("--program", nargs="*", help="files with programs")
    parser.add_argument("--fixed", default=None, help="one configuration: WEFT_CPU=sse,WEFT_THREADS=1")
    arguments = parser.parse_args()
    if not arguments.oracle:
        try:
            import torch as installed

            torch = installed
            torch.set_num_threads(1)
        except ImportError:
            pass
    weft_build.load(arguments.build)
    if arguments.program is not None:
        return min(sum(replay(path) for path in arguments.program), 1)
    of_commit = os.environ.get("WEFT_FUZZ_SEED")  # `make test`: fresh ones for each commit, and the same again for one
    drawn = int(of_commit) if of_commit else random.SystemRandom().randrange(10**9)
    first = arguments.seed if arguments.seed is not None else drawn
    fixed = None if arguments.fixed is None else dict(part.split("=") for part in arguments.fixed.split(",") if part)
    print(f"fuzz: against {'PyTorch' if torch else 'the oracle'}, first seed {first}", flush=True)
    start, seed, tried, valid, failures = time.monotonic(), first, 0, 0, 0
    while tried < arguments.count if arguments.count is not None else time.monotonic() - start < arguments.seconds:
        size = BATCH if arguments.count is None else min(BATCH, arguments.count - tried)
        jobs = [(random_program(s), fixed or configuration(s)) for s in range(seed, seed + size)]
        for i, ((text, settings), found) in enumerate(zip(jobs, in_child(jobs))):
            valid += found != "invalid"
            if found and found != "invalid":
                failures += 1
                print(f"#### seed {seed + i}\n{report(text, settings, found, arguments.shrink)}", flush=True)
        seed += size
        tried += size
    print(f"fuzz: {valid} programs ({tried} drafts) in {time.monotonic() - start:.0f} s, {failures} failures; first seed {first}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
