"""Optimisers whose step is Python: what they find, what they keep, and what mistakes say."""

import copy

import numpy as np
import pytest

import weft
from weft import nn, optim


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def test_lbfgs_finds_the_minimum_of_a_curved_valley():
    p = weft.tensor([-1.5, 2.0], dtype=weft.float64).requires_grad_()
    optimizer = optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(rosenbrock([-1.5, 2.0]))
    np.testing.assert_allclose(p.detach().numpy(), [1, 1], atol=1e-4)
    assert optimizer.state[p]["func_evals"] < 125


def test_lbfgs_solves_a_quadratic_in_as_many_steps_as_it_has_dimensions():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5, 5))
    matrix, target = weft.tensor(a @ a.T + np.eye(5)), weft.tensor(rng.standard_normal(5))
    p = weft.zeros(5, dtype=weft.float64).requires_grad_()
    optimizer = optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=30, tolerance_change=1e-14)

    def closure():
        optimizer.zero_grad()
        loss = 0.5 * p @ (matrix @ p) - target @ p
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(p.detach().numpy(), np.linalg.solve(matrix.numpy(), target.numpy()), atol=1e-6)


@pytest.mark.parametrize("name", ["Adafactor", "ASGD", "Rprop", "SparseAdam", "Muon"])
def test_a_loss_falls_and_a_copy_goes_on(name):
    weft.manual_seed(0)
    x, y = weft.randn(32, 6), weft.randn(32, 3)
    layer = nn.Linear(6, 3, bias=name != "Muon")
    optimizer = getattr(optim, name)(layer.parameters(), lr=0.02)

    def step(layer, optimizer):
        optimizer.zero_grad()
        loss = ((layer(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    losses = [step(layer, optimizer) for _ in range(30)]
    assert losses[-1] < 0.95 * losses[0]
    other = copy.deepcopy(layer)
    resumed = getattr(optim, name)(other.parameters(), lr=0.02)
    resumed.load_state_dict(optimizer.state_dict())
    assert [step(layer, optimizer) for _ in range(3)] == pytest.approx([step(other, resumed) for _ in range(3)], rel=1e-5)


def test_rprop_by_hand():
    p = weft.zeros(1).requires_grad_()
    optimizer = optim.Rprop([p], lr=0.1)
    seen = []
    for gradient in (1.0, 1.0, -1.0, 1.0, 1.0):
        p.grad = weft.tensor([gradient])
        optimizer.step()
        seen.append(p.item())
    # 0.1; longer, 0.12; a change of sign halves the step and makes none; then 0.06; then 0.072.
    assert seen == pytest.approx([-0.1, -0.22, -0.22, -0.28, -0.352], rel=1e-5)


def test_a_step_compiles_nothing_anew():
    layer = nn.Linear(5, 4)
    for kind in (optim.Adafactor, optim.ASGD, optim.Rprop, optim.SparseAdam):
        optimizer = kind(layer.parameters())
        for i in range(12):
            if i == 6:
                before = weft.counters()["kernels_compiled"]
            optimizer.zero_grad()
            layer(weft.ones(2, 5)).square().sum().backward()
            optimizer.step()
        assert weft.counters()["kernels_compiled"] == before, kind


def test_averages():
    model = nn.Linear(2, 1)
    average = optim.swa_utils.AveragedModel(model)
    values = []
    for i in range(4):
        with weft.no_grad():
            model.weight.fill_(float(i * i))
        values.append(float(i * i))
        average.update_parameters(model)
        assert average.module.weight[0, 0].item() == pytest.approx(np.mean(values))
    assert average.n_averaged.item() == 4 and "n_averaged" in average.state_dict()


def parameter(*shape):
    return [weft.ones(*shape).requires_grad_()]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: optim.LBFGS(parameter(2)).step(), TypeError, "closure"),
    (lambda: optim.LBFGS(parameter(2), line_search_fn="wolfe"), RuntimeError, "'strong_wolfe'"),
    (lambda: optim.LBFGS([{"params": parameter(2)}, {"params": parameter(2)}]), ValueError, "one parameter group"),
    (lambda: optim.Muon(parameter(2)), ValueError, "must be a matrix"),
    (lambda: optim.Muon(parameter(2, 2), adjust_lr_fn="half"), ValueError, "adjust_lr_fn"),
    (lambda: optim.Adafactor(parameter(2), beta2_decay=0.5), ValueError, "beta2_decay"),
    (lambda: optim.ASGD(parameter(2), lr=-1), ValueError, "'lr' must not be negative"),
    (lambda: optim.Rprop(parameter(2), etas=(1.5, 2)), ValueError, "below 1"),
    (lambda: optim.SparseAdam(parameter(2), betas=(1, 0.9)), ValueError, "between 0 and 1"),
    (lambda: optim.swa_utils.AveragedModel([1]), TypeError, "must be a Module"),
    (lambda: optim.swa_utils.get_ema_avg_fn(2), ValueError, "decay"),
    (lambda: optim.swa_utils.SWALR(optim.SGD(parameter(1)), [0.1, 0.2]), ValueError, "2 numbers for 1"),
    (lambda: optim.lr_scheduler.CyclicLR(optim.Adagrad(parameter(1)), 0.1, 0.2), ValueError, "cycle_momentum=False"),
    (lambda: optim.lr_scheduler.CyclicLR(optim.SGD(parameter(1)), 0.1, 0.2, mode="square"), ValueError, "'triangular2'"),
    (lambda: optim.lr_scheduler.CyclicLR(parameter(1), 0.1, 0.2), TypeError, "must be an Optimizer"),
])  # fmt: skip
def test_mistakes(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
