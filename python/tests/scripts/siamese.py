"""Two images, one network: embeddings that are near for images of one kind (triplet and contrastive losses)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from steady import noise, start
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, padding=1),
            nn.PReLU(),
            nn.Conv2d(6, 12, 3, groups=3, padding=1, bias=False),
            nn.GroupNorm(3, 12),
            nn.SiLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.fc = nn.Linear(48, 8)

    def forward(self, x):
        return F.normalize(self.fc(self.conv(x)), dim=-1)


def contrastive(a, b, same, margin=1.0):
    distance = F.pairwise_distance(a, b)
    return torch.mean(same * distance.pow(2) + (1 - same) * torch.clamp(margin - distance, min=0.0).pow(2))


kinds = torch.arange(48) % 3
patterns = noise(3, 1, 10, 10, seed=5)
images = patterns[kinds] + 0.7 * noise(48, 1, 10, 10, seed=6)
partners = torch.roll(images, 3, dims=0)  # of the same kind
others = torch.roll(images, 1, dims=0)  # of another
loader = DataLoader(TensorDataset(images, partners, others, kinds), batch_size=16, drop_last=True)

model = start(Embedding()).to(device)
with torch.no_grad():
    model.conv[1].weight.fill_(0.25)
triplet = nn.TripletMarginLoss(margin=0.8)
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
for epoch in range(6):
    model.train()
    losses = []
    for anchor, positive, negative, _ in loader:
        anchor, positive, negative = model(anchor.to(device)), model(positive.to(device)), model(negative.to(device))
        same = torch.tensor([1.0, 0.0], device=device).repeat_interleave(len(anchor))
        loss = triplet(anchor, positive, negative) + contrastive(anchor.repeat(2, 1), torch.cat([positive, negative]), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    mean = torch.stack(losses).mean()
    scheduler.step(mean)
    print(f"epoch {epoch} loss {mean.item():.6f}")

model.eval()
with torch.inference_mode():
    vectors = model(images.to(device))
    nearest = torch.cdist(vectors, vectors).fill_diagonal_(float("inf")).argmin(dim=1).cpu()
    print(f"nearest of the same kind {(kinds[nearest] == kinds).sum().item()}/48")
