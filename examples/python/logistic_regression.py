"""Logistic regression on two species of irises that overlap, with a penalty on the weights, and its line between them.

    python examples/python/logistic_regression.py [--penalty 0.01] [--short]
"""

import argparse

import weft
import weft.nn.functional as F


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--penalty", type=float, default=0.01)
    parser.add_argument("--short", action="store_true", help="100 steps instead of 400")
    options = parser.parse_args(arguments)

    features, labels = weft.datasets.iris()
    petals = features[50:, 2:]  # versicolor and virginica: the length and width of their petals
    is_virginica = (labels[50:] == 2).float().realize()
    mean, spread = petals.mean(0), petals.std(0)
    x = ((petals - mean) / spread).realize()

    w, b = weft.zeros(2, requires_grad=True), weft.zeros((), requires_grad=True)
    optimizer = weft.optim.SGD([w, b], lr=1.0, momentum=0.9)
    for _ in range(100 if options.short else 400):
        loss = F.binary_cross_entropy_with_logits(x @ w + b, is_virginica) + options.penalty * (w * w).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with weft.no_grad():
        chance = weft.sigmoid(x @ w + b)
        right = ((chance > 0.5) == (is_virginica == 1)).float().mean().item()
        length, width = (w / spread).tolist()
        offset = (b - (w / spread * mean).sum()).item()
    print(f"loss {loss.item():.4f}, {right:.1%} of {len(x)} flowers on the right side of the line")
    print(f"virginica where {length:.2f} * petal length + {width:.2f} * petal width > {-offset:.2f} (cm)")
    return right, w.grad.abs().max().item()


if __name__ == "__main__":
    main()
