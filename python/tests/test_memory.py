"""Nothing grows: forward passes that are dropped, losses that are kept as numbers, derivatives of one's own, foreign arrays."""

import gc
import os

import pytest

import weft
from weft import nn


def resident():
    """Bytes of memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(autouse=True)
def only_own_blocks():
    """Blocks that other tests have left may be larger than what they serve: the bytes in use would change from step to step."""
    gc.collect()
    weft.trim_memory()


def live():
    gc.collect()
    weft.realize()
    counters = weft.counters()
    return counters["live_nodes"], counters["live_buffers"], counters["bytes_allocated"]


def check_flat(step, warm=200, rounds=10_000, slack=4 << 20):
    """Neither nodes, buffers nor the process grow over many rounds, after some that fill caches."""
    for _ in range(warm):
        step()
    before, memory = live(), resident()
    for _ in range(rounds):
        step()
    assert live() == before
    grown = resident() - memory
    assert grown < slack, f"{grown / 2**20:.1f} MB more after {rounds} rounds"


def test_forward_passes_without_no_grad():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    x = weft.rand(8, 16).realize()
    check_flat(lambda: model(x))


def test_forward_passes_that_are_read():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    x, labels = weft.rand(8, 16).realize(), weft.zeros(8, dtype=weft.int64).realize()
    losses = [0.0] * 1000
    places = iter(range(10**9))

    def step():
        losses[next(places) % 1000] = nn.functional.cross_entropy(model(x), labels).item()

    check_flat(step, rounds=3000)


def test_training_that_keeps_the_loss():
    model = nn.Linear(16, 4)
    optimizer = weft.optim.Adam(model.parameters())
    x = weft.rand(8, 16).realize()
    kept = [0.0]

    def step():
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        kept[0] = loss.item()

    check_flat(step, rounds=3000)


def test_functions_and_hooks():
    class Square(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = weft.rand(8).realize().requires_grad_()

    def step():
        y = Square.apply(x)
        y.register_hook(lambda g: g * 2)
        y.sum().backward()
        x.grad = None

    check_flat(step, rounds=3000)
    check_flat(lambda: Square.apply(x), rounds=3000)


def test_foreign_arrays():
    np = pytest.importorskip("numpy")
    check_flat(lambda: (weft.from_numpy(np.ones(64, "f")) * 2).numpy(), rounds=3000)
    check_flat(lambda: np.from_dlpack(weft.from_dlpack(np.ones(64, "f"))), rounds=3000)
