"""The optimisers whose step is Python, over 50 steps, averaged models and CyclicLR, against PyTorch."""

import numpy as np
import pytest
import torch
from helpers import assert_close, assert_same_state, copy_weights, floats

import weft
from weft import optim


def net(side):
    return side.nn.Sequential(side.nn.Linear(4, 6), side.nn.Tanh(), side.nn.Linear(6, 3))


def trained(side, model, optimizer, steps=50):
    x, y = (side.tensor(floats(16, n, dtype="float64", seed=n)) for n in (4, 3))

    def closure():
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        return loss

    return [float(optimizer.step(closure)) for _ in range(steps)]


CASES = {
    "Adafactor": [{}, {"lr": 0.05, "weight_decay": 0.1, "d": 2.0}, {"eps": (1e-6, 1e-2), "beta2_decay": -0.5, "maximize": True}],
    "ASGD": [{}, {"lr": 0.05, "t0": 10, "lambd": 0.01, "weight_decay": 0.1}, {"maximize": True, "alpha": 0.5}],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.4, 1.5), "step_sizes": (1e-4, 0.1)}, {"maximize": True}],
    "LBFGS": [
        {"lr": 0.1, "max_iter": 4}, {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7, "lr": 0.5},
        {"lr": 0.3, "max_iter": 10, "max_eval": 6, "tolerance_change": 1e-5},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name, settings", [(name, s) for name, all_settings in CASES.items() for s in all_settings], ids=str)
def test_50_steps(name, settings):
    a, b = net(weft).double(), net(torch).double()
    copy_weights(b, a)
    mine, other = getattr(optim, name)(a.parameters(), **settings), getattr(torch.optim, name)(b.parameters(), **settings)
    steps = 5 if name == "LBFGS" else 50  # each has up to 20 iterations, through which roundings grow
    np.testing.assert_allclose(trained(weft, a, mine, steps), trained(torch, b, other, steps), rtol=1e-5)
    assert_same_state(a, b, rtol=1e-4, atol=1e-5)
    saved, wanted = mine.state_dict(), other.state_dict()
    assert saved["state"].keys() == wanted["state"].keys()
    for number, entry in wanted["state"].items():
        assert saved["state"][number].keys() >= entry.keys() - {"al"}
    fresh = getattr(optim, name)(a.parameters(), **settings)
    fresh.load_state_dict(saved)
    np.testing.assert_allclose(trained(weft, a, fresh, 2), trained(torch, b, other, 2), rtol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, {"lr": 0.02, "ns_steps": 3}], ids=str)
def test_muon(settings):
    """In bfloat16, so a few steps, and roughly."""
    weights = floats(8, 5)
    a, b = weft.tensor(weights).requires_grad_(), torch.tensor(weights).requires_grad_()
    mine, other = optim.Muon([a], **settings), torch.optim.Muon([b], **settings)
    for step in range(10):
        for p, side, optimizer in ((a, weft, mine), (b, torch, other)):
            p.grad = side.tensor(floats(8, 5, seed=step + 1))
            optimizer.step()
    moved = np.abs(b.detach().numpy() - weights).max()
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=0.05 * moved)


