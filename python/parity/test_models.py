"""The models of examples/python with weights by the names of the model hubs, against the same arithmetic in PyTorch."""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import weft

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))


def gpt2_weights(tokens=61, context=24, width=128, layers=2):
    torch.manual_seed(0)
    state = {"wte.weight": torch.randn(tokens, width) * 0.3, "wpe.weight": torch.randn(context, width) * 0.3}
    for i in range(layers):
        for name, shape in (
            ("ln_1", (width,)), ("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)), ("ln_2", (width,)),
            ("mlp.c_fc", (width, 4 * width)), ("mlp.c_proj", (4 * width, width)),
        ):  # fmt: skip
            state[f"h.{i}.{name}.weight"] = torch.randn(shape) * 0.1 + (len(shape) == 1)
            state[f"h.{i}.{name}.bias"] = torch.randn(shape[-1]) * 0.1
        state[f"h.{i}.attn.bias"] = torch.ones(1, 1, context, context)  # the mask, which files of the hubs have
    state["ln_f.weight"], state["ln_f.bias"] = torch.ones(width) * 1.1, torch.randn(width) * 0.1
    return {f"transformer.{name}": value for name, value in state.items()}


def gpt2_logits(state, ids, heads):
    state = {name.removeprefix("transformer."): value for name, value in state.items()}
    width, length = state["wte.weight"].shape[1], ids.shape[1]
    x = state["wte.weight"][ids] + state["wpe.weight"][:length]
    future = torch.full((length, length), float("-inf")).triu(1)
    for i in range(2):
        p = {name.removeprefix(f"h.{i}."): value for name, value in state.items() if name.startswith(f"h.{i}.")}
        y = F.layer_norm(x, (width,), p["ln_1.weight"], p["ln_1.bias"])
        q, k, v = (y @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]).chunk(3, -1)
        q, k, v = (t.view(*t.shape[:2], heads, -1).permute(0, 2, 1, 3) for t in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / (width // heads) ** 0.5 + future).softmax(-1)
        y = (weights @ v).permute(0, 2, 1, 3).reshape(x.shape)
        x = x + y @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
        y = F.layer_norm(x, (width,), p["ln_2.weight"], p["ln_2.bias"])
        y = F.gelu(y @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"], approximate="tanh")
        x = x + y @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]
    return F.layer_norm(x, (width,), state["ln_f.weight"], state["ln_f.bias"]) @ state["wte.weight"].T


def test_gpt2(tmp_path):
    from gpt2 import GPT2

    state = gpt2_weights()
    path = tmp_path / "model.safetensors"
    weft.io.save_safetensors({name: weft.from_numpy(value.numpy()) for name, value in state.items()}, path)
    model = GPT2.load(path)
    ids = np.random.default_rng(0).integers(0, 61, (3, 10))
    expected = gpt2_logits(state, torch.from_numpy(ids), heads=2)
    np.testing.assert_allclose(model(weft.tensor(ids)).detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
    written = model.generate(weft.tensor(ids), 9).numpy()
    row = torch.from_numpy(ids)
    for _ in range(9):
        row = torch.cat([row, gpt2_logits(state, row, heads=2)[:, -1].argmax(-1, keepdim=True)], 1)
    np.testing.assert_array_equal(written, row.numpy())
    assert len(set(written[:, 10:].ravel().tolist())) > 5  # it does not say one word again and again
    drawn = model.generate(weft.tensor(ids), 9, temperature=1.0, top_k=3).numpy()
    for place in range(10, 19):
        best = gpt2_logits(state, torch.from_numpy(drawn[:, :place]), heads=2)[:, -1].topk(3).indices.numpy()
        assert all(drawn[i, place] in best[i] for i in range(3))


def llama_logits(state, config, ids):
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    width, length = config["hidden_size"], ids.shape[1]
    head = width // heads

    def normed(x, name):
        return x / (x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]).sqrt() * state[name]

    # A pair of numbers as a complex one, turned by multiplication.
    angle = torch.outer(torch.arange(length).double(), 10000.0 ** (-torch.arange(0, head, 2).double() / head))
    turn = torch.polar(torch.ones_like(angle), angle)

    def rotated(x):
        pairs = torch.complex(x[..., : head // 2].double(), x[..., head // 2 :].double()) * turn
        return torch.cat([pairs.real, pairs.imag], -1).float()

    x = state["model.embed_tokens.weight"][ids]
    future = torch.full((length, length), float("-inf")).triu(1)
    for i in range(config["num_hidden_layers"]):
        p = {name.removeprefix(f"model.layers.{i}."): value for name, value in state.items()}
        y = normed(x, f"model.layers.{i}.input_layernorm.weight")
        q = (y @ p["self_attn.q_proj.weight"].T).view(*ids.shape, heads, head).permute(0, 2, 1, 3)
        k = (y @ p["self_attn.k_proj.weight"].T).view(*ids.shape, groups, head).permute(0, 2, 1, 3)
        v = (y @ p["self_attn.v_proj.weight"].T).view(*ids.shape, groups, head).permute(0, 2, 1, 3)
        q, k = rotated(q), rotated(k)
        each = [  # head by head: several share the keys and values of a group
            (q[:, h] @ k[:, h * groups // heads].transpose(1, 2) / head**0.5 + future).softmax(-1) @ v[:, h * groups // heads] for h in range(heads)
        ]
        x = x + torch.cat(each, -1) @ p["self_attn.o_proj.weight"].T
        y = normed(x, f"model.layers.{i}.post_attention_layernorm.weight")
        gate = y @ p["mlp.gate_proj.weight"].T
        x = x + (gate * torch.sigmoid(gate) * (y @ p["mlp.up_proj.weight"].T)) @ p["mlp.down_proj.weight"].T
    return normed(x, "model.norm.weight") @ state["lm_head.weight"].T


def test_llama(tmp_path):
    import json

    from llama import SMALL, Llama, save_in_two

    weft.manual_seed(0)
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    save_in_two({name: value * 2 for name, value in Llama(SMALL).state_dict().items()}, tmp_path)
    model = Llama.load(tmp_path)
    state = {name: torch.from_numpy(value.numpy().copy()) for name, value in model.state_dict().items()}
    ids = np.random.default_rng(0).integers(0, 97, (3, 10))
    expected = llama_logits(state, SMALL, torch.from_numpy(ids))
    np.testing.assert_allclose(model(weft.tensor(ids)).detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
    written, row = model.generate(weft.tensor(ids), 9).numpy(), torch.from_numpy(ids)
    for _ in range(9):
        row = torch.cat([row, llama_logits(state, SMALL, row)[:, -1].argmax(-1, keepdim=True)], 1)
    np.testing.assert_array_equal(written, row.numpy())


def bert_logits(state, ids, heads, there):
    width = state["bert.embeddings.word_embeddings.weight"].shape[1]

    def dense(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def normed(x, name):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt() * state[f"{name}.weight"] + state[f"{name}.bias"]

    e = "bert.embeddings"
    x = state[f"{e}.word_embeddings.weight"][ids] + state[f"{e}.position_embeddings.weight"][: ids.shape[1]] + state[f"{e}.token_type_embeddings.weight"][0]
    x = normed(x, f"{e}.LayerNorm")
    for i in range(2):
        p = f"bert.encoder.layer.{i}"
        q, k, v = (dense(x, f"{p}.attention.self.{name}").view(*ids.shape, heads, -1).permute(0, 2, 1, 3) for name in ("query", "key", "value"))
        scores = (q @ k.transpose(-1, -2) / (width // heads) ** 0.5).masked_fill(~there[:, None, None, :], float("-inf"))
        y = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(x.shape)
        x = normed(dense(y, f"{p}.attention.output.dense") + x, f"{p}.attention.output.LayerNorm")
        y = F.gelu(dense(x, f"{p}.intermediate.dense"))
        x = normed(dense(y, f"{p}.output.dense") + x, f"{p}.output.LayerNorm")
    x = normed(F.gelu(dense(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
    return x @ state[f"{e}.word_embeddings.weight"].T + state["cls.predictions.bias"]


def test_bert(tmp_path):
    from bert import Bert

    weft.manual_seed(0)
    torch.manual_seed(0)
    state = {name: torch.from_numpy(value.numpy().copy()) for name, value in Bert(53, 16, 2, 32, 4, 64, 2).state_dict().items()}
    state = {name: value + torch.randn(value.shape) * 0.1 for name, value in state.items()}
    extra = {"bert.pooler.dense.weight": torch.ones(32, 32), "bert.embeddings.position_ids": torch.arange(16)[None],
             "cls.predictions.decoder.weight": state["bert.embeddings.word_embeddings.weight"]}  # fmt: skip
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value for name, value in (state | extra).items()}
    for i, files in enumerate((state | extra, old)):
        path = tmp_path / f"{i}.safetensors"
        weft.io.save_safetensors({name: weft.from_numpy(value.numpy()) for name, value in files.items()}, path)
        model = Bert.load(path, heads=4)
        ids, there = np.random.default_rng(0).integers(0, 53, (3, 11)), np.arange(11) < np.array([[11], [7], [4]])
        expected = bert_logits(state, torch.from_numpy(ids), 4, torch.from_numpy(there))
        found = model(weft.tensor(ids), there=weft.tensor(there)).detach().numpy()
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


def test_resnet(tmp_path):
    from resnet import ResNet

    weft.manual_seed(0)
    torch.manual_seed(1)
    state = {}
    for name, value in ResNet((2, 1, 1, 1), 7).state_dict().items():
        value = torch.from_numpy(value.numpy().copy())
        state[name] = value + torch.rand(value.shape) * 0.2 if value.is_floating_point() else value
    torch.save(state, tmp_path / "resnet.pth")

    def norm(x, name):
        return F.batch_norm(x, *(state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")), eps=1e-5)

    x = torch.rand(2, 3, 64, 64)
    y = F.max_pool2d(F.relu(norm(F.conv2d(x, state["conv1.weight"], stride=2, padding=3), "bn1")), 3, 2, 1)
    for layer, count in enumerate((2, 1, 1, 1), 1):
        for i in range(count):
            p, stride = f"layer{layer}.{i}", 2 if layer > 1 and i == 0 else 1
            z = F.relu(norm(F.conv2d(y, state[f"{p}.conv1.weight"], stride=stride, padding=1), f"{p}.bn1"))
            z = norm(F.conv2d(z, state[f"{p}.conv2.weight"], padding=1), f"{p}.bn2")
            if f"{p}.downsample.0.weight" in state:
                y = norm(F.conv2d(y, state[f"{p}.downsample.0.weight"], stride=stride), f"{p}.downsample.1")
            y = F.relu(z + y)
    expected = y.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]
    found = ResNet.load(tmp_path / "resnet.pth")(weft.from_numpy(x.numpy())).detach().numpy()
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
