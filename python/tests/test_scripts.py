"""Short training programs in PyTorch's idiom (scripts/), run as they stand by `python -m weft`: they end well, and learn."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft

SCRIPTS = Path(__file__).with_name("scripts")
PACKAGE = str(Path(weft.__file__).resolve().parent.parent)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])}

FALLS = {  # script and arguments: the last loss as a part of the first, at most
    "characters": 0.7,
    "classifier": 0.1,
    "classifier --epochs 4 --lr 0.1": 0.2,
    "graph": 0.15,
    "siamese": 0.1,
    "sine": 0.1,
    "transformer": 0.1,
    "transformer --amp": 0.1,
    "vae": 0.8,
}


def run(call):
    name, *arguments = call.split()
    return subprocess.run([sys.executable, "-m", "weft", str(SCRIPTS / f"{name}.py"), *arguments], capture_output=True, text=True, env=ENVIRONMENT)


def printed(call):
    done = run(call)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def losses(text):
    return [float(number) for number in re.findall(r"loss (\S+)", text)]


def test_all_are_here():
    tested = {call.split()[0] for call in FALLS} | {"gan", "policy"}
    assert tested == {path.stem for path in SCRIPTS.glob("*.py")} - {"steady"}


@pytest.mark.parametrize("call", FALLS)
def test_the_loss_falls(call):
    found = losses(printed(call))
    assert len(found) > 3 and found[-1] <= FALLS[call] * found[0]


def test_two_networks_against_each_other():
    """Neither wins: both losses stay near those of a discriminator that guesses, ln 4 and ln 2."""
    found = losses(printed("gan"))
    assert len(found) == 16 and all(0.4 < d < 2.5 and 0.4 < g < 2.5 for d, g in zip(found[::2], found[1::2]))


def test_a_policy_learns_where_to_go():
    places = [float(number) for number in re.findall(r"place (\S+)", printed("policy"))]
    assert places[0] < 5 and places[-1] > 14


def test_a_wrong_argument_ends_as_in_python():
    done = run("classifier --epoch many")
    assert done.returncode == 2 and "invalid int value: 'many'" in done.stderr and "classifier.py" in done.stderr
