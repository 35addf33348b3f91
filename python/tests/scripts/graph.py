"""A graph network on a ring of friends: a sparse adjacency matrix, labels for a few nodes, a mask for the others."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from steady import noise, start
from torch.optim import Adam

NODES, FEATURES, CLASSES = 120, 10, 3
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, x @ self.kernel.t()) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(FEATURES, 16), GraphConv(16, CLASSES)

    def forward(self, x, adjacency):
        return F.log_softmax(self.gc2(F.relu(self.gc1(x, adjacency)), adjacency), dim=1)


def ring():
    """Each node knows the next four of its class and itself, with weights 1/√(degree · degree)."""
    nodes = torch.arange(NODES)
    edges = torch.cat([torch.stack([nodes, (nodes + CLASSES * hop) % NODES]) for hop in range(1, 5)], dim=1)
    edges = torch.cat([edges, edges.flip(0), nodes.expand(2, -1)], dim=1)
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (NODES, NODES)).coalesce()
    scale = torch.sparse.sum(adjacency, dim=1).to_dense().rsqrt()
    row, column = adjacency.indices()
    return torch.sparse_coo_tensor(adjacency.indices(), adjacency.values() * scale[row] * scale[column], (NODES, NODES))


labels = (torch.arange(NODES) % CLASSES).to(device)
features = (F.one_hot(labels.cpu(), FEATURES) + noise(NODES, FEATURES)).to(device)
adjacency = ring().to(device)
train_mask = torch.zeros(NODES, dtype=torch.bool, device=device)
train_mask[:30] = True

model = start(GCN()).to(device)
optimizer = Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
criterion = nn.NLLLoss()
for epoch in range(1, 31):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = criterion(output[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(f"Epoch: {epoch:04d} train loss {loss.item():.6f}")

model.eval()
with torch.no_grad():
    output = model(features, adjacency)
    right = (output.argmax(dim=1) == labels)[~train_mask].float().mean()
    print(f"test accuracy {right.item():.3f} loss {criterion(output[~train_mask], labels[~train_mask]).item():.6f}")
