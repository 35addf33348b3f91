"""Schedulers: 200 steps of each, two groups, from the same rates."""

import math

import pytest
import torch

import weft
from weft import optim

CASES = {
    "StepLR": [{"step_size": 7}, {"step_size": 30, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [3, 50, 120]}, {"milestones": [10, 10, 80], "gamma": 0.5}],
    "ExponentialLR": [{"gamma": 0.97}],
    "ConstantLR": [{}, {"factor": 0.25, "total_iters": 40}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.5, "total_iters": 60}],
    "PolynomialLR": [{}, {"total_iters": 150, "power": 2.5}],
    "CosineAnnealingLR": [{"T_max": 50}, {"T_max": 30, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 13}, {"T_0": 10, "T_mult": 2, "eta_min": 0.001}],
    "LambdaLR": [{"lr_lambda": lambda i: 1 / (1 + i)}, {"lr_lambda": [lambda i: 0.9**i, lambda i: 1 + math.cos(i)]}],
    "MultiplicativeLR": [{"lr_lambda": lambda i: 0.98 if i % 2 else 1.01}],
    "OneCycleLR": [
        {"max_lr": 0.4, "total_steps": 201}, {"max_lr": [0.3, 0.6], "epochs": 21, "steps_per_epoch": 10, "anneal_strategy": "linear"},
        {"max_lr": 0.4, "total_steps": 201, "three_phase": True, "pct_start": 0.4},
    ],
}  # fmt: skip


def sides(optimizer="SGD", **settings):
    for side, module in ((weft, optim), (torch, torch.optim)):
        groups = [{"params": side.ones(1).requires_grad_()}, {"params": side.ones(1).requires_grad_(), "lr": 0.25}]
        if optimizer == "SGD":
            settings = {"momentum": 0.9, **settings}
        yield module, getattr(module, optimizer)(groups, lr=0.1, **settings)


def settings_of(optimizer):
    return [{key: group.get(key) for key in ("lr", "momentum", "betas")} for group in optimizer.param_groups]


def compare(ours, theirs, step):
    for a, b in zip(settings_of(ours), settings_of(theirs), strict=True):
        assert a["lr"] == pytest.approx(b["lr"], rel=1e-9, abs=1e-15), step
        assert a["momentum"] == pytest.approx(b["momentum"], rel=1e-12) if b["momentum"] is not None else a["momentum"] is None
        assert a["betas"] == pytest.approx(b["betas"], rel=1e-12) if b["betas"] is not None else a["betas"] is None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name, settings", [(name, s) for name, all_settings in CASES.items() for s in all_settings])
def test_200_steps(name, settings, optimizer):
    (module, ours), (other, theirs) = sides(optimizer)
    a, b = getattr(module.lr_scheduler, name)(ours, **settings), getattr(other.lr_scheduler, name)(theirs, **settings)
    compare(ours, theirs, 0)
    for step in range(1, 201):
        a.step()
        b.step()
        compare(ours, theirs, step)
        assert a.last_epoch == b.last_epoch == step
        assert a.get_last_lr() == pytest.approx(b.get_last_lr(), rel=1e-9, abs=1e-15)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, settings", [(name, s[-1]) for name, s in CASES.items()])
def test_a_state_goes_on(name, settings):
    (module, ours), (_, theirs) = sides()
    a, b = getattr(module.lr_scheduler, name)(ours, **settings), getattr(torch.optim.lr_scheduler, name)(theirs, **settings)
    for _ in range(17):
        a.step()
        b.step()
    (module, resumed), _ = sides()
    c = getattr(module.lr_scheduler, name)(resumed, **settings)
    resumed.load_state_dict(ours.state_dict())
    c.load_state_dict(a.state_dict())
    for step in range(30):
        c.step()
        b.step()
        compare(resumed, theirs, step)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sequences_and_chains():
    for how in ("SequentialLR", "ChainedScheduler"):
        (first, ours), (second, theirs) = sides()
        schedulers = []
        for module, optimizer in ((first, ours), (second, theirs)):
            s = module.lr_scheduler
            parts = [s.LinearLR(optimizer, 0.1, total_iters=20), s.CosineAnnealingLR(optimizer, 60), s.ExponentialLR(optimizer, 0.95)]
            schedulers.append(s.SequentialLR(optimizer, parts, [20, 80]) if how == "SequentialLR" else s.ChainedScheduler(parts))
        compare(ours, theirs, 0)
        for step in range(1, 201):
            for scheduler in schedulers:
                scheduler.step()
            compare(ours, theirs, step)
            assert schedulers[0].get_last_lr() == pytest.approx(schedulers[1].get_last_lr(), rel=1e-9, abs=1e-15)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_changed_rate_is_kept_and_a_step_may_be_named():
    (first, ours), (second, theirs) = sides()
    schedulers = [module.lr_scheduler.ExponentialLR(o, 0.9) for module, o in ((first, ours), (second, theirs))]
    for step in range(40):
        for optimizer, scheduler in zip((ours, theirs), schedulers):
            if step == 10:
                optimizer.param_groups[0]["lr"] = 7.0
            scheduler.step(5) if step == 30 else scheduler.step()
        compare(ours, theirs, step)


@pytest.mark.parametrize("settings", [
    {}, {"patience": 2, "factor": 0.5, "cooldown": 3}, {"mode": "max", "patience": 1, "threshold": 0.05, "threshold_mode": "abs"},
    {"patience": 0, "min_lr": [0.01, 0.02]}, {"mode": "max", "patience": 3, "threshold": 0.1},
])  # fmt: skip
def test_plateaus(settings):
    (first, ours), (second, theirs) = sides()
    a, b = first.lr_scheduler.ReduceLROnPlateau(ours, **settings), second.lr_scheduler.ReduceLROnPlateau(theirs, **settings)
    for step in range(200):
        value = math.sin(step / 7) / (1 + step / 50) + 1.5
        a.step(weft.tensor(value) if step % 2 else value)
        b.step(torch.tensor(value) if step % 2 else value)
        compare(ours, theirs, step)
        assert a.get_last_lr() == pytest.approx(b.get_last_lr()) and a.num_bad_epochs == b.num_bad_epochs


def test_linear_warmup():
    optimizer = optim.SGD([weft.ones(1).requires_grad_()], lr=1.0)
    scheduler = optim.lr_scheduler.LinearWarmup(optimizer, 4)
    rates = []
    for _ in range(6):
        rates += scheduler.get_last_lr()
        scheduler.step()
    assert rates == [0.25, 0.5, 0.75, 1, 1, 1]


def test_mistakes():
    optimizer = optim.Adagrad([weft.ones(1).requires_grad_()])
    s = optim.lr_scheduler
    for wrong in (lambda: s.OneCycleLR(optimizer, 0.1), lambda: s.OneCycleLR(optimizer, 0.1, 10), lambda: s.SequentialLR(optimizer, [], []),
                  lambda: s.ReduceLROnPlateau(optimizer, "up"), lambda: s.ReduceLROnPlateau(optimizer, factor=1.5),
                  lambda: s.LinearLR(optimizer, start_factor=0), lambda: s.CosineAnnealingWarmRestarts(optimizer, 0)):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        s.StepLR(weft.ones(1), 3)
    with pytest.raises(KeyError):
        s.StepLR(optim.SGD([weft.ones(1).requires_grad_()]), 3, last_epoch=4)
