"""A user's program, for mypy --strict: python/tests/test_typing.py checks it and runs it."""

from __future__ import annotations

from typing import Any

import weft
import weft.nn as nn
import weft.nn.functional as F
from weft import Tensor
from weft.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.out(F.relu(self.hidden(x)))
        return y


class Double(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * 2


@weft.no_grad()
def accuracy(model: Net, x: Tensor, labels: Tensor) -> float:
    scores: Tensor = model(x)
    return (scores.argmax(1) == labels).float().mean().item()


def clip(g: Tensor) -> Tensor:
    return g.clamp(-1.0, 1)


class Squares(Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, index**2


def loaded() -> int:
    iris = weft.datasets.iris()
    train, _ = random_split(TensorDataset(iris.features, iris.labels), [100, 50], generator=weft.Generator().manual_seed(1))
    loader = DataLoader(train, batch_size=25, shuffle=True)
    return len(loader) + sum(len(y) for _, y in DataLoader(Squares(), batch_size=4, num_workers=1))


def main() -> float:
    weft.manual_seed(0)
    x, labels = weft.randn(16, 4), weft.randint(0, 3, (16,))
    model = Net(4)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    losses: list[float] = []
    for _ in range(3):
        optimizer.zero_grad()
        scores = Double.apply(model(x))
        handle = scores.register_hook(clip)
        loss = F.cross_entropy(scores, labels)
        loss.backward()
        handle.remove()
        optimizer.step()
        losses.append(loss.item())
    values, indices = x.max(1)
    rows: int = x.size(0) + values.shape[0] + len(indices)
    (slope,) = weft.autograd.grad((x.requires_grad_() ** 2).sum(), x)
    with weft.inference_mode():
        total = (slope + 1.5).sum(dim=(0, 1), keepdim=False)
    text: str = str(weft.explain(total).kernels[0].name) + weft.float32.__repr__()
    assert rows == 48 and loaded() == 14 and text and x.detach().numpy().shape == (16, 4)
    return accuracy(model, x.detach(), labels) + losses[-1]


if __name__ == "__main__":
    print(main())
