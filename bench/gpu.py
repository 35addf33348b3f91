"""bench/gpu.py: Weft on a GPU beside PyTorch, in one process, with equal work: the time of a call in a loop, the best of several loops.

    python bench/gpu.py [--only REGEX] [--no-compile] [--json FILE] [--bits]

The ratio is PyTorch's best time (eager, torch.compile, a CUDA graph for steps) by Weft's: above 1, Weft is faster. `--bits` compares
Weft's results on the GPU with its results on the CPU instead: f32 must be equal, bit for bit.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

import weft

ROWS = {}
LOOPS = 7


def row(name, unit=None, amount=0.0):
    """`amount` is what a call moves or computes, in TB or TFLOP."""

    def register(make):
        ROWS[name] = (make, unit, amount)
        return make

    return register


def torch():
    import torch as module

    module.backends.cudnn.allow_tf32 = False  # f32 on both sides
    return module


def wait_weft():
    weft.cuda.synchronize()


def wait_torch():
    torch().cuda.synchronize()


def seconds(call, wait, budget=0.25):
    """Of one call, the best of several loops that keep the GPU busy."""
    for _ in range(4):
        call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    count = max(3, min(2000, int(budget / LOOPS / max(time.perf_counter() - start, 1e-6))))
    best = float("inf")
    for _ in range(LOOPS):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def both(function, *arrays, compile=True, dtype=None):
    """A function of tensors that both libraries have, and the calls that run it."""
    ours = [weft.tensor(a, device="cuda") for a in arrays]
    theirs = [torch().from_numpy(a).cuda() for a in arrays]
    if dtype:
        ours = [t.to(getattr(weft, dtype)).realize() for t in ours]
        theirs = [t.to(getattr(torch(), dtype)) for t in theirs]
    calls = {"eager": lambda: function(torch(), *theirs)}
    if compile:
        compiled = torch().compile(lambda *tensors: function(torch(), *tensors))
        calls["compile"] = lambda: compiled(*theirs)
    return (lambda: function(weft, *ours).realize()), calls


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def in_place_normal(count, parts=16):
    """Many numbers, the same ones again and again: making fresh ones would take longer than the rows."""
    return np.tile(normal(count // parts), parts)


@row("add 256M", "TB/s", 3 * 4 * 2**28 / 1e12)
def _add():
    return both(lambda t, a, b: a + b, *[in_place_normal(2**28) for _ in range(2)], compile=False)


@row("chain 256M", "TB/s", 4 * 4 * 2**28 / 1e12)
def _chain():
    return both(
        lambda t, a, b, c: t.tanh(a * b + c) * t.sigmoid(a) - t.relu(b) / 2, *[in_place_normal(2**28) for _ in range(3)]
    )


@row("softmax 16384x4096", "TB/s", 2 * 4 * 16384 * 4096 / 1e12)
def _softmax():
    return both(lambda t, x: t.softmax(x, -1), normal(16384, 4096))


@row("layer norm 16384x4096", "TB/s", 2 * 4 * 16384 * 4096 / 1e12)
def _layer_norm():
    return both(
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (4096,), w, b), normal(16384, 4096), normal(4096), normal(4096)
    )


@row("sum 256M", "TB/s", 4 * 2**28 / 1e12)
def _sum():
    return both(lambda t, x: x.sum(), in_place_normal(2**28))


@row("sum of columns 16384x4096", "TB/s", 4 * 16384 * 4096 / 1e12)
def _columns():
    return both(lambda t, x: x.sum(0), normal(16384, 4096))


@row("transpose + 1 8192", "TB/s", 2 * 4 * 8192 * 8192 / 1e12)
def _transpose():
    def transposed(t, x):
        y = x.t() + 1
        return y.contiguous() if t is not weft else y

    return both(transposed, normal(8192, 8192))


def _products():
    for n in (256, 1024, 4096):
        row(f"matmul {n} f32", "TFLOP/s", 2 * n**3 / 1e12)(
            lambda n=n: both(lambda t, a, b: a @ b, normal(n, n), normal(n, n), compile=False)
        )
    for n in (2048, 4096, 8192):
        row(f"matmul {n} bf16", "TFLOP/s", 2 * n**3 / 1e12)(
            lambda n=n: both(lambda t, a, b: a @ b, normal(n, n), normal(n, n), compile=False, dtype="bfloat16")
        )
    row("linear + gelu 4096 bf16", "TFLOP/s", 2 * 4096**3 / 1e12)(
        lambda: both(
            lambda t, x, w, b: t.nn.functional.gelu(t.nn.functional.linear(x, w, b)),
            normal(4096, 4096), normal(4096, 4096), normal(4096), dtype="bfloat16",
        )
    )  # fmt: skip


_products()


def _tf32(make):
    """The same on both sides with products of f32 as tf32."""

    def by_choice(library, call):
        def run():
            library.set_float32_matmul_precision("high")  # of products: cuDNN has a switch of its own
            try:
                return call()
            finally:
                library.set_float32_matmul_precision("highest")

        return run

    def rows():
        ours, calls = make()
        return by_choice(weft, ours), {"eager": by_choice(torch(), calls["eager"])}

    return rows


for _name, _product in {"matmul": lambda t, a, b: a @ b, "linear": lambda t, a, b: t.nn.functional.linear(a, b)}.items():  # across, along the sum
    row(f"{_name} 4096 tf32", "TFLOP/s", 2 * 4096**3 / 1e12)(
        _tf32(lambda product=_product: both(product, normal(4096, 4096), normal(4096, 4096), compile=False))
    )


@row("conv 3x3 256x64x56 f32", "TFLOP/s", 2 * 9 * 64 * 64 * 256 * 56 * 56 / 1e12)
def _conv():
    return both(
        lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1), normal(256, 64, 56, 56), normal(64, 64, 3, 3), compile=False
    )


@row("attention 8x16x4096x64 bf16", "TFLOP/s", 2 * 8 * 16 * 4096 * 4096 * 64 / 1e12)
def _attention():
    return both(
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        *[normal(8, 16, 4096, 64) for _ in range(3)], compile=False, dtype="bfloat16",
    )  # fmt: skip


@row("x + 1, 8 elements", "µs", 0)
def _small():
    return both(lambda t, x: x + 1, normal(8), compile=False)


class Step:
    """A training step in one of the libraries; the loss is kept, not read."""

    def __init__(self, library, make_network, make_data, rate=1e-3):
        library.manual_seed(0)
        self.library, self.network = library, make_network(library)
        for i, p in enumerate(self.network.parameters()):  # the same in both
            numbers = np.random.default_rng(i).standard_normal(tuple(p.shape), np.float32) * 0.05
            p.data = library.tensor(numbers)
        self.network = self.network.to("cuda")
        self.data = [library.tensor(a).to("cuda") for a in make_data()]
        kwargs = {"capturable": True, "fused": True} if library is not weft else {}
        self.optimiser = library.optim.Adam(self.network.parameters(), rate, **kwargs)

    def __call__(self):
        *inputs, labels = self.data
        self.optimiser.zero_grad(set_to_none=True)
        logits = self.network(*inputs)
        loss = self.library.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
        loss.backward()
        self.optimiser.step()
        return loss


def steps(make_network, make_data):
    ours, theirs = Step(weft, make_network, make_data), Step(torch(), make_network, make_data)
    captured = weft.jit(ours.__call__)
    side = torch().cuda.Stream()
    side.wait_stream(torch().cuda.current_stream())
    with torch().cuda.stream(side):
        for _ in range(3):
            theirs()
    torch().cuda.current_stream().wait_stream(side)
    graph = torch().cuda.CUDAGraph()
    with torch().cuda.graph(graph):
        theirs()
    calls = {"CUDA graph": graph.replay, "eager": theirs}
    return {"jit": captured, "as written": ours}, calls


def mlp(t):
    return t.nn.Sequential(t.nn.Linear(784, 128), t.nn.ReLU(), t.nn.Linear(128, 10))


def mlp_data(batch=128):
    return normal(batch, 784), np.random.default_rng(3).integers(0, 10, batch)


def cnn(t):
    n = t.nn
    return n.Sequential(
        n.Conv2d(1, 32, 3), n.ReLU(), n.Conv2d(32, 64, 3), n.ReLU(), n.MaxPool2d(2), n.Flatten(), n.Linear(9216, 128), n.ReLU(),
        n.Linear(128, 10),
    )  # fmt: skip


def cnn_data(batch=512):
    return normal(batch, 1, 28, 28), np.random.default_rng(3).integers(0, 10, batch)


def transformer(t):
    class Block(t.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = t.nn.LayerNorm(width), t.nn.LayerNorm(width)
            self.qkv, self.out = t.nn.Linear(width, 3 * width), t.nn.Linear(width, width)
            self.up, self.down = t.nn.Linear(width, 4 * width), t.nn.Linear(4 * width, width)

        def forward(self, x):
            batch, tokens, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            y = t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.down(t.nn.functional.gelu(self.up(self.norm2(x))))

    return t.nn.Sequential(
        t.nn.Embedding(256, 256), *[Block(256, 4) for _ in range(4)], t.nn.LayerNorm(256), t.nn.Linear(256, 256)
    )


def transformer_data():
    random = np.random.default_rng(3)
    return random.integers(0, 256, (4, 512)), random.integers(0, 256, (4, 512))


row("mlp step b128", "µs")(lambda: steps(mlp, mlp_data))
row("cnn step b512", "µs")(lambda: steps(cnn, cnn_data))
row("transformer step 4x512", "µs")(lambda: steps(transformer, transformer_data))


COLD = """
import time; start = time.perf_counter()
import weft
network = weft.nn.Sequential(weft.nn.Linear(784, 128), weft.nn.ReLU(), weft.nn.Linear(128, 10)).to("cuda")
optimiser = weft.optim.Adam(network.parameters())
x, y = weft.randn(128, 784, device="cuda"), weft.arange(128, device="cuda") % 10
loss = weft.nn.functional.cross_entropy(network(x), y); loss.backward(); optimiser.step()
print(loss.item(), file=open("/dev/null", "w")); print(time.perf_counter() - start)
"""


def cold():
    """Process start to the end of the first training step, without and with compiled kernels on disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "WEFT_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", COLD], env=environment, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
    return times[0], min(times[1:])


