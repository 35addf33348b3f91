"""Tells three species of irises apart by the sizes of their sepals and petals: a data set, a split, a small network.

    python examples/python/iris.py [--epochs 60] [--short]
"""

import argparse

import weft
import weft.nn.functional as F
from weft import nn
from weft.datasets import IRIS_CLASSES
from weft.utils.data import DataLoader, TensorDataset, random_split


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--short", action="store_true", help="30 epochs")
    options = parser.parse_args(arguments)

    weft.manual_seed(0)
    features, labels = weft.datasets.iris()
    features = ((features - features.mean(0)) / features.std(0)).realize()
    data = TensorDataset(features, labels.long().realize())
    train, test = random_split(data, [0.7, 0.3], generator=weft.Generator().manual_seed(1))

    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = weft.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(30 if options.short else options.epochs):
        for x, y in DataLoader(train, batch_size=15, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    ((x, y),) = DataLoader(test, batch_size=len(test))
    with weft.no_grad():
        guess = model(x).argmax(1)
    table = [[((guess == g) & (y == t)).sum().item() for g in range(3)] for t in range(3)]
    print("guessed".rjust(31))
    print(" " * 12 + "".join(name.rjust(12) for name in IRIS_CLASSES))
    for name, row in zip(IRIS_CLASSES, table):
        print(name.ljust(12) + "".join(str(count).rjust(12) for count in row))
    right = sum(table[i][i] for i in range(3)) / len(test)
    print(f"{right:.1%} of {len(test)} flowers that it had not seen are named rightly")
    return right


if __name__ == "__main__":
    main()
