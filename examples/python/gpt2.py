"""GPT-2: loads weights by the names of the model hubs, and writes text with a key-value cache.

    python examples/python/gpt2.py model.safetensors --prompt "Once upon a time" [--length 50] [--temperature 0.8] [--top-k 40]

Beside the weights lie the vocabulary and the merges (vocab.json, merges.txt). Without a file, --short makes a small model with weights by
chance, saves it, loads it and writes numbers instead of words.
"""

import json
import re
import tempfile

from generation import go_on, new_caches, options_of, writes_the_same_without_a_cache

import weft
import weft.nn.functional as F
from weft import nn


class Projection(nn.Module):
    """A linear layer whose weights lie transposed in GPT-2's files."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weft.randn(inputs, outputs) * 0.02), nn.Parameter(weft.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = Projection(width, 3 * width), Projection(width, width)

    def forward(self, x, cache=None, places=None, mask=None):
        count, length, width = x.shape
        q, k, v = (t.view(count, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2))
        if cache is None:
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:  # of one size for all steps: one plan serves them
            cache[0].index_copy_(2, places, k)
            cache[1].index_copy_(2, places, v)
            seen = F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=mask)
        return self.c_proj(seen.transpose(1, 2).reshape(count, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": Projection(width, 4 * width), "c_proj": Projection(4 * width, width)})

    def forward(self, x, *cache):
        x = x + self.attn(self.ln_1(x), *cache)
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, tokens=50257, context=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.context = context
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    @classmethod
    def load(cls, path):
        """The model of a safetensors file. Its sizes follow from the shapes; heads are 64 wide, as in all of GPT-2's sizes."""
        state = {name.removeprefix("transformer."): value for name, value in weft.io.load_safetensors(path).items()}
        state = {name: value for name, value in state.items() if name != "lm_head.weight" and not name.endswith((".attn.bias", ".masked_bias"))}
        (tokens, width), context = state["wte.weight"].shape, state["wpe.weight"].shape[0]
        layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("h."))
        model = cls(tokens, context, width, max(1, width // 64), layers)
        model.load_state_dict(state)
        return model.eval()

    def forward(self, ids):
        """[n, length] -> [n, length, tokens]: what comes next, at each place."""
        x = self.wte(ids) + self.wpe(weft.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.t()

    def step(self, ids, first, caches):
        """The logits of the last of some tokens, which stand at `first` (a tensor of one number) and behind it."""
        places = first + weft.arange(ids.shape[1])
        mask = weft.arange(caches[0][0].shape[2]) <= places.unsqueeze(1)
        x = self.wte(ids) + self.wpe(places)
        for block, cache in zip(self.h, caches):
            x = block(x, cache, places, mask)
        return self.ln_f(x[:, -1]) @ self.wte.weight.t()

    @weft.no_grad()
    def generate(self, ids, length, temperature=0.0, top_k=None):
        """Goes on with each row of ids [n, length]: the likeliest token each time, or one drawn by its probability."""
        size, heads = min(self.context, ids.shape[1] + length), self.h[0].attn.heads
        caches = new_caches(len(self.h), (ids.shape[0], heads, size, self.wte.weight.shape[1] // heads))
        return go_on(lambda new, first: self.step(new, first, caches), ids, size, temperature, top_k)


class Words:
    """Byte-level byte pair encoding, as GPT-2's files describe it."""

    def __init__(self, folder):
        self.number = json.loads((folder / "vocab.json").read_text())
        pairs = [line.split() for line in (folder / "merges.txt").read_text().splitlines() if line and not line.startswith("#version")]
        self.rank = {tuple(pair): i for i, pair in enumerate(pairs)}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [byte for byte in range(256) if byte not in printable]
        self.letter = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
        self.byte = {letter: byte for byte, letter in self.letter.items()}

    def split(self, word):
        parts = [self.letter[byte] for byte in word.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.rank.get(pair, len(self.rank)))
            if best not in self.rank:
                break
            joined, i = [], 0
            while i < len(parts):
                pair = tuple(parts[i : i + 2]) == best
                joined.append("".join(parts[i : i + 1 + pair]))
                i += 1 + pair
            parts = joined
        return parts

    def encode(self, text):
        words = re.findall(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+", text)
        return [self.number[part] for word in words for part in self.split(word)]

    def decode(self, ids):
        names = {number: part for part, number in self.number.items()}
        return bytes(self.byte[letter] for i in ids for letter in names[i]).decode(errors="replace")


def main(arguments=None):
    options = options_of(__doc__, "weights", ("--prompt", "Once upon a time"), arguments)
    weft.manual_seed(0)
    if options.short or options.weights is None:
        with tempfile.TemporaryDirectory() as folder:
            weft.io.save_safetensors(GPT2(97, 32, 128, 2, 2).state_dict(), f"{folder}/model.safetensors")
            model = GPT2.load(f"{folder}/model.safetensors")
        return writes_the_same_without_a_cache(model)
    model, words = GPT2.load(options.weights), Words(options.weights.parent)
    ids = model.generate(weft.tensor([words.encode(options.prompt)]), options.length, options.temperature, options.top_k)
    print(words.decode(ids[0].tolist()))


if __name__ == "__main__":
    main()
