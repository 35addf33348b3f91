"""One training program. It runs as it stands on PyTorch, and on Weft with nothing but these import lines changed."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import CosineAnnealingLR, StepLR
from torch.utils.data import DataLoader, TensorDataset

# ---- models ----------------------------------------------------------------------------------------------------------


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.out = nn.Linear(32, 10)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x.flatten(1))))


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.GELU()
        )  # a bias in front of a norm has a gradient of rounding errors, which Adam would take for a direction
        self.out = nn.Linear(8 * 2 * 2, 10)

    def forward(self, x):
        x = self.features(x.unsqueeze(1))
        return self.out(torch.flatten(x, 1))


class Block(nn.Module):
    """A transformer block: attention and a small network, each around a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)  # softmax does not see a bias of the keys
        self.project = nn.Linear(width, width)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def attend(self, x):
        n, t, d = x.shape
        q, k, v = (y.view(n, t, self.heads, d // self.heads).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        future = torch.triu(torch.ones(t, t), diagonal=1).to(torch.bool)
        weights = F.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
        return self.project((weights @ v).transpose(1, 2).reshape(n, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.network(self.norm2(x))


class Transformer(nn.Module):
    """Reads the rows of an image as tokens."""

    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.place = nn.Parameter(torch.zeros(8, width))
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        x = self.embed(x) + self.place
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x).mean(1))


MODELS = {"mlp": MLP, "cnn": CNN, "transformer": Transformer}
OPTIMIZERS = {
    "sgd": lambda params: SGD(params, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda params: Adam(params, lr=3e-3),
}


# ---- training --------------------------------------------------------------------------------------------------------


def loader(images, labels):
    return DataLoader(TensorDataset(torch.from_numpy(images), torch.from_numpy(labels)), batch_size=16, drop_last=True)


def train(model, optimizer, images, labels, epochs=2):
    """The plain loop, with a clipped gradient and a scheduler. Returns what was seen on the way."""
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs * (len(images) // 16))
    losses, norms = [], []
    model.train()
    for _ in range(epochs):
        for x, y in loader(images, labels):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            norms.append(clip_grad_norm_(model.parameters(), 1.0).item())
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader(images, labels))
    return {"losses": losses, "norms": norms, "right": right, "lr": scheduler.get_last_lr()}


def accumulate(model, images, labels):
    """Gradients of four batches add up before each step."""
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader(images, labels)):
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
        losses.append(loss.item())
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            scheduler.step()
    return {"losses": losses}


def tricks(model, images, labels):
    """.data, writes through views, a graph that is used twice, and hooks."""
    optimizer = Adam(model.parameters(), lr=1e-2)
    seen, losses, penalties = [], [], []
    handle = model.out.register_forward_hook(lambda module, args, output: seen.append(output.detach().abs().mean().item()))
    halved = model.out.weight.register_hook(lambda slope: slope * 0.5)
    for step, (x, y) in enumerate(loader(images, labels)):
        x[:, 0] += 0.5  # a view of the batch
        x[:, :, 1:3].mul_(0.5)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        penalty = sum((p**2).sum() for p in model.parameters()) * 1e-3
        loss.backward(retain_graph=True)
        penalty.backward()
        loss.backward()  # once more: its gradient counts twice
        optimizer.step()
        with torch.no_grad():
            model.out.weight[step % 10].mul_(0.9)  # a row of a parameter
            model.out.bias[:5] = 0
        model.out.bias.data = model.out.bias.data.clamp(-0.1, 0.1)
        first = next(model.parameters())
        first.data.view(-1)[::7] *= 0.5
        losses.append(loss.item())
        penalties.append(penalty.item())
        if step == 3:
            handle.remove()
            halved.remove()
    return {"losses": losses, "penalties": penalties, "seen": seen}