def measure(name, with_compile):
    make, unit, amount = ROWS[name]
    ours, calls = make()
    if not with_compile:
        calls.pop("compile", None)
    ours = ours if isinstance(ours, dict) else {"Weft": ours}
    mine = {key: seconds(call, wait_weft) for key, call in ours.items()}
    theirs = {key: seconds(call, wait_torch) for key, call in calls.items()}
    best, other = min(mine.values()), min(theirs.values())
    rate = f"{amount / best:.3g} {unit}" if amount else ""
    print(
        f"{name:28} {other / best:5.2f}  {best * 1e6:10.1f} µs {rate:14}",
        "  ".join(f"{key} {value * 1e6:.1f}" for key, value in {**mine, **theirs}.items()),
        flush=True,
    )
    return {"ratio": other / best, "weft": mine, "torch": theirs}


def programs():
    """Name, function of a device that gives tensors: their bits must not depend on it."""

    def given(function, *shapes, dtype=np.float32):
        arrays = [np.random.default_rng(i + 7).standard_normal(s).astype(dtype) for i, s in enumerate(shapes)]
        return lambda device: function(*[weft.tensor(a, device=device) for a in arrays])

    def trained(make, data, count=100, optimiser="Adam", **kwargs):
        def run(device):
            weft.manual_seed(1)
            network = make(weft).to(device)
            inputs, labels = (weft.tensor(a, device=device) for a in data)
            rule = getattr(weft.optim, optimiser)(network.parameters(), 1e-3, **kwargs)
            losses = []
            for _ in range(count):
                rule.zero_grad()
                loss = weft.nn.functional.cross_entropy(network(inputs), labels)
                loss.backward()
                rule.step()
                losses.append(loss.detach())
            return [weft.stack(losses), *network.parameters()]

        return run

    f = weft.nn.functional
    yield "chain", given(lambda a, b, c: weft.tanh(a * b + c) * weft.sigmoid(a) - weft.relu(b) / 2, *[(4_194_311,)] * 3)
    for name in ("exp", "log", "sin", "cos", "tan", "erf", "erfinv", "lgamma", "expm1", "log1p", "atan", "sinh", "rsqrt"):
        yield name, given(lambda a, name=name: getattr(weft, name)(a), (2_000_003,))
    yield "pow", given(lambda a, b: a.abs() ** b, (2_000_003,), (2_000_003,))
    yield "softmax", given(lambda a: weft.softmax(a, -1), (4096, 4096))
    yield "softmax of odd rows", given(lambda a: weft.softmax(a, -1), (301, 5003))
    yield "layer norm", given(lambda a: f.layer_norm(a, (4096,)), (4096, 4096))
    yield "sum", given(lambda a: a.sum(), (10_000_019,))
    yield "sums", given(lambda a: [a.sum(0), a.sum(1), a.mean(), a.var(0), a.logsumexp(1)], (4099, 1031))
    yield "sum f64", given(lambda a: a.sum(), (1_000_003,), dtype=np.float64)
    for m, n, k in ((4096, 4096, 4096), (1024, 1024, 1024), (127, 65, 2049), (1, 1000, 777), (128, 10, 128)):
        yield f"matmul {m}x{n}x{k}", given(lambda a, b: a @ b, (m, k), (k, n))
    yield "matmul of transposed", given(lambda a, b: a.t() @ b.t(), (513, 255), (300, 513))
    yield "matmul f64", given(lambda a, b: a @ b, (257, 511), (511, 300), dtype=np.float64)
    yield "bmm", given(lambda a, b: a @ b, (17, 65, 63), (17, 63, 130))
    yield "conv", given(lambda x, w: f.conv2d(x, w, padding=1), (16, 64, 56, 56), (64, 64, 3, 3))
    yield "conv of strides", given(lambda x, w: f.conv2d(x, w, stride=2, dilation=2), (5, 7, 61, 47), (9, 7, 3, 5))
    yield "transpose", given(lambda a: a.t() + 1, (4099, 2051))
    yield "cumsum", given(lambda a: [a.cumsum(0), a.cumsum(1)], (1031, 2053))
    yield "random", lambda device: (weft.manual_seed(3), weft.randn(1_000_003, device=device), weft.rand(7, device=device))[1:]
    for optimiser in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "Adadelta"):
        yield f"10 steps of {optimiser}", trained(mlp, mlp_data(), 10, optimiser)
    yield "100 steps of the mlp", trained(mlp, mlp_data())
    yield "100 steps of the cnn", trained(cnn, cnn_data(64))


