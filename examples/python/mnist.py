"""Trains a small network on MNIST: two layers, Adam, five epochs.

    python examples/python/mnist.py [--epochs 5] [--folder data]
"""

import argparse
import time

import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset


def accuracy(model, images, labels):
    model.eval()
    with weft.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--folder", default="", help="where the files are; data/ is tried too")
    parser.add_argument("--images", type=int, default=60_000, help="train on so many of them")
    options = parser.parse_args()

    weft.manual_seed(1)
    digits = weft.datasets.mnist(options.folder)
    images, test_images = (part.reshape(-1, 784).float() / 255 for part in (digits.train_images, digits.test_images))
    labels, test_labels = digits.train_labels.long(), digits.test_labels.long()
    images, labels = images[: options.images], labels[: options.images]
    weft.realize(images, labels, test_images, test_labels)

    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    optimizer = weft.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True, drop_last=True)
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds = time.perf_counter() - start
        rate = len(loader) * options.batch / seconds
        right = accuracy(model, test_images, test_labels)
        print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {right:.2%}, {rate:,.0f} images/s")


if __name__ == "__main__":
    main()
