"""A generator and a discriminator, each with its optimiser: points on a ring."""

import torch
import torch.nn as nn
from steady import noise, start

device = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, LATENT = 64, 4


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(LATENT, 32), nn.BatchNorm1d(32), nn.ReLU(True), nn.Linear(32, 2), nn.Tanh())

    def forward(self, z):
        return self.main(z) * 1.5


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 32), nn.LeakyReLU(0.2, inplace=True))
        self.out = nn.utils.parametrizations.weight_norm(nn.Linear(32, 1))

    def forward(self, x):
        return self.out(self.main(x)).squeeze(1)


netG, netD = start(Generator()).to(device), start(Discriminator()).to(device)
print(netD)
criterion = nn.BCEWithLogitsLoss()
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerD = torch.optim.AdamW([{"params": netD.main.parameters()}, {"params": netD.out.parameters(), "lr": 1e-3}], lr=4e-3, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(BATCH, device=device), torch.zeros(BATCH, device=device)

for step in range(24):
    angles = torch.pi * noise(BATCH, seed=3 * step)
    real = torch.stack([angles.cos(), angles.sin()], dim=1).to(device)
    fake = netG(noise(BATCH, LATENT, seed=3 * step + 1).to(device))

    optimizerD.zero_grad()
    errD_real = criterion(netD(real), 0.9 * real_label)
    errD_real.backward()
    errD_fake = criterion(netD(fake.detach()), fake_label)
    errD_fake.backward()
    optimizerD.step()

    optimizerG.zero_grad()
    for parameter in netD.parameters():
        parameter.requires_grad_(False)
    errG = criterion(netD(fake), real_label)
    errG.backward()
    for parameter in netD.parameters():
        parameter.requires_grad_(True)
    optimizerG.step()
    if step % 3 == 0:
        print(f"[{step}] D loss {(errD_real + errD_fake).item():.6f} G loss {errG.item():.6f}")
