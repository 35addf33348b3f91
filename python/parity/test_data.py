"""weft.utils.data beside torch.utils.data: signatures, batches, collating, errors. Random orders differ, and are compared as sets."""

import collections
import inspect

import numpy as np
import pytest
import torch
import torch.utils.data as T

import weft
import weft.utils.data as W

NAMES = [
    "Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset", "Subset", "random_split", "Sampler",
    "SequentialSampler", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "BatchSampler", "DataLoader", "default_collate",
    "default_convert", "get_worker_info",
]  # fmt: skip
Point = collections.namedtuple("Point", ["x", "y"])


def plain(value):
    """A batch without its framework: tensors as (element type, values)."""
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [plain(each) for each in value]
        return (type(value).__name__, parts)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    theirs, ours = ([*inspect.signature(getattr(module, name)).parameters.values()] for module in (T, W))
    if name == "Sampler":  # its argument means nothing; newer ones have none
        return
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]
    for mine, other in zip(ours, theirs):
        if (name, mine.name) != ("random_split", "generator"):  # theirs is the default generator itself, for which None stands here
            assert mine.default == other.default, mine


ITEMS = [
    [(1, 2.0), (3, 4.0)],
    [[1, 2.5, "a"], [3, 4.5, "b"]],
    [{"a": 1, "b": np.float32(2)}, {"a": 3, "b": np.float32(4)}],
    [np.arange(3), np.arange(3)],
    [np.float64(1), np.float64(2)],
    [np.ones((2, 2), np.float16), np.zeros((2, 2), np.float16)],
    [Point(1, 2), Point(3, 4)],
    [True, False],
    ["x", "y"],
    [b"x", b"y"],
]


@pytest.mark.parametrize("items", ITEMS, ids=str)
def test_collate_and_convert(items):
    assert plain(W.default_collate(items)) == plain(T.default_collate(items))
    assert plain(W.default_convert(items)) == plain(T.default_convert(items))


def both(make):
    """The batches of a loader on either side; `make` gets the module and the function that makes tensors."""
    return [plain(batch) for batch in make(W, weft.tensor)], [plain(batch) for batch in make(T, torch.tensor)]


@pytest.mark.parametrize("options", [{}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": 20}, {"batch_size": None}], ids=str)
def test_batches(options):
    ours, theirs = both(lambda m, tensor: m.DataLoader(m.TensorDataset(tensor([[i, i] for i in range(10)]), tensor(list(range(10)))), **options))
    assert ours == theirs
    ours, theirs = both(lambda m, tensor: m.DataLoader([(i, str(i)) for i in range(7)], **options))
    assert ours == theirs
    ours, theirs = both(lambda m, tensor: m.DataLoader(m.Subset(m.TensorDataset(tensor([1.0, 2.0, 3.0])), [2, 0]), **options))
    assert ours == theirs
    ours, theirs = both(lambda m, tensor: m.DataLoader([1, 2, 3, 4, 5], collate_fn=lambda x: x, **options))
    assert ours == theirs


def test_samplers_without_chance():
    ours, theirs = both(lambda m, tensor: m.BatchSampler(m.SequentialSampler(range(7)), 3, False))
    assert ours == theirs
    for loader in (lambda m, t: m.DataLoader(list(range(7)), batch_size=2, sampler=[5, 3, 1]), lambda m, t: m.DataLoader(list(range(7)), batch_sampler=[[1], [2, 3]])):
        ours, theirs = both(loader)
        assert ours == theirs


def test_lengths_of_parts():
    for lengths in ([3, 7], [0.5, 0.5], [0.34, 0.33, 0.33], [0.1, 0.2, 0.7], [1.0]):
        assert [len(p) for p in W.random_split(range(10), lengths)] == [len(p) for p in T.random_split(range(10), lengths)], lengths


WRONG = [
    lambda m: m.DataLoader([1], batch_size=0),
    lambda m: m.DataLoader([1], batch_size=2.5),
    lambda m: m.DataLoader([1], shuffle=True, sampler=[0]),
    lambda m: m.DataLoader([1], batch_sampler=[[0]], drop_last=True),
    lambda m: m.DataLoader([1], batch_size=None, drop_last=True),
    lambda m: m.DataLoader([1], num_workers=-1),
    lambda m: m.DataLoader([1], prefetch_factor=2),
    lambda m: m.DataLoader([1], persistent_workers=True),
    lambda m: m.DataLoader([1], timeout=-1),
    lambda m: m.random_split(range(10), [3, 3]),
    lambda m: m.BatchSampler([1], 0, False),
    lambda m: m.WeightedRandomSampler([1.0], 0),
    lambda m: m.StackDataset(),
    lambda m: m.StackDataset([1], [1, 2]),
    lambda m: m.default_collate([object()]),
    lambda m: m.default_collate([[1], [1, 2]]),
    lambda m: m.Dataset()[0],
]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_errors_are_of_the_same_kind(wrong):
    with pytest.raises(Exception) as theirs:
        wrong(T)
    with pytest.raises(Exception) as ours:
        wrong(W)
    assert ours.type is theirs.type
