"""Optimisers against the same arithmetic in NumPy, their state, schedules, and how many kernels a step takes."""

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
