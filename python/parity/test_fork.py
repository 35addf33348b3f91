"""PyTorch's DataLoader with workers, which are forked, beside Weft, in the parent and in the workers."""

import numpy as np
import pytest
import torch
import torch.utils.data as T

import weft


class Plain(T.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((7,), float(i))


class Computed(Plain):
    """Each item is computed by Weft, in the worker; the programs of some sizes are the parent's."""

    def __getitem__(self, i):
        x = weft.arange(3 + i % 9, dtype=weft.float32)
        return torch.from_numpy(((x * i).sum() + weft.zeros(7)).numpy().copy())


def run(size):
    x = weft.arange(size, dtype=weft.float32)
    return (x * 2).sum().item() == size * (size - 1)


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("data", [Plain, Computed])
def test_workers(data, context):
    assert all(run(size) for size in range(2, 12))
    loader = T.DataLoader(data(), batch_size=4, num_workers=2, multiprocessing_context=context)
    expected = torch.stack([data()[i] for i in range(64)])
    for epoch in range(2):
        batches = []
        for i, batch in enumerate(loader):
            assert run(20 + i + 16 * epoch) and run(2 + i % 10)  # new programs and old ones, while workers run
            batches.append(batch)
        assert torch.equal(torch.cat(batches), expected)


def test_training_fed_by_workers():
    weft.manual_seed(0)
    layer = weft.nn.Linear(7, 3)
    optimizer = weft.optim.SGD(layer.parameters(), lr=1e-4)
    losses = []
    for batch in T.DataLoader(Plain(), batch_size=8, num_workers=2):
        optimizer.zero_grad()
        loss = (layer(weft.from_numpy(batch.numpy())) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all() and len(losses) == 8
