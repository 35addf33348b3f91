"""A small transformer that continues sequences, compiled, with mixed precision (--amp) and warm-up of the learning rate."""

import argparse
import contextlib
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from steady import start

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true", help="products in bfloat16")
args = parser.parse_args()
device_type = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_float32_matmul_precision("high")
VOCABULARY, LENGTH, WIDTH, HEADS = 16, 24, 32, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (y.view(B, T, HEADS, C // HEADS).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.ln_f = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(WIDTH)
        self.register_buffer("places", torch.arange(LENGTH), persistent=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(self.places[: tokens.size(1)])
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)  # tied
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


model = torch.compile(start(Model()).to(device_type))
decay = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 4) * 0.5 * (1 + math.cos(math.pi * step / 20)))
scaler = torch.amp.GradScaler(device_type, enabled=args.amp)
context = torch.autocast(device_type=device_type, dtype=torch.bfloat16) if args.amp else contextlib.nullcontext()

starts, steps = torch.arange(8).unsqueeze(1), 1 + torch.arange(8).unsqueeze(1) % 3
data = ((starts + steps * torch.arange(LENGTH + 1)) % VOCABULARY).to(device_type)
for step in range(16):
    with context:
        loss = model(data[:, :-1], data[:, 1:])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    schedule.step()
    print(f"step {step} lr {schedule.get_last_lr()[0]:.5f} loss {loss.item():.6f}")
