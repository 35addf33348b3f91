"""What ordinary programs cost, counted: those of bench/programs.py, once they have been seen. No test here measures time."""

import gc
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import weft

PATH = Path(__file__).resolve().parents[2] / "bench/frameworks/programs.py"

# Kernels that one pass launches, at most.
LAUNCHES = {
    "reads": 203, "items": 4, "metrics": 7, "prepare": 28, "sample": 1437, "unread": 1201, "denoise": 567, "ragged": 1330, "experts": 44,
    "windows": 21, "gan": 71, "small": 1001, "logging": 161, "clusters": 946, "averages": 94,
}  # fmt: skip


def load():
    spec = importlib.util.spec_from_file_location("weft_bench_programs", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


programs = load()


def test_every_program_is_counted():
    assert set(LAUNCHES) == set(programs.ROWS)


@pytest.mark.parametrize("row", LAUNCHES)
def test_a_program_that_was_seen_before(row):
    weft.manual_seed(0)
    once = programs.ROWS[row](weft, programs.Data(weft))
    live = []
    for _ in range(4):
        once()
        gc.collect()
        live.append(weft.counters()["bytes_allocated"])
    before = weft.counters()
    once()
    gc.collect()
    after = weft.counters()
    spent = {name: after[name] - before[name] for name in after}
    assert spent["kernels_compiled"] == 0 and spent["plans_made"] == 0, spent
    assert spent["kernels_launched"] <= LAUNCHES[row], spent
    assert after["bytes_allocated"] <= max(live[1:])  # whole blocks of the pool: a tensor may lie in a larger one than it needs


def test_a_handle_that_is_read_often_is_computed_once():
    x, w = weft.rand(200, 64).realize(), weft.rand(64, 10).realize()
    best = (x @ w).argmax(1)
    before = weft.counters()["kernels_launched"]
    seen = [int(best[i]) for i in range(200)]
    assert weft.counters()["kernels_launched"] - before <= 3
    assert seen == best.tolist()


def test_unread_metrics_keep_no_old_parameters():
    weft.manual_seed(0)
    net = weft.nn.Linear(64, 64)
    step = weft.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, total = weft.rand(8, 64).realize(), weft.zeros(())

    def once():
        nonlocal total
        step.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        step.step()
        total = total + loss.detach()

    for _ in range(4):
        once()
    before = weft.counters()["bytes_allocated"]
    for _ in range(50):
        once()
    assert weft.counters()["bytes_allocated"] <= before + 4096
    assert total.item() > 0


def test_a_forward_pass_that_was_read_is_not_computed_by_backward():
    x = weft.rand(32, 64).realize()
    w = weft.rand(64, 64, requires_grad=True)
    w.realize()
    hidden = (x @ w).tanh()
    loss = (hidden @ hidden.T).mean()
    loss.item()
    before = weft.counters()["kernels_launched"]
    loss.backward()
    w.grad.realize()
    read = weft.counters()["kernels_launched"] - before
    w.grad = None
    hidden = (x @ w).tanh()
    loss = (hidden @ hidden.T).mean()
    before = weft.counters()["kernels_launched"]
    loss.backward()
    w.grad.realize()
    assert read <= weft.counters()["kernels_launched"] - before


TARGET = weft.zeros(200, 30).realize()
DATA = weft.rand(200, 30, generator=weft.Generator().manual_seed(1)).realize()


def lr_step():
    w = weft.rand(30, 30, requires_grad=True)
    optimizer = weft.optim.Adam([w], lr=0.1)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    def once(i):
        optimizer.zero_grad()
        (DATA[i : i + 20] @ w).square().mean().backward()
        optimizer.step()
        scheduler.step()

    return once


def write(x, index, value):
    x[index] = value
    return x.sum().item()


def padded(i):
    rows = [weft.arange(3 + (i * 7 + k * 5) % 13) for k in range(8)]
    return weft.stack([weft.nn.functional.pad(row, (0, 16 - len(row))) for row in rows]).sum().item()


def lifetimes(i):
    a = DATA * 2
    b = a @ a.T
    c = b.sum(1)
    kept = [x for k, x in enumerate((a, b, c)) if i >> k & 1]
    del a, b
    return c.sum().item() + sum(x.mean().item() for x in kept)


def pending_slices(i):
    h = DATA @ DATA.T
    return (h[i : i + 20] * 2).sum().item() + h[i].max().item()


F = weft.nn.functional
CONTENTS = {
    "slices of what is pending": pending_slices,
    "slices": lambda i: (DATA[i : i + 20] * 2).sum().item(),
    "an index": lambda i: (DATA[i] * 2).sum().item(),
    "two indices": lambda i: (DATA[i, i % 30] * 2).item(),
    "an index from the end": lambda i: (DATA[-i - 1] * 2).sum().item(),
    "narrow, select": lambda i: DATA.narrow(0, i, 10).sum().item() + DATA.select(1, i % 30).sum().item(),
    "indices": lambda i: DATA[[i, i + 1, 3]].sum().item() + DATA[weft.tensor([i, 2])].sum().item(),
    "pieces": lambda i: weft.cat([DATA[i : i + 3], DATA[i + 5 : i + 9]]).sum().item(),
    "writes": lambda i: write(TARGET, (i, i % 7), float(i)) + write(TARGET, slice(i, i + 3), i * 0.5),
    "constants": lambda i: (DATA * (i * 0.5) + i).clamp(-i, i + 0.5).sum().item(),
    "full": lambda i: (weft.full((5, 5), i * 1.5) + DATA[:5, :5]).sum().item(),
    "masks": lambda i: DATA.masked_fill(DATA > i * 0.01, i * 1.0).sum().item() + weft.where(DATA > 0.5, DATA, i * 1.0).sum().item(),
    "a diagonal": lambda i: weft.tril(DATA[:20, :20], i % 5).sum().item(),
    "a seed": lambda i: (weft.manual_seed(i), weft.rand(10).sum().item())[1],
    "random masks": lambda i: F.dropout(DATA, 0.3).sum().item(),
    "ranges": lambda i: weft.arange(i, i + 10).sum().item(),
    "a learning rate": lr_step(),
    "which handles live": lifetimes,
}


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_never_compile(name):
    for i in range(8):
        CONTENTS[name](i)
    before = weft.counters()
    for i in range(8, 40):
        CONTENTS[name](i)
    after = weft.counters()
    assert after["plans_made"] == before["plans_made"] and after["kernels_compiled"] == before["kernels_compiled"]


def test_ragged_items_have_a_plan_for_each_length():
    for i in range(13):
        padded(i)
    before = weft.counters()["kernels_compiled"]
    for i in range(13, 60):
        padded(i)
    assert weft.counters()["kernels_compiled"] == before


class Ragged(weft.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, i):
        row = weft.zeros(16, dtype=weft.int64)
        row[: 3 + i % 13] = weft.arange(3 + i % 13) + i
        return row, i % 3


def test_a_loader_hands_out_memory():
    loader = weft.utils.data.DataLoader(Ragged(), batch_size=8, shuffle=True)
    for _ in range(2):
        for _ in loader:
            pass
    before = weft.counters()
    for rows, kinds in loader:
        launched = weft.counters()["kernels_launched"]
        assert rows.shape == (8, 16) and kinds.shape == (8,)
        rows.tolist(), kinds.tolist()
        assert weft.counters()["kernels_launched"] == launched
    after = weft.counters()
    assert after["plans_made"] == before["plans_made"] and after["kernels_compiled"] == before["kernels_compiled"]


def test_slices_of_what_has_no_room():
    huge = weft.arange(10**12) * 3
    assert huge[5].item() == 15
    assert (weft.arange(10**12) * 3)[7].item() == 21
    x = weft.ones(3)
    table = weft.zeros(10**6, 10**6) + x[0]
    assert table[3, 3].item() == 1


def test_what_is_pending_and_huge_is_left_alone():
    x, y = weft.ones(20000, 1).realize(), weft.ones(1, 20000).realize()
    huge = x - y  # 1.6 GB, and nobody reads it
    before = weft.counters()["bytes_allocated"]
    data = [weft.tensor(np.ones(2**24, np.float32)) for _ in range(6)]  # 400 MB
    assert weft.counters()["bytes_allocated"] - before < 500 * 2**20
    assert (huge[0, :3].tolist(), len(data)) == ([0, 0, 0], 6)


def test_an_error_of_another_tensor_is_not_raised():
    x, bad = weft.arange(16.0).reshape(4, 4).realize(), weft.tensor([99])
    for extra in range(380, 480, 6):  # so that the search for what is computed along ends before, in and after `other`
        z = x @ x
        kept = []
        for length in (900, 900, 900, 900, 900, extra):
            t = z.sum()
            for i in range(length):
                t = t + float(i)
            kept.append(t)
        wrong = x[bad].sum()
        for _ in range(30):
            wrong = wrong + 1.0
        other = wrong + z * 2.0  # would raise, and is never read
        assert z.sum().item() == 3920 and other.shape == (4, 4)


def test_softmax_is_sliced_by_one_plan():
    x, w = DATA, weft.rand(30, 10).realize()

    def once(i):
        pred = (x @ w).softmax(1)
        return pred[i].sum().item()

    once(0), once(1)
    before = weft.counters()["plans_made"]
    for i in range(2, 20):
        assert abs(once(i) - 1) < 1e-5
    assert weft.counters()["plans_made"] == before


def test_a_stack_of_other_things_is_lazy():
    x = weft.rand(5).realize()
    before = weft.counters()["kernels_launched"]
    joined = weft.stack([x.sin(), x.cos() * 2, x.exp()])
    assert weft.counters()["kernels_launched"] == before
    joined.realize()
    assert weft.counters()["kernels_launched"] == before + 1


def test_unread_numbers_of_slices_keep_nothing():
    w, kept = weft.rand(256, 256).realize(), []
    before = weft.counters()["bytes_allocated"]
    for i in range(20):
        out = (w * float(i)) @ w
        number = out[0].sum() * 2
        out.tolist()
        kept.append(number)
        del out, number
    assert weft.counters()["bytes_allocated"] - before < 2**20
    assert kept[0].item() == 0 and kept[2].item() > kept[1].item()


def test_getitems_may_return_anything():
    class Whole(Ragged):
        def __getitems__(self, rows):
            return {"rows": weft.tensor(rows), "count": len(rows)}

    first = next(iter(weft.utils.data.DataLoader(Whole(), batch_size=4, collate_fn=lambda batch: batch)))
    assert first["count"] == 4 and first["rows"].tolist() == [0, 1, 2, 3]
