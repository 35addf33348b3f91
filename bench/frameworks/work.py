"""bench/frameworks/work.py: what all frameworks share: the rows' data and weights, and the loop of a worker.

A worker is a process with one framework. The driver (bench/compare.py) sends it a row's name and a number of seconds per line; it
answers with the seconds of its best call and with values that show that it computed what the others did.
"""

import json
import math
import os
import sys
import time

import numpy as np

CHECKED_STEPS = 4  # a loss after three updates is right only if gradients and optimiser are

VOCABULARY, TOKENS, WIDTH, HEADS, BLOCKS = 64, 128, 256, 4, 2  # the transformer

_MLP = {"0.weight": (128, 784), "0.bias": (128,), "2.weight": (10, 128), "2.bias": (10,)}
_TINY = {"0.weight": (16, 4), "0.bias": (16,), "2.weight": (3, 16), "2.bias": (3,)}
_CNN = {
    "0.weight": (32, 1, 3, 3), "0.bias": (32,), "2.weight": (64, 32, 3, 3), "2.bias": (64,),
    "6.weight": (128, 9216), "6.bias": (128,), "8.weight": (10, 128), "8.bias": (10,),
}  # fmt: skip
_BLOCK = {
    "norm1.weight": (WIDTH,), "norm1.bias": (WIDTH,), "qkv.weight": (3 * WIDTH, WIDTH), "qkv.bias": (3 * WIDTH,),
    "out.weight": (WIDTH, WIDTH), "out.bias": (WIDTH,), "norm2.weight": (WIDTH,), "norm2.bias": (WIDTH,),
    "up.weight": (4 * WIDTH, WIDTH), "up.bias": (4 * WIDTH,), "down.weight": (WIDTH, 4 * WIDTH), "down.bias": (WIDTH,),
}  # fmt: skip
_TRANSFORMER = {
    "token.weight": (VOCABULARY, WIDTH), "position.weight": (TOKENS, WIDTH),
    **{f"blocks.{i}.{name}": shape for i in range(BLOCKS) for name, shape in _BLOCK.items()},
    "norm.weight": (WIDTH,), "norm.bias": (WIDTH,), "head.weight": (VOCABULARY, WIDTH), "head.bias": (VOCABULARY,),
}  # fmt: skip

_MILLIONS = (4096, 4096)
OPS = {  # row: the shapes of its arguments
    "chain": (_MILLIONS, _MILLIONS, _MILLIONS),
    "add": (_MILLIONS, _MILLIONS),
    "sum": (_MILLIONS,),
    "softmax": ((4096, 1024),),
    "layer norm": ((4096, 1024), (1024,), (1024,)),
    "transpose": ((4096, 1024),),
    "transpose heads": ((32, 256, 8, 64),),
    "transpose images": ((32, 64, 56, 56),),
    "matmul 256": ((256, 256), (256, 256)),
    "matmul 512": ((512, 512), (512, 512)),
    "matmul 1024": ((1024, 1024), (1024, 1024)),
    "matmul 2048": ((2048, 2048), (2048, 2048)),
    "linear relu": ((128, 784), (128, 784), (128,)),
    "conv": ((32, 64, 28, 28), (64, 64, 3, 3), (64,)),
    "one add": ((16,), (16,)),
}
_MILLION, _IMAGES = (1024, 1024), (16, 64, 32, 32)
_PLACES = ("int", _MILLION, 1024)
OPERATORS = {  # of single ops, a million elements each, against PyTorch: a shape, or a kind of numbers with a shape
    "sort": ((1 << 20,),),
    "sort rows": (_MILLION,),
    "topk": (_MILLION,),
    "cumsum": (_MILLION,),
    "cumsum columns": (_MILLION,),
    "gather": (_MILLION, _PLACES),
    "scatter_add": (_MILLION, _PLACES, _MILLION),
    "embedding gradient": ((10_000, 256), ("int", (4096,), 10_000), (4096, 256)),
    "mask": (_MILLION,),
    "einsum": ((64, 128, 128), (64, 128, 128)),
    "cat": ((1024, 256),) * 4,
    "cat rows": ((256, 1024),) * 4,
    "max pool": (_IMAGES,),
    "avg pool": (_IMAGES,),
    "batch norm": (_IMAGES, (64,), (64,)),
}


def _square(n):
    return ((n, n),)


