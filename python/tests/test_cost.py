"""What ordinary programs cost, counted: those of bench/programs.py, once they have been seen. No test here measures time."""

import gc
import importlib.util
import sys
from pathlib import Path

import pytest

import weft

PATH = Path(__file__).resolve().parents[2] / "bench/frameworks/programs.py"

# Kernels that one pass launches, at most.
LAUNCHES = {
    "reads": 203, "items": 4, "metrics": 7, "prepare": 28, "sample": 1437, "unread": 1201, "denoise": 545, "ragged": 1010, "experts": 44,
    "windows": 21, "gan": 71, "small": 1001, "logging": 161, "clusters": 946, "averages": 94,
}  # fmt: skip


def load():
    spec = importlib.util.spec_from_file_location("weft_bench_programs", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


programs = load()


def test_every_program_is_counted():
    assert set(LAUNCHES) == set(programs.ROWS)


@pytest.mark.parametrize("row", LAUNCHES)
def test_a_program_that_was_seen_before(row):
    weft.manual_seed(0)
    once = programs.ROWS[row](weft, programs.Data(weft))
    live = []
    for _ in range(4):
        once()
        gc.collect()
        live.append(weft.counters()["bytes_allocated"])
    before = weft.counters()
    once()
    gc.collect()
    after = weft.counters()
    spent = {name: after[name] - before[name] for name in after}
    assert spent["kernels_compiled"] == 0 and spent["plans_made"] == 0, spent
    assert spent["kernels_launched"] <= LAUNCHES[row], spent
    assert after["bytes_allocated"] <= max(live[1:])  # whole blocks of the pool: a tensor may lie in a larger one than it needs


def test_a_handle_that_is_read_often_is_computed_once():
    x, w = weft.rand(200, 64).realize(), weft.rand(64, 10).realize()
    best = (x @ w).argmax(1)
    before = weft.counters()["kernels_launched"]
    seen = [int(best[i]) for i in range(200)]
    assert weft.counters()["kernels_launched"] - before <= 3
    assert seen == best.tolist()


def test_unread_metrics_keep_no_old_parameters():
    weft.manual_seed(0)
    net = weft.nn.Linear(64, 64)
    step = weft.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, total = weft.rand(8, 64).realize(), weft.zeros(())

    def once():
        nonlocal total
        step.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        step.step()
        total = total + loss.detach()

    for _ in range(4):
        once()
    before = weft.counters()["bytes_allocated"]
    for _ in range(50):
        once()
    assert weft.counters()["bytes_allocated"] <= before + 4096
    assert total.item() > 0


def test_a_forward_pass_that_was_read_is_not_computed_by_backward():
    x = weft.rand(32, 64).realize()
    w = weft.rand(64, 64, requires_grad=True)
    w.realize()
    hidden = (x @ w).tanh()
    loss = (hidden @ hidden.T).mean()
    loss.item()
    before = weft.counters()["kernels_launched"]
    loss.backward()
    w.grad.realize()
    read = weft.counters()["kernels_launched"] - before
    w.grad = None
    hidden = (x @ w).tanh()
    loss = (hidden @ hidden.T).mean()
    before = weft.counters()["kernels_launched"]
    loss.backward()
    w.grad.realize()
    assert read <= weft.counters()["kernels_launched"] - before
