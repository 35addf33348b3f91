"""Random expressions as text: each call of `step` writes a line or two that make a new tensor out of those that are there.

Values stay within a few units, so that a program's results say something: what could grow is scaled or squashed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SIZES = [1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128]
MOST_ELEMENTS = 20_000


@dataclass(frozen=True)
class Value:
    name: str
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        product = 1
        for n in self.shape:
            product *= n
        return product


UNARY = [
    "torch.tanh({x})", "torch.sigmoid({x})", "torch.sin({x})", "torch.cos({x})", "torch.relu({x})", "F.gelu({x})", "F.silu({x})",
    "torch.exp(-torch.abs({x}))", "torch.sqrt({x} * {x} + 1)", "torch.rsqrt(torch.abs({x}) + 0.5)", "torch.log1p(torch.abs({x}))",
    "{x} * {c}", "{x} + {c}", "{c} - {x}", "-{x}", "torch.abs({x})", "{x} * {x} * 0.3", "torch.clamp({x}, -1.0, 1.0)",
    "F.softplus({x})", "F.elu({x})", "F.leaky_relu({x}, 0.1)", "torch.erf({x})", "1 / (torch.abs({x}) + 1)", "F.mish({x})",
    "torch.atan({x})", "torch.expm1(torch.clamp({x}, -1, 1))", "{x} ** 2 * 0.5", "F.hardswish({x})", "{x}.clone()",
    "{x}.contiguous() * 1", "torch.where({x} > {c}, {x}, {c} * {x})", "{x}.masked_fill({x} < {c}, 0.5)", "F.glu(torch.cat([{x}, {x} * {c}], -1), -1)",
]  # fmt: skip
ALONG = [  # the shape stays, one axis matters
    "F.softmax({x}, {d})", "F.log_softmax({x}, {d})", "torch.cumsum({x}, {d}) * 0.3", "torch.cumprod(torch.clamp({x}, 0.8, 1.2), {d})",
    "torch.flip({x}, [{d}])", "torch.roll({x}, {k}, {d})", "torch.sort(apart({x}), {d})[0]", "torch.logcumsumexp({x}, {d})",
    "{x} - {x}.mean({d}, keepdim=True)", "{x} / ({x}.abs().sum({d}, keepdim=True) + 1)", "F.normalize({x} + 2.5, dim={d})",
    "torch.cummax(apart({x}), {d})[0]", "{x} * torch.softmax({x} * 2, {d})", "{x} - torch.logsumexp({x}, {d}, keepdim=True)",
    "{x} * {x}.amax({d}, keepdim=True) * 0.3", "torch.sort(apart({x}), {d}, descending=True)[0]", "torch.cumsum({x} * 0.5, {d}) - {x}",
]  # fmt: skip
REDUCE = [
    "{x}.sum({d}) * 0.2", "{x}.mean({d})", "{x}.amax({d})", "{x}.amin({d})", "torch.logsumexp({x}, {d})", "torch.prod(torch.clamp({x}, 0.8, 1.2), {d})",
    "{x}.var({d}, correction=0)", "torch.norm({x} + 3.0, dim={d}) * 0.1", "({x} * {x}).mean({d})", "torch.median(apart({x}), {d})[0]",
    "torch.std({x}, {d}, correction=0) if {n} > 2 else {x}.mean({d})", "torch.topk(apart({x}), 1, {d})[0].squeeze({d})",
]  # fmt: skip
BINARY = [
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "torch.maximum({x}, {y})", "torch.minimum({x}, {y})", "torch.where({x} > {y}, {x} * 0.5, {y})",
    "{x} / (torch.abs({y}) + 1)", "torch.lerp({x}, {y}, 0.3)", "torch.addcmul({x}, {x}, {y}, value=0.5)", "{x} * 0.9 + {y} * 0.1",
    "torch.atan2({x}, torch.abs({y}) + 0.5)", "torch.hypot({x} + 2, {y})", "({x} * {y}).tanh() + {x}", "torch.sigmoid({x}) * torch.tanh({y})",
]  # fmt: skip


class Expressions:
    """Writes lines, and knows which float tensors there are."""

    def __init__(self, rng: random.Random, sizes: list[int] | None = None) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.count = 0
        chosen = sizes or [n for n in rng.sample(SIZES, 3)]
        self.sizes = chosen
        if not sizes and rng.random() < 0.03:
            self.sizes = [*chosen, 0]
        if not sizes and rng.random() < 0.05:
            self.sizes = [*chosen, rng.choice([200, 257, 300, 513])]

    # ---- pieces

    def number(self) -> str:
        return str(self.rng.choice([0.5, 0.9, 1.1, -0.7, 0.25, 2.0, 0.1, 1.3, -1.5, 0.3]))

    def shape(self, ranks: tuple[int, ...] = (1, 2, 2, 2, 3)) -> tuple[int, ...]:
        rank = self.rng.choice(ranks)
        while True:
            shape = tuple(self.rng.choice(self.sizes) for _ in range(rank))
            if Value("", shape).size <= MOST_ELEMENTS:
                return shape
            rank = max(rank - 1, 1) if rank > 1 else 1

    def fresh(self, prefix: str = "t") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def make(self, expression: str, shape: tuple[int, ...]) -> Value:
        value = Value(self.fresh(), tuple(shape))
        self.line(f"{value.name} = {expression}")
        self.values.append(value)
        return value

    def pick(self, fits=lambda v: True) -> Value | None:
        """Mostly a recent one, so that chains grow, and often an old one, so that things are used twice."""
        found = [v for v in self.values if fits(v)]
        if not found:
            return None
        return found[-1 - int(len(found) * self.rng.random() ** 2)] if self.rng.random() < 0.7 else self.rng.choice(found)

    # ---- a step

    def step(self) -> Value | None:
        kinds = [
            (self.unary, 8), (self.along, 5), (self.reduce, 4), (self.binary, 8), (self.broadcast, 4), (self.matmul, 6), (self.join, 4),
            (self.move, 6), (self.index, 3), (self.scatter, 1), (self.spread, 2), (self.norm, 2), (self.detached, 1),
        ]  # fmt: skip
        for _ in range(10):
            kind = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
            made = kind()
            if made is not None:
                return made
        return None

    def unary(self):
        x = self.pick()
        return x and self.make(self.rng.choice([u for u in UNARY if "glu(" not in u or x.rank > 0]).format(x=x.name, c=self.number()), x.shape)

    def along(self):
        x = self.pick(lambda v: v.rank > 0 and 0 not in v.shape)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        return self.make(self.rng.choice(ALONG).format(x=x.name, d=d, k=self.rng.choice([1, 2, -1, x.shape[d] // 2])), x.shape)

    def reduce(self):
        x = self.pick(lambda v: v.rank > 0 and 0 not in v.shape)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        return self.make(self.rng.choice(REDUCE).format(x=x.name, d=d, n=x.shape[d]), x.shape[:d] + x.shape[d + 1 :])

    def binary(self):
        x = self.pick()
        y = x and self.pick(lambda v: v.shape == x.shape and v is not x)
        return y and self.make(self.rng.choice(BINARY).format(x=x.name, y=y.name), x.shape)

    def broadcast(self):
        """y has one axis of x: along the last by itself, along another with axes of one element behind it."""
        x = self.pick(lambda v: v.rank > 1)
        y = x and self.pick(lambda v: v.rank == 1 and v.shape[0] in x.shape)
        if not y:
            return None
        d = self.rng.choice([i for i, n in enumerate(x.shape) if n == y.shape[0]])
        behind = x.rank - 1 - d
        text = y.name if behind == 0 else f"{y.name}.view(-1{', 1' * behind})" if self.rng.random() < 0.5 else f"{y.name}[(...,) + (None,) * {behind}]"
        return self.make(self.rng.choice(BINARY).format(x=x.name, y=text), x.shape)

    def matmul(self):
        x = self.pick(lambda v: v.rank in (2, 3))
        if not x:
            return None
        k = x.shape[-1]
        scale = f" * {round(1 / max(k, 1) ** 0.5, 4)}"
        w = self.pick(lambda v: v.rank == 2 and k in v.shape)
        if not w:
            return None
        if w.shape[0] == k and (w.shape[1] != k or self.rng.random() < 0.5):
            n, texts = w.shape[1], [f"{x.name} @ {w.name}", f"torch.matmul({x.name}, {w.name})", f"F.linear({x.name}, {w.name}.t())"]
            if x.rank == 2:
                texts += [f"torch.mm({x.name}, {w.name})", f"torch.einsum('ij,jk->ik', {x.name}, {w.name})"]
        else:
            n = w.shape[0]
            texts = [f"{x.name} @ {w.name}.t()", f"F.linear({x.name}, {w.name})", f"{x.name} @ {w.name}.transpose(0, 1)"]
            bias = self.pick(lambda v: v.shape == (n,))
            if bias:
                return self.make(f"torch.tanh(F.linear({x.name}, {w.name}, {bias.name}))", (*x.shape[:-1], n))
        shape = (*x.shape[:-1], n)
        if Value("", shape).size > MOST_ELEMENTS:
            return None
        text = f"({self.rng.choice(texts)}){scale}"
        return self.make(self.rng.choice([text, text, f"torch.tanh({text})", f"torch.relu({text})"]), shape)

    def join(self):
        x = self.pick(lambda v: v.rank > 0 and v.size * 3 <= MOST_ELEMENTS)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        fits = [v for v in self.values if v.rank == x.rank and v.shape[:d] == x.shape[:d] and v.shape[d + 1 :] == x.shape[d + 1 :]]
        parts = [x, *self.rng.choices(fits, k=self.rng.choice([1, 1, 2]))]
        self.rng.shuffle(parts)
        names = ", ".join(p.name for p in parts)
        if all(p.shape == x.shape for p in parts) and self.rng.random() < 0.5:
            d = self.rng.randrange(x.rank + 1)
            made = self.make(f"torch.stack([{names}], {d})", (*x.shape[:d], len(parts), *x.shape[d:]))
        else:
            made = self.make(f"torch.cat([{names}], {d})", (*x.shape[:d], sum(p.shape[d] for p in parts), *x.shape[d + 1 :]))
        if self.rng.random() < 0.4:  # back to the shape that the others have
            part = parts[0] if made.rank == x.rank else x
            if made.rank == x.rank:
                return self.make(f"{made.name}.narrow({d}, {self.rng.choice([0, made.shape[d] - part.shape[d]])}, {part.shape[d]})", part.shape)
            return self.make(f"{made.name}.{self.rng.choice(['sum', 'mean', 'amax'])}({d})", x.shape)
        return made

    def move(self):
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        n = x.shape[d]
        ways = []
        if x.rank == 2:
            ways += [(f"{x.name}.t()", x.shape[::-1])] * 2
        if x.rank > 1:
            axes = list(range(x.rank))
            self.rng.shuffle(axes)
            ways += [(f"{x.name}.permute({', '.join(map(str, axes))})", tuple(x.shape[a] for a in axes))]
            flat = x.shape[:-2] + (x.shape[-2] * x.shape[-1],)
            ways += [(f"{x.name}.reshape({', '.join(map(str, flat))})", flat)]
            ways += [(f"{x.name}[{self.rng.randrange(x.shape[0])}]", x.shape[1:])] if x.shape[0] else []
        if n > 1:
            a = self.rng.randrange(n)
            b = self.rng.randint(a + 1, n)
            colons = ":, " * d
            ways += [(f"{x.name}[{colons}{a}:{b}]", (*x.shape[:d], b - a, *x.shape[d + 1 :]))]
            ways += [(f"{x.name}[{colons}::2]", (*x.shape[:d], (n + 1) // 2, *x.shape[d + 1 :]))]
            ways += [(f"{x.name}.select({d}, {a})", x.shape[:d] + x.shape[d + 1 :])]
        if x.size * 2 <= MOST_ELEMENTS and n > 0:
            ways += [(f"F.pad({x.name}, (1, 2))", (*x.shape[:-1], x.shape[-1] + 3))]
            ways += [(f"{x.name}.unsqueeze({d}).expand({', '.join(map(str, (*x.shape[:d], 2, *x.shape[d:])))})", (*x.shape[:d], 2, *x.shape[d:]))]
            ways += [(f"torch.tril({x.name})", x.shape)] if x.rank > 1 else []
        if not ways:
            return None
        text, shape = self.rng.choice(ways)
        return self.make(text, shape)

    def index(self):
        x = self.pick(lambda v: v.rank > 0 and 0 not in v.shape)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        m = self.rng.choice(self.sizes)
        shape = (*x.shape[:d], m, *x.shape[d + 1 :])
        if Value("", shape).size > MOST_ELEMENTS:
            return None
        if d == 0 and self.rng.random() < 0.5:
            return self.make(f"{x.name}[fixed({x.shape[0]}, {m})]", shape)
        if self.rng.random() < 0.3:
            return self.make(f"torch.gather({x.name}, {d}, fixed({x.shape[d]}, {', '.join(map(str, shape))}))", shape)
        return self.make(f"torch.index_select({x.name}, {d}, fixed({x.shape[d]}, {m}))", shape)

    def scatter(self):
        x = self.pick(lambda v: v.rank == 2 and 0 not in v.shape)
        y = x and self.pick(lambda v: v.rank == 2 and v.shape[1] == x.shape[1])
        return y and self.make(f"torch.index_add({x.name}, 0, fixed({x.shape[0]}, {y.shape[0]}), {y.name})", x.shape)

    def spread(self):
        """A reduction that comes back to the shape of what it reduced: rows that are read twice."""
        x = self.pick(lambda v: v.rank > 1 and 0 not in v.shape)
        if not x:
            return None
        d = self.rng.randrange(x.rank)
        normed = "({x} - {x}.mean({d}, keepdim=True)) / ({x}.var({d}, keepdim=True, correction=0) + 0.1).sqrt()"
        text = self.rng.choice(["{x} - {x}.amax({d}, keepdim=True)", "{x} * {x}.sum({d}, keepdim=True) * 0.1", normed])
        return self.make(text.format(x=x.name, d=d), x.shape)

    def norm(self):
        x = self.pick(lambda v: v.rank > 1 and v.shape[-1] > 2 and 0 not in v.shape)
        if not x:
            return None
        n = x.shape[-1]
        weight = self.pick(lambda v: v.shape == (n,))
        return self.make(f"F.layer_norm({x.name}, ({n},), {weight.name if weight else None}, None, 0.1)", x.shape)

    def detached(self):
        x = self.pick()
        return x and self.make(f"{x.name}.detach()", x.shape)
