"""Ctrl-C, and other Python threads, while kernels run."""

import os
import signal
import threading
import time

import pytest

import weft


def interrupted_after(run, delay=0.3):
    """The processor time that this process takes from a Ctrl-C, sent `delay` seconds after `run` begins, to the KeyboardInterrupt.
    Where other programs have the cores it says what the time would be alone."""
    sent = []

    def send():
        time.sleep(delay)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        run()
        thread.join()
        time.sleep(0.1)
        pytest.skip("it was done before the signal came")
    late = time.process_time() - sent[0]
    thread.join()
    return late


def chain(length):
    x = weft.rand(1500, 1500).realize()
    y = x
    for _ in range(length):
        y = (x @ y) * 0.001
    return y


def many_ops(count):
    x = y = weft.rand(7)
    for i in range(count):
        y = (y * x.roll(i % 7) + i).sin() if i % 3 else (y + x).cumsum(0) * 0.1
    return y


def scatter(count):
    index = weft.randint(0, 1 << 20, (count,)).realize()
    return weft.zeros(1 << 20).index_add(0, index, weft.ones(count).realize())


LONG = {
    "matmuls": lambda: chain(400).realize,
    "svd": lambda: weft.linalg.svd(weft.rand(1200, 1200).realize())[0].realize,
    "eigh": lambda: weft.linalg.eigh(weft.rand(1500, 1500).realize())[0].realize,
    "lu": lambda: weft.linalg.lu_factor(weft.rand(4000, 4000).realize())[0].realize,
    "sort": lambda: weft.sort(weft.rand(1 << 25).realize())[0].realize,
    "compiling": lambda: many_ops(6000).realize,
    "one matmul": lambda: (weft.rand(6000, 6000).realize() @ weft.rand(6000, 6000).realize()).realize,
    "one row of a scan": lambda: weft.rand(1 << 28).realize().cumsum(0).realize,
    "one row of a scatter": lambda: scatter(1 << 27).realize,
}


@pytest.mark.parametrize("work", LONG)
def test_ctrl_c_stops_what_takes_long(work):
    kept = weft.zeros(3)
    kept.add_(1)
    late = interrupted_after(LONG[work]())
    print(f"KeyboardInterrupt came {late * 1e3:.0f} ms after the signal")
    assert late < 0.4  # of all threads together: 0.2 s on two
    assert kept.tolist() == [1, 1, 1]
    assert weft.ones(3).sum().item() == 3


def test_a_handler_that_does_not_raise_does_not_stop_a_run():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        x = weft.rand(900, 900)
        y = x
        for _ in range(20):
            y = (x @ y) * 0.001
        assert y.sum().item() == y.sum().item()
        timer.join()
        time.sleep(0.01)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_gil_is_free_while_kernels_run():
    y = chain(8)
    ticks, stop, ready = [], threading.Event(), threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            ready.set()
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    ready.wait()
    start = time.monotonic()
    y.realize()
    end = time.monotonic()
    stop.set()
    thread.join()
    assert sum(start < t < end for t in ticks) >= 3 or end - start < 0.02
