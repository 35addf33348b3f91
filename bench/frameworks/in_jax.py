"""bench/frameworks/in_jax.py: a worker with JAX: everything jitted, the state of a training step donated, Adam written out."""

import jax
import jax.numpy as jnp
import work
from jax import lax

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weight + bias


def linear(x, weight, bias):
    return x @ weight.T + bias


def conv(x, weight, bias, padding):
    """In XLA's own layout, (n, h, w, c): on a CPU it is faster than PyTorch's."""
    result = lax.conv_general_dilated(x, weight, (1, 1), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return result + bias


OPS = {
    "chain": lambda a, b, c: jnp.tanh(a * b + c) * jax.nn.sigmoid(a) - jax.nn.relu(b) / 2,
    "add": lambda a, b: a + b,
    "sum": lambda a: a.sum(),
    "softmax": lambda a: jax.nn.softmax(a, -1),
    "layer norm": layer_norm,
    "transpose": lambda a: a.T,
    "transpose heads": lambda a: a.transpose(0, 2, 1, 3),
    "transpose images": lambda a: a.transpose(0, 2, 3, 1),
    "linear relu": lambda x, weight, bias: jax.nn.relu(linear(x, weight, bias)),
    "conv": lambda x, weight, bias: conv(x, weight, bias, 1),
    "one add": lambda a, b: a + b,
}


def mlp(p, x):
    return linear(jax.nn.relu(linear(x, p["0.weight"], p["0.bias"])), p["2.weight"], p["2.bias"])


def cnn(p, x):
    x = jax.nn.relu(conv(x, p["0.weight"], p["0.bias"], 0))
    x = jax.nn.relu(conv(x, p["2.weight"], p["2.bias"], 0))
    n, height, width, channels = x.shape
    x = x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))
    x = jax.nn.relu(linear(x.reshape(n, -1), p["6.weight"], p["6.bias"]))
    return linear(x, p["8.weight"], p["8.bias"])


def block(p, x):
    n, tokens, width = x.shape
    parts = jnp.split(linear(layer_norm(x, p["norm1.weight"], p["norm1.bias"]), p["qkv.weight"], p["qkv.bias"]), 3, -1)
    q, k, v = (part.reshape(n, tokens, work.HEADS, -1).transpose(0, 2, 1, 3) for part in parts)
    scores = q @ k.swapaxes(-1, -2) / (width // work.HEADS) ** 0.5
    seen = jnp.tril(jnp.ones((tokens, tokens), bool))
    mixed = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1) @ v
    x = x + linear(mixed.transpose(0, 2, 1, 3).reshape(n, tokens, width), p["out.weight"], p["out.bias"])
    hidden = linear(layer_norm(x, p["norm2.weight"], p["norm2.bias"]), p["up.weight"], p["up.bias"])
    return x + linear(jax.nn.gelu(hidden, approximate=False), p["down.weight"], p["down.bias"])


def transformer(p, tokens):
    x = p["token.weight"][tokens] + p["position.weight"]
    for i in range(work.BLOCKS):
        front = f"blocks.{i}."
        x = block({name[len(front):]: value for name, value in p.items() if name.startswith(front)}, x)
    return linear(layer_norm(x, p["norm.weight"], p["norm.bias"]), p["head.weight"], p["head.bias"])


NETWORKS = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


def cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[..., None], -1)
    return -chosen.mean()


def sgd(rate):
    def update(p, g, state):
        return jax.tree.map(lambda p, g: p - rate * g, p, g), state

    return update, lambda p: ()


def adam(rate):
    def update(p, g, state):
        m, v, steps = state
        steps = steps + 1
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        size, root = rate / (1 - BETA1**steps), jnp.sqrt(1 - BETA2**steps)
        p = jax.tree.map(lambda p, m, v: p - size * m / (jnp.sqrt(v) / root + EPSILON), p, m, v)
        return p, (m, v, steps)

    def zeros(p):
        return jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros((), jnp.float32)

    return update, zeros


def own_layout(weights):
    """A network of images, in XLA's layout: filters as (h, w, in, out), and the first dense layer's columns in the order h, w, c."""
    def turn(name, w):
        if w.ndim == 4:
            return w.transpose(2, 3, 1, 0)
        return w.reshape(-1, 64, 12, 12).transpose(0, 2, 3, 1).reshape(w.shape) if w.shape[-1] == 9216 else w

    return {name: turn(name, w) for name, w in weights.items()}


def prepare_op(row):
    arrays = work.arguments(row)
    if row == "conv":
        arrays[0], arrays[1] = arrays[0].transpose(0, 2, 3, 1), arrays[1].transpose(2, 3, 1, 0)
    arrays = [jnp.array(array) for array in arrays]
    function = jax.jit(OPS.get(row, lambda a, b: a @ b))

    def call():
        result = function(*arrays).block_until_ready()
        return lambda: result.transpose(0, 3, 1, 2) if row == "conv" else result

    return call, lambda: None


def prepare_step(row):
    kind, optimiser, rate, _, _ = work.STEPS[row]
    weights, (x, labels) = work.weights(row), work.batch(row)
    if kind == "cnn":
        weights, x = own_layout(weights), x.transpose(0, 2, 3, 1)
    x, labels = jnp.array(x), jnp.array(labels)
    update, zeros = {"sgd": sgd, "adam": adam}[optimiser](rate)

    def train(state, x, labels):
        p, rest = state
        loss, g = jax.value_and_grad(lambda p: cross_entropy(NETWORKS[kind](p, x), labels))(p)
        return update(p, g, rest), loss

    step, state = jax.jit(train, donate_argnums=0), None

    def restart():
        nonlocal state
        p = {name: jnp.array(value) for name, value in weights.items()}
        state = p, zeros(p)

    def call():
        nonlocal state
        state, loss = step(state, x, labels)
        jax.block_until_ready((state, loss))
        return lambda: loss

    return call, restart


work.serve(lambda row: prepare_op(row) if row in work.OPS else prepare_step(row))
