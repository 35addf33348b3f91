"""Files that go from PyTorch to Weft and back: every element type and layout, sharing, checkpoints in the middle of training, damage."""

import collections
import io
import pickle
import random
import time

import numpy as np
import pytest
import torch
from helpers import assert_close, floats

import weft

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def through(obj, save, load, **settings):
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return load(file, **settings)


def to_weft(obj):
    return through(obj, torch.save, weft.load)


def to_torch(obj):
    return through(obj, weft.save, torch.load, weights_only=True)


def same(found, wanted):
    assert tuple(found.shape) == tuple(wanted.shape) and str(found.dtype).split(".")[1] == str(wanted.dtype).split(".")[1]
    half = found.dtype in (torch.bfloat16, weft.bfloat16)
    assert ((found.float() if half else found).tolist() == (wanted.float() if half else wanted).tolist()) and found.requires_grad == wanted.requires_grad


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type_and_layout(tmp_path, dtype, zipped):
    if dtype in ("uint16", "uint32", "uint64") and not zipped:
        pytest.skip("PyTorch writes no such storages in the older format")
    x = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, dtype))
    tensors = [x, x[0, 0, 0], x[:0], x.t() if x.ndim == 2 else x.permute(2, 0, 1), x[:, 1:, ::2], x[0, 0, :1].expand(5), x.clone(), torch.as_strided(x, (3, 3), (2, 1), 1)]
    if x.dtype.is_floating_point:
        tensors += [x.clone().requires_grad_(), torch.nn.Parameter(x.clone()), torch.nn.Parameter(x.clone(), requires_grad=False)]
    path = tmp_path / "a.pt"
    torch.save(tensors, path, _use_new_zipfile_serialization=zipped)
    for mmap in (False, True):
        found = weft.load(path, mmap=mmap, map_location="cpu")
        for one, wanted in zip(found, tensors, strict=True):
            same(one, wanted)
            assert isinstance(one, weft.nn.Parameter) == isinstance(wanted, torch.nn.Parameter)
        weft.save(found, tmp_path / "b.pt")
        for mmap_again in (False, True):
            for one, wanted in zip(torch.load(tmp_path / "b.pt", weights_only=True, mmap=mmap_again), tensors, strict=True):
                same(one, wanted)
                assert isinstance(one, torch.nn.Parameter) == isinstance(wanted, torch.nn.Parameter)


def test_records_are_stored_and_aligned(tmp_path):
    import zipfile

    weft.save({"a": weft.ones(3), "b": weft.ones(5, dtype=weft.uint8)}, tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        assert archive.testzip() is None and archive.read("archive/byteorder") == b"little" and archive.read("archive/version") == b"3\n"
        assert all(record.compress_type == zipfile.ZIP_STORED for record in archive.infolist())
        data = (tmp_path / "a.pt").read_bytes()
        for record in archive.infolist():
            extra = int.from_bytes(data[record.header_offset + 28 : record.header_offset + 30], "little")
            assert (record.header_offset + 30 + len(record.filename) + extra) % 64 == 0


def test_plain_values_go_over():
    state = collections.OrderedDict(a=1)
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    plain = [1, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**63, 2**100, -(2**100), 2.5, float("inf"), 1 + 2j, None, True, False, "ä\n", "", b"\0\xff", b"", bytearray(b"c"),
             (1, [2], ()), {3}, set(), state, collections.Counter("aab"), {"a": {"b": [1]}}, list(range(2500)), {i: str(i) for i in range(2500)}]  # fmt: skip
    found = to_weft(plain)
    assert found == plain and [type(value) for value in found] == [type(value) for value in plain] and found[25]._metadata == state._metadata
    back = to_torch(found)
    assert back == plain and [type(value) for value in back] == [type(value) for value in plain] and back[25]._metadata == state._metadata
    assert to_weft([torch.float16, torch.device("cpu"), torch.Size([2, 3])]) == [weft.float16, weft.device("cpu"), weft.Size([2, 3])]
    assert to_torch([weft.float16, weft.device("cpu"), weft.Size([2, 3])]) == [torch.float16, torch.device("cpu"), torch.Size([2, 3])]
    shared = [1]
    found = to_torch([shared, shared])
    assert found[0] is found[1]
    loop = []
    loop.append(loop)
    assert (found := to_weft(loop))[0] is found and (found := to_torch(loop))[0] is found


def test_views_share_memory_on_both_ways():
    x = torch.arange(12.0).reshape(3, 4)
    found = to_weft({"x": x, "row": x[1], "t": x.t(), "part": x[:, 1:3], "copy": x.clone()})
    found["row"][1] = 50
    assert found["x"][1, 1].item() == 50 and found["t"][1, 1].item() == 50 and found["part"][1, 0].item() == 50 and found["copy"][1, 1].item() == 5
    back = to_torch(found)
    assert back["x"][1, 1] == 50
    back["part"][0, 0] = 60
    assert back["x"][0, 1] == 60 and back["t"][1, 0] == 60 and back["copy"][0, 1] == 1
    tied = torch.nn.Linear(2, 2)
    pair = torch.nn.ModuleList([tied, tied])
    found = to_weft(pair.state_dict())
    with weft.no_grad():
        found["0.weight"][0, 0] = 9
    assert found["1.weight"][0, 0].item() == 9


def nets():
    def make(nn):
        # No bias before the norm: its gradient would be rounding errors alone, which Adam scales up.
        return nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))

    return make(torch.nn), make(weft.nn)


