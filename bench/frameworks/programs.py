"""bench/frameworks/programs.py: ordinary programs, as people write them for PyTorch: they read values when they like, keep handles, and never
call realize(). Each is a function of `torch` (PyTorch or Weft) that prepares what a program prepares once, and returns what one pass does.

    python programs.py torch|weft ROW SECONDS     prints {"first", "later", "bytes", "values"} as JSON

`first` is the first pass of a fresh process, `later` the best of the others, in seconds; `bytes` those of live tensors at the end of a
pass (Weft alone; PyTorch's are counted from its Python objects).
"""

import gc
import importlib
import json
import sys
import time

import numpy as np


class Data:
    """Numbers that are the same in every framework."""

    def __init__(self, torch, seed=0):
        self.torch, self.rng = torch, np.random.default_rng(seed)

    def __call__(self, *shape, scale=1.0):
        return self.torch.from_numpy(np.float32(self.rng.standard_normal(shape) * scale)).clone()

    def ints(self, most, *shape):
        return self.torch.from_numpy(self.rng.integers(0, most, shape)).clone()

    def load(self, module):
        """The module with weights from here."""
        with self.torch.no_grad():
            for p in module.parameters():
                p.copy_(self(*p.shape, scale=0.3 / max(1, p.shape[-1]) ** 0.5))
        return module


def classifier(torch, data):
    nn = torch.nn
    return data.load(nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10))), data(1000, 784), data.ints(10, 1000)


def reads(torch, data):
    """Each prediction is compared by itself, in Python."""
    net, x, y = classifier(torch, data)

    def once():
        with torch.no_grad():
            pred = net(x).argmax(1)
            return [sum(int(pred[i] == y[i]) for i in range(200))]

    return once


def items(torch, data):
    net, x, _ = classifier(torch, data)

    def once():
        with torch.no_grad():
            pred = net(x).argmax(1)
            return [sum(p.item() for p in pred)]

    return once


def metrics(torch, data):
    """Loss, accuracy and confidence of the same logits."""
    net, x, y = classifier(torch, data)
    F = torch.nn.functional

    def once():
        with torch.no_grad():
            out = net(x)
            loss = F.cross_entropy(out, y)
            accuracy = (out.argmax(1) == y).float().mean()
            confidence = F.softmax(out, 1).max(1)[0].mean()
            return [loss.item(), accuracy.item(), confidence.item()]

    return once


