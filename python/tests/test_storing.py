"""Storing a value changes no bit of anything: random programs, with and without reads of what they compute on the way."""

from __future__ import annotations

import random

import numpy as np
import pytest
import weft
import weft.nn.functional as F

SIZES = [1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130, 600]

OPS = {
    "mul": lambda x, y, d: x * y,
    "tanh": lambda x, y, d: x.tanh(),
    "exp": lambda x, y, d: (x * 0.1).exp(),
    "transpose": lambda x, y, d: x.t(),
    "matmul": lambda x, y, d: x @ y,
    "transposed matmul": lambda x, y, d: x.t() @ y,
    "linear": lambda x, y, d: F.linear(x, y),
    "einsum": lambda x, y, d: weft.einsum("ij,kj->ik", x, y),
    "sum": lambda x, y, d: x.sum(d),
    "mean": lambda x, y, d: x.mean(d, keepdim=True),
    "logsumexp": lambda x, y, d: x.logsumexp(d),
    "variance": lambda x, y, d: x.var(d),
    "norm": lambda x, y, d: x.norm(dim=d),
    "softmax": lambda x, y, d: x.softmax(d),
    "layer norm": lambda x, y, d: F.layer_norm(x, x.shape[-1:]),
    "cumsum": lambda x, y, d: x.cumsum(d),
    "cat": lambda x, y, d: weft.cat([x, y], d),
    "slice": lambda x, y, d: x[1:],
    "reshape": lambda x, y, d: x.reshape(-1),
    "spread": lambda x, y, d: x[:, None, :].expand(x.shape[0], 3, x.shape[1]).permute(2, 1, 0).sum(d),
}


def results(seed: int, reads: random.Random | None) -> list[np.ndarray]:
    """The values that the program with this number computes, and gradients. With `reads`, some are read on the way."""
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    dtype = choose.choice([np.float32, np.float32, np.float64])
    n, k, m = (choose.choice(SIZES) for _ in range(3))
    leaves = [weft.from_numpy(numbers.standard_normal(s).astype(dtype)).clone().realize() for s in [(n, k), (k, m), (n, m)]]
    for leaf in leaves:
        leaf.requires_grad_()
    values = list(leaves)
    for step in range(choose.randint(3, 12)):
        op, axis = choose.choice(list(OPS.values())), choose.choice([0, 1])
        x, y = choose.choice(values), choose.choice(values)
        try:  # a number for each step: what is read and then written down again would be another value
            made = op(x * (1 + 0.013 * step), y * (1 - 0.007 * step), axis)
        except (RuntimeError, IndexError):
            continue
        if made.numel() > 1_000_000:
            continue
        values.append(made)
        if reads is not None and reads.random() < 0.4:
            made.detach().numpy()
    outputs = values[3:]
    if not outputs:
        return []
    loss = sum(((o * o).mean() for o in outputs[-3:]), start=weft.zeros(()))
    loss.backward()
    outputs += [leaf.grad for leaf in leaves if leaf.grad is not None]
    if reads is not None:
        reads.shuffle(order := list(outputs))
        weft.realize(*order[: len(order) // 2])
    return [o.detach().numpy().copy() for o in outputs]


@pytest.mark.parametrize("seed", range(60))
def test_reading_on_the_way_changes_no_bit(seed: int) -> None:
    expected = results(seed, None)
    for number in (1, 2):
        for one, other in zip(expected, results(seed, random.Random(number)), strict=True):
            np.testing.assert_array_equal(one, other)