OPTIMIZERS = [("SGD", {"lr": 0.05, "momentum": 0.9}), ("Adam", {"lr": 0.02}), ("AdamW", {"lr": 0.02, "weight_decay": 0.1}), ("Adam", {"lr": 0.02, "amsgrad": True})]


@pytest.mark.parametrize("name, settings", OPTIMIZERS)
def test_training_goes_on_from_a_checkpoint(tmp_path, name, settings):
    """Five steps on one side, a checkpoint, five on the other, a checkpoint, five on the first: the same losses as without them."""
    data, wanted = floats(15, 16, 5, seed=1), floats(15, 16, 1, seed=2)

    class Side:
        def __init__(self, lib, net):
            self.lib, self.net = lib, net
            self.optimizer = getattr(lib.optim, name)(net.parameters(), **settings)
            self.scheduler = lib.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.7)

        def steps(self, first, last):
            losses = []
            for i in range(first, last):
                self.optimizer.zero_grad()
                loss = ((self.net(self.lib.tensor(data[i])) - self.lib.tensor(wanted[i])) ** 2).mean()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                losses.append(loss.item())
            return losses

        def state(self):
            return {"model": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(), "note": "ä"}

        def restore(self, state):
            self.net.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])

    torch_net, weft_net = nets()
    torch.save(torch_net.state_dict(), tmp_path / "start.pt")
    alone = Side(torch, torch_net)
    expected = alone.steps(0, 15)

    ours, theirs = Side(weft, weft_net), Side(torch, nets()[0])
    theirs.net.load_state_dict(torch.load(tmp_path / "start.pt", weights_only=True))
    losses = theirs.steps(0, 5)
    torch.save(theirs.state(), tmp_path / "a.pt")
    ours.restore(weft.load(tmp_path / "a.pt"))
    losses += ours.steps(5, 10)
    weft.save(ours.state(), tmp_path / "b.pt")
    again = Side(torch, nets()[0])
    again.restore(torch.load(tmp_path / "b.pt", weights_only=True))
    losses += again.steps(10, 15)
    np.testing.assert_allclose(losses, expected, rtol=2e-4, atol=1e-6)
    for mine, other in zip(again.net.state_dict().values(), alone.net.state_dict().values(), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=2e-4, atol=2e-5)


