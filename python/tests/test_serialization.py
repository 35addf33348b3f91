"""save() and load(): what comes back, and that a file cannot run code unless it is trusted."""

import collections
import dataclasses
import io
import pickle

import pytest

import weft
from weft import nn, serialization

RAN = []


def ran():
    RAN.append(True)


class Harm:
    def __reduce__(self):
        return ran, ()


@dataclasses.dataclass
class Settings:
    width: int = 3


def through_a_file(obj, **settings):
    file = io.BytesIO()
    weft.save(obj, file)
    file.seek(0)
    return weft.load(file, **settings)


def test_a_file_runs_no_code_unless_it_is_trusted(tmp_path):
    weft.save({"weights": weft.ones(2), "harm": Harm()}, tmp_path / "file")
    for settings in ({}, {"weights_only": True}, {"weights_only": None}):
        with pytest.raises(pickle.UnpicklingError, match=r"load\(\): the file asks for .*test_serialization\.ran, .*add_safe_globals.*weights_only=False"):
            weft.load(tmp_path / "file", **settings)
    assert RAN == []
    for settings in ({"weights_only": False}, {"pickle_module": pickle}):
        assert weft.load(tmp_path / "file", **settings)["harm"] is None
    assert RAN == [True, True]


def test_the_environment_says_whom_to_trust(monkeypatch):
    settings = Settings(7)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert through_a_file(settings) == settings
    with pytest.raises(pickle.UnpicklingError, match="Settings"):  # the script knows better
        through_a_file(settings, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="both set"):
        through_a_file(settings)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        through_a_file(settings, weights_only=False)


def test_states_come_back():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer = weft.optim.Adam(model.parameters())
    model(weft.rand(4, 2)).sum().backward()
    optimizer.step()
    scheduler = weft.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
    for settings in ({}, {"map_location": "cpu"}, {"map_location": weft.device("cpu"), "weights_only": True, "mmap": True}):
        found = through_a_file({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, **settings)
        assert all(weft.equal(found["model"][name], value) for name, value in model.state_dict().items())
        optimizer.load_state_dict(found["optimizer"])
        assert found["scheduler"] == scheduler.state_dict()


def test_plain_values_come_back():
    ordered = collections.OrderedDict(a=1)
    ordered.note = "kept"
    plain = [1, 2**100, 2.5, 1 + 2j, None, True, "a", b"b", bytearray(b"c"), (1, [2]), {3}, frozenset([4]), slice(1, 2), ordered,
             collections.Counter("aab"), collections.defaultdict(None, {1: 2}), weft.float16, weft.device("cpu"), weft.Size([2])]  # fmt: skip
    found = through_a_file(plain)
    assert found == plain and [type(value) for value in found] == [type(value) for value in plain]
    assert found[13].note == "kept" and found[16] is weft.float16
    parameter = through_a_file(nn.Parameter(weft.ones(2)))
    assert isinstance(parameter, nn.Parameter) and parameter.requires_grad


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.float32, weft.float64, weft.int8, weft.uint64, weft.bool])
def test_every_element_type_comes_back(dtype):
    for shape in ((2, 3), (), (0, 2)):
        x = weft.ones(shape, dtype=dtype)
        assert weft.equal(through_a_file(x), x) and through_a_file(x).dtype is dtype
    x = weft.arange(6).reshape(2, 3).to(dtype).t()
    assert weft.equal(through_a_file(x), x)


def test_half_floats_keep_their_bits():
    bits = weft.tensor([0x0001, 0x7C00, 0x8000, 0x3555], dtype=weft.uint16)
    for dtype in (weft.float16, weft.bfloat16):
        assert weft.equal(through_a_file(bits.view(dtype)).view(weft.uint16), bits)


def test_a_class_can_be_allowed():
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*test_serialization\.Settings\]\)"):
        through_a_file(Settings())
    with serialization.safe_globals([Settings]):
        assert through_a_file(Settings(5)) == Settings(5)
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        through_a_file(Settings())
    serialization.add_safe_globals([Settings])
    try:
        assert serialization.get_safe_globals() == [Settings] and through_a_file([Settings(6)]) == [Settings(6)]
        with serialization.safe_globals([(ran, "other.name")]):
            assert len(serialization.get_safe_globals()) == 2
        assert serialization.get_safe_globals() == [Settings]
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    for wrong in (Settings, "os.system", None, [1], [("a",)], [(ran, 1)]):
        with pytest.raises(TypeError, match=r"add_safe_globals\(\): argument 'safe_globals'"):
            serialization.add_safe_globals(wrong)


@pytest.mark.parametrize("harm", [
    b"cos\nsystem\n(S'true'\ntR.",                                                  # a function
    b"(S'true'\nios\nsystem\n.",                                                    # the same, by an older op
    b"cweft\nload\n(S'x'\ntR.",                                                     # one of Weft's own
    b"cweft._functions\nmath.sin\n(K\x01tR.",                                       # through a module that Weft imports
    b"\x80\x05\x8c\x0cweft._tensor\x8c\x14_rebuild.__globals__\x93.",               # through what is allowed
    b"\x80\x05cweft._tensor\n_rebuild\nN}\x8c\x0c__defaults__)s\x86b.",             # attributes of a function
    b"\x80\x05cweft\nTensor\nN}\x8c\x08backwardNs\x86b.",                           # and of a class
    b"\x80\x05cweft._weft\nTensor\nN}\x8c\x08backwardNs\x86b.",
    b"\x82\x01.",                                                                   # an entry of the process' own table
])  # fmt: skip
def test_harm_is_refused(harm):
    with pytest.raises(pickle.UnpicklingError, match=r"^load\(\)"):
        weft.load(io.BytesIO(harm))


def test_what_save_did_not_write_is_named():
    for data, words in ((b"", "is empty"), (b"PK\3\4abcd", "cut short: a zip archive"), (b"hello", "damaged"), (b"\x80\x05K", "damaged"), (b"\x80\x63.", "damaged")):
        with pytest.raises(pickle.UnpicklingError, match=rf"load\(\): .*{words}"):
            weft.load(io.BytesIO(data))
    with pytest.raises(RuntimeError, match="pickle_module"):
        weft.load(io.BytesIO(b""), pickle_module=pickle, weights_only=True)
    with pytest.raises(FileNotFoundError):
        weft.load("nowhere")
