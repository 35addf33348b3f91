"""Trains a perceptron with one hidden layer on MNIST: 98 % of the test digits after eight passes. `make demo` runs it.

    python examples/python/mnist_mlp.py [--epochs 8] [--device cuda] [--picture demo.png] [--page demo.html] [--fashion FOLDER]
"""

import argparse
import sys
import time

import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset

GREEN, RED, BLUE, PALE = "#1e8c3c", "#c82828", "#1e50b4", "#becdeb"


def progress(loader, label):
    """The loader behind a progress bar, where tqdm is installed and somebody looks."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(f"{label} …", flush=True)
        return loader
    return tqdm(loader, label, unit="batch", leave=False, disable=not sys.stderr.isatty())


def draw(path, losses, images, guesses, labels, accuracy):
    """The loss of every step on a logarithmic scale, and 20 digits with the network's guesses. Needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    smooth = [losses[0]]
    for loss in losses[1:]:
        smooth.append(smooth[-1] + 0.03 * (loss - smooth[-1]))
    left.semilogy(losses, color=PALE, linewidth=0.8)
    left.semilogy(smooth, color=BLUE)
    left.set(title="loss per step", xlabel="step")
    left.grid(color="#e1e1e1")
    left.spines[["top", "right"]].set_visible(False)

    rows = weft.nn.functional.pad(images.reshape(4, 5, 28, 28), (4, 4, 2, 12))  # each digit in a cell of 42 by 36, its guess below it
    right.imshow(rows.permute(0, 2, 1, 3).reshape(4 * 42, 5 * 36).numpy(), cmap="gray_r")
    for i, (guess, label) in enumerate(zip(guesses, labels)):
        text, colour = (f"{guess}", GREEN) if guess == label else (f"{guess}, not {label}", RED)
        right.text(36 * (i % 5) + 18, 42 * (i // 5) + 36, text, color=colour, ha="center", va="center", weight="bold")
    right.set(title=f"test accuracy {accuracy:.2%}")
    right.axis("off")
    figure.savefig(path, dpi=100)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", default="cpu", help="where to train: cpu or cuda")
    parser.add_argument("--folder", default="", help="where the files are; data/ is tried too")
    parser.add_argument("--fashion", metavar="FOLDER", help="train on Fashion-MNIST, of which the files are in this folder")
    parser.add_argument("--picture", metavar="FILE", help="draw the losses and 20 test digits into this file (needs matplotlib)")
    parser.add_argument("--page", metavar="FILE", help="write a page that shows where the time of the last pass went")
    parser.add_argument("--short", action="store_true", help="one pass over a fifth of the digits")
    options = parser.parse_args(arguments)

    start = time.perf_counter()
    weft.manual_seed(1)
    digits = weft.datasets.fashion_mnist(options.fashion) if options.fashion else weft.datasets.mnist(options.folder)
    images, test_images = (part.reshape(-1, 784).float() / 255 for part in (digits.train_images, digits.test_images))
    labels, test_labels = digits.train_labels.long(), digits.test_labels.long()
    if options.short:
        images, labels, options.epochs = images[:12800], labels[:12800], 1
    images, labels, test_images, test_labels = (part.to(options.device) for part in (images, labels, test_images, test_labels))
    weft.realize(images, labels, test_images, test_labels)

    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10)).to(options.device)
    optimizer = weft.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True, drop_last=True)
    before, losses, training, profile = weft.counters(), [], 0.0, weft.profile()
    for epoch in range(1, options.epochs + 1):
        if options.page and epoch == options.epochs:
            profile.start()
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
    if options.page:
        profile.stop()
        profile.save(options.page)
    spent = {name: value - before[name] for name, value in weft.counters().items()}

    where = weft.cuda.get_device_name(images.device) if images.is_cuda else f"{weft.get_num_threads()} threads"
    print(f"test accuracy   {accuracy:.2%} of {len(test_labels):,} digits that it had not seen")
    print(f"images/s        {len(losses) * options.batch / training:,.0f} on {where}")
    print(f"kernels         {spent['kernels_compiled']} compiled; a training step launches {spent['kernels_launched'] // len(losses)}")
    print(f"compile time    {spent['compile_nanoseconds'] / 1e6:.1f} ms in all, from the graph to machine code")
    if options.picture:
        guesses, test_labels = guesses.cpu(), test_labels.cpu()
        right = guesses == test_labels
        wrong = (~right).nonzero()[:5, 0]
        chosen = weft.cat([right.nonzero()[: 20 - len(wrong), 0], wrong])
        try:
            draw(options.picture, losses, digits.test_images[chosen], guesses[chosen].tolist(), test_labels[chosen].tolist(), accuracy)
            print(f"picture         {options.picture}: the loss, digits that it recognises, and some that it does not")
        except ImportError:
            print("picture         none: it needs matplotlib (pip install matplotlib)")
    if options.page:
        print(f"page            {options.page}: open it in a browser to see where the time went, line by line")
    print(f"seconds         {time.perf_counter() - start:.1f}, reading the files included")
    return accuracy


if __name__ == "__main__":
    main()
