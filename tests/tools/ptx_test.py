"""The PTX of every kernel that a test of the simulated device makes is assembled, for the oldest and the newest GPUs that Weft has code for.

    ptx_test.py TEST        a doctest executable, whose cases of simulated GPUs and of tensor cores are run

Needs ptxas, which comes with CUDA, and as a package of Python's: `tools/setup.sh ptx` puts it into .venv-ptx where the system has none.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CASES = "simulated*,*tensor cores*"
ARCHITECTURES = ("sm_80", "sm_90a")  # tensor cores: the second one only
MODULE = re.compile(r"^\.version .*?^}\n(?!\n\.visible)", re.M | re.S)


def modules(test):
    done = subprocess.run([test, f"-tc={CASES}"], capture_output=True, text=True, env=os.environ | {"WEFT_DEBUG": "4"}, errors="replace")
    assert done.returncode == 0, done.stdout[-4000:]
    return sorted(set(MODULE.findall(done.stdout + done.stderr)))


def problem(ptxas, folder, number, text):
    """What the assembler says against a module; None: nothing."""
    file = folder / f"{number}.ptx"
    file.write_text(text)
    for architecture in ARCHITECTURES[".target sm_90a" in text :]:
        done = subprocess.run([ptxas, f"-arch={architecture}", "-O1", "-v", "-o", "/dev/null", str(file)], capture_output=True, text=True)
        if done.returncode:
            return done.stderr + text
    return None


def main(test):
    packaged = sorted(Path(__file__).resolve().parents[2].glob(".venv-ptx/lib/python*/site-packages/nvidia/*/bin/ptxas"))
    ptxas = shutil.which("ptxas") or (str(packaged[0]) if packaged else None)
    if not ptxas:
        print("there is no ptxas on this machine: tools/setup.sh ptx installs it")
        return 1
    texts = modules(test)
    assert len(texts) > 20, f"only {len(texts)} modules were found"
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as workers:
        problems = [what for what in workers.map(lambda item: problem(ptxas, Path(folder), *item), enumerate(texts)) if what]
    print(*problems[:3], f"{len(texts)} modules, {len(problems)} refused", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