def test_sparse_adam_leaves_unused_rows_alone():
    weights = floats(6, 3, dtype="float64")
    a, b = weft.tensor(weights).requires_grad_(), torch.tensor(weights).requires_grad_()
    mine, other = optim.SparseAdam([a], lr=0.05), torch.optim.SparseAdam([b], lr=0.05)
    for step in range(50):
        rows = sorted({step % 6, (step * 5 + 1) % 6})
        values = floats(len(rows), 3, dtype="float64", seed=step)
        dense = np.zeros((6, 3))
        dense[rows] = values
        a.grad, b.grad = weft.tensor(dense), torch.sparse_coo_tensor([rows], torch.tensor(values), (6, 3))
        mine.step(), other.step()
    assert_close(a, b, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("settings", [
    {"step_size_up": 7}, {"step_size_up": 5, "step_size_down": 9, "mode": "triangular2"},
    {"step_size_up": 6, "mode": "exp_range", "gamma": 0.98},
    {"step_size_up": 4, "scale_fn": lambda x: 1 / (1 + x), "scale_mode": "iterations", "cycle_momentum": False},
    {"step_size_up": 4, "scale_fn": lambda x: 0.5**x, "base_momentum": [0.7, 0.6], "max_momentum": [0.8, 0.9]},
], ids=str)  # fmt: skip
def test_cyclic_rates(kind, settings):
    optimizers, schedulers = [], []
    for side in (weft, torch):
        groups = [{"params": side.ones(1).requires_grad_()}, {"params": side.ones(1).requires_grad_(), "lr": 0.25}]
        optimizers.append(getattr(side.optim, kind)(groups, lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {})))
        schedulers.append(side.optim.lr_scheduler.CyclicLR(optimizers[-1], [0.01, 0.02], 0.5, **settings))
    for step in range(60):
        for a, b in zip(optimizers[0].param_groups, optimizers[1].param_groups):
            for key in ("lr", "momentum", "betas"):
                assert a.get(key) == (None if b.get(key) is None else pytest.approx(b.get(key), rel=1e-9)), (step, key)
        assert schedulers[0].get_last_lr() == pytest.approx(schedulers[1].get_last_lr(), rel=1e-9)
        for scheduler in schedulers:
            scheduler.step()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("settings", [
    {}, {"anneal_strategy": "linear", "anneal_epochs": 5}, {"anneal_epochs": 0}, {"swa_lr": [0.3, 0.01]},
], ids=str)  # fmt: skip
def test_swa_rates(settings):
    settings = {"swa_lr": 0.05, **settings}
    optimizers, schedulers = [], []
    for side in (weft, torch):
        groups = [{"params": side.ones(1).requires_grad_()}, {"params": side.ones(1).requires_grad_(), "lr": 0.25}]
        optimizers.append(side.optim.SGD(groups, lr=0.1))
        schedulers.append(side.optim.swa_utils.SWALR(optimizers[-1], **settings))
    for step in range(50):
        for a, b in zip(optimizers[0].param_groups, optimizers[1].param_groups):
            assert a["lr"] == pytest.approx(b["lr"], rel=1e-9), step
            if step == 3:
                a["lr"] = b["lr"] = 0.2
        for scheduler in schedulers:
            scheduler.step()


@pytest.mark.parametrize("how", ["default", "swa_avg", "ema_avg", "ema_multi", "swa_multi", "buffers"])
def test_averaged_models(how):
    def model(side):
        return side.nn.Sequential(side.nn.Linear(4, 6), side.nn.BatchNorm1d(6), side.nn.Linear(6, 3))

    def averaged(side, model):
        s = side.optim.swa_utils
        settings = {
            "default": {}, "swa_avg": {"avg_fn": s.get_swa_avg_fn()}, "ema_avg": {"avg_fn": s.get_ema_avg_fn(0.9)},
            "ema_multi": {"multi_avg_fn": s.get_ema_multi_avg_fn(0.8)}, "swa_multi": {"multi_avg_fn": s.get_swa_multi_avg_fn()},
            "buffers": {"avg_fn": s.get_ema_avg_fn(0.5), "use_buffers": True},
        }  # fmt: skip
        return s.AveragedModel(model, **settings[how])

    a, b = model(weft), model(torch)
    copy_weights(b, a)
    means = averaged(weft, a), averaged(torch, b)
    optimizers = optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)
    for step in range(10):
        for side, own, mean, optimizer in zip((weft, torch), (a, b), means, optimizers):
            optimizer.zero_grad()
            (own(side.tensor(floats(8, 4, seed=step))) ** 2).mean().backward()
            optimizer.step()
            mean.update_parameters(own)
    assert_same_state(means[0], means[1], rtol=1e-4, atol=1e-5)
    batches = [floats(8, 4, seed=20 + i) for i in range(5)]
    optim.swa_utils.update_bn([weft.tensor(x) for x in batches], means[0])
    torch.optim.swa_utils.update_bn([(torch.tensor(x), 0) for x in batches], means[1])
    assert_same_state(means[0], means[1], rtol=1e-4, atol=1e-5)
    assert_close(means[0].eval()(weft.tensor(batches[0])), means[1].eval()(torch.tensor(batches[0])), rtol=1e-4, atol=1e-5)
