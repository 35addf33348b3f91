"""Ctrl-C, and other Python threads, while kernels run."""

import os
import signal
import threading
import time

import pytest

import weft


def long_work():
    x = weft.rand(1500, 1500).realize()
    y = x
    for _ in range(400):
        y = (x @ y) * 0.001
    return y


def test_ctrl_c_stops_a_run():
    y = long_work()
    sent = []

    def send():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        y.realize()
    late = time.monotonic() - sent[0]
    thread.join()
    print(f"KeyboardInterrupt came {late * 1e3:.0f} ms after the signal")
    assert late < 1  # 0.2 s where nothing else runs
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
    x = weft.rand(1200, 1200).realize()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    y = x
    for _ in range(30):
        y = (x @ y) * 0.001
    start = time.monotonic()
    y.realize()
    end = time.monotonic()
    stop.set()
    thread.join()
    assert sum(start < t < end for t in ticks) >= 3 or end - start < 0.02
