"""Trains a perceptron with one hidden layer on MNIST: 98 % of the test digits after eight passes. `make demo` runs it.

    python examples/python/mnist_mlp.py [--epochs 8] [--picture demo.png] [--fashion FOLDER]
"""

import argparse
import math
import sys
import time

import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset

from picture import Canvas

GREEN, RED, BLUE, PALE, GREY = (30, 140, 60), (200, 40, 40), (30, 80, 180), (190, 205, 235), (225, 225, 225)


def progress(loader, label):
    """The loader behind a progress bar, where tqdm is installed and somebody looks."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(f"{label} …", flush=True)
        return loader
    return tqdm(loader, label, unit="batch", leave=False, disable=not sys.stderr.isatty())


def draw(path, losses, rows, accuracy):
    """The loss of every step on a logarithmic scale, and digits with the network's guesses: (image, guess, label) each."""
    canvas = Canvas(1000, 430)
    left, top, width, height = 70, 60, 430, 300
    low = math.floor(math.log10(max(min(losses), 1e-3)))
    canvas.text(left, 22, "LOSS PER STEP", scale=3)
    for decade in range(low, 1):
        for part in (1, 2, 5):
            y = top + round(height * (0.5 - math.log10(part * 10.0**decade)) / (0.5 - low))
            if top <= y <= top + height:
                canvas.rectangle(left, y, width, 1, GREY)
                if part == 1:
                    canvas.text(left - 52, y - 5, f"{10.0**decade:g}")
    smooth, before = losses[0], None
    raw = [(left + width * i / len(losses), top + height * (0.5 - math.log10(max(loss, 10.0**low))) / (0.5 - low)) for i, loss in enumerate(losses)]
    for (x0, y0), (x1, y1) in zip(raw, raw[1:]):
        canvas.line(x0, y0, x1, y1, PALE)
    for (x, _), loss in zip(raw, losses):
        smooth += 0.03 * (loss - smooth)
        point = x, top + height * (0.5 - math.log10(max(smooth, 10.0**low))) / (0.5 - low)
        if before:
            canvas.line(*before, *point, BLUE, 2)
        before = point
    canvas.rectangle(left, top, 1, height, (90, 90, 90))
    canvas.rectangle(left, top + height, width, 1, (90, 90, 90))
    canvas.text(left, top + height + 12, "0")
    canvas.text(left + width - 50, top + height + 12, f"{len(losses)}")
    canvas.text(left + width // 2 - 16, top + height + 12, "STEP")
    canvas.text(560, 22, f"TEST ACCURACY {accuracy:.2%}", scale=3)
    for i, (image, guess, label) in enumerate(rows):
        x, y = 560 + 84 * (i % 5), 60 + 90 * (i // 5)
        canvas.image(x, y, image, 2)
        canvas.text(x + 18, y + 62, str(guess), GREEN if guess == label else RED, 3)
        if guess != label:
            canvas.text(x + 34, y + 67, f"NOT {label}", RED, 2)
    canvas.save(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--folder", default="", help="where the files are; data/ is tried too")
    parser.add_argument("--fashion", metavar="FOLDER", help="train on Fashion-MNIST, of which the files are in this folder")
    parser.add_argument("--picture", metavar="FILE", help="draw the losses and 20 test digits into this PNG file")
    parser.add_argument("--short", action="store_true", help="one pass over a fifth of the digits")
    options = parser.parse_args(arguments)

    start = time.perf_counter()
    weft.manual_seed(1)
    digits = weft.datasets.fashion_mnist(options.fashion) if options.fashion else weft.datasets.mnist(options.folder)
    images, test_images = (part.reshape(-1, 784).float() / 255 for part in (digits.train_images, digits.test_images))
    labels, test_labels = digits.train_labels.long(), digits.test_labels.long()
    if options.short:
        images, labels, options.epochs = images[:12800], labels[:12800], 1
    weft.realize(images, labels, test_images, test_labels)

    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    optimizer = weft.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True, drop_last=True)
    before, losses, training = weft.counters(), [], 0.0
    for epoch in range(1, options.epochs + 1):
        model.train()
        began = time.perf_counter()
        for x, y in progress(loader, f"epoch {epoch}/{options.epochs}"):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        training += time.perf_counter() - began
        model.eval()
        with weft.no_grad():
            guesses = model(test_images).argmax(1)
            accuracy = (guesses == test_labels).float().mean().item()
        print(f"epoch {epoch}: loss {sum(losses[-len(loader) :]) / len(loader):.4f}, test accuracy {accuracy:.2%}", flush=True)
    spent = {name: value - before[name] for name, value in weft.counters().items()}

    print(f"test accuracy   {accuracy:.2%} of {len(test_labels):,} digits that it had not seen")
    print(f"images/s        {len(losses) * options.batch / training:,.0f} on {weft.get_num_threads()} threads")
    print(f"kernels         {spent['kernels_compiled']} compiled; a training step launches {spent['kernels_launched'] // len(losses)}")
    print(f"compile time    {spent['compile_nanoseconds'] / 1e6:.1f} ms in all, from the graph to machine code")
    if options.picture:
        guessed, wanted = guesses.tolist(), test_labels.tolist()
        wrong = [i for i in range(len(wanted)) if guessed[i] != wanted[i]]
        right = [i for i in range(len(wanted)) if guessed[i] == wanted[i]]
        chosen = (right[: 20 - len(wrong[:5])] + wrong[:5])[:20]
        draw(options.picture, losses, [(digits.test_images[i].tolist(), guessed[i], wanted[i]) for i in chosen], accuracy)
        print(f"picture         {options.picture}: the loss, 15 digits that it recognises, and 5 that it does not")
    print(f"seconds         {time.perf_counter() - start:.1f}, reading the files included")
    return accuracy


if __name__ == "__main__":
    main()
