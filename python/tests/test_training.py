"""Whole training runs: four threads at once give the bits of each alone, and every optimiser's step is a few kernels, compiled once."""

import threading

import pytest

import weft
from weft import nn, optim
from weft.utils.data import DataLoader, TensorDataset

OPTIMIZERS = {
    "sgd": lambda ps: optim.SGD(ps, lr=0.05, momentum=0.9),
    "nesterov": lambda ps: optim.SGD(ps, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3, maximize=False),
    "adam": lambda ps: optim.Adam(ps, lr=1e-2),
    "amsgrad": lambda ps: optim.AdamW(ps, lr=1e-2, amsgrad=True),
    "rmsprop": lambda ps: optim.RMSprop(ps, lr=1e-3, centered=True, momentum=0.9),
    "adagrad": lambda ps: optim.Adagrad(ps, lr=1e-2, lr_decay=0.1),
    "lion": lambda ps: optim.Lion(ps, lr=1e-3, weight_decay=0.1),
    "adadelta": lambda ps: optim.Adadelta(ps),
    "adamax": lambda ps: optim.Adamax(ps),
    "nadam": lambda ps: optim.NAdam(ps),
    "radam": lambda ps: optim.RAdam(ps),
}


def models(width):
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.LayerNorm(width), nn.Linear(width, 4))


def start(number):
    """A model, an optimiser and data, the same for a number."""
    weft.manual_seed(number)
    model = models(16 + 8 * number)
    x, y = weft.randn(96, 8).realize(), weft.randint(4, (96,)).realize()
    for p in model.parameters():
        p.data.realize()
    kind = ("sgd", "adam", "rmsprop", "lion")[number]
    optimizer = OPTIMIZERS[kind](model.parameters())
    return model, optimizer, optim.lr_scheduler.CosineAnnealingLR(optimizer, 20), DataLoader(TensorDataset(x, y), batch_size=16)


def train(model, optimizer, scheduler, loader, losses):
    for _ in range(4):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())


def test_four_threads_train_as_each_alone():
    alone = []
    for number in range(4):
        losses, parts = [], start(number)
        train(*parts, losses)
        alone.append((losses, [p.tolist() for p in parts[0].parameters()]))
    together = [(start(number), []) for number in range(4)]
    failures = []

    def work(parts, losses):
        try:
            train(*parts, losses)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for (losses, weights), (parts, others) in zip(alone, together):
        assert losses == others and len(losses) == 24
        assert weights == [p.tolist() for p in parts[0].parameters()]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_step_is_one_run_of_few_kernels_compiled_once(name, groups):
    weft.manual_seed(0)
    model = models(16)
    params = list(model.parameters())
    optimizer = OPTIMIZERS[name]([{"params": params[:3]}, {"params": params[3:], "lr": 0.01}] if groups == 2 else params)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    x, y = weft.randn(16, 8).realize(), weft.randint(4, (16,)).realize()

    def step():
        before = weft.counters()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        after = weft.counters()
        return {key: after[key] - before[key] for key in ("runs", "kernels_compiled", "plans_made", "kernels_launched")}

    step()  # compiles; parameters are still the expressions that initialised them
    step()
    for _ in range(8):
        counts = step()
        assert counts["runs"] == 1 and counts["kernels_compiled"] == 0 and counts["plans_made"] == 0
        assert counts["kernels_launched"] <= 14


def test_a_cycle_of_momentum_compiles_nothing_after_its_start():
    weft.manual_seed(0)
    model = models(16)
    optimizer = optim.Adam(model.parameters())
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 30)
    x, y = weft.randn(16, 8).realize(), weft.randint(4, (16,)).realize()
    compiled = []
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        compiled.append(weft.counters()["kernels_compiled"])
    assert compiled[-1] == compiled[3]


def test_an_optimizer_can_be_pickled():
    import copy
    import pickle

    p = nn.Parameter(weft.ones(3))
    optimizer = optim.Adam([p], lr=0.1)
    (p * p).sum().backward()
    optimizer.step()
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        q = other.param_groups[0]["params"][0]
        assert q is not p and q.tolist() == p.tolist() and other.param_groups[0]["lr"] == 0.1
        assert other.state[q]["exp_avg"].tolist() == optimizer.state[p]["exp_avg"].tolist()
