"""A convolutional network on 1,797 digits of 8 by 8 pixels, which come with Weft: seconds, and 98 % of the held-out ones.

    python examples/python/digits_cnn.py [--epochs 25] [--short]
"""

import argparse

import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset, random_split


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--short", action="store_true", help="8 epochs")
    options = parser.parse_args(arguments)
    epochs = 8 if options.short else options.epochs

    weft.manual_seed(0)
    digits = weft.datasets.digits()
    data = TensorDataset((digits.images.unsqueeze(1).float() / 16).realize(), digits.labels.long().realize())
    train, test = random_split(data, [1437, 360], generator=weft.Generator().manual_seed(0))

    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 4 * 4, 10),
    )  # fmt: skip
    print(nn.summary(model, (1, 1, 8, 8)))
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(1, epochs + 1):
        total = 0.0
        for x, y in DataLoader(train, batch_size=32, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        scheduler.step()
        if epoch % 5 == 0 or epoch == epochs:
            print(f"epoch {epoch}: loss {total / len(train):.4f}", flush=True)

    model.eval()
    with weft.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, batch_size=360))
    print(f"{right} of {len(test)} held-out digits are recognised: {right / len(test):.1%}")
    return right / len(test)


if __name__ == "__main__":
    main()
