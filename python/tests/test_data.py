"""Data sets, samplers and loaders."""

import collections
import gzip
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.utils.data import (
    BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler, StackDataset, Subset,
    SubsetRandomSampler, TensorDataset, WeightedRandomSampler, default_collate, get_worker_info, random_split,
)  # fmt: skip


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("weft-loader")]


@pytest.fixture(autouse=True)
def no_worker_goes_on():
    """They would change what tests of other files count."""
    yield
    for worker in workers():
        worker.join(2)


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": weft.tensor(float(i)), "y": np.float32(i * i), "name": str(i)}


class Count(IterableDataset):
    """0 … 9; where workers share it, each has its part."""

    def __iter__(self):
        info = get_worker_info()
        return iter(range(10)) if info is None else iter(range(info.id, 10, info.num_workers))

    def __len__(self):
        return 10


def seen(loader):
    return [i for batch in loader for i in batch[-1].tolist()]


@pytest.fixture
def table():
    x, y = weft.arange(10.0).reshape(10, 1).realize(), weft.arange(10).realize()
    return TensorDataset(x, y)


def test_tensor_dataset_and_loader(table):
    assert len(table) == 10 and table[3][1].item() == 3
    batches = list(DataLoader(table, batch_size=4))
    assert [len(b[0]) for b in batches] == [4, 4, 2] and batches[1][1].tolist() == [4, 5, 6, 7]
    assert len(DataLoader(table, batch_size=4, drop_last=True)) == len(list(DataLoader(table, batch_size=4, drop_last=True))) == 2
    weft.manual_seed(3)
    loader = DataLoader(table, batch_size=4, shuffle=True)
    first, second = seen(loader), seen(loader)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    for a, b in DataLoader(table, batch_size=5, shuffle=True):
        assert a.reshape(-1).long().tolist() == b.tolist()
    with pytest.raises(ValueError, match="must be equal"):
        TensorDataset(table.tensors[0], table.tensors[1][:3])
    with pytest.raises(ValueError, match="must be equal"):
        TensorDataset(weft.tensor(1.0))


def test_a_shuffled_epoch_is_one_plan(table):
    def epoch():
        for x, y in DataLoader(table, batch_size=5, shuffle=True):
            (x.sum() + y.sum()).item()

    epoch()
    before = weft.counters()
    epoch()
    after = weft.counters()
    assert after["plans_made"] == before["plans_made"] and after["kernels_compiled"] == before["kernels_compiled"]


@pytest.mark.parametrize("workers", [0, 2])
def test_any_dataset(workers):
    batches = list(DataLoader(Squares(), batch_size=3, num_workers=workers))
    assert batches[1]["y"].tolist() == [9, 16, 25] and batches[0]["name"] == ["0", "1", "2"] and len(batches) == 4
    assert batches[0]["y"].dtype == weft.float32
    assert next(iter(DataLoader(Squares(), batch_size=None, num_workers=workers)))["x"].item() == 0
    a, b = next(iter(DataLoader([(1, 2.0), (3, 4.0)], batch_size=2, num_workers=workers)))
    assert a.tolist() == [1, 3] and b.tolist() == [2, 4] and a.dtype == weft.int64 and b.dtype == weft.float64
    lists = DataLoader(Squares(), batch_size=3, num_workers=workers, collate_fn=lambda items: [item["name"] for item in items])
    assert list(lists) == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9"]]


def test_collate():
    Pair = collections.namedtuple("Pair", ["a", "b"])
    pair = default_collate([Pair(np.ones(2, np.float64), True), Pair(np.zeros(2, np.float64), False)])
    assert isinstance(pair, Pair) and pair.a.dtype == weft.float64 and pair.a.tolist() == [[1, 1], [0, 0]] and pair.b.tolist() == [True, False]
    assert default_collate([{"a": [1, 2]}, {"a": [3, 4]}])["a"][1].tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="must be equal"):
        default_collate([[1, 2], [3]])
    with pytest.raises(TypeError, match="an item is a object"):
        default_collate([object()])


