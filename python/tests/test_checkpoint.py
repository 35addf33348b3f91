"""utils.checkpoint: parts of a network that are computed again for their gradients."""

import pytest

import weft
from weft import nn
from weft.utils.checkpoint import checkpoint, checkpoint_sequential


def blocks(count=4, width=16):
    weft.manual_seed(1)
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.5)) for _ in range(count)))


def grads(net):
    return [p.grad.tolist() for p in net.parameters()]


@pytest.mark.parametrize("reentrant", [True, False])
def test_the_gradients_are_the_same_random_numbers_included(reentrant):
    net, x = blocks(), weft.randn(8, 16)
    found = []
    for kind in (lambda block, h: block(h), lambda block, h: checkpoint(block, h, use_reentrant=reentrant)):
        net.zero_grad()
        weft.manual_seed(3)
        h = x
        for block in net:
            h = kind(block, h)
        h.square().sum().backward()
        found.append((h.tolist(), grads(net), weft.rand(1).item()))
    assert found[0] == found[1]


def test_the_function_is_called_again_by_backward():
    calls = []

    def block(x):
        calls.append(1)
        return (x * 2).tanh()

    x = weft.ones(3).requires_grad_()
    y = checkpoint(block, x, use_reentrant=False)
    y.tolist()
    assert len(calls) == 1
    y.sum().backward()
    assert len(calls) == 2 and x.grad is not None


def test_less_memory_is_held():
    def peak(kind):
        weft.manual_seed(0)
        net = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()) for _ in range(8)))
        x = weft.randn(2048, 64).requires_grad_()
        weft.realize(x, *net.parameters())
        held = []
        h = x
        for block in net:
            h = kind(block, h)
        h.sum().item()
        held = weft.counters()["bytes_allocated"]
        h.sum().backward()
        weft.realize(x.grad)
        return held

    assert peak(lambda block, h: checkpoint(block, h, use_reentrant=False)) < 0.7 * peak(lambda block, h: block(h).realize())


def test_sequential_keywords_and_several_results():
    net, x = blocks(), weft.randn(4, 16)
    net.eval()
    assert checkpoint_sequential(net, 2, x, use_reentrant=False).tolist() == net(x).tolist()

    def pair(x, *, scale):
        return {"a": x * scale, "b": (x + 1, 7)}

    x = weft.ones(2).requires_grad_()
    out = checkpoint(pair, x, scale=3.0, use_reentrant=False)
    (out["a"].sum() + 2 * out["b"][0].sum()).backward()
    assert out["b"][1] == 7 and x.grad.tolist() == [5.0, 5.0]
    with weft.no_grad():
        assert not checkpoint(pair, x, scale=3.0)["a"].requires_grad


def test_second_derivatives():
    x = weft.tensor([0.3, 0.7]).requires_grad_()
    y = checkpoint(lambda x: x**3, x, use_reentrant=False).sum()
    (g,) = weft.autograd.grad(y, [x], create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == pytest.approx([1.8, 4.2], rel=1e-5)


def test_a_parameter_before_and_inside_a_part():
    found = []
    for kind in (lambda f, h: f(h), lambda f, h: checkpoint(f, h, use_reentrant=False)):
        w = weft.tensor([0.5, 1.5]).requires_grad_()
        y = kind(lambda h: (h * w).tanh(), (w * 2).sin()).sum()
        (g,) = weft.autograd.grad(y, [w], create_graph=True)
        g.square().sum().backward()
        found.append((g.tolist(), w.grad.tolist()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6) and found[0][1] == pytest.approx(found[1][1], rel=1e-6)
