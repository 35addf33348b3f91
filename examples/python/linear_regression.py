"""Fits a plane to noisy points twice: by gradient descent, with weft.jit around the step, and by the normal equations.

    python examples/python/linear_regression.py [--points 2000] [--short]
"""

import argparse

import weft


def solve(a, b):
    """x of a x = b, by conjugate gradients: `a` is symmetric and positive definite."""
    x, residual = weft.zeros_like(b), b
    direction = residual
    for _ in range(len(b)):
        step = residual.dot(residual) / direction.dot(a @ direction)
        x, smaller = x + step * direction, residual - step * (a @ direction)
        direction = smaller + smaller.dot(smaller) / residual.dot(residual) * direction
        residual = smaller
    return x


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--short", action="store_true", help="500 points")
    options = parser.parse_args(arguments)
    points = 500 if options.short else options.points

    weft.manual_seed(0)
    truth = weft.tensor([1.5, -2.0, 0.5])  # two slopes and an offset
    x = weft.cat([weft.randn(points, 2), weft.ones(points, 1)], 1)
    y = x @ truth + 0.1 * weft.randn(points)
    weft.realize(x, y)

    w = weft.zeros(3, requires_grad=True)
    optimizer = weft.optim.SGD([w], lr=0.1)

    @weft.jit
    def step():
        optimizer.zero_grad()
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for i in range(1, 101):
        loss = step()
        if i in (1, 10, 100):
            print(f"step {i:3}: mean square error {loss.item():.4f}")
    exact = solve(x.T @ x, x.T @ y)
    print("truth            ", [round(v, 3) for v in truth.tolist()])
    print("gradient descent ", [round(v, 3) for v in w.tolist()])
    print("normal equations ", [round(v, 3) for v in exact.tolist()])
    return (w.detach() - truth).abs().max().item(), (w.detach() - exact).abs().max().item()


if __name__ == "__main__":
    main()
