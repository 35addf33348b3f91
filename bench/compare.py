#!/usr/bin/env python3
"""bench/compare.py: Weft beside PyTorch, torch.compile and JAX on the same work (`make compare`).

    python3 bench/compare.py [--only NAME]... [--rounds N] [--seconds S] [--peers torch,jax] [--json FILE] [--python PYTHON]

Each framework is a process of its own with two threads on two cores. They take turns, the best call of all rounds counts, and a
row whose results differ between frameworks is an error. Weft has two columns, a plain loop and weft.jit, as PyTorch has eager and
torch.compile; the last column is the time of the best peer by that of the better of the two. The work is in bench/frameworks/.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "bench/frameworks"
THREADS = 2
TOLERANCE = 1e-3  # how far results may differ, relative to their size
OURS = ["weft", "weft.jit"]
PEERS = ["torch", "torch.compile", "jax"]
COLD = "cold start"
PROGRAMS = "programs"  # bench/programs.py: whole programs, against PyTorch alone, in a table of their own
ROWS = [
    "chain", "add", "sum", "softmax", "layer norm", "transpose", "transpose heads", "transpose images",
    "matmul 256", "matmul 512", "matmul 1024", "matmul 2048", "linear relu", "conv",
    "mlp sgd", "mlp adam", "cnn adam", "transformer adam", "tiny mlp sgd", "one add", COLD,
]  # fmt: skip
OPERATORS = [  # single ops, against PyTorch alone
    "sort", "sort rows", "topk", "cumsum", "cumsum columns", "gather", "scatter_add", "embedding gradient", "mask", "einsum", "cat",
    "cat rows", "max pool", "avg pool", "batch norm",
]  # fmt: skip
LINALG = [  # decompositions, against PyTorch alone
    row + kind for row in ("lu 512", "solve 512", "cholesky 512", "qr 512", "lstsq 512", "eigh 256", "eigh 512", "svd 64", "svd 256", "svd 1200")
    for kind in ("", " f64")
]  # fmt: skip


def peers_of(row, names):
    """Who takes part in a row: nothing is captured or compiled where a row is one call of a library."""
    if row in LINALG:
        return [name for name in names if name in ("weft", "torch")]
    return [name for name in names if name != "jax" or row not in OPERATORS]


def cores():
    """Two processors that are different cores, if there are two."""
    first = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            core = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
        except OSError:
            core = str(cpu)
        first.setdefault(core, cpu)
    chosen = sorted(first.values())[:THREADS]
    return chosen if len(chosen) == THREADS else sorted(os.sched_getaffinity(0))[:THREADS]


def environment(cache):
    """Two threads for everybody; torch.compile's files go to a folder of this run.

    PyTorch and JAX take memory for each large result from malloc, which by default hands it back to the system when it is freed: ten
    times slower than an add of 16M elements. Weft keeps it, so malloc shall keep it for them, too.
    """
    threads = {name: str(THREADS) for name in ("WEFT_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    malloc = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_ARENA_MAX": "1"}
    xla = f"--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={THREADS}"
    return {
        **os.environ, **threads, **malloc, "XLA_FLAGS": xla, "JAX_PLATFORMS": "cpu", "TORCHINDUCTOR_CACHE_DIR": cache,
        "PYTHONPATH": os.environ.get("PYTHONPATH") or str(ROOT / "build/release/python"),
    }  # fmt: skip


class Bench:
    """The processes of a run: how to start each of them, and the workers that are there."""

    def __init__(self, options, cache):
        self.options, self.environment, self.cores, self.workers = options, environment(cache), cores(), {}

    def start(self, name, *arguments, **pipes):
        python = sys.executable if name in OURS else self.options.python
        return subprocess.Popen([python, *map(str, arguments)], env=self.environment, text=True, stdout=subprocess.PIPE,
                                preexec_fn=lambda: os.sched_setaffinity(0, self.cores), **pipes)  # fmt: skip

    def turn(self, name, row):
        """One framework's turn at one row: {"seconds", "values"} or {"error"}."""
        if row == COLD:
            return self.cold_start(name)
        if name not in self.workers:
            script = ["in_jax.py"] if name == "jax" else ["torch_like.py", name]
            self.workers[name] = self.start(name, WORK / script[0], *script[1:], stdin=subprocess.PIPE)
        worker = self.workers[name]
        worker.stdin.write(f"{row}\t{self.options.seconds}\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
        if not answer:
            del self.workers[name]
            return {"error": f"the worker ended with status {worker.wait()}"}
        wait_until_asleep(worker.pid)
        return json.loads(answer)

    def cold_start(self, name):
        begin = time.perf_counter()
        with self.start(name, WORK / "cold.py", name) as process:
            loss = process.stdout.readline()
            seconds = time.perf_counter() - begin
        return {"seconds": seconds, "values": [float(loss)]} if loss else {"error": f"it ended with status {process.wait()}"}

    def close(self):
        for worker in self.workers.values():
            worker.stdin.close()
            worker.wait()


def wait_until_asleep(pid, limit=2.0):
    """Threads that spin for their next job would take a core from the next framework."""
    end, calm = time.perf_counter() + limit, 0
    while calm < 3 and time.perf_counter() < end:
        states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
        calm = 0 if "R" in states else calm + 1
        time.sleep(0.005)


def disagreement(results):
    """Who differs from the first framework in what, or an empty text."""
    (first, expected), *others = results.items()
    size = max(abs(value) for value in expected)
    for name, values in others:
        for a, b in zip(expected, values, strict=True):
            if not abs(a - b) <= TOLERANCE * max(abs(a), size):
                return f"{first} has {a:.6g} where {name} has {b:.6g}"
    return ""


def measure(bench, row, names):
    """The best seconds of each framework, and what went wrong."""
    best, values, errors = {}, {}, {}
    for _ in range(bench.options.rounds):
        for name in names:
            if name in errors:
                continue
            answer = bench.turn(name, row)
            if "error" in answer:
                errors[name] = answer["error"].splitlines()[0]
                continue
            best[name] = min(best.get(name, math.inf), answer["seconds"])
            values[name] = answer["values"]
    notes = [f"{name}: {error}" for name, error in errors.items()]
    if values and (difference := disagreement(values)):
        notes.append(f"the results differ: {difference}")
    return {"row": row, "seconds": best, "ratio": ratio(best), "notes": notes}


def ratio(best):
    """The best peer's time by Weft's, or None without both."""
    ours, theirs = ([best[name] for name in names if name in best] for names in (OURS, PEERS))
    return min(theirs) / min(ours) if ours and theirs else None


def spoken(seconds):
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            break
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 100 else f"{seconds * factor:.0f} {unit}"


def line(row, cells, last):
    return f"{row:<18}" + "".join(f"{cell:>14}" for cell in cells) + f"{last:>18}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="only the rows with NAME in their names, or programs; may be repeated")
    parser.add_argument("--rounds", type=int, default=8, help="how many turns each framework has per row (default 8)")
    parser.add_argument("--seconds", type=float, default=0.25, help="how long a turn measures (default 0.25)")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"some of {', '.join(PEERS)} (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--python", default=str(ROOT / ".venv-peers/bin/python"), help="a Python that has the peers")
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    options.rows = [row for row in [*ROWS, *OPERATORS, *LINALG] if not options.only or any(part in row for part in options.only)]
    options.programs = "torch" in options.peers and (not options.only or PROGRAMS in options.only)
    if not options.rows and not options.programs:
        parser.error(f"no row has that in its name; there are {', '.join([*ROWS, *OPERATORS, *LINALG, PROGRAMS])}")
    return options


