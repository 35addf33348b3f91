#!/usr/bin/env python3
"""bench/plot.py: draws what `make compare ARGS="--json FILE"` measured, as SVG files for light and for dark pages. Needs matplotlib.

    python3 bench/plot.py FILE [--out PREFIX] [--only NAME]... [--title TEXT]

A row has a bar for each peer: its time by Weft's, the better of Weft's columns. To the right of 1 Weft is faster. The files are PREFIX-light.svg and
PREFIX-dark.svg; PREFIX is FILE without its suffix unless given.
"""

import argparse
import json
import math
import sys
from pathlib import Path

OURS = "weft"  # the names of Weft's columns begin so
COLOURS = {"torch": "#e07b39", "torch.compile": "#b8860b", "jax": "#4c8fd6"}
OTHERS = ["#7a5cc7", "#3c9d6b", "#c2506e"]
THEMES = {
    "light": {"text": "#1f2937", "grid": "#d5dbe5", "line": "#1f2937"},
    "dark": {"text": "#e5e9f0", "grid": "#3a4350", "line": "#e5e9f0"},
}


def measured(seconds):
    """The times that can be drawn: positive numbers."""
    return {name: time for name, time in (seconds or {}).items() if isinstance(time, (int, float)) and math.isfinite(time) and time > 0}


def read(text):
    """[(row, {peer: its time by Weft's})] of a report, in its order; rows without Weft or without a peer are left out."""
    report = json.loads(text)
    rows = report.get("rows") if isinstance(report, dict) else None
    if not isinstance(rows, list):
        raise ValueError('it has no list "rows"; `make compare ARGS="--json FILE"` writes one')
    found = []
    for row in rows:
        seconds = measured(row.get("seconds"))
        ours = [time for name, time in seconds.items() if name.startswith(OURS)]
        theirs = {name: time / min(ours) for name, time in seconds.items() if not name.startswith(OURS)} if ours else {}
        if theirs:
            found.append((str(row["row"]), theirs))
    return found


def mean_of_best(rows):
    """The geometric mean of the best peer's time by Weft's."""
    return math.exp(sum(math.log(min(peers.values())) for _, peers in rows) / len(rows))


def draw(rows, title, theme):
    """A figure of matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    colours = THEMES[theme]
    names = list(dict.fromkeys(name for _, peers in rows for name in peers))
    shades = {name: COLOURS.get(name) or OTHERS[i % len(OTHERS)] for i, name in enumerate(names)}
    figure = Figure(figsize=(8.5, 1.3 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for at, (_, peers) in enumerate(rows):
        height = min(0.8 / len(peers), 0.4)
        for i, (name, ratio) in enumerate(peers.items()):
            axes.barh(at + (i + 0.5 - len(peers) / 2) * height, ratio - 1, height=0.9 * height, left=1, color=shades[name])
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, 0.8 * min(min(peers.values()) for _, peers in rows)), max(2.0, 1.15 * max(max(peers.values()) for _, peers in rows)))
    axes.axvline(1, color=colours["line"], linewidth=1.2)
    axes.set_yticks(range(len(rows)), [row for row, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("time by Weft's; right of 1×: Weft is faster", color=colours["text"])
    axes.set_title(title, color=colours["text"], loc="left", fontsize=12)
    axes.grid(axis="x", color=colours["grid"], linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=colours["text"], which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    handles = [axes.barh([0], [0], color=shades[name], label=name) for name in names]
    axes.legend(handles=handles, frameon=False, labelcolor=colours["text"], loc="lower right")
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="what bench/compare.py --json wrote")
    parser.add_argument("--out", type=Path, metavar="PREFIX", help="the beginning of the files' names (default: FILE without its suffix)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only the rows with NAME in their names; may be repeated")
    parser.add_argument("--title", help="what stands on top (default: the geometric mean)")
    options = parser.parse_args(arguments)
    try:
        rows = read(options.file.read_text())
    except (OSError, ValueError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 1
    rows = [row for row in rows if not options.only or any(part in row[0] for part in options.only)]
    if not rows:
        print(f"{options.file}: no row has the times of Weft and of another framework", file=sys.stderr)
        return 1
    try:
        import matplotlib
    except ImportError:
        print("plots need matplotlib: pip install matplotlib", file=sys.stderr)
        return 1
    matplotlib.rcParams["svg.hashsalt"] = "weft"  # equal numbers give equal files
    title = options.title or f"The best of the others takes {mean_of_best(rows):.1f} times as long (geometric mean of {len(rows)} rows)"
    prefix = options.out or options.file.with_suffix("")
    for theme in THEMES:
        path = prefix.with_name(f"{prefix.name}-{theme}.svg")
        draw(rows, title, theme).savefig(path, transparent=True, metadata={"Date": None})
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
