"""Trains a small convolutional network on MNIST: 99 % of the test digits after three passes.

    python examples/python/mnist_cnn.py [--epochs 3] [--short]
"""

import argparse
import time

import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(32 * 7 * 7, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):  # [n, 1, 28, 28]
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)  # [n, 16, 14, 14]
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)  # [n, 32, 7, 7]
        x = F.relu(self.hidden(self.dropout(x.flatten(1))))
        return self.out(x)  # [n, 10]


def accuracy(model, images, labels, batch=1000):
    model.eval()
    right = 0
    with weft.no_grad():
        for x, y in DataLoader(TensorDataset(images, labels), batch_size=batch):
            right += (model(x).argmax(1) == y).sum().item()
    model.train()
    return right / len(labels)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--folder", default="", help="where the files are; data/ is tried too")
    parser.add_argument("--short", action="store_true", help="one pass over 6,400 digits, and 2,000 to test")
    options = parser.parse_args(arguments)

    weft.manual_seed(1)
    digits = weft.datasets.mnist(options.folder)
    images, test_images = (part.unsqueeze(1).float() / 255 for part in (digits.train_images, digits.test_images))
    labels, test_labels = digits.train_labels.long(), digits.test_labels.long()
    if options.short:
        images, labels, test_images, test_labels = images[:6400], labels[:6400], test_images[:2000], test_labels[:2000]
        options.epochs = 1
    weft.realize(images, labels, test_images, test_labels)

    model = Net()
    loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True, drop_last=True)
    optimizer = weft.optim.Adam(model.parameters())
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=options.epochs * len(loader))
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        rate = len(loader) * options.batch / (time.perf_counter() - start)
        right = accuracy(model, test_images, test_labels)
        print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {right:.2%}, {rate:,.0f} images/s", flush=True)
    return right


if __name__ == "__main__":
    main()
