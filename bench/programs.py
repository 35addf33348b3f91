#!/usr/bin/env python3
"""bench/programs.py: whole programs on Weft and on PyTorch, unchanged (`make compare ARGS="--only programs"`).

    python3 bench/programs.py [--only NAME]... [--rounds N] [--seconds S] [--json FILE] [--python PYTHON]

Each side is a fresh process with two threads; they take turns, and the best of all rounds counts. `first` is a program's first pass, with all
that is planned and compiled for it; `later` the passes after that. Ratios are PyTorch's time by Weft's. Wanted: 1.0 later; at first 0.5,
or no more than 15 ms more than PyTorch.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import compare

sys.path.insert(0, str(compare.WORK))
import programs as work  # noqa: E402  (bench/frameworks/programs.py)


def turn(bench, name, row):
    with bench.start(name, compare.WORK / "programs.py", name, row, bench.options.seconds, stderr=subprocess.PIPE) as process:
        out, err = process.communicate()
    if process.returncode:
        return {"error": (err.strip().splitlines() or ["it failed"])[-1]}
    return json.loads(out.splitlines()[-1])


def measure(bench, row):
    best, values, notes = {}, {}, []
    for _ in range(bench.options.rounds):
        for name in ("weft", "torch"):
            answer = turn(bench, name, row)
            if "error" in answer:
                notes.append(f"{name}: {answer['error']}")
                continue
            old = best.setdefault(name, answer)
            best[name] = {key: min(old[key], answer[key]) for key in ("first", "later", "bytes")}
            values[name] = answer["values"]
    if len(values) == 2 and (difference := compare.disagreement(values)):
        notes.append(f"the results differ: {difference}")
    return {"row": row, "best": best, "notes": sorted(set(notes))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="only the programs with NAME in their names; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes of each side (default 3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a process repeats the program (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--python", default=str(compare.ROOT / ".venv-peers/bin/python"), help="a Python that has PyTorch")
    options = parser.parse_args()
    rows = [row for row in work.ROWS if not options.only or any(part in row for part in options.only)]
    bench, results = compare.Bench(options, ""), []
    print(f"{'program':<10}{'first: weft':>12}{'torch':>10}{'ratio':>7}{'later: weft':>14}{'torch':>10}{'ratio':>7}{'bytes: weft':>13}{'torch':>10}")
    for row in rows:
        result = measure(bench, row)
        results.append(result)
        cells = [f"{row:<10}"]
        sides = [result["best"].get(name) for name in ("weft", "torch")]
        for key, widths in (("first", (12, 10, 7)), ("later", (14, 10, 7))):
            times = [side and side[key] for side in sides]
            ratio = times[1] / times[0] if all(times) else math.nan
            missed = ratio < (1.0 if key == "later" else 0.5) and (key == "later" or times[0] - times[1] > 0.015)
            cells += [f"{compare.spoken(t):>{w}}" for t, w in zip(times, widths)] + [f"{ratio:>{widths[2] - 1}.2f}{'!' if missed else ' '}"]
        print("".join(cells) + "".join(f"{side['bytes'] if side else '-':>{w}}" for side, w in zip(sides, (13, 10))), flush=True)
        for note in result["notes"]:
            print(f"  {note}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return int(any(result["notes"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
