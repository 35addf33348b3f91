"""BERT: loads weights by the names of the model hubs, and says which words fit into gaps.

    python examples/python/bert.py model.safetensors --heads 12 --ids 101,7592,103,102 --mask 103

Without a file, --short makes a small model with weights by chance, saves it and loads it.
"""

import argparse
import pathlib
import tempfile

import weft
import weft.nn.functional as F
from weft import nn


class Embeddings(nn.Module):
    def __init__(self, words, places, kinds, width):
        super().__init__()
        self.word_embeddings, self.position_embeddings = nn.Embedding(words, width), nn.Embedding(places, width)
        self.token_type_embeddings, self.LayerNorm = nn.Embedding(kinds, width), nn.LayerNorm(width, eps=1e-12)

    def forward(self, ids, kinds):
        places = weft.arange(ids.shape[1])
        return self.LayerNorm(self.word_embeddings(ids) + self.position_embeddings(places) + self.token_type_embeddings(kinds))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, mask):
        count, length, width = x.shape
        q, k, v = (f(x).view(count, length, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(x.shape)


class Added(nn.Module):
    """A layer whose result is added to what went in before it, and normalised."""

    def __init__(self, inputs, width):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(inputs, width), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, before):
        return self.LayerNorm(self.dense(x) + before)


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention = nn.ModuleDict({"self": Attention(width, heads), "output": Added(width, width)})
        self.intermediate, self.output = nn.ModuleDict({"dense": nn.Linear(width, inner)}), Added(inner, width)

    def forward(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class Bert(nn.Module):
    def __init__(self, words=30522, places=512, kinds=2, width=768, heads=12, inner=3072, layers=12):
        super().__init__()
        encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))})
        self.bert = nn.ModuleDict({"embeddings": Embeddings(words, places, kinds, width), "encoder": encoder})
        transform = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, eps=1e-12)})
        self.cls = nn.ModuleDict({"predictions": nn.ModuleDict({"transform": transform})})
        self.cls["predictions"].bias = nn.Parameter(weft.zeros(words))

    @classmethod
    def load(cls, path, heads):
        """The model of a safetensors file; all sizes but the number of heads follow from the shapes."""
        state = weft.io.load_safetensors(path)
        rename = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}  # as the first files name them
        for old, new in rename.items():
            state = {name.replace(old, new): value for name, value in state.items()}
        skipped = ("bert.pooler.", "cls.seq_relationship.", "cls.predictions.decoder.")
        state = {name: value for name, value in state.items() if not name.startswith(skipped) and not name.endswith("position_ids")}
        words, width = state["bert.embeddings.word_embeddings.weight"].shape
        places, kinds = (state[f"bert.embeddings.{name}_embeddings.weight"].shape[0] for name in ("position", "token_type"))
        layers = 1 + max(int(name.split(".")[3]) for name in state if name.startswith("bert.encoder.layer."))
        inner = state["bert.encoder.layer.0.intermediate.dense.weight"].shape[0]
        model = cls(words, places, kinds, width, heads, inner, layers)
        model.load_state_dict(state)
        return model.eval()

    def forward(self, ids, kinds=None, there=None):
        """[n, length] -> [n, length, words]: what stands at each place. `there` is False for padding."""
        mask = None if there is None else there[:, None, None, :]
        x = self.bert["embeddings"](ids, weft.zeros_like(ids) if kinds is None else kinds)
        for layer in self.bert["encoder"]["layer"]:
            x = layer(x, mask)
        transform = self.cls["predictions"]["transform"]
        x = transform["LayerNorm"](F.gelu(transform["dense"](x)))
        return x @ self.bert["embeddings"].word_embeddings.weight.t() + self.cls["predictions"].bias


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=pathlib.Path, nargs="?")
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--ids", default="101,7592,103,102")
    parser.add_argument("--mask", type=int, default=103, help="the number that stands for a gap")
    parser.add_argument("--short", action="store_true", help="a small model with weights by chance")
    options = parser.parse_args(arguments)
    weft.manual_seed(0)
    if options.short or options.weights is None:
        with tempfile.TemporaryDirectory() as folder:
            weft.io.save_safetensors(Bert(53, 16, 2, 32, 4, 64, 2).state_dict(), f"{folder}/model.safetensors")
            model, ids, gap = Bert.load(f"{folder}/model.safetensors", 4), [1, 2, 3, 4], 3
    else:
        model, gap = Bert.load(options.weights, options.heads), options.mask
        ids = [int(number) for number in options.ids.split(",")]
    with weft.no_grad():
        best = model(weft.tensor([ids]))[0].topk(5).indices.tolist()
    for place, number in enumerate(ids):
        if number == gap:
            print(f"place {place}: {best[place]}")
    return best


if __name__ == "__main__":
    main()
