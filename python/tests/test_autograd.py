"""Gradients, modes, and what training leaves in memory."""

import gc
import threading

import pytest

import weft


def test_backward_and_accumulation():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.grad is None
    y = (x * x).sum()
    assert not y.is_leaf and y.requires_grad
    y.backward()
    (3 * x).sum().backward()
    assert x.grad.tolist() == [5, 7]
    x.grad = None
    assert x.grad is None
    x.grad = weft.ones(2)
    x.grad += 1
    assert x.grad.tolist() == [2, 2]


def test_backward_options():
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.backward(gradient=weft.tensor([1.0, 3.0]), retain_graph=True)
    assert x.grad.tolist() == [2, 6] and y.grad.tolist() == [1, 3]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.sum().backward()
    with pytest.raises(RuntimeError):
        x.detach().sum().backward()


def test_grad_as_a_value():
    x = weft.tensor(3.0, requires_grad=True)
    (g,) = weft.autograd.grad(x**3, x, create_graph=True)
    (gg,) = weft.autograd.grad(g, [x])
    assert g.item() == 27 and gg.item() == 18 and x.grad is None


def test_modes():
    x = weft.ones(2, requires_grad=True)
    with weft.no_grad():
        assert not weft.is_grad_enabled() and not (x * 2).requires_grad
        with weft.enable_grad():
            assert (x * 2).requires_grad
        x += 1
    assert weft.is_grad_enabled() and (x * 2).requires_grad

    @weft.no_grad()
    def f(y):
        return y * 2

    @weft.no_grad
    def g(y):
        return y * 2

    class Model:
        @weft.no_grad()
        def a(self, y):
            return y * 2

        @weft.inference_mode()
        def b(self, y):
            return y * 2

    for result in (f(x), g(x), Model().a(x), Model().b(x)):
        assert not result.requires_grad
    with weft.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert weft.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), weft.no_grad():
        1 / 0  # noqa: B018
    assert weft.is_grad_enabled()


def test_data_and_detach():
    x = weft.ones(2, requires_grad=True)
    x.data += 1
    x.data = x.data * 2
    assert x.tolist() == [4, 4] and x.requires_grad and not x.detach().requires_grad
    with pytest.raises(RuntimeError):
        x += 1
    x.requires_grad_(False)
    x += 1
    assert x.tolist() == [5, 5]
    x.requires_grad = True
    assert x.requires_grad
    with pytest.raises(RuntimeError, match="float"):
        weft.ones(1, dtype=weft.int64).requires_grad_()


def live():
    gc.collect()
    counters = weft.counters()
    return counters["live_nodes"], counters["live_buffers"], counters["bytes_allocated"]


def test_forward_passes_leave_nothing():
    w = weft.rand(8, 8).realize().requires_grad_()
    x = weft.rand(4, 8).realize()
    weft.realize()
    before = live()
    for _ in range(10_000):
        (x @ w).relu().sum()
    assert live() == before


def test_training_keeps_nothing():
    gc.collect()
    weft.trim_memory()  # blocks that other tests have left may be larger than what they serve: bytes would change from step to step
    w = weft.rand(8, 8).realize().requires_grad_()
    x = weft.rand(4, 8).realize()
    losses, sizes = [], []
    for step in range(60):
        loss = ((x @ w).relu() ** 2).mean()
        loss.backward()
        with weft.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
        losses.append(loss.item())
        if step >= 20:
            sizes.append(live())
    assert losses[-1] < losses[0] and len(set(sizes)) == 1


def test_threads_train_alone():
    def train(seed, results):
        x = weft.tensor([[float(seed + i + j) for j in range(4)] for i in range(3)]) / 10
        w = weft.ones(4, 4, requires_grad=True)
        for _ in range(20):
            ((x @ w).tanh().sum() ** 2).backward()
            with weft.no_grad():
                w -= 0.01 * w.grad
            w.grad = None
        results[seed] = w.tolist()

    alone, together = {}, {}
    for seed in range(4):
        train(seed, alone)
    threads = [threading.Thread(target=train, args=(seed, together)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alone == together


def test_modes_as_decorators():
    x = weft.ones(2, requires_grad=True)

    @weft.set_grad_enabled(False)
    def off(y):
        return y * 2

    assert weft.is_grad_enabled() and not off(x).requires_grad and weft.is_grad_enabled()

    @weft.enable_grad()
    def on(y):
        return y * 2

    @weft.inference_mode
    def plain(y):
        return y * 2

    with weft.no_grad():
        assert on(x).requires_grad and not weft.is_grad_enabled()
        with weft.inference_mode(False):
            assert not weft.is_grad_enabled()
    with weft.inference_mode(False):
        assert (x * 2).requires_grad
    assert not plain(x).requires_grad and on.__name__ == "on"
    weft.set_grad_enabled(False)
    assert not weft.is_grad_enabled()
    weft.set_grad_enabled(True)
    mode = weft.no_grad()
    with mode, mode:
        assert not weft.is_grad_enabled()
    assert weft.is_grad_enabled()


def test_one_element_of_a_product_of_three():
    """The gradient is one element in a box of zeros: it depends on every axis, though it has one element along each."""
    a = weft.tensor([[0.9, -0.6], [-0.5, 1.6]], dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda a: (a @ a @ a)[0, 0], a)
    assert weft.autograd.gradgradcheck(lambda a: (a @ a @ a)[1, 0], a)


@pytest.mark.parametrize("view", [lambda t: t, lambda t: t.t(), lambda t: t.view(4), lambda t: t[:]], ids=["itself", "t", "view", "slice"])
@pytest.mark.parametrize("write", ["fill_", "zero_", "copy_"])
def test_what_is_written_over_as_a_whole_still_requires_a_gradient(view, write):
    w = weft.ones(2, 2).requires_grad_()
    t = w * 2
    given = {"fill_": (0.3,), "zero_": (), "copy_": (weft.full((4,) if view(t).ndim == 1 else (2, 2), 5.0),)}[write]
    getattr(view(t), write)(*given)
    assert t.requires_grad
    (t * t).mean().backward()
    assert w.grad.tolist() == [[0, 0], [0, 0]]
