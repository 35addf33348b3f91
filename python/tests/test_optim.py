"""Optimisers against the same arithmetic in NumPy, their state, schedules, and how many kernels a step takes."""

import copy
import math
import pickle

import numpy as np
import pytest

import weft
from weft import nn, optim

START = np.linspace(-1, 1, 6).astype("f8").reshape(2, 3)


def sgd(p, g, s, t, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True):
    g = g + weight_decay * p
    s["b"] = momentum * s.get("b", 0) + g
    return p - lr * (g + momentum * s["b"] if nesterov else s["b"])


def adam(p, g, s, t, lr=0.1, b1=0.9, b2=0.99, eps=1e-8, weight_decay=0.01, decoupled=False):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(s["v"] / (1 - b2**t)) + eps)


CASES = {
    "sgd": (lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True), sgd),
    "plain": (lambda ps: optim.SGD(ps, 0.1), lambda p, g, s, t: p - 0.1 * g),
    "adam": (lambda ps: optim.Adam(ps, lr=0.1, betas=(0.9, 0.99), weight_decay=0.01), adam),
    "adamw": (lambda ps: optim.AdamW(ps, lr=0.1, betas=(0.9, 0.99), weight_decay=0.01), lambda *a: adam(*a, decoupled=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_against_numpy(name):
    make, reference = CASES[name]
    p = nn.Parameter(weft.tensor(START))
    optimizer, want, state = make([p]), START.copy(), {}
    for t in range(1, 6):
        optimizer.zero_grad()
        (p**3).sum().backward()
        optimizer.step()
        want = reference(want, 3 * want**2, state, t)
        np.testing.assert_allclose(p.detach().numpy(), want, rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_state_round_trip(name):
    make, _ = CASES[name]

    def steps(p, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            (p**3).sum().backward()
            optimizer.step()

    p = nn.Parameter(weft.tensor(START))
    optimizer = make([p])
    steps(p, optimizer, 2)
    saved, value = pickle.loads(pickle.dumps(optimizer.state_dict())), p.detach().clone().realize()
    steps(p, optimizer, 2)
    q = nn.Parameter(value)
    other = make([q])
    other.load_state_dict(saved)
    steps(q, other, 2)
    assert p.tolist() == q.tolist()


def test_groups():
    a, b = nn.Parameter(weft.ones(2)), nn.Parameter(weft.ones(2))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1)
    (a.sum() + b.sum()).backward()
    optimizer.step()
    assert a.tolist() == pytest.approx([0.9, 0.9]) and b.tolist() == [0, 0]
    optimizer.param_groups[0]["lr"] = 0.4
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    assert a.tolist() == pytest.approx([0.5, 0.5])
    assert [g["lr"] for g in optimizer.state_dict()["param_groups"]] == [0.4, 1.0] and "lr: 0.4" in repr(optimizer)
    with pytest.raises(ValueError, match="more than one group"):
        optimizer.add_param_group({"params": [a]})
    with pytest.raises(ValueError, match="is empty"):
        optim.SGD([])
    with pytest.raises(TypeError, match="must be a list of tensors or of dicts, not Tensor"):
        optim.Adam(a)
    with pytest.raises(ValueError):
        optim.Adam([a], lr=-1)
    assert optim.SGD(nn.Linear(1, 1).named_parameters(), 0.1).step(lambda: 3) == 3


def test_schedulers():
    def rates(make, count=6):
        optimizer = optim.SGD([nn.Parameter(weft.ones(1))], lr=1.0)
        scheduler = make(optimizer)
        result = []
        for _ in range(count):
            result.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
        return result

    s = optim.lr_scheduler
    assert rates(lambda o: s.StepLR(o, 2, 0.5)) == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert rates(lambda o: s.MultiStepLR(o, [1, 4], 0.1)) == pytest.approx([1, 0.1, 0.1, 0.1, 0.01, 0.01])
    assert rates(lambda o: s.ExponentialLR(o, 0.5), 3) == [1, 0.5, 0.25]
    assert rates(lambda o: s.LinearLR(o, 0.5, total_iters=2), 4) == [0.5, 0.75, 1, 1]
    assert rates(lambda o: s.LambdaLR(o, lambda i: i + 1), 3) == [1, 2, 3]
    want = [(1 + math.cos(math.pi * i / 4)) / 2 for i in range(5)]
    assert rates(lambda o: s.CosineAnnealingLR(o, 4), 5) == pytest.approx(want)
    optimizer = optim.SGD([nn.Parameter(weft.ones(1))], lr=1.0)
    scheduler = s.ReduceLROnPlateau(optimizer, patience=1)
    for loss in (1.0, 1.0, weft.tensor(1.0), 1.0):
        scheduler.step(loss)
    assert scheduler.get_last_lr() == [0.1]


def test_clipping():
    p, q = nn.Parameter(weft.ones(2)), nn.Parameter(weft.ones(1))
    (3 * p.sum() + 4 * q.sum()).backward()
    norm = nn.utils.clip_grad_norm_([p, q], 1.0)
    assert norm.item() == pytest.approx(math.sqrt(34)) and p.grad.tolist() == pytest.approx([3 / math.sqrt(34)] * 2, rel=1e-4)
    nn.utils.clip_grad_value_(p, 0.1)
    assert p.grad.tolist() == pytest.approx([0.1, 0.1])


def test_a_step_is_few_kernels_and_compiled_once():
    weft.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    x, y = weft.rand(80, 16).realize(), weft.randint(4, (80,)).realize()

    def step(i):
        loss = nn.functional.cross_entropy(model(x[8 * i : 8 * i + 8]), y[8 * i : 8 * i + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

    for i in range(3):
        step(i)
    before = weft.counters()
    for i in range(3, 10):
        step(i)
    after = weft.counters()
    assert after["kernels_compiled"] == before["kernels_compiled"] and after["plans_made"] == before["plans_made"]
    assert after["runs"] - before["runs"] == 7 and after["kernels_launched"] - before["kernels_launched"] <= 7 * 12


class Momentum(weft.optim.Optimizer):
    """SGD with momentum as PyTorch programs write it."""

    def __init__(self, params, lr=0.1, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @weft.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["buffer"] = 0, weft.zeros_like(p.data)
                state["step"] += 1
                state["buffer"].mul_(group["momentum"]).add_(p.grad.data)
                p.data.add_(state["buffer"], alpha=-group["lr"])
        return loss


def test_an_optimizer_of_ones_own_trains_as_the_built_in_one():
    weft.manual_seed(0)
    nets = [nn.Linear(4, 3)]
    nets.append(copy.deepcopy(nets[0]))
    optimizers = [Momentum(nets[0].parameters()), optim.SGD(nets[1].parameters(), lr=0.1, momentum=0.9)]
    schedulers = [optim.lr_scheduler.StepLR(optimizer, 3) for optimizer in optimizers]
    x = weft.randn(8, 4)
    for step in range(8):
        for net, optimizer, scheduler in zip(nets, optimizers, schedulers):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
            scheduler.step()
        assert weft.equal(nets[0].weight, nets[1].weight)
        if step == 4:  # goes on from its state
            again = Momentum(nets[0].parameters())
            again.load_state_dict(optimizers[0].state_dict())
            schedulers[0].optimizer = optimizers[0] = again
    assert optimizers[0].state[nets[0].weight]["step"] == 8


def test_the_step_of_ones_own_optimizer_leaves_nothing_pending():
    w = nn.Parameter(weft.ones(3))
    optimizer = Momentum([w])
    w.sum().backward()
    optimizer.step()
    before = weft.counters()["kernels_launched"]
    w.tolist(), optimizer.state[w]["buffer"].tolist()
    assert weft.counters()["kernels_launched"] == before


def test_hooks_around_a_step():
    for make in (Momentum, optim.SGD):
        w = nn.Parameter(weft.ones(2))
        optimizer, seen = make([w], lr=0.5), []
        first = optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
        optimizer.register_step_post_hook(lambda *_: seen.append("after"))
        w.sum().backward()
        optimizer.step()
        first.remove()
        optimizer.step()
        assert seen == ["before", "after", "after"]


def test_an_optimizer_without_step_says_so():
    class Empty(weft.optim.Optimizer):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no step"):
        Empty([nn.Parameter(weft.ones(1))], {}).step()
