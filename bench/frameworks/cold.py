"""bench/frameworks/cold.py NAME: the cold start: imports a framework, makes a network, does one training step, prints its loss.

The weights and the data are sines, so that the frameworks' losses agree without anything else to import or read.
"""

import sys

NAME = sys.argv[1]
SHAPES = [(128, 784), (128,), (10, 128), (10,)]

if NAME == "jax":
    import jax
    import jax.numpy as jnp
    import numpy as np

    weights = [np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape) / 20 for shape in SHAPES]
    x, labels = np.sin(np.arange(128 * 784, dtype=np.float32)).reshape(128, 784), np.arange(128) % 10

    def loss_of(p, x, labels):
        logits = jax.nn.relu(x @ p[0].T + p[1]) @ p[2].T + p[3]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    @jax.jit
    def step(p, x, labels):
        loss, g = jax.value_and_grad(loss_of)(p, x, labels)
        return [p - 0.05 * g for p, g in zip(p, g)], loss

    weights, loss = jax.block_until_ready(step(weights, x, labels))
else:
    if NAME.startswith("weft"):
        import weft as torch
        import weft.nn.functional as F
        from weft import nn
    else:
        import torch
        import torch.nn.functional as F
        from torch import nn

    torch.set_num_threads(2)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel(), dtype=torch.float32).sin().reshape(p.shape) / 20)
    x, labels = torch.arange(128 * 784, dtype=torch.float32).sin().reshape(128, 784), torch.arange(128) % 10

    def loss_of(x, labels):
        return F.cross_entropy(model(x), labels)

    if NAME == "torch.compile":
        loss_of = torch.compile(loss_of)

    def step(x, labels):
        optimizer.zero_grad()
        loss = loss_of(x, labels)
        loss.backward()
        optimizer.step()
        return loss

    if NAME == "weft.jit":
        step = torch.jit(step)
    loss = step(x, labels).item()

print(float(loss), flush=True)