def different(device):
    """How many elements differ in their bits, for each program."""
    counts = {}
    for name, run in programs():
        here, there = run("cpu"), run(device)
        pairs = zip(*[list(r) if isinstance(r, list | tuple) else [r] for r in (here, there)], strict=True)
        elements = wrong = 0
        for mine, other in pairs:
            a, b = mine.detach().numpy(), other.detach().cpu().numpy()
            elements += a.size
            bits = f"u{a.dtype.itemsize}"
            wrong += int(np.sum((a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))))
        counts[name] = wrong
        print(f"{name:28} {wrong:8} of {elements}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json")
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--device", default="cuda", help="of --bits")
    args = parser.parse_args()
    results = {}
    if args.bits:
        results = different(args.device)
        print("all bits are the CPU's" if not any(results.values()) else "BITS DIFFER")
    else:
        print(f"{'row':28} ratio  {'Weft':>13}")
        for name in ROWS:
            if re.search(args.only, name):
                try:
                    results[name] = measure(name, not args.no_compile)
                except Exception as error:  # the other rows are still of interest
                    print(f"{name:28} failed: {type(error).__name__}: {str(error)[:300]}", flush=True)
        if re.search(args.only, "cold start"):
            without, cached = cold()
            print(f"{'cold start':28} {without:.2f} s, {cached:.2f} s with kernels on disk")
            results["cold start"] = {"without": without, "cached": cached}
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)
    sys.exit(bool(args.bits and any(results.values())))


if __name__ == "__main__":
    main()
