"""Llama: loads a folder of the model hubs (config.json, safetensors in one file or several), and goes on with numbers of tokens.

    python examples/python/llama.py FOLDER --ids 1,15043,3186 [--length 50] [--temperature 0.8] [--top-k 40]

Without a folder, --short makes a small model with weights by chance, saves it in two files with an index, loads it and writes.
"""

import json
import pathlib
import tempfile

from generation import go_on, new_caches, options_of, writes_the_same_without_a_cache

import weft
import weft.nn.functional as F
from weft import nn


def turned(x, cos, sin):
    """Rotary places: pairs of numbers, half a head apart, are turned by an angle that grows with the place."""
    first, second = x.chunk(2, -1)
    return x * cos + weft.cat([-second, first], -1) * sin


class Attention(nn.Module):
    def __init__(self, width, heads, groups, head):
        super().__init__()
        self.heads, self.groups, self.head = heads, groups, head
        self.q_proj, self.k_proj = nn.Linear(width, heads * head, bias=False), nn.Linear(width, groups * head, bias=False)
        self.v_proj, self.o_proj = nn.Linear(width, groups * head, bias=False), nn.Linear(heads * head, width, bias=False)

    def forward(self, x, cos, sin, cache=None, places=None, mask=None):
        count, length, _ = x.shape
        split = lambda t, heads: t.view(count, length, heads, self.head).transpose(1, 2)  # noqa: E731
        q, k = turned(split(self.q_proj(x), self.heads), cos, sin), turned(split(self.k_proj(x), self.groups), cos, sin)
        v = split(self.v_proj(x), self.groups)
        if cache is not None:  # of one size for all steps: one plan serves them
            cache[0].index_copy_(2, places, k)
            cache[1].index_copy_(2, places, v)
            k, v = cache
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))  # heads share keys and values
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return self.o_proj(seen.transpose(1, 2).reshape(count, length, -1))


class MLP(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, heads, eps = config["hidden_size"], config["num_attention_heads"], config["rms_norm_eps"]
        groups, head = config.get("num_key_value_heads", heads), config.get("head_dim") or width // heads
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width, eps=eps), nn.RMSNorm(width, eps=eps)
        self.self_attn, self.mlp = Attention(width, heads, groups, head), MLP(width, config["intermediate_size"])

    def forward(self, x, *where):
        x = x + self.self_attn(self.input_layernorm(x), *where)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, width = config, config["hidden_size"]
        layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        norm = nn.RMSNorm(width, eps=config["rms_norm_eps"])
        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(config["vocab_size"], width), "layers": layers, "norm": norm})
        self.lm_head = nn.Linear(width, config["vocab_size"], bias=False)

    @classmethod
    def load(cls, folder):
        """The model of a folder: its config.json, and the weights of model.safetensors or of an index of several files."""
        folder = pathlib.Path(folder)
        model = cls(json.loads((folder / "config.json").read_text()))
        index = folder / "model.safetensors.index.json"
        state = weft.io.load_safetensors(index if index.exists() else folder / "model.safetensors")
        state.setdefault("lm_head.weight", state["model.embed_tokens.weight"])  # small models share them
        state = {name: value for name, value in state.items() if not name.endswith("rotary_emb.inv_freq")}
        model.load_state_dict(state)
        return model.eval()

    def angles(self, places):
        head = self.model["layers"][0].self_attn.head
        rates = self.config.get("rope_theta", 10000.0) ** (-weft.arange(0, head, 2).double() / head)
        angle = places.double().unsqueeze(1) * weft.cat([rates, rates])
        return angle.cos().float(), angle.sin().float()

    def forward(self, ids, first=None, caches=None):
        """[n, length] -> [n, length, tokens]: what comes next; with caches, of tokens that stand at `first` (a tensor) and behind it."""
        places = weft.arange(ids.shape[1]) if first is None else first + weft.arange(ids.shape[1])
        mask = None if caches is None else weft.arange(caches[0][0].shape[2]) <= places.unsqueeze(1)
        x, (cos, sin) = self.model["embed_tokens"](ids), self.angles(places)
        for i, layer in enumerate(self.model["layers"]):
            x = layer(x, cos, sin) if caches is None else layer(x, cos, sin, caches[i], places, mask)
        return self.lm_head(self.model["norm"](x))

    @weft.no_grad()
    def generate(self, ids, length, temperature=0.0, top_k=None):
        """Goes on with each row of ids [n, length]: the likeliest token each time, or one drawn by its probability."""
        size, layers = ids.shape[1] + length, self.model["layers"]
        attention = layers[0].self_attn
        caches = new_caches(len(layers), (ids.shape[0], attention.groups, size, attention.head))
        return go_on(lambda new, first: self(new, first, caches)[:, -1], ids, size, temperature, top_k)


SMALL = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "rms_norm_eps": 1e-5}  # fmt: skip


def save_in_two(state, folder):
    """A model as the hubs keep large ones: two files and an index that says which names are where."""
    names = sorted(state)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in parts.items():
        weft.io.save_safetensors({name: state[name] for name in part}, folder / file)
    index = {"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def main(arguments=None):
    options = options_of(__doc__, "folder", ("--ids", "1"), arguments)
    weft.manual_seed(0)
    if options.short or options.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "config.json").write_text(json.dumps(SMALL))
            save_in_two(Llama(SMALL).state_dict(), pathlib.Path(folder))
            model = Llama.load(folder)
        return writes_the_same_without_a_cache(model)
    ids = weft.tensor([[int(number) for number in options.ids.split(",")]])
    print(Llama.load(options.folder).generate(ids, options.length, options.temperature, options.top_k)[0].tolist())


if __name__ == "__main__":
    main()