LINALG = {  # of matrices, in f32 and f64, against PyTorch; Weft computes both in f64
    "lu 512": _square(512),
    "solve 512": _square(512) * 2,
    "cholesky 512": (("positive", (512, 512)),),
    "qr 512": _square(512),
    "lstsq 512": ((512, 256), (512, 8)),
    "eigh 256": (("symmetric", (256, 256)),),
    "eigh 512": (("symmetric", (512, 512)),),
    "svd 64": _square(64),
    "svd 256": _square(256),
    "svd 1200": _square(1200),
}
LINALG |= {f"{row} f64": kinds for row, kinds in LINALG.items()}
STEPS = {  # row: kind of network, optimiser, its rate, weights, shape of the input
    "mlp sgd": ("mlp", "sgd", 0.05, _MLP, (128, 784)),
    "mlp adam": ("mlp", "adam", 1e-3, _MLP, (128, 784)),
    "cnn adam": ("cnn", "adam", 1e-3, _CNN, (64, 1, 28, 28)),
    "transformer adam": ("transformer", "adam", 1e-3, _TRANSFORMER, (8, TOKENS)),
    "tiny mlp sgd": ("mlp", "sgd", 0.05, _TINY, (32, 4)),
}


def arguments(row):
    """The arrays of an op's row, from -1 to 1 or integers below a limit, the same in every process."""
    random = np.random.default_rng(1)

    def make(kind):
        if kind[0] == "int":
            return random.integers(0, kind[2], kind[1])
        numbers = random.uniform(-1, 1, kind[1] if isinstance(kind[0], str) else kind)
        if kind[0] == "symmetric":
            numbers += numbers.T
        if kind[0] == "positive":
            numbers = numbers @ numbers.T / len(numbers) + np.eye(len(numbers))
        return numbers.astype(np.float64 if row.endswith("f64") else np.float32)

    return [make(kind) for kind in (OPS.get(row) or OPERATORS.get(row) or LINALG[row])]


def weights(row):
    """Initial weights by their names in a state dict; uniform by fan-in, norms as ones and zeros."""
    random = np.random.default_rng(2)

    def make(name, shape):
        if "norm" in name:
            return (np.ones if name.endswith("weight") else np.zeros)(shape, np.float32)
        bound = 1 / math.sqrt(math.prod(shape[1:]) if len(shape) > 1 else 100)
        return random.uniform(-bound, bound, shape).astype(np.float32)

    return {name: make(name, shape) for name, shape in STEPS[row][3].items()}


def batch(row):
    """Inputs and labels of a training step."""
    kind, _, _, shapes, shape = STEPS[row]
    random = np.random.default_rng(3)
    if kind == "transformer":
        text = random.integers(0, VOCABULARY, (shape[0], shape[1] + 1))
        return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])
    classes = list(shapes.values())[-1][0]
    return random.normal(size=shape).astype(np.float32), random.integers(0, classes, shape[0])


def fingerprint(array):
    """A result in nine numbers: its mean size, and elements from all over it."""
    flat = np.asarray(array, dtype=np.float64).ravel()
    return [float(np.abs(flat).mean()), *flat[:: max(1, flat.size // 8)][:8].tolist()]


def _best(call, seconds):
    """The best time of a call. Short calls are timed several at once: reading the clock takes a while, too."""
    end, times = time.perf_counter() + seconds / 4, []
    while not times or time.perf_counter() < end:  # warm up, and see how long a call takes
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    several, best = range(max(1, min(1000, int(2e-4 / min(times))))), math.inf
    end = time.perf_counter() + seconds
    while best == math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in several:
            call()
        best = min(best, (time.perf_counter() - start) / len(several))
    return best


def serve(prepare):
    """Answers the driver until it closes the pipe. prepare(row) -> (call, restart).

    call() does the work once, waits for the result and returns a function that reads it; restart() goes back to the initial
    weights, so that every turn trains through the same states: far trained weights have subnormal gradients, which are slow.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints is no answer
    current = call = restart = None
    for line in sys.stdin:
        row, seconds = line.rstrip("\n").split("\t")
        try:
            if row != current:
                call = restart = None  # frees the memory of the row before
                call, restart = prepare(row)
                current = row
            restart()
            if row in STEPS:
                values = [float(call()()) for _ in range(CHECKED_STEPS)]
            else:
                values = fingerprint(call()())
            answer = {"seconds": _best(call, float(seconds)), "values": values}
        except Exception as error:  # the other rows are still wanted
            current, answer = None, {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
