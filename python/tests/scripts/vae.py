"""A variational autoencoder of curves: two losses, noise in the middle, samples from the prior at the end."""

import torch
from steady import noise, start
from torch import nn, optim
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VAE(nn.Module):
    def __init__(self, points=32, hidden=48, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(points, hidden), nn.ELU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ELU(), nn.Linear(hidden, points), nn.Sigmoid())

    def forward(self, x, eps):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = torch.addcmul(mu, torch.exp(0.5 * logvar), eps)
        return self.decoder(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


phases, speeds = noise(64, 1, seed=1) * 3, 1 + noise(64, 1, seed=2).abs()
curves = (0.5 + 0.45 * torch.sin(speeds * torch.linspace(0, 6, 32) + phases)).to(device)
model = start(VAE()).to(device)
optimizer = optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(1, 9):
    model.train()
    train_loss = 0
    for number, batch in enumerate(curves.split(16)):
        eps = noise(batch.size(0), 3, seed=10 * epoch + number).to(device) * 1.5
        recon, mu, logvar = model(batch, eps)
        loss = loss_function(recon, batch, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(f"====> Epoch: {epoch} average loss {train_loss / len(curves):.6f}")

model.eval()
with torch.no_grad():
    sample = model.decoder(noise(4, 3).to(device)).cpu()
    print("samples", tuple(sample.shape), bool(((sample > 0) & (sample < 1)).all()))
