"""Random programs in which NumPy and a framework write the same memory: views, arrays that come and go, ops that are recorded in between."""

import random

import numpy as np
import pytest
import torch

import weft


class Program:
    """The same steps on both frameworks. Small whole numbers, so that all is exact; a step that PyTorch refuses is left out."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.tensors, self.arrays, self.log = [], [], []

    def add(self, pair, text):
        self.tensors.append(pair)
        self.log.append(text)

    def step(self):
        draw = self.draw
        if len(self.tensors) < 2 or draw.random() < 0.1:
            rows, columns = draw.randint(1, 5), draw.randint(1, 20)
            values = [[float(draw.randint(-8, 8)) for _ in range(columns)] for _ in range(rows)]
            grad = draw.random() < 0.3
            return self.add((torch.tensor(values, requires_grad=grad), weft.tensor(values, requires_grad=grad)), f"new {rows}x{columns} {grad}")
        at = draw.randrange(len(self.tensors))
        pair, kind = self.tensors[at], draw.choice(["op", "op", "view", "view", "write", "write", "numpy", "numpy", "store", "store", "drop", "read"])
        self.log.append(f"{kind} {at}")
        return getattr(self, kind)(at, pair)

    def op(self, at, pair):
        how = self.draw.choice([lambda t: t * 2, lambda t: t + 1, lambda t: -t, lambda t: t.sum(0), lambda t: t.abs().clone(), lambda t: t.t() + 1 if t.ndim == 2 else t - 1])
        self.add(tuple(how(t) for t in pair), "op")

    def view(self, at, pair):
        shape = tuple(pair[0].shape)
        k = self.draw.randrange(6)
        n = self.draw.randrange(shape[0]) if shape and shape[0] else 0
        ways = [lambda t: t.detach(), lambda t: t.t() if t.ndim == 2 else t.detach(), lambda t: t[n:], lambda t: t[..., ::2],
                lambda t: t[n] if t.ndim else t.detach(), lambda t: t.view(-1)]  # fmt: skip
        dense = all(t.is_contiguous() for t in pair)
        if not shape or 0 in shape or (k == 5 and not dense):
            k = 0
        both = tuple(ways[k](t) for t in pair)
        self.add(both, f"view {k} {n}")

    def write(self, at, pair):
        c = float(self.draw.randint(-3, 3))
        k = self.draw.randrange(4)
        ways = [lambda t: t.add_(c), lambda t: t.mul_(2), lambda t: t.fill_(c), lambda t: t[..., :1].copy_(t[..., -1:] + 1) if t.ndim else t.sub_(1)]
        free = not pair[0].requires_grad
        if not free and not pair[0].is_leaf and self.draw.random() < 0.5:
            return
        with torch.no_grad(), weft.no_grad():
            for t in pair:
                if max((abs(float(v)) for v in t.flatten().tolist()), default=0) < 1e5:
                    ways[k](t)
        self.log.append(f"write {k} {c}")

    def numpy(self, at, pair):
        arrays = tuple(t.detach().numpy() for t in pair)
        assert arrays[0].flags.writeable == arrays[1].flags.writeable, self.log
        self.arrays.append(arrays)

    def store(self, at, pair):
        if not self.arrays:
            return
        arrays = self.draw.choice(self.arrays)
        c = float(self.draw.randint(-3, 3))
        for a in arrays:
            if a.ndim:
                a[..., : 1 + a.shape[-1] // 2] = c
            else:
                a[...] = c

    def drop(self, at, pair):
        if self.arrays and self.draw.random() < 0.5:
            del self.arrays[self.draw.randrange(len(self.arrays))]
        else:
            del self.tensors[at]

    def read(self, at, pair):
        np.testing.assert_array_equal(pair[0].tolist(), pair[1].tolist(), err_msg="; ".join(self.log))

    def check(self):
        for i, (theirs, ours) in enumerate(self.tensors):
            np.testing.assert_array_equal(np.array(theirs.tolist()), np.array(ours.tolist()), err_msg=f"tensor {i}: " + "; ".join(self.log))
            assert theirs.requires_grad == ours.requires_grad, (i, self.log)
        for i, (theirs, ours) in enumerate(self.arrays):
            np.testing.assert_array_equal(theirs, ours, err_msg=f"array {i}: " + "; ".join(self.log))


@pytest.mark.parametrize("seed", range(500))
def test_both_sides_see_what_is_written(seed):
    program = Program(seed)
    for _ in range(30):
        program.step()
        if program.draw.random() < 0.15:
            program.check()
    program.check()