def test_workers_are_threads_that_keep_the_order():
    class Slow(Dataset):
        threads = set()

        def __len__(self):
            return 12

        def __getitem__(self, i):
            time.sleep(0.01 if i % 2 else 0.0)
            self.threads.add(threading.current_thread().name)
            return i, get_worker_info().id

    started = []
    for persistent in (False, True):
        loader = DataLoader(Slow(), batch_size=2, num_workers=3, worker_init_fn=started.append, persistent_workers=persistent, prefetch_factor=1)
        for _ in range(2):
            batches = list(loader)
            assert [i for b in batches for i in b[0].tolist()] == list(range(12))
            assert [b[1].tolist()[0] for b in batches] == [0, 1, 2, 0, 1, 2]
    assert len(Slow.threads) == 3 and get_worker_info() is None
    assert sorted(started) == [0, 0, 0, 1, 1, 1, 2, 2, 2]  # thrice in all: persistent ones start once
    for _ in loader:
        break  # what was loaded ahead is not seen by the next epoch
    assert next(iter(loader))[0].tolist() == [0, 1]


def test_workers_load_nothing_once_their_loader_is_gone():
    loaded = []

    class Slow(Squares):
        def __getitem__(self, i):
            loaded.append(i)
            time.sleep(0.02)
            return super().__getitem__(i)

    for _ in DataLoader(Slow(), num_workers=1, prefetch_factor=8):
        break
    for worker in workers():
        worker.join(10)
    assert len(loaded) < 5


def test_workers_that_wait_hold_no_batch():
    loader = DataLoader(Squares(), num_workers=2, persistent_workers=True)
    before = weft.counters()["live_buffers"]
    assert len([batch["x"].tolist() for batch in loader]) == 10
    limit = time.monotonic() + 5
    while weft.counters()["live_buffers"] > before and time.monotonic() < limit:
        time.sleep(0.01)
    assert weft.counters()["live_buffers"] == before


def test_workers_end_and_hand_on_errors():
    class Bad(Squares):
        def __getitem__(self, i):
            if i == 5:
                raise KeyError("item five")
            return super().__getitem__(i)

    before = len(workers())
    with pytest.raises(KeyError, match="item five"):
        list(DataLoader(Bad(), num_workers=2))
    for _ in DataLoader(Squares(), num_workers=2):
        break
    loader = DataLoader(Squares(), num_workers=2, persistent_workers=True)
    list(loader)
    del loader
    limit = time.monotonic() + 5
    while len(workers()) > before and time.monotonic() < limit:
        time.sleep(0.01)
    assert len(workers()) <= before  # some of an earlier test may have ended meanwhile

    def fail(worker):
        raise OSError("no start")

    with pytest.raises(OSError, match="no start"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=fail))

    class Stuck(Squares):
        def __getitem__(self, i):
            time.sleep(0.3)

    with pytest.raises(RuntimeError, match="longer than timeout=0.05"):
        list(DataLoader(Stuck(), num_workers=1, timeout=0.05))


