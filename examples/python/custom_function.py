"""An op with a derivative of one's own: weights of only -1 and +1, trained with a straight-through gradient.

    python examples/python/custom_function.py [--short]

sign(w) has no useful derivative. The op below passes the gradient on as if it were the identity, where |w| <= 1, so that weights drift
and change sign when the data want it.
"""

import argparse

import weft
from weft.autograd import Function


class Sign(Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return weft.where(w >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, gradient):
        (w,) = ctx.saved_tensors
        return gradient * (w.abs() <= 1)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="16 weights instead of 64")
    options = parser.parse_args(arguments)
    size = 16 if options.short else 64

    weft.manual_seed(0)
    truth = weft.where(weft.rand(size) < 0.5, -1.0, 1.0)
    x = weft.randn(1000, size)
    y = x @ truth
    weft.realize(truth, x, y)

    w = (0.1 * weft.randn(size)).requires_grad_()
    optimizer = weft.optim.Adam([w], lr=0.02)
    for step in range(1, 201):
        loss = ((x @ Sign.apply(w) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wrong = (Sign.apply(w.detach()) != truth).sum().item()
        if step % 20 == 1 or not wrong:
            print(f"step {step:3}: loss {loss.item():8.3f}, {wrong} of {size} signs wrong")
        if not wrong:
            break
    return wrong


if __name__ == "__main__":
    main()
