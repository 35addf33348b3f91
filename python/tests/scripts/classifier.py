"""Images of bars, in classes by their slope: batches, a learning rate that falls, and a checkpoint to go on from."""

import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from steady import noise, start
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class Bars(Dataset):
    def __init__(self, count):
        y, x = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
        self.labels = torch.arange(count) % 4
        angles = (self.labels * torch.pi / 4)[:, None, None]
        distance = (x * angles.sin() + y * angles.cos() + 0.4 * noise(count, 1, 1)).abs()
        self.images = (distance < 0.3).float() + 0.3 * noise(count, 12, 12, seed=1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index].unsqueeze(0), self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.conv = nn.Conv2d(8, 16, 3)
        self.head = nn.Linear(16 * 4 * 4, 4)

    def forward(self, x):
        x = F.relu(self.conv(self.features(x)))
        return F.log_softmax(self.head(torch.flatten(x, 1)), dim=1)


def train(model, device, loader, optimizer):
    model.train()
    total = 0.0
    for data, target in loader:
        data, target = data.to(device), target.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = F.nll_loss(model(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * data.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, device, loader):
    model.eval()
    return sum((model(data.to(device)).argmax(dim=1).cpu() == target).sum().item() for data, target in loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--no-cuda", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")
    loader = DataLoader(Bars(96), batch_size=32, pin_memory=device.type == "cuda")

    def fresh():
        model = start(Net()).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
        return model, optimizer, StepLR(optimizer, step_size=2, gamma=0.7)

    model, optimizer, scheduler = fresh()
    path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
    for epoch in range(1, args.epochs + 1):
        if epoch == args.epochs // 2:  # as if the program had ended here
            model, optimizer, scheduler = fresh()
            checkpoint = torch.load(path, map_location=device)
            assert checkpoint["epoch"] == epoch - 1
            model.load_state_dict(checkpoint["model"])
            optimizer.load_state_dict(checkpoint["optimizer"])
            scheduler.load_state_dict(checkpoint["scheduler"])
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.4f} loss {train(model, device, loader, optimizer):.7f}")
        scheduler.step()
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)
    print(f"right {test(model, device, loader)}/{len(loader.dataset)}")


if __name__ == "__main__":
    main()