def test_what_is_refused_by_name():
    for obj, words in ((torch.nn.Linear(2, 2), r"torch\.nn\.modules\.linear\.Linear"), (torch.ones(2).to_sparse(), "sparse"), (torch.ones(2, dtype=torch.complex64), "Complex"),
                       (np.float64(1), "numpy"), (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), "qtensor|QInt8")):  # fmt: skip
        with pytest.raises(pickle.UnpicklingError, match=rf"^load\(\): the file asks for .*({words})"):
            to_weft(obj)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="TorchScript"):
        weft.load(file)
    file = io.BytesIO()
    torch.save(np.float64(1.5), file)
    file.seek(0)
    assert weft.load(file, weights_only=False) == 1.5
    with pytest.raises(RuntimeError, match="there is no device 'cuda'"):
        weft.load(file, map_location="cuda")


def test_several_objects_in_one_file_of_the_older_format():
    file = io.BytesIO()
    for value in (torch.ones(2), torch.zeros(3)):
        torch.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert weft.load(file).tolist() == [1, 1] and weft.load(file).tolist() == [0, 0, 0]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("seed", [3, None])
def test_damaged_files_of_pytorch_raise_one_sentence(tmp_path, zipped, seed):
    seed = seed or int(time.time())
    x = torch.arange(6.0)
    torch.save({"x": x, "y": x[1:3], "n": [1, 2.5, "a", {1}], "p": torch.nn.Parameter(x)}, tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
    good = (tmp_path / "a.pt").read_bytes()

    def tried(data):
        try:
            found = weft.load(io.BytesIO(data))
        except pickle.UnpicklingError as error:
            assert str(error).startswith("load()") and "\n" not in str(error)
            return False
        if isinstance(found, dict) and isinstance(found.get("x"), weft.Tensor):
            found["x"].sum().item()
        return True

    assert tried(good)
    for length in range(0, len(good), 3):
        assert not tried(good[:length])
    for i in range(1000):
        draw = random.Random(f"{seed} {i}")
        data = bytearray(good)
        for _ in range(draw.choice((1, 2, 6))):
            at = draw.randrange(len(data))
            data[at : at + draw.choice((1, 1, 4))] = draw.choice((b"\xff", b"\0", draw.randbytes(1), draw.randbytes(8), b""))
        tried(bytes(data))


def test_npz_and_safetensors_hold_what_torch_has(tmp_path):
    x = torch.randn(3, 4)
    weft.io.save_npz({"x": to_weft(x)}, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as found:
        assert_close(weft.tensor(found["x"]), x)


def test_the_safetensors_package_agrees(tmp_path):
    package = pytest.importorskip("safetensors")
    torch_files = pytest.importorskip("safetensors.torch")
    tensors = {dtype: torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)) for dtype in DTYPES} | {"e": torch.zeros(0, 2), "0": torch.tensor(1.5)}
    torch_files.save_file(tensors, tmp_path / "a.safetensors", metadata={"a": "ü\n"})
    found = weft.io.load_safetensors(tmp_path / "a.safetensors")
    assert set(found) == set(tensors) and weft.io.safe_open(tmp_path / "a.safetensors").metadata() == {"a": "ü\n"}
    for name, wanted in tensors.items():
        same(found[name], wanted)
    weft.io.save_safetensors(found, tmp_path / "b.safetensors", {"a": "ü\n"})
    back = torch_files.load_file(tmp_path / "b.safetensors")
    for name, wanted in tensors.items():
        same(back[name], wanted)
    good = (tmp_path / "a.safetensors").read_bytes()
    for i in range(1000):  # what one refuses, so does the other
        draw = random.Random(i)
        data = bytearray(good)
        for _ in range(draw.choice((1, 2))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / "c.safetensors").write_bytes(data)
        try:
            with package.safe_open(tmp_path / "c.safetensors", "pt") as file:
                names = set(file.keys())
        except package.SafetensorError:
            names = None
        try:
            ours = set(weft.io.safe_open(tmp_path / "c.safetensors").keys())
        except OSError:
            ours = None
        assert ours == names, (i, ours, names)
