"""Other processes: fork and spawn, with programs that are cached and new ones, on both sides."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

import weft


def right(size, factor):
    """A program of its own for each size."""
    x = weft.arange(size, dtype=weft.float32)
    return ((x * factor).cumsum(0)[-1].item(), (x.reshape(1, -1) @ x.reshape(-1, 1)).item()) == (
        factor * size * (size - 1) / 2, size * (size - 1) * (2 * size - 1) / 6)  # fmt: skip


def many(first):
    return all(right(size, factor) for factor in (1, 2) for size in range(first, first + 12))


def train(seed):
    weft.manual_seed(seed)
    layer = weft.nn.Linear(40, 40)
    optimizer = weft.optim.Adam(layer.parameters(), lr=0.01)
    x = weft.randn(64, 40)
    for _ in range(3):
        optimizer.zero_grad()
        loss = layer(x).tanh().square().mean()
        loss.backward()
        optimizer.step()
    return layer.weight.detach().numpy().copy()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_of_processes(method):
    assert many(5)
    expected = [train(seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        pending = pool.map_async(many, [5, 30, 60])
        assert many(20) and many(5)
        assert all(pending.get(120))
        for mine, theirs in zip(expected, pool.map(train, range(4))):
            assert np.array_equal(mine, theirs)
    assert many(5) and many(100)


def test_a_fork_beside_running_threads():
    x = weft.rand(300, 300).realize()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            (x @ x).tanh().sum().item()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for i in range(8):
            child = os.fork()
            if child == 0:
                threading.Timer(60, os._exit, (2,)).start()  # a lock that nobody will open
                os._exit(0 if many(5 + i) and (x @ x).shape == (300, 300) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_the_number_of_threads_in_a_child():
    x = weft.rand(500, 500).realize()
    y = (x @ x).numpy()
    child = os.fork()
    if child == 0:
        for count in (1, 2, 3):
            weft.set_num_threads(count)
            if not np.array_equal((x @ x).numpy(), y):
                os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