def test_streams():
    assert [b.tolist() for b in DataLoader(Count(), batch_size=4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [b.tolist() for b in DataLoader(Count(), batch_size=4, drop_last=True)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert list(DataLoader(Count(), batch_size=None)) == list(range(10)) and len(DataLoader(Count(), batch_size=4)) == 3
    shared = [b.tolist() for b in DataLoader(Count(), batch_size=3, num_workers=3)]
    assert sorted(i for b in shared for i in b) == list(range(10)) and shared[:3] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert len(list(ChainDataset([Count(), Count()]))) == len(list(Count() + Count())) == 20
    with pytest.raises(ValueError, match="its own order"):
        DataLoader(Count(), shuffle=True)


def test_samplers(table):
    assert list(SequentialSampler(table)) == list(range(10))
    weft.manual_seed(0)
    assert sorted(RandomSampler(table)) == list(range(10)) and len(RandomSampler(table, num_samples=4)) == len(list(RandomSampler(table, num_samples=4))) == 4
    many = list(RandomSampler(table, num_samples=25))
    assert sorted(many[:10]) == sorted(many[10:20]) == list(range(10))
    again = list(RandomSampler(table, replacement=True, num_samples=200))
    assert set(again) == set(range(10)) and len(again) == 200
    assert sorted(SubsetRandomSampler([3, 5, 7])) == [3, 5, 7]
    assert list(BatchSampler(SequentialSampler(range(5)), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(BatchSampler(SequentialSampler(range(5)), 2, True)) == len(list(BatchSampler(SequentialSampler(range(5)), 2, True))) == 2
    drawn = collections.Counter(WeightedRandomSampler([0.0, 1.0, 3.0, 0.0], 4000))
    assert set(drawn) == {1, 2} and 2.6 < drawn[2] / drawn[1] < 3.4
    alone = list(WeightedRandomSampler([1.0, 0.0, 5.0], 2, replacement=False))
    assert sorted(alone) == [0, 2]
    first = collections.Counter(next(iter(WeightedRandomSampler([1.0, 3.0], 1, replacement=False))) for _ in range(400))
    assert 2 < first[1] / first[0] < 4.5
    assert seen(DataLoader(table, batch_size=3, sampler=[4, 2, 0])) == [4, 2, 0]
    assert [b[1].tolist() for b in DataLoader(table, batch_sampler=[[1, 2], [9]])] == [[1, 2], [9]]
    assert len(DataLoader(table, batch_sampler=[[1, 2], [9]])) == 2
    for wrong, message in [
        (lambda: WeightedRandomSampler([-1.0], 1), "not negative"),
        (lambda: WeightedRandomSampler([1.0, 0.0], 2, replacement=False), "not 2 weights"),
        (lambda: BatchSampler([1], 0, False), "positive int"),
        (lambda: RandomSampler(table, num_samples=0), "at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()


def test_loader_arguments(table):
    for arguments, message in [
        (dict(batch_size=0), "positive int"),
        (dict(sampler=[1], shuffle=True), "exclude each other"),
        (dict(batch_sampler=[[1]], batch_size=2), "batch_sampler excludes"),
        (dict(batch_size=None, drop_last=True), "needs a batch_size"),
        (dict(num_workers=-1), "num_workers"),
        (dict(prefetch_factor=2), "prefetch_factor"),
        (dict(persistent_workers=True), "persistent_workers"),
        (dict(timeout=-1), "timeout"),
    ]:
        with pytest.raises(ValueError, match=message):
            DataLoader(table, **arguments)


def test_parts(table):
    weft.manual_seed(0)
    parts = random_split(Squares(), [7, 3])
    assert [len(p) for p in parts] == [7, 3] and len(random_split(Squares(), [0.5, 0.5])[0]) == 5
    assert [len(p) for p in random_split(Squares(), [0.33, 0.33, 0.34])] == [4, 3, 3]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    assert Subset(Squares(), [5])[0]["x"].item() == 5 and len(ConcatDataset([Squares(), Squares()])) == len(Squares() + Squares()) == 20
    both = ConcatDataset([Squares(), Squares()])
    assert both[-1]["x"].item() == 9 and both[12]["x"].item() == 2
    for index in (20, -21):
        with pytest.raises(IndexError, match="out of range"):
            both[index]
    with pytest.raises(ValueError, match="add up to 5"):
        random_split(Squares(), [2, 3])
    order = weft.randperm(100)
    assert sorted(order.tolist()) == list(range(100)) and order.tolist() != list(range(100))
    inner = Subset(Subset(table, [9, 7, 5, 3]), [3, 0])  # the fast way of tensors goes through both
    assert seen(DataLoader(inner, batch_size=2)) == [3, 9] and sorted(seen(DataLoader(inner, shuffle=True))) == [3, 9]
    assert StackDataset(range(3), "abc")[1] == (1, "b") and StackDataset(a=range(3))[2] == {"a": 2}
    with pytest.raises(ValueError, match="must be equal"):
        StackDataset(range(3), range(2))


def test_generators(table):
    def drawn(seed):
        g = weft.Generator().manual_seed(seed)
        return seen(DataLoader(table, batch_size=3, shuffle=True, generator=g)), random_split(table, [5, 5], generator=g)[0].indices

    weft.manual_seed(5)
    state = weft.get_rng_state()
    assert drawn(1) == drawn(1) != drawn(2) and weft.get_rng_state() == state  # the global numbers go on untouched
    g = weft.Generator()
    assert g.manual_seed(9) is g and g.initial_seed() == 9 and g.get_state() == (9, 0)
    weft.manual_seed(9)
    for make in (lambda **k: weft.rand(3, **k), lambda **k: weft.randn(2, 2, **k), lambda **k: weft.randint(0, 9, (4,), **k),
                 lambda **k: weft.randperm(6, **k), lambda **k: weft.bernoulli(weft.full((5,), 0.5), **k)):  # fmt: skip
        assert make(generator=g).tolist() == make().tolist()
    copy = pickle.loads(pickle.dumps(g))
    assert weft.rand(2, generator=copy).tolist() == weft.rand(2, generator=g).tolist()
    assert 0 <= g.seed() == g.initial_seed()
    with pytest.raises(TypeError, match=r"rand\(\): argument 'generator' must be a weft.Generator, not int"):
        weft.rand(2, generator=3)
    g.manual_seed(1)
    step = weft.jit(lambda x: x + weft.rand(2, generator=g))
    a, b = step(weft.zeros(2)).tolist(), step(weft.zeros(2)).tolist()
    g.manual_seed(1)
    assert [weft.rand(2, generator=g).tolist() for _ in range(2)] == [a, b]


def test_small_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the package has them wherever one is
    features, labels = weft.datasets.iris()
    assert features.shape == (150, 4) and features.dtype == weft.float32 and weft.allclose(features[0], weft.tensor([5.1, 3.5, 1.4, 0.2]))
    assert labels.tolist() == [0] * 50 + [1] * 50 + [2] * 50
    mean = features.mean(0).tolist()
    assert mean == pytest.approx([5.8433, 3.0573, 3.758, 1.1993], abs=1e-4)
    images, labels = weft.datasets.digits()
    assert images.shape == (1797, 8, 8) and images.max().item() == 16 and labels[:10].tolist() == list(range(10))
    assert len(weft.datasets.IRIS_CLASSES) == 3 and len(weft.datasets.IRIS_FEATURES) == 4


def test_fashion_mnist_is_brought_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WEFT_DATA_URL", "file:///nowhere")
    with pytest.raises(OSError, match="fashion-mnist/train-images-idx3-ubyte.gz: not found in .*; put the set's files into a folder fashion-mnist/"):
        weft.datasets.fashion_mnist()

    def write(name, count, *shape):
        head = struct.pack(f">HBB{1 + len(shape)}I", 0, 8, 1 + len(shape), count, *shape)
        with gzip.open(tmp_path / name, "wb") as file:
            file.write(head + bytes(i % 10 for i in range(count * (784 if shape else 1))))

    for part, count in (("train", 6), ("t10k", 2)):
        write(f"{part}-images-idx3-ubyte.gz", count, 28, 28)
        write(f"{part}-labels-idx1-ubyte.gz", count)
    clothes = weft.datasets.fashion_mnist(tmp_path)
    assert clothes.train_images.shape == (6, 28, 28) and clothes.test_labels.tolist() == [0, 1]
    monkeypatch.setenv("WEFT_DATA", str(tmp_path))  # files of these names may be MNIST's: only a folder that was asked for counts
    with pytest.raises(OSError, match="not found"):
        weft.datasets.fashion_mnist()


def test_a_program_that_fails_while_workers_load_ends_as_others_do(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("""
import weft
from weft.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 10000
    def __getitem__(self, i):
        return (weft.randn(64, 64) @ weft.randn(64, 64)).realize()

for batch in DataLoader(Slow(), batch_size=16, num_workers=3):
    raise SystemExit(7)
""")
    package = str(Path(weft.__file__).resolve().parent.parent)
    for _ in range(3):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": package})
        assert done.returncode == 7, done.stderr
