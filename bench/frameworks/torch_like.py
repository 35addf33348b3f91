"""bench/frameworks/torch_like.py NAME: a worker with Weft or PyTorch. One source serves both, for Weft has PyTorch's names.

NAME is weft, weft.jit, torch or torch.compile. PyTorch has its
fastest forms: fused optimisers, and images as (n, h, w, c) in memory.
"""

import sys

import work

NAME = sys.argv[1]
WEFT = NAME.startswith("weft")
if WEFT:
    import weft as torch
    import weft.nn.functional as F
    from weft import nn
else:
    import torch
    import torch.nn.functional as F
    from torch import nn

torch.set_num_threads(2)


def compiled(function):
    """The function as this worker runs it: as it is, captured by weft.jit, or compiled by torch.compile."""
    return {"weft.jit": torch.jit, "torch.compile": getattr(torch, "compile", None)}.get(NAME, lambda same: same)(function)


def force(result):
    """Weft is lazy; PyTorch has computed the result by now."""
    return result.realize() if WEFT else result


OPS = {
    "chain": lambda a, b, c: torch.tanh(a * b + c) * torch.sigmoid(a) - torch.relu(b) / 2,
    "add": lambda a, b: a + b,
    "sum": lambda a: a.sum(),
    "softmax": lambda a: F.softmax(a, -1),
    "layer norm": lambda a, weight, bias: F.layer_norm(a, (1024,), weight, bias),
    "transpose": lambda a: a.t().contiguous(),
    "transpose heads": lambda a: a.transpose(1, 2).contiguous(),
    "transpose images": lambda a: a.permute(0, 2, 3, 1).contiguous(),
    "linear relu": lambda x, weight, bias: F.relu(F.linear(x, weight, bias)),
    "conv": lambda x, weight, bias: F.conv2d(x, weight, bias, padding=1),
    "one add": lambda a, b: a + b,
    "sort": lambda a: torch.sort(a)[0],
    "sort rows": lambda a: torch.sort(a)[0],
    "topk": lambda a: torch.topk(a, 10)[0],
    "cumsum": lambda a: torch.cumsum(a, 1),
    "cumsum columns": lambda a: torch.cumsum(a, 0),
    "gather": lambda a, index: torch.gather(a, 1, index),
    "scatter_add": lambda a, index, source: torch.scatter_add(a, 1, index, source),
    "embedding gradient": lambda weight, index, g: torch.autograd.grad((F.embedding(index, weight) * g).sum(), weight)[0],
    "mask": lambda a: a[a > 0],
    "einsum": lambda a, b: torch.einsum("bij,bjk->bik", a, b),
    "cat": lambda *parts: torch.cat(parts, 1),
    "cat rows": lambda *parts: torch.cat(parts, 0),
    "max pool": lambda x: F.max_pool2d(x, 2),
    "avg pool": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "batch norm": lambda x, weight, bias: F.batch_norm(x, None, None, weight, bias, training=True),
}


def _ends(values, *vectors):
    """Values and one vector of each matrix, whose signs are open: all of it was computed."""
    return torch.cat([values, *(vector.abs() for vector in vectors)])


def _svd(a):
    u, values, vh = torch.linalg.svd(a)
    return _ends(values, u[:, 0], vh[0])


def _eigh(a):
    values, vectors = torch.linalg.eigh(a)
    return _ends(values, vectors[:, -1])


LINALG = {
    "lu": lambda a: torch.linalg.lu_factor(a)[0],
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "cholesky": lambda a: torch.linalg.cholesky(a),
    "qr": lambda a: torch.cat([part.abs() for part in torch.linalg.qr(a)]),
    "lstsq": lambda a, b: torch.linalg.lstsq(a, b)[0],
    "eigh": _eigh,
    "svd": _svd,
}
UNCAPTURED = ("mask", "embedding gradient")  # their result's size depends on values, or they differentiate: nothing to capture


def own_layout(tensor):
    """Images as this framework likes them: PyTorch's convolutions are faster with the channels last."""
    return tensor if WEFT or tensor.ndim != 4 else tensor.contiguous(memory_format=torch.channels_last)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):  # (batch, tokens, width), as the result
        n, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.reshape(n, tokens, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(work.VOCABULARY, work.WIDTH), nn.Embedding(work.TOKENS, work.WIDTH)
        self.blocks = nn.Sequential(*(Block(work.WIDTH, work.HEADS) for _ in range(work.BLOCKS)))
        self.norm, self.head = nn.LayerNorm(work.WIDTH), nn.Linear(work.WIDTH, work.VOCABULARY)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.token(tokens) + self.position.weight)))


def network(kind, shapes):
    if kind == "transformer":
        return Transformer()
    if kind == "cnn":
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))  # fmt: skip
    (hidden, inputs), (outputs, _) = shapes["0.weight"], shapes["2.weight"]
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def prepare_op(row):
    tensors = [torch.from_numpy(array) for array in work.arguments(row)]
    if not row.startswith("transpose"):
        tensors = [own_layout(tensor) for tensor in tensors]
    function = OPS.get(row) or LINALG.get(row.split()[0]) or (lambda a, b: a @ b)
    if row not in UNCAPTURED and row not in work.LINALG:
        function = compiled(function)
    tensors[0].requires_grad_(row == "embedding gradient")
    mode = torch.enable_grad if row == "embedding gradient" else torch.no_grad

    def call():
        with mode():
            result = force(function(*tensors))
        return result.numpy

    return call, lambda: None


def new_training(row):
    """The network with its initial weights, and its optimiser."""
    kind, optimiser, rate, shapes, _ = work.STEPS[row]
    model = network(kind, shapes)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in work.weights(row).items()})
    if not WEFT:
        model = model.to(memory_format=torch.channels_last)
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimiser]
    return model, make(model.parameters(), lr=rate, **({} if WEFT else {"fused": True}))


def prepare_weft_step(row):
    x, labels = (torch.from_numpy(array) for array in work.batch(row))
    step = None

    def restart():
        nonlocal step
        model, optimizer = new_training(row)

        def train(x, labels):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).reshape(labels.numel(), -1), labels.reshape(-1))
            loss.backward()
            optimizer.step()
            return loss

        step = compiled(train)

    def call():
        return force(step(x, labels)).item

    return call, restart


def prepare_torch_step(row):
    x, labels = (own_layout(torch.from_numpy(array)) for array in work.batch(row))
    model, optimizer = new_training(row)
    initial = [parameter.detach().clone() for parameter in model.parameters()]
    loss_of = compiled(lambda x, labels: F.cross_entropy(model(x).reshape(labels.numel(), -1), labels.reshape(-1)))

    def restart():  # in place, for what is compiled is compiled for these tensors
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), initial):
                parameter.copy_(value)
            for state in optimizer.state.values():
                for value in state.values():
                    if value is not None:
                        value.zero_()

    def call():
        optimizer.zero_grad()
        loss = loss_of(x, labels)
        loss.backward()
        optimizer.step()
        return loss.item

    return call, restart


def prepare(row):
    if row in work.OPS or row in work.OPERATORS or row in work.LINALG:
        return prepare_op(row)
    return (prepare_weft_step if WEFT else prepare_torch_step)(row)


work.serve(prepare)
