"""Random programs as text that runs on PyTorch and, with `torch` bound to Weft, on Weft.

The text uses only what `sides.py` puts into its namespace: torch, nn, F, data, ints, load, sync, jit, show.
"""

from __future__ import annotations

import random

from expressions import SIZES, Expressions, Value

OPTIMIZERS = [
    "SGD(params, lr=0.05)", "SGD(params, lr=0.05, momentum=0.9)", "SGD(params, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD(params, lr=0.05, momentum=0.9, dampening=0.3)", "Adam(params, lr=0.01, eps=1e-3)", "Adam(params, lr=0.01, eps=1e-3, amsgrad=True)",
    "Adam(params, lr=0.01, eps=1e-3, weight_decay=0.1)", "AdamW(params, lr=0.01, eps=1e-3)", "RMSprop(params, lr=0.01, eps=1e-2)",
    "RMSprop(params, lr=0.01, eps=1e-2, momentum=0.8)", "RMSprop(params, lr=0.01, centered=True, eps=0.1)", "Adagrad(params, lr=0.05, eps=1e-2)",
    "Adadelta(params, lr=0.5, eps=1e-3)", "Adamax(params, lr=0.01, eps=1e-2)", "NAdam(params, lr=0.01, eps=1e-2)", "RAdam(params, lr=0.01, eps=1e-2)",
    "Adam([{'params': params[::2]}, {'params': params[1::2], 'lr': 0.003}], lr=0.01, eps=1e-3)",
]  # fmt: skip


def random_program(seed: int) -> str:
    rng = random.Random(seed)
    kind = rng.choices([tensor_program, recurrent_program, layers_program, expression_training], [4, 3, 3, 3])[0]
    dtype = rng.choices(["float32", "float64", "float16", "bfloat16"], [80, 10, 5, 5])[0]
    return "\n".join([f"# {dtype}", *kind(rng)]) + "\n"


def indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


# ---- tensors in any order --------------------------------------------------------------------------------------------


def leaves(w: Expressions, count: int, grad: float) -> list[Value]:
    made = []
    for i in range(count):
        shape = w.shape()
        value = Value(f"w{i}", shape)
        text = f"data({', '.join(map(str, shape))})"
        if w.rng.random() < grad:
            text += ".requires_grad_()"
            made.append(value)
        w.line(f"{value.name} = {text}")
        w.values.append(value)
    return made