def prepare(torch, data):
    """A graph's matrix is normalised once, then a network is trained on it."""
    nn, F = torch.nn, torch.nn.functional
    nodes = 700
    edges = data(nodes, nodes)
    prepared = []  # in the first pass of both sides: PyTorch would do it at once, Weft when it is first read
    x, y = data(nodes, 64), data.ints(7, nodes)
    one, two = data.load(nn.Linear(64, 16)), data.load(nn.Linear(16, 7))
    optimizer = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)

    def once():
        if not prepared:
            adj = (edges > 2).float() + torch.eye(nodes)
            d = torch.diag(adj.sum(1) ** -0.5)
            prepared.append(d @ adj @ d)
        adj = prepared[0]
        for _ in range(2):
            loss = F.cross_entropy(adj @ two(F.relu(adj @ one(x))), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [loss.item()]

    return once


def transformer(torch, data, vocabulary=65, width=64, heads=4):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = (z.view(n, t, heads, width // heads).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(width, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(128, width)
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, tokens):
            x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return data.load(Model())


def sample(torch, data):
    """60 tokens, one after the other; the sequence grows."""
    F = torch.nn.functional
    model, start = transformer(torch, data), data.ints(65, 1, 1)

    def once():
        tokens = start
        with torch.no_grad():
            for _ in range(60):
                logits = model(tokens)[:, -1, :]
                probs = F.softmax(logits, dim=-1)
                drawn = torch.multinomial(probs, num_samples=1)
                tokens = torch.cat((tokens, drawn), dim=1)
        return [float(tokens.shape[1]), float(0 <= tokens.max().item() < 65)]

    return once


def unread(torch, data):
    """400 steps of a sampler that nobody looks at before the end."""
    nn = torch.nn
    net = data.load(nn.Sequential(nn.Linear(65, 64), nn.ReLU(), nn.Linear(64, 64)))
    noise = data(16, 64)

    def once():
        x = noise
        with torch.no_grad():
            for t in range(400):
                at = torch.full((16, 1), t / 400)
                x = x - 0.01 * net(torch.cat([x, at], 1)) + 0.001 * noise
        return [x.abs().mean().item()]

    return once


def denoise(torch, data):
    """A small convolutional diffusion model: 60 sampling steps, with noise in each."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Linear(16, 32)
            self.down, self.middle = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
            self.norm, self.up = nn.GroupNorm(4, 32), nn.Conv2d(32, 1, 3, padding=1)

        def forward(self, x, t):
            angle = t.float()[:, None] * torch.exp(-torch.arange(8).float())[None]
            time = self.time(torch.cat([torch.sin(angle), torch.cos(angle)], 1))
            h = F.silu(self.down(x) + time[:, :, None, None])
            return self.up(F.silu(self.norm(self.middle(h))) + h)

    net = data.load(Net())
    start = data(8, 1, 28, 28)
    beta = torch.linspace(1e-4, 0.02, 60)
    alpha = 1 - beta
    product = torch.cumprod(alpha, 0)

    def once():
        x = start
        with torch.no_grad():
            for t in reversed(range(60)):
                noise = torch.randn_like(x) if t > 0 else torch.zeros_like(x)
                guess = net(x, torch.full((8,), t))
                x = (x - beta[t] / (1 - product[t]).sqrt() * guess) / alpha[t].sqrt() + beta[t].sqrt() * noise
        return [float(bool(torch.isfinite(x).all()))]

    return once


def ragged(torch, data):
    """Rows of different lengths from a Dataset, padded; a GRU reads them."""
    nn, F = torch.nn, torch.nn.functional
    words = [data.ints(27, int(n)) for n in data.rng.integers(3, 15, 320)]

    class Words(torch.utils.data.Dataset):
        def __len__(self):
            return len(words)

        def __getitem__(self, i):
            x, y = torch.zeros(16, dtype=torch.long), torch.zeros(16, dtype=torch.long)
            x[1 : 1 + len(words[i])] = words[i]
            y[: len(words[i])] = words[i]
            y[len(words[i]) + 1 :] = -1
            return x, y

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.head = nn.Embedding(27, 32), nn.GRU(32, 64, batch_first=True), nn.Linear(64, 27)

        def forward(self, x):
            return self.head(self.rnn(self.embed(x))[0])

    net = data.load(Net())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Words(), batch_size=32)

    def once():
        for x, y in loader:
            loss = F.cross_entropy(net(x).reshape(-1, 27), y.reshape(-1), ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [loss.item()]

    return once


def experts(torch, data):
    """A mixture of 8 experts: each takes the rows that chose it."""
    nn, F = torch.nn, torch.nn.functional
    gate = data.load(nn.Linear(64, 8))
    nets = [data.load(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))) for _ in range(8)]
    x = data(256, 64)

    def once():
        with torch.no_grad():
            weights, chosen = torch.topk(F.softmax(gate(x), 1), 2, dim=1)
            out = torch.zeros_like(x)
            for e in range(8):
                rows, slot = torch.where(chosen == e)
                out.index_add_(0, rows, nets[e](x[rows]) * weights[rows, slot][:, None])
        return [out.abs().mean().item()]

    return once


def windows(torch, data):
    """A text in columns, read in windows of 20."""
    F = torch.nn.functional
    text = data.ints(65, 20_000)
    table = data(65, 32)

    def once():
        columns = text.view(10, -1).t().contiguous()
        total = 0.0
        for i in range(0, 400, 20):
            window = columns[i : i + 20]
            total += F.embedding(window, table).mean().item()
        return [total]

    return once


def gan(torch, data):
    """One step of a DCGAN: the same fakes train both networks."""
    nn = torch.nn
    generator = data.load(nn.Sequential(
        nn.ConvTranspose2d(32, 64, 4, 1, 0, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False),
        nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 4, 2, bias=False), nn.Tanh()))  # fmt: skip
    judge = data.load(nn.Sequential(
        nn.Conv2d(1, 32, 4, 2, 1, bias=False), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
        nn.Conv2d(64, 1, 7, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0)))  # fmt: skip
    for m in [*generator, *judge]:
        if isinstance(m, nn.BatchNorm2d):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)
    criterion = nn.BCELoss()
    of_judge = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real, noise = data(32, 1, 28, 28), data(32, 32, 1, 1)

    def once():
        judge.zero_grad()
        label = torch.full((32,), 1.0)
        real_loss = criterion(judge(real), label)
        real_loss.backward()
        fake = generator(noise)
        label.fill_(0.0)
        fake_loss = criterion(judge(fake.detach()), label)
        fake_loss.backward()
        of_judge.step()
        generator.zero_grad()
        label.fill_(1.0)
        loss = criterion(judge(fake), label)
        loss.backward()
        of_generator.step()
        return [real_loss.item(), fake_loss.item(), loss.item()]

    return once


def small(torch, data):
    """a + b of small tensors, a thousand times."""
    a, b = data(16), data(16)

    def once():
        for _ in range(1000):
            c = a + b
            if hasattr(c, "realize"):
                c.realize()
        return [c.sum().item()]

    return once


def logging(torch, data):
    """A training step that logs: the norm of every gradient and weight, and a running accuracy that is read at the end."""
    nn, F = torch.nn, torch.nn.functional
    net = data.load(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = data(256, 64), data.ints(10, 256)

    def once():
        hits = torch.zeros(())
        log = []
        for _ in range(5):
            out = net(x)
            loss = F.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            log = [p.grad.norm().item() for p in net.parameters()] + [p.detach().abs().max().item() for p in net.parameters()]
            optimizer.step()
            hits = hits + (out.argmax(1) == y).float().sum()
        return [*log, hits.item(), loss.item()]

    return once


def clusters(torch, data):
    """k-means: the loop ends when the centres stand still, which it looks at in every step."""
    points = data(4000, 16)

    def once():
        centres = points[:20].clone()
        for step in range(15):
            nearest = torch.cdist(points, centres).argmin(1)
            moved = torch.stack([points[nearest == k].mean(0) if (nearest == k).any() else centres[k] for k in range(20)])
            shift = (moved - centres).norm()
            centres = moved
            if shift.item() < 1e-4:
                break
        return [float(step), centres.abs().mean().item()]

    return once


def averages(torch, data):
    """An average of the weights, and an evaluation with it after each step; the best one is kept."""
    nn, F = torch.nn, torch.nn.functional
    net = data.load(nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 10)))
    average = [p.detach().clone() for p in net.parameters()]
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = data(128, 64), data.ints(10, 128)

    def once():
        best, kept = float("inf"), None
        for _ in range(5):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for a, p in zip(average, net.parameters()):
                    a.mul_(0.9).add_(p, alpha=0.1)
                hidden = torch.tanh(F.linear(x, average[0], average[1]))
                score = F.cross_entropy(F.linear(hidden, average[2], average[3]), y)
            if score.item() < best:
                best, kept = score.item(), [a.clone() for a in average]
        return [best, sum(a.abs().sum().item() for a in kept)]

    return once


ROWS = {f.__name__: f for f in (reads, items, metrics, prepare, sample, unread, denoise, ragged, experts, windows, gan, small, logging,
                                clusters, averages)}  # fmt: skip


def live_bytes(torch):
    if torch.__name__ == "weft":
        return torch.counters()["bytes_allocated"]
    gc.collect()
    seen = {}
    for o in gc.get_objects():
        if type(o) in (torch.Tensor, torch.nn.Parameter):
            storage = o.untyped_storage()
            seen[storage.data_ptr()] = rounded(storage.nbytes())
    return sum(seen.values())


def rounded(size):
    """As Weft's pool rounds: its counter has whole blocks."""
    size = max(size, 64)
    step = max(64, (1 << size.bit_length() - 1) // 8)
    return -(-size // step) * step


def main():
    name, row, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    torch = importlib.import_module(name)
    if name == "torch":
        torch.set_num_threads(2)
    importlib.import_module(name + ".utils.data")
    torch.manual_seed(0)
    (torch.ones(4) + 1).sum().item()  # libraries are loaded, threads are there
    once = ROWS[row](torch, Data(torch))
    begin = time.perf_counter()
    values = once()
    first = time.perf_counter() - begin
    later, end, passes = float("inf"), time.perf_counter() + seconds, 0
    while passes < 3 or (time.perf_counter() < end and passes < 1000):
        begin = time.perf_counter()
        once()
        later, passes = min(later, time.perf_counter() - begin), passes + 1
    print(json.dumps({"first": first, "later": later, "bytes": live_bytes(torch), "values": values}))


if __name__ == "__main__":
    main()