def run_programs(options):
    command = [sys.executable, ROOT / "bench/programs.py", "--python", options.python]
    return subprocess.run(command + (["--json", options.json] if options.json and not options.rows else []), check=False).returncode


def main():
    options = arguments()
    if not options.rows:
        return run_programs(options)
    names, results = [*OURS, *options.peers], []
    with tempfile.TemporaryDirectory(prefix="weft-compare-") as cache:
        bench = Bench(options, cache)
        print(line("row", names, "best peer / weft"), flush=True)
        for row in options.rows:
            result = measure(bench, row, peers_of(row, names))
            results.append(result)
            last = f"{result['ratio']:.2f}" if result["ratio"] else "-"
            print(line(row, [spoken(result["seconds"].get(name)) for name in names], last), flush=True)
            for note in result["notes"]:
                print(f"  {note}", flush=True)
        bench.close()
    means = {}
    for name, rows in (("geometric mean", ROWS), ("… of single ops", OPERATORS), ("… of decompositions", LINALG)):
        ratios = [result["ratio"] for result in results if result["ratio"] and result["row"] in rows]
        if ratios:
            means[name] = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(line(name, [""] * len(names), f"{means[name]:.2f}"))
    if options.json:
        report = {"threads": THREADS, "geometric_mean": means.get("geometric mean"), "rows": results}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    failed = run_programs(options) if options.programs else 0
    return int(failed or any(result["notes"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
