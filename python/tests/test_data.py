"""Data sets, loaders, and a short training run of the example."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

ROOT = Path(__file__).parents[2]


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": weft.tensor(float(i)), "y": np.float32(i * i), "name": str(i)}


def test_tensor_dataset_and_loader():
    x, y = weft.arange(10.0).reshape(10, 1).realize(), weft.arange(10).realize()
    data = TensorDataset(x, y)
    assert len(data) == 10 and data[3][1].item() == 3
    batches = list(DataLoader(data, batch_size=4))
    assert [len(b[0]) for b in batches] == [4, 4, 2] and batches[1][1].tolist() == [4, 5, 6, 7]
    assert len(DataLoader(data, batch_size=4, drop_last=True)) == len(list(DataLoader(data, batch_size=4, drop_last=True))) == 2
    weft.manual_seed(3)
    loader = DataLoader(data, batch_size=4, shuffle=True)
    first, second = [[i for b in loader for i in b[1].tolist()] for _ in range(2)]
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    for a, b in DataLoader(data, batch_size=5, shuffle=True):
        assert a.reshape(-1).long().tolist() == b.tolist()
    with pytest.raises(ValueError, match="must be equal"):
        TensorDataset(x, y[:3])


@pytest.mark.parametrize("workers", [0, 2])
def test_any_dataset(workers):
    batches = list(DataLoader(Squares(), batch_size=3, num_workers=workers))
    assert batches[1]["y"].tolist() == [9, 16, 25] and batches[0]["name"] == ["0", "1", "2"] and len(batches) == 4
    assert DataLoader(Squares(), batch_size=None).__iter__().__next__()["x"].item() == 0
    pairs = DataLoader([(1, 2.0), (3, 4.0)], batch_size=2)
    a, b = next(iter(pairs))
    assert a.tolist() == [1, 3] and b.tolist() == [2, 4]


def test_parts():
    weft.manual_seed(0)
    parts = random_split(Squares(), [7, 3])
    assert [len(p) for p in parts] == [7, 3] and len(random_split(Squares(), [0.5, 0.5])[0]) == 5
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    assert Subset(Squares(), [5])[0]["x"].item() == 5 and len(ConcatDataset([Squares(), Squares()])) == 20
    assert ConcatDataset([Squares(), Squares()])[-1]["x"].item() == 9
    with pytest.raises(ValueError, match="add up to 5"):
        random_split(Squares(), [2, 3])
    order = weft.randperm(100)
    assert sorted(order.tolist()) == list(range(100)) and order.tolist() != list(range(100))


def test_mnist_example():
    command = [sys.executable, str(ROOT / "examples/python/mnist.py"), "--epochs", "1", "--images", "12800"]
    command += ["--folder", str(ROOT / "data")]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert run.returncode == 0, run.stderr
    assert float(re.search(r"accuracy ([\d.]+)%", run.stdout)[1]) > 88
