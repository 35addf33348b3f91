"""Optimisers: several steps from the same state, every option; state dicts, groups, clipping."""

import numpy as np
import pytest
import torch
from helpers import assert_close, both, floats, to_torch, to_weft

import weft
from weft import nn, optim

CASES = [
    ("SGD", {"lr": 0.02}), ("SGD", {"lr": 0.02, "momentum": 0.9}), ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("SGD", {"lr": 0.01, "weight_decay": 0.2, "maximize": True}),
    ("Adam", {}), ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}), ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5)}), ("Adam", {"lr": 0.01, "maximize": True}),
    ("AdamW", {}), ("AdamW", {"lr": 0.1, "weight_decay": 0.3}), ("AdamW", {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5), "maximize": True}),
    ("RMSprop", {}), ("RMSprop", {"lr": 0.05, "alpha": 0.9, "momentum": 0.8}), ("RMSprop", {"lr": 0.05, "centered": True, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "weight_decay": 0.1, "eps": 1e-3}), ("RMSprop", {"maximize": True}),
    ("Adagrad", {}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1}), ("Adagrad", {"initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("Adagrad", {"maximize": True}), ("Adadelta", {}), ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}), ("Adamax", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}), ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}), ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}), ("RAdam", {"lr": 0.1, "betas": (0.9, 0.95), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.95), "weight_decay": 0.1, "decoupled_weight_decay": True}),
]  # fmt: skip


def exact(name):
    """How near float64 results must be. PyTorch keeps a product of NAdam's in float32."""
    return 1e-7 if name == "NAdam" else 1e-9


def names(case):
    return f"{case[0]}-{'-'.join(case[1])}"


class Twins:
    """The same parameters on both sides, with optimisers of the same settings."""

    def __init__(self, name, settings, dtype="float64"):
        self.arrays = [floats(3, 4, dtype=dtype), floats(4, seed=1, dtype=dtype)]
        self.ours = [nn.Parameter(to_weft(a, False)) for a in self.arrays]
        self.theirs = [torch.nn.Parameter(to_torch(a, False)) for a in self.arrays]
        self.optimizer = getattr(optim, name)(self.ours, **settings)
        self.oracle = getattr(torch.optim, name)(self.theirs, **settings)

    def step(self, skip=()):
        for side, params in ((self.optimizer, self.ours), (self.oracle, self.theirs)):
            side.zero_grad()
            loss = sum((((p - 0.5) ** 4).sum() + (p * 2).sin().sum()) for i, p in enumerate(params) if i not in skip)
            loss.backward()
            side.step()

    def compare(self, rtol=None):
        for i, (a, b) in enumerate(zip(self.ours, self.theirs)):
            assert_close(a, b, f"parameter {i}", rtol, rtol)


@pytest.mark.parametrize("case", CASES, ids=names)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_steps(case, dtype):
    twins = Twins(*case, dtype=dtype)
    for _ in range(12):
        twins.step()
        twins.compare(exact(case[0]) if dtype == "float64" else 2e-4)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_parameter_that_misses_steps_counts_its_own(case):
    twins = Twins(*case)
    for i in range(9):
        twins.step(skip=(1,) if i in (0, 1, 4) else ())
        twins.compare(exact(case[0]))


@pytest.mark.parametrize("case", CASES, ids=names)
def test_state_dicts_have_one_layout(case):
    twins = Twins(*case)
    for _ in range(3):
        twins.step()
    ours, theirs = twins.optimizer.state_dict(), twins.oracle.state_dict()
    assert ours["state"].keys() == theirs["state"].keys()
    for number, entry in theirs["state"].items():
        wanted = {key: value for key, value in entry.items() if value is not None and key != "mu_product"}
        assert set(ours["state"][number]) == set(wanted)
        for key, value in wanted.items():
            assert_close(ours["state"][number][key], value, f"state[{number}][{key}]", exact(case[0]))
    for a, b in zip(ours["param_groups"], theirs["param_groups"], strict=True):
        assert all(a[key] == b[key] for key in a), (a, b)

    # PyTorch's checkpoint goes on here, and gives what goes on there.
    there = {number: {key: to_weft(value, False) for key, value in entry.items() if value is not None} for number, entry in theirs["state"].items()}
    fresh = Twins(*case)
    with torch.no_grad(), weft.no_grad():
        for p, q, value in zip(fresh.ours, fresh.theirs, twins.theirs):
            p.copy_(to_weft(value, False))
            q.copy_(value)
    fresh.oracle.load_state_dict(theirs)
    fresh.optimizer.load_state_dict({"state": there, "param_groups": theirs["param_groups"]})
    for _ in range(3):
        fresh.step()
        fresh.compare(exact(case[0]))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_groups(name):
    arrays = [floats(3, seed=i, dtype="float64") for i in range(3)]
    ours, theirs = zip(*[both(a) for a in arrays])
    first = [{"params": [0]}, {"params": [1], "lr": 0.2, "weight_decay": 0.1}]
    sides = []
    for params, module in ((ours, optim), (theirs, torch.optim)):
        optimizer = getattr(module, name)([{**g, "params": [params[i] for i in g["params"]]} for g in first], lr=0.05)
        optimizer.add_param_group({"params": params[2], "lr": 0.01})
        sides.append((params, optimizer))
    for i in range(6):
        for params, optimizer in sides:
            optimizer.zero_grad()
            sum((p**4).sum() for p in params).backward()
            optimizer.param_groups[2]["lr"] = 0.01 * (i + 1)
            if i == 3:
                optimizer.param_groups[0]["weight_decay"] = 0.3
            optimizer.step()
        for a, b in zip(ours, theirs):
            assert_close(a, b, rtol=1e-9)
    assert [g["lr"] for g in sides[0][1].param_groups] == [g["lr"] for g in sides[1][1].param_groups]


def test_frozen_parameters_stay():
    for module, side in ((optim, weft), (torch.optim, torch)):
        frozen, live = side.ones(2), side.ones(2).requires_grad_()
        optimizer = module.Adam([frozen, live], lr=0.5)
        (frozen * live).sum().backward()
        optimizer.step()
        assert frozen.tolist() == [1, 1] and live.tolist() == pytest.approx([0.5, 0.5])
        assert list(optimizer.state_dict()["state"]) == [1]


def test_zero_grad_and_closure():
    for module, side in ((optim, weft), (torch.optim, torch)):
        p = side.ones(2).requires_grad_()
        optimizer = module.SGD([p], lr=0.5)

        def closure():
            optimizer.zero_grad(set_to_none=False)
            loss = (p * 3).sum()
            loss.backward()
            return loss

        with side.no_grad():
            assert float(optimizer.step(closure)) == 6
        assert p.tolist() == [-0.5, -0.5] and p.grad.tolist() == [3, 3]
        optimizer.zero_grad(set_to_none=False)
        assert p.grad.tolist() == [0, 0]
        optimizer.zero_grad()
        assert p.grad is None


def lion(p, g, m, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
    update = np.sign(betas[0] * m + (1 - betas[0]) * g)
    return p * (1 - lr * weight_decay) - lr * update, betas[1] * m + (1 - betas[1]) * g


@pytest.mark.parametrize("settings", [{}, {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.3}])
def test_lion(settings):
    want = floats(3, 4, dtype="float64")
    p, m = nn.Parameter(to_weft(want, False)), np.zeros((3, 4))
    optimizer = optim.Lion([p], **settings)
    for _ in range(8):
        optimizer.zero_grad()
        ((p - 0.5) ** 4).sum().backward()
        optimizer.step()
        want, m = lion(want, 4 * (want - 0.5) ** 3, m, **settings)
        np.testing.assert_allclose(p.detach().numpy(), want, rtol=1e-12)
    assert list(optimizer.state_dict()["state"][0]) == ["exp_avg"]


# ---- nn.utils --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, 0.5, float("inf")])
@pytest.mark.parametrize("max_norm", [0.1, 100.0])
def test_clip_grad_norm(norm_type, max_norm):
    pairs = [both(floats(3, 4)), both(floats(5, seed=1)), both(floats(2, seed=2))]
    for side in (0, 1):
        sum((pair[side] ** 3).sum() for pair in pairs[:2]).backward()  # the last one has no gradient
    got = nn.utils.clip_grad_norm_([a for a, _ in pairs], max_norm, norm_type)
    want = torch.nn.utils.clip_grad_norm_([b for _, b in pairs], max_norm, norm_type)
    assert_close(got, want, "norm")
    for a, b in pairs:
        assert_close(a.grad, b.grad, "gradient")
    assert nn.utils.clip_grad_norm_([weft.ones(2)], 1.0).item() == 0


def test_clip_grad_norm_can_refuse():
    p = weft.ones(2).requires_grad_()
    (p * float("inf")).sum().backward()
    with pytest.raises(RuntimeError, match="norm of the gradients is inf"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


def test_clip_grad_value_and_vectors():
    ours, theirs = both(floats(3, 4))
    for p in (ours, theirs):
        (p**3).sum().backward()
    nn.utils.clip_grad_value_(ours, 0.3)
    torch.nn.utils.clip_grad_value_(theirs, 0.3)
    assert_close(ours.grad, theirs.grad)
    pairs = [both(floats(3, 4)), both(floats(5, seed=1))]
    vector = nn.utils.parameters_to_vector([a for a, _ in pairs])
    wanted = torch.nn.utils.parameters_to_vector([b for _, b in pairs])
    assert_close(vector, wanted)
    nn.utils.vector_to_parameters(vector.detach() * 2, [a for a, _ in pairs])
    torch.nn.utils.vector_to_parameters(wanted.detach() * 2, [b for _, b in pairs])
    for a, b in pairs:
        assert_close(a, b)
        assert a.requires_grad and a.is_leaf
    with pytest.raises(ValueError, match="does not hold 17 elements"):
        nn.utils.vector_to_parameters(weft.ones(3), [a for a, _ in pairs])