def write_in_place(w: Expressions) -> bool:
    """A write to a whole tensor or to a part of it."""
    x = w.pick(lambda v: 0 not in v.shape)
    if not x:
        return False
    y = w.pick(lambda v: v.shape == x.shape)
    target, shape = x.name, x.shape
    if x.rank > 0 and w.rng.random() < 0.5:
        d = w.rng.randrange(x.rank)
        a = w.rng.randrange(x.shape[d])
        b = w.rng.randint(a + 1, x.shape[d])
        how = w.rng.randrange(4)
        if how == 0:
            target, shape = f"{x.name}[{':, ' * d}{a}]", x.shape[:d] + x.shape[d + 1 :]
        elif how == 1:
            target, shape = f"{x.name}[{':, ' * d}{a}:{b}]", (*x.shape[:d], b - a, *x.shape[d + 1 :])
        elif how == 2:
            target, shape = f"{x.name}[{':, ' * d}::2]", (*x.shape[:d], (x.shape[d] + 1) // 2, *x.shape[d + 1 :])
        elif x.rank == 2:
            target, shape = f"{x.name}.t()", x.shape[::-1]
        y = w.pick(lambda v: v.shape == shape)
    number = w.number()
    ways = [f"{target}.mul_({number})", f"{target}.add_({number})", f"{target}.fill_({number})", f"{target}.clamp_(-0.9, 0.9)"]
    ways += [f"{target}.tanh_()"]
    if target.endswith("]"):
        ways += [f"{target} = {number}", f"{target} += {number}", f"{target} *= {number}"] * 2
    if y:
        # PyTorch reads what it has just written where a transposed tensor is written with itself.
        source = f"{y.name}.clone()" if target.endswith(".t()") else y.name
        ways += [f"{target}.add_({source}, alpha={number})", f"{target}.mul_({source})", f"{target}.copy_({source})", f"{target}.sub_({source})",
                 f"{target}.mul_(0.9).add_({source})", f"{target}.lerp_({source}, 0.2)"] * 2  # fmt: skip
        if target.endswith("]"):
            ways += [f"{target} = {source}", f"{target} += {source}"] * 2
    text = w.rng.choice(ways)
    if w.rng.random() < 0.5:
        w.line("with torch.no_grad():")
        text = "    " + text
    w.line(text)
    return True


def tensor_program(rng: random.Random) -> list[str]:
    w = Expressions(rng)
    grads = leaves(w, rng.randint(2, 5), rng.choice([0.0, 0.6, 0.9]))
    held: list[Value] = []
    for _ in range(rng.randint(3, 16)):
        what = rng.random()
        if what < 0.55:
            w.step()
        elif what < 0.6:  # a value of its own that shares no history, written with one that has
            x = w.pick()
            y = x and w.pick(lambda v, x=x: v.shape == x.shape)
            h = w.make(rng.choice([f"{x.name}.detach()", f"({x.name} * 1.5).detach()", f"{x.name}.clone().detach()"]), x.shape)
            writes = [f"{h.name} += {y.name} * {w.number()}", f"{h.name}.add_({y.name})", f"{h.name}.mul_({y.name})"]
            w.line(rng.choice([*writes, f"{h.name}.copy_({y.name})"]))
        elif what < 0.8:
            write_in_place(w)
        elif what < 0.88:
            x = w.pick()
            w.line(f"show({x.name})")
        elif what < 0.92:
            x = w.pick()
            w.line(f"sync({x.name})")
        elif grads:
            x, y = w.pick(), w.pick()
            loss = rng.choice([f"({x.name} * {x.name}).mean()", f"{x.name}.sum() * 0.1", f"({x.name} * {x.name}).mean() + {y.name}.mean()",
                               f"({x.name}.flatten() * data({x.size})).sum()"])  # fmt: skip
            if rng.random() < 0.25:
                g = w.fresh("g")
                leaf = rng.choice(grads)
                w.line(f"{g}, = torch.autograd.grad({loss}, [{leaf.name}], create_graph={rng.random() < 0.5}, retain_graph=True)")
                w.values.append(Value(g, leaf.shape))
            else:
                w.line(f"({loss}).backward(retain_graph=True)")
                held.append(x)
                if rng.random() < 0.5:
                    leaf = rng.choice(grads)
                    w.line(f"show({leaf.name}.grad)")
    return w.lines + last_reads(rng, w, grads)


def last_reads(rng: random.Random, w: Expressions, grads: list[Value]) -> list[str]:
    names = [v.name for v in w.values]
    some = rng.sample(names, min(len(names), rng.randint(2, 8)))
    lines = [f"loss = {' + '.join(f'({n} * {n}).mean()' for n in some[:3])}", "loss.backward()"] if grads and rng.random() < 0.8 else []
    reads = [f"show({n})" for n in some] + [f"show({v.name}.grad)" for v in grads]
    rng.shuffle(reads)
    if rng.random() < 0.3:
        return [*lines, f"sync({', '.join(some)})", *reads]
    return lines + reads


# ---- training --------------------------------------------------------------------------------------------------------


UPDATES = [  # by hand, of a parameter p and its moment m
    ["m.mul_(0.9).add_(p.grad)", "p.sub_(m, alpha=0.05)"], ["m.mul_(0.9).add_(p.grad, alpha=0.1)", "p -= 0.05 * m"],
    ["p.add_(p.grad, alpha=-0.05)"], ["m.lerp_(p.grad, 0.1)", "p.sub_(m * 0.1)"],
    ["m.mul_(0.9).addcmul_(p.grad, p.grad, value=0.1)", "p.sub_(0.02 * p.grad / (m.sqrt() + 0.1))"],
]  # fmt: skip
SCHEDULERS = ["StepLR(optimizer, 2, 0.5)", "CosineAnnealingLR(optimizer, 4)", "ExponentialLR(optimizer, 0.7)"]


class Training:
    """What a training loop does beside computing a loss; drawn once, and written down in pieces."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.every = rng.choice([1, 1, 1, 2, 3])  # batches whose gradients add up
        self.by_hand = rng.random() < 0.25
        self.scheduled = not self.by_hand and rng.random() < 0.2
        self.averaged = rng.random() < 0.3

    def start(self) -> list[str]:
        lines = ["moments = [torch.zeros_like(p) for p in params]"] if self.by_hand else [f"optimizer = torch.optim.{self.rng.choice(OPTIMIZERS)}"]
        if self.scheduled:
            lines += [f"scheduler = torch.optim.lr_scheduler.{self.rng.choice(SCHEDULERS)}"]
        if self.averaged:
            lines += ["average = [p.detach().clone() for p in params]"]
        return lines

    def zero(self) -> list[str]:
        if self.by_hand:
            return ["for p in params:", "    p.grad = None"]
        return [f"optimizer.zero_grad({self.rng.choice(['', '', 'set_to_none=False'])})"]

    def update(self) -> list[str]:
        lines, clip = [], self.rng.random()
        if clip < 0.3:
            lines += ["norm = nn.utils.clip_grad_norm_(params, 0.5)"] + (["show(norm)"] if self.rng.random() < 0.5 else [])
        elif clip < 0.35:
            lines += ["nn.utils.clip_grad_value_(params, 0.05)"]
        if self.by_hand:
            lines += ["with torch.no_grad():", "    for p, m in zip(params, moments):", *indented(self.rng.choice(UPDATES), 2)]
        else:
            lines += ["optimizer.step()"]
        if self.scheduled:
            lines += ["scheduler.step()"]
        if self.averaged:
            lines += ["with torch.no_grad():", "    for a, p in zip(average, params):"]
            lines += [self.rng.choice(["        a.mul_(0.9).add_(p, alpha=0.1)", "        a.lerp_(p, 0.1)"])]
        return lines

    def step(self, loss: list[str], reads: list[str]) -> list[str]:
        zero, update = self.zero(), self.update()
        lines = (zero if self.every == 1 else []) + loss
        lines += ["loss.backward()" if self.every == 1 else f"(loss / {self.every}).backward()"]
        known = len(lines) - 1  # from here on there is a loss
        lines += update if self.every == 1 else [f"if step % {self.every} == {self.every - 1}:", *indented(update + zero)]
        for read in reads:
            if self.rng.random() < 0.3:
                where = [i for i in range(known, len(lines) + 1) if i == len(lines) or not lines[i].startswith(" ")]
                lines.insert(self.rng.choice(where), read)
        return lines

    def end(self) -> list[str]:
        lines = ["for p in params:", "    show(p)"]
        if self.rng.random() < 0.5:
            lines += ["    show(p.grad)"]
        if self.by_hand and self.rng.random() < 0.7:
            lines += ["for m in moments:", "    show(m)"]
        if self.averaged:
            lines += ["for a in average:", "    show(a)"]
        return lines


def training_loop(rng: random.Random, loss: list[str], reads: list[str]) -> list[str]:
    """`loss` are lines that set `loss` from `x` and `y`, which depend on the step; `reads` may stand behind them.

    A scheduler is Python: captured, it would run once.
    """
    training = Training(rng)
    lines, step, steps = training.start(), training.step(loss, [*reads, "show(loss)"]), rng.randint(1, 4)
    silent = not any("show" in line or "sync" in line for line in step)
    if silent and not training.scheduled and training.every == 1 and rng.random() < 0.3:
        lines += ["@jit", "def train(x, y):", *indented(step), "    return loss.detach()"]
        lines += [f"for step in range({steps}):", "    show(train(xs[step % len(xs)], ys[step % len(ys)]))"]
    else:
        lines += [f"for step in range({steps}):", "    x, y = xs[step % len(xs)], ys[step % len(ys)]", *indented(step)]
        if rng.random() < 0.6:
            lines += ["    show(loss)"]
    return lines + training.end()


def recurrent_module(rng: random.Random, hidden: int) -> tuple[list[str], list[str]]:
    kind, layers, both = rng.choice(["RNN", "LSTM", "GRU"]), rng.choice([1, 1, 2]), rng.random() < 0.15
    last = rng.choice(["h[:, -1, :H]", "h[..., :H].mean(1)", "torch.tanh(h[:, :, :H].sum(1))"])
    init = [f"self.rnn = nn.{kind}(I, H, num_layers={layers}, batch_first=True, bidirectional={both})", f"self.out = nn.Linear({hidden}, 3)"]
    lines = module(init, ["h, _ = self.rnn(x)", f"return self.out({last})"])
    return lines, ["out = net(x)"]


def recurrent_loop(rng: random.Random, hidden: int, width: int, tied: bool) -> tuple[list[str], list[str]]:
    lines = [] if tied else [f"u = data(H, I, scale={round(width**-0.5, 3)}).requires_grad_()"]
    lines += [f"w = data(H, H, scale={round(hidden**-0.5, 3)}).requires_grad_()", "b = data(H, scale=0.1).requires_grad_()"]
    lines += [f"v = data(3, H, scale={round(hidden**-0.5, 3)}).requires_grad_()"] + (["u = w"] if tied else [])
    lines += [f"params = [{'w, b, v' if tied else 'u, w, b, v'}]"]
    act, ws = rng.choice(["torch.tanh", "torch.tanh", "torch.sigmoid", "torch.relu", "F.gelu"]), rng.choice(["w.T", "w.t()", "w"])
    new = rng.choice([
        f"{act}(x[:, t] @ u.T + h @ {ws} + b)", f"{act}(F.linear(x[:, t], u, b) + h @ {ws})", f"{act}(h @ {ws} + b)",
        f"0.5 * h + 0.5 * {act}(x[:, t] @ u.T + h @ {ws})", f"h + 0.3 * {act}(h @ {ws} + x[:, t] @ u.t())",
    ])  # fmt: skip
    loss = ["h = torch.zeros(B, H, dtype=x.dtype)" if "x[" in new else "h = x[:, 0, :1] + torch.zeros(B, H, dtype=x.dtype)"]
    loss += ["hs = []", "for t in range(T):", f"    h = {new}"]
    if rng.random() < 0.7:
        loss += ["    hs.append(h)"]
        joined = ["torch.stack(hs, 1).mean(1) @ v.T", "torch.cat(hs, 0)[-B:] @ v.T", "torch.stack(hs).sum(0) @ v.T + hs[0] @ v.T"]
        return lines, [*loss, f"out = {rng.choice(joined)}"]
    return lines, [*loss, "out = h @ v.T"]


def recurrent_program(rng: random.Random) -> list[str]:
    hidden, batch = rng.choice([8, 17, 31, 32, 33, 48, 64, 65]), rng.choice([1, 2, 3, 8, 16, 17])
    tied = rng.random() < 0.3
    width, length = hidden if tied else rng.choice([1, 3, 8, 16, 33]), rng.randint(1, 6)
    made, loss = recurrent_module(rng, hidden) if rng.random() < 0.45 else recurrent_loop(rng, hidden, width, tied)
    batches = rng.randint(1, 3)
    lines = [f"H, B, I, T = {hidden}, {batch}, {width}, {length}", *made, f"xs = [data(B, T, I) for _ in range({batches})]"]
    if rng.random() < 0.5:
        lines += [f"ys = [ints(3, B) for _ in range({batches})]"]
        loss += ["loss = F.cross_entropy(out, y)"]
    else:
        lines += [f"ys = [data(B, 3) for _ in range({batches})]"]
        loss += [rng.choice(["loss = F.mse_loss(out, y)", "loss = ((out - y) ** 2).mean()", "loss = F.smooth_l1_loss(out, y)"])]
    return lines + training_loop(rng, loss, ["show(out)", "show(params[0])", "show(params[-1].grad)", "sync(loss)"])


# ---- layers ----------------------------------------------------------------------------------------------------------


def module(init: list[str], forward: list[str]) -> list[str]:
    lines = ["class Net(nn.Module):", "    def __init__(self):", "        super().__init__()", *indented(init, 2)]
    return [*lines, "    def forward(self, x):", *indented(forward, 2), "net = load(Net())", "params = list(net.parameters())"]


def embedded(rng: random.Random, batch: int) -> tuple[list[str], list[str], str]:
    """How indices become vectors of W elements: lines of __init__ and forward, and the data."""
    forward = ["x = self.embed(x).mean(1)", "x = self.embed(x).sum(1) * 0.3", "x = torch.tanh(self.embed(x)).amax(1)"]
    return ["self.embed = nn.Embedding(11, W)"], [rng.choice(forward)], f"ints(11, {batch}, {rng.choice([2, 5, 7])})"


def image(rng: random.Random, batch: int) -> tuple[list[str], list[str], str]:
    height, width = (rng.choice([4, 6, 8, 9, 13, 18]) for _ in range(2))
    channels, first, normed = rng.choice([1, 2, 3]), rng.choice([2, 4, 5, 8, 16]), rng.random() < 0.4
    how = f"{rng.choice([2, 3, 3, 4])}, padding={rng.choice([0, 1, 1, 2])}, stride={rng.choice([1, 1, 2, 3])}, bias={not normed}"
    kind = rng.choice(["Conv2d", "Conv2d", "ConvTranspose2d"])
    if kind == "ConvTranspose2d":
        how = how.replace("padding=2", "padding=1")
    init = [f"self.conv = nn.{kind}({channels}, {first}, {how})"]
    forward = ["x = self.conv(x)"]
    if normed:
        init += [f"self.norm = {rng.choice([f'nn.BatchNorm2d({first})', f'nn.GroupNorm(1, {first})'])}"]
        forward += ["x = self.norm(x)"]
    forward += [rng.choice(["x = torch.relu(x)", "x = F.gelu(x)", "x = torch.tanh(x)"])]
    if rng.random() < 0.5:
        forward += [rng.choice(["x = F.max_pool2d(x, 2)", "x = F.avg_pool2d(x, 2)", "x = F.max_pool2d(x, 2, stride=1)"])]
    if rng.random() < 0.4:  # the same kernels twice
        init += [f"self.again = nn.Conv2d({first}, {first}, 3, padding=1)"]
        forward += ["x = x + self.again(x)"] + (["x = torch.tanh(self.again(x))"] if rng.random() < 0.5 else [])
    init += [f"self.project = nn.Linear({first}, W)"]
    forward += [rng.choice(["x = self.project(x.mean((2, 3)))", "x = self.project(x.flatten(2).amax(2))"])]
    return init, forward, f"data({batch}, {channels}, {height}, {width})"


def vectors(rng: random.Random, batch: int) -> tuple[list[str], list[str], str]:
    width = rng.choice([1, 3, 16, 33])
    return [f"self.project = nn.Linear({width}, W)"], ["x = self.project(x)"], f"data({batch}, {width})"


def block(rng: random.Random, name: str) -> tuple[list[str], list[str]]:
    scan = [f"x = torch.cumsum(x, 1) * {name} * 0.3", f"x = torch.cat([x * {name}, torch.cumsum(x, 1) * 0.2], 0)[-B:]", f"x = torch.sort(apart(x * {name}), 1)[0]"]
    return rng.choice([
        ([f"{name} = nn.Linear(W, W)"], [f"x = torch.relu({name}(x))"] * rng.choice([1, 2])),
        ([f"{name} = nn.LayerNorm(W)"], [f"x = {name}(x)"]),
        ([f"{name} = nn.Linear(W, 2 * W)", f"{name}b = nn.Linear(2 * W, W)"], [f"x = x + {name}b(F.gelu({name}(x)))"]),
        ([f"{name} = nn.Linear(W, W, bias=False)"], [f"x = torch.tanh({name}(x)) + 0.5 * torch.tanh({name}(torch.sin(x)))"]),
        ([f"{name} = nn.Linear(W, W)"], [f"x = x * torch.sigmoid({name}(x))"]),
        ([f"{name} = nn.Linear(W, 3 * W, bias=False)"], [f"q, k, v = {name}(x).chunk(3, -1)", "x = x + torch.softmax(q @ k.t() * 0.2, -1) @ v"]),
        ([f"{name} = nn.Parameter(data(W, scale=0.5))"], [rng.choice(scan)]),
    ])  # fmt: skip


def layers_program(rng: random.Random) -> list[str]:
    width, batch = rng.choice([8, 16, 17, 31, 32, 33, 64]), rng.choice([2, 2, 5, 16, 17, 32])
    first = rng.choices([embedded, image, vectors], [3, 2, 5])[0]
    batch = min(batch, 8) if first is image else batch
    init, forward, inputs = first(rng, batch)
    for i in range(rng.randint(0, 3)):
        more = block(rng, f"self.f{i}")
        init, forward = init + more[0], forward + more[1]
    if first is embedded and rng.random() < 0.6:  # tied weights
        outputs = 11
        forward += [rng.choice(["return x @ self.embed.weight.t()", "return F.linear(x, self.embed.weight)"])]
    else:
        outputs = rng.choice([1, 2, 3, 10, 17])
        init += [f"self.out = nn.Linear(W, {outputs})"]
        forward += ["return self.out(x)"]
    batches = rng.randint(1, 3)
    lines = [f"W, B = {width}, {batch}", *module(init, forward), f"xs = [{inputs} for _ in range({batches})]"]
    loss = ["out = net(x)"]
    if rng.random() < 0.6 and outputs > 1:
        lines += [f"ys = [ints({outputs}, {batch}) for _ in range({batches})]"]
        losses = ["F.cross_entropy(out, y)", "F.cross_entropy(out, y, label_smoothing=0.1)", "F.nll_loss(F.log_softmax(out, 1), y)"]
    else:
        lines += [f"ys = [data({batch}, {outputs}) for _ in range({batches})]"]
        losses = ["F.mse_loss(out, y)", "F.huber_loss(out, y)", "F.binary_cross_entropy_with_logits(out, torch.sigmoid(y))"]
    loss += [f"loss = {rng.choice(losses)}"]
    if rng.random() < 0.15:
        loss += ["loss = loss + 1e-2 * sum((p * p).sum() for p in params)"]
    lines += training_loop(rng, loss, ["show(out)", "show(params[0])", "show(params[-1].grad)", "sync(loss)", "sync(*params)"])
    if rng.random() < 0.3:
        lines += ["net.eval()", "with torch.no_grad():", "    show(net(xs[0]))"]
    return lines


def expression_training(rng: random.Random) -> list[str]:
    """Random expressions of the parameters, trained."""
    w = Expressions(rng, rng.sample(SIZES, 3))
    grads = leaves(w, rng.randint(2, 4), 1.0)
    head, w.lines = w.lines, []
    shape = w.shape((2,))
    w.values.append(Value("x", shape))
    for _ in range(rng.randint(3, 10)):
        w.step()
    used = [v for v in w.values if v.name.startswith("t")] or w.values
    terms = []
    for v in rng.sample(used, min(len(used), rng.randint(1, 3))):
        terms += [rng.choice([f"({v.name} * {v.name}).mean()", f"{v.name}.sum() * {round(1 / max(v.size, 1) ** 0.5, 4)}"])]
    xs = f"xs = [data({', '.join(map(str, shape))}) for _ in range({rng.randint(1, 2)})]"
    reads = [f"show({rng.choice(used).name})", "show(params[0])", "show(params[-1].grad)", f"sync({rng.choice(used).name})"]
    lines = [*head, f"params = [{', '.join(v.name for v in grads)}]", xs, "ys = xs"]
    return lines + training_loop(rng, [*w.lines, f"loss = {' + '.join(terms)}"], reads)
