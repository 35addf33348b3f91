"""A small transformer that learns some of Shakespeare's sonnets letter by letter, and then writes.

    python examples/python/char_transformer.py [--steps 1500] [--short]
"""

import argparse
import pathlib
import time

import weft
import weft.nn.functional as F
from weft import nn

TEXT = pathlib.Path(__file__).resolve().parents[2] / "data/text/sonnets.txt"


class Writer(nn.Module):
    def __init__(self, letters, context=64, width=96, heads=4, layers=2):
        super().__init__()
        self.context = context
        self.letter = nn.Embedding(letters, width)
        self.place = nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width))
        self.out = nn.Linear(width, letters)
        self.register_buffer("future", weft.ones(context, context, dtype=weft.bool).triu(1), persistent=False)

    def forward(self, ids):  # [n, length] -> [n, length, letters]: what comes next, at each place
        length = ids.shape[1]
        x = self.letter(ids) + self.place(weft.arange(length))
        return self.out(self.blocks(x, self.future[:length, :length]))


def write(model, start, letters, count, temperature):
    """Goes on with a text, one letter at a time, each drawn by its probability."""
    model.eval()
    ids = [letters.index(letter) for letter in start]
    with weft.no_grad():
        while len(ids) < len(start) + count:
            seen = ids[-model.context :]
            padded = weft.tensor([seen + [0] * (model.context - len(seen))])  # one shape, one plan; the mask hides what comes after
            chance = F.softmax(model(padded)[0, len(seen) - 1] / temperature, -1)
            ids.append(int((chance.cumsum(0) < weft.rand(1)).sum().clamp(max=len(letters) - 1)))
    model.train()
    return "".join(letters[i] for i in ids)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, default=TEXT)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--short", action="store_true", help="a smaller network, 150 steps")
    options = parser.parse_args(arguments)

    weft.manual_seed(0)
    text = options.text.read_text()
    letters = sorted(set(text))
    ids = weft.tensor([letters.index(letter) for letter in text])
    model = Writer(len(letters), width=32, layers=1) if options.short else Writer(len(letters))
    steps = 150 if options.short else options.steps
    print(f"{len(text):,} letters, {len(letters)} different; {sum(p.numel() for p in model.parameters()):,} parameters")

    optimizer = weft.optim.AdamW(model.parameters())
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2 if options.short else 3e-3, total_steps=steps)
    window, start = weft.arange(model.context + 1), time.perf_counter()
    for step in range(1, steps + 1):
        batch = ids[weft.randint(0, len(ids) - model.context, (options.batch, 1)) + window]  # [batch, context + 1]
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 100 == 0 or step in (1, steps):
            rate = step * options.batch * model.context / (time.perf_counter() - start)
            print(f"step {step}: loss {loss.item():.3f}, {rate:,.0f} letters/s", flush=True)
    written = write(model, "When I ", letters, 80 if options.short else 400, options.temperature)
    print("-" * 40 + f"\n{written}\n" + "-" * 40)
    return loss.item(), written


if __name__ == "__main__":
    main()
