"""weft.io: safetensors and NumPy's files, against bytes written by hand and NumPy; hostile files; and that a file is replaced in one step."""

import errno
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile

import numpy as np
import pytest

import weft
from weft import io

DTYPES = {"BOOL": "?", "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8", "F16": "f2",
          "F32": "f4", "F64": "f8"}  # fmt: skip


def by_hand(header, data=b"", size=None):
    """A safetensors file: `header` is a dict, or text that may be wrong."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2,), begin=0, end=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def written(path, data):
    path.write_bytes(data)
    return path


# ---- safetensors -----------------------------------------------------------------------------------------------------


def test_a_file_written_by_hand_is_read(tmp_path):
    header, data, arrays = {"__metadata__": {"format": "pt", "ü": "\"\\\n"}}, b"", {}
    for name, code in DTYPES.items():
        array = np.arange(6).reshape(2, 3).astype(code)
        header[f"{name} ä"] = entry(name, (2, 3), len(data), len(data) + array.nbytes)
        arrays[f"{name} ä"] = array
        data += array.tobytes()
    header["empty"], header["0-d"] = entry("F64", (0, 3), len(data), len(data)), entry("I8", (), len(data), len(data) + 1)
    data += b"\x07"
    path = written(tmp_path / "a.safetensors", by_hand(header, data))  # elements lie wherever, so some are not aligned
    found = io.load_safetensors(path)
    assert list(found) == [name for name in header if name != "__metadata__"]
    for name, array in arrays.items():
        assert found[name].numpy().dtype == array.dtype and (found[name].numpy() == array).all()
    assert found["empty"].shape == (0, 3) and found["0-d"].item() == 7 and found["0-d"].shape == ()
    with io.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == list(found) and file.metadata() == header["__metadata__"]
        part = file.get_slice("F32 ä")
        assert part.get_shape() == (2, 3) and part.get_dtype() == "F32" and part[1:, ::2].tolist() == [[3, 5]]
        kept = file.get_tensor("I64 ä")
        with pytest.raises(KeyError, match=r"get_tensor\(\): there is no tensor named 'x'"):
            file.get_tensor("x")
        with pytest.raises(TypeError, match=r"get_slice\(\): argument 'name' must be a str, not int"):
            file.get_slice(1)
    with pytest.raises(ValueError, match=r"keys\(\): the file is closed"):
        file.keys()
    path.unlink()
    assert kept.sum().item() == 15  # the memory outlives the file's name


def test_bytes_of_a_written_file(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"b": weft.tensor([True, False, True]), "bf": weft.tensor([1.0, -2.0], dtype=weft.bfloat16), "w": weft.arange(6.0).reshape(2, 3).t(),
               "u": weft.tensor([2**63], dtype=weft.uint64), "e": weft.zeros(0, 2)}  # fmt: skip
    io.save_safetensors(tensors, path, metadata={"k": 'v"\n'})
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert size % 8 == 0 and header.pop("__metadata__") == {"k": 'v"\n'}
    end = 0
    for facts in header.values():  # without gaps, each where its elements are aligned
        begin, stop = facts["data_offsets"]
        assert begin == end and begin % {"F32": 4, "U64": 8, "BF16": 2, "BOOL": 1}[facts["dtype"]] == 0
        end = stop
    assert end == len(data) - 8 - size
    part = {name: data[8 + size :][slice(*facts["data_offsets"])] for name, facts in header.items()}
    assert part == {"b": b"\1\0\1", "bf": b"\x80\x3f\x00\xc0", "w": np.arange(6, dtype="f4").reshape(2, 3).T.tobytes(), "u": b"\0" * 7 + b"\x80", "e": b""}
    assert header["w"]["shape"] == [3, 2]
    found = io.load_safetensors(path)
    assert set(found) == set(tensors) and all(weft.equal(found[name], tensors[name]) for name in tensors)
    assert io.safe_open(path).metadata() == {"k": 'v"\n'}


def test_tensors_read_the_map_and_never_write_it(tmp_path):
    path = tmp_path / "a.safetensors"
    io.save_safetensors({"w": weft.ones(1 << 20), "v": weft.zeros(4)}, path)
    before = path.read_bytes()
    found = io.load_safetensors(path)
    with open("/proc/self/maps") as maps:
        assert "a.safetensors" in maps.read()
    found["w"][3] = 5.0
    found["v"].add_(1)
    assert found["w"].sum().item() == (1 << 20) + 4 and found["v"].tolist() == [1] * 4
    assert path.read_bytes() == before and io.load_safetensors(path)["w"].sum().item() == 1 << 20
    io.save_safetensors({"w": found["w"] * 2}, path)  # while it is mapped: the old file stays as it was
    assert found["w"][0].item() == 1
    del found
    import gc

    gc.collect()
    weft.ones(1).item()
    with open("/proc/self/maps") as maps:
        assert "a.safetensors" not in maps.read()


def test_bools_are_0_or_1_whatever_the_file_says(tmp_path):
    path = written(tmp_path / "a.safetensors", by_hand({"b": entry("BOOL", (4,), 0, 4)}, b"\0\1\2\xff"))
    found = io.load_safetensors(path)["b"]
    assert found.tolist() == [False, True, True, True] and found.sum().item() == 3 and bytes(memoryview(found)) == b"\0\1\1\1"


def test_an_index_of_several_files(tmp_path):
    (tmp_path / "sub").mkdir()
    io.save_safetensors({"a": weft.ones(2), "unlisted": weft.ones(1)}, tmp_path / "m-1.safetensors")
    io.save_safetensors({"b": weft.zeros(3)}, tmp_path / "sub" / "m-2.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 20, "x": [1.5, {"y": None}]}, "weight_map": {"b": "sub/m-2.safetensors", "a": "m-1.safetensors"}}))
    found = io.load_safetensors(index)
    assert list(found) == ["b", "a"] and found["b"].shape == (3,)
    (tmp_path / "sub" / "m-2.safetensors").unlink()
    file = io.safe_open(index)
    assert file.get_tensor("a").tolist() == [1, 1]  # the other file is not opened
    with pytest.raises(FileNotFoundError, match=r"safe_open\(\): .*m-2\.safetensors: there is no such file"):
        file.get_tensor("b")
    with pytest.raises(KeyError):
        file.get_tensor("unlisted")
    for name in ("../m-1.safetensors", "/etc/passwd", "sub/../../x", "", ".."):
        index.write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(OSError, match="which is not within its folder"):
            io.load_safetensors(index)
    for text, words in (("{}", "no 'weight_map'"), ("", "'{' is missing"), ('{"weight_map": {"a": 1}}', "'\"' is missing"),
                        ('{"weight_map": {"a": "m-1.safetensors", "a": "m-1.safetensors"}}', "comes twice"), ("[" * 100000, "'{' is missing"),
                        ('{"x": ' + "[" * 100000, "nested more than 32 deep")):  # fmt: skip
        index.write_text(text)
        with pytest.raises(OSError, match=words):
            io.load_safetensors(index)
    index.write_text(json.dumps({"weight_map": {"missing": "m-1.safetensors"}}))
    with pytest.raises(IndexError, match="no tensor named 'missing'"):
        io.load_safetensors(index)


WRONG = [
    (b"", "has 0 bytes"), (b"1234567", "has 7 bytes"), (by_hand(b"", size=0), "does not start with '{'"),
    (by_hand(b"{}", size=3), "header would have 3 bytes"), (by_hand(b"{}", size=2**64 - 1), "header would have"), (by_hand(b"[]"), "does not start"),
    (by_hand(b"{"), "no valid safetensors header"), (by_hand(b"{} x"), "text goes on"), (by_hand(b"{}", b"12"), "2 bytes at its end"),
    (by_hand({"a": entry()}), "cut short"), (by_hand({"a": entry()}, b"1" * 9), "1 bytes at its end"),
    (by_hand({"a": entry(), "b": entry(begin=4, end=12)}, b"1" * 12), "overlaps"),
    (by_hand({"a": entry(), "b": entry(begin=12, end=20)}, b"1" * 20), "gap before 'b'"),
    (by_hand({"a": entry(begin=4, end=12)}, b"1" * 12), "gap before 'a'"), (by_hand({"a": entry(begin=8, end=0)}, b"1" * 8), "ends before it begins"),
    (by_hand({"a": entry(shape=(3,))}, b"1" * 8), r"has 8 bytes, which is not what F32\[3\] takes"),
    (by_hand({"a": entry(shape=(2**62, 2**62))}, b"1" * 8), "more elements than can be"), (by_hand({"a": entry(shape=(2**64,))}), "64 bits"),
    (by_hand({"a": entry(shape=(0, 2**62, 2**62), end=0)}), "more elements than can be"), (by_hand({"a": entry(shape=[1] * 65, end=4)}, b"1234"), "too large"),
    (by_hand({"a": entry(shape=(-1,))}), "an integer from 0 on"), (by_hand({"a": entry(shape=(2.5,))}), "not a fraction"),
    (by_hand({"a": entry("F31")}, b"1" * 8), "unknown element type 'F31'"), (by_hand({"a": {"dtype": "F32"}}), "needs a dtype, a shape"),
    (by_hand({"a": entry() | {"more": 1}}), "unknown field 'more'"), (by_hand({"a": entry() | {"data_offsets": [0, 8, 9]}}), "more than two"),
    (by_hand(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', b"1" * 8), "'a' comes twice"),
    (by_hand({"__metadata__": {"a": 1}}), "is missing"), (by_hand(b'{"__metadata__":{},"__metadata__":{}}'), "comes twice"),
    (by_hand(b'{"__metadata__":{"a":"","a":""}}'), "comes twice"), (by_hand(b'{"\xff": 1}'), "not valid UTF-8"),
    (by_hand(b'{"\\ud800": 1}'), "surrogate"), (by_hand(b'{"a\nb": 1}'), "control character"), (by_hand(b'{"a": ' + b"[" * 1000), "missing"),
]  # fmt: skip


@pytest.mark.parametrize("data, words", WRONG)
def test_what_is_wrong_with_a_file_is_said(tmp_path, data, words):
    path = written(tmp_path / "a.safetensors", data)
    for read in (io.load_safetensors, io.safe_open):
        with pytest.raises(OSError, match=rf"^{read.__name__}\(\): .*a\.safetensors: .*{words}") as error:
            read(path)
        assert "\n" not in str(error.value)


def test_types_that_weft_has_not_are_named(tmp_path):
    path = written(tmp_path / "a.safetensors", by_hand({"ok": entry(end=8), "f8": entry("F8_E4M3", (3,), 8, 11)}, b"\0" * 11))
    with pytest.raises(weft.DTypeError, match=r"load_safetensors\(\): .*'f8' has elements of the type F8_E4M3, which Weft does not have"):
        io.load_safetensors(path)
    assert io.safe_open(path).get_tensor("ok").tolist() == [0, 0]


def test_wrong_arguments_of_save(tmp_path):
    path = tmp_path / "a.safetensors"
    for tensors, words in (([], "a dict of tensors, not list"), ({1: weft.ones(1)}, "keys are strings"), ({"a": 1.0}, "value of 'a' must be a Tensor, not float")):
        with pytest.raises(TypeError, match=rf"save_safetensors\(\): .*{words}"):
            io.save_safetensors(tensors, path)
    with pytest.raises(TypeError, match="metadata"):
        io.save_safetensors({}, path, {"a": 1})
    with pytest.raises(ValueError, match="cannot be named '__metadata__'"):
        io.save_safetensors({"__metadata__": weft.ones(1)}, path)
    with pytest.raises(TypeError, match=r"load_safetensors\(\): argument 'path' must be a path, not int"):
        io.load_safetensors(3)
    assert not list(tmp_path.iterdir())
    io.save_safetensors({}, path)
    assert io.load_safetensors(path) == {}


# ---- NumPy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["?", "u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"])
def test_arrays_come_and_go(tmp_path, code):
    path = tmp_path / "a.npy"
    for array in (np.arange(6).reshape(2, 3).astype(code), np.array(3).astype(code), np.zeros((0, 2), code), np.asfortranarray(np.arange(24).reshape(2, 3, 4)).astype(code)):
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(path, "wb") as file:
                np.lib.format.write_array(file, array, version)
            for mmap in (False, True):
                found = io.load_npy(path, mmap=mmap)
                assert found.shape == array.shape and (found.numpy() == array).all() and found.numpy().dtype == array.dtype.newbyteorder("=")
        io.save_npy(found, path)
        again = np.load(path)
        assert again.dtype == array.dtype.newbyteorder("=") and again.shape == array.shape and (again == array).all()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_arrays(tmp_path, save):
    arrays = {"a": np.arange(5), "b/c": np.ones((100, 200), "f4"), "ü": np.array(True)}
    save(tmp_path / "a.npz", **arrays)
    for mmap in (False, True):
        found = io.load_npz(tmp_path / "a.npz", mmap=mmap)
        assert list(found) == list(arrays) and all((found[name].numpy() == arrays[name]).all() for name in arrays)
    io.save_npz(found, tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as again:
        assert all((again[name] == arrays[name]).all() and again[name].dtype == arrays[name].dtype for name in arrays)


def test_arrays_that_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    for array, words in ((np.zeros(2, [("x", "f4")]), r"structured type"), (np.zeros(2, "c8"), r"'<c8' \(complex"), (np.array(["a"]), r"text"),
                         (np.zeros(1, "M8[s]"), "times"), (np.zeros(1, "f16"), "f16"), (np.array([None]), "objects of Python")):  # fmt: skip
        np.save(path, array, allow_pickle=True)
        with pytest.raises((OSError, weft.DTypeError), match=rf"load_npy\(\): .*a\.npy: .*{words}"):
            io.load_npy(path)
    with pytest.raises(weft.DTypeError, match=r"save_npy\(\): the tensor is bfloat16, which NumPy does not have"):
        io.save_npy(weft.ones(1, dtype=weft.bfloat16), path)
    np.savez(tmp_path / "b.npz", a=1)
    with pytest.raises(OSError, match=r"read it with load_npz\(\)"):
        io.load_npy(tmp_path / "b.npz")
    np.save(path, 1)
    with pytest.raises(OSError, match=r"read it with load_npy\(\)"):
        io.load_npz(path)
    good = path.read_bytes()
    for data in (good + b"1", good.replace(b"()", b"(9,)").replace(b" \n", b"\n"), good.replace(b"\1\0", b"\4\0", 1), good.replace(b"'shape'", b"'shale'"),
                 good.replace(b"()", b"(1,").replace(b" \n", b"\n")):  # fmt: skip
        assert data != good
        with pytest.raises(OSError, match=r"^load_npy\(\)"):
            io.load_npy(written(path, data))


# ---- hostile files ---------------------------------------------------------------------------------------------------


def examples(folder):
    """One file of each format, what reads it, and the errors that it may raise."""
    import pickle

    tensors = {"a": weft.arange(6.0).reshape(2, 3), "b": weft.tensor([True, False]), "c": weft.ones(3, dtype=weft.bfloat16)}
    io.save_safetensors(tensors, folder / "a.safetensors", {"k": "v"})
    io.save_npy(tensors["a"], folder / "a.npy")
    np.savez_compressed(folder / "a.npz", a=np.arange(20), b=np.ones(3))
    weft.save({"x": tensors, "y": [1, 2.5, "t", b"b", None, {1, 2}, 2**70], "z": tensors["a"][0]}, folder / "a.pt")
    with open(folder / "old.pt", "wb") as file:
        pickle.dump({"x": tensors, "y": weft.float16, "z": nn_parameter()}, file, 5)
    errors = (OSError, weft.DTypeError, weft.ShapeError, IndexError)
    yield folder / "a.safetensors", io.load_safetensors, errors
    yield folder / "a.npy", io.load_npy, errors
    yield folder / "a.npz", io.load_npz, errors
    for name in ("a.pt", "old.pt"):
        yield folder / name, weft.load, (pickle.UnpicklingError,)


def nn_parameter():
    return weft.nn.Parameter(weft.ones(2))


def tried(path, read, errors, data, note):
    path.write_bytes(data)
    try:
        found = read(path)
        for value in found.values() if isinstance(found, dict) else [found]:
            if isinstance(value, weft.Tensor):
                value.sum().item()  # what was accepted can be read
    except errors as error:
        assert "\n" not in str(error) and str(error).startswith(f"{read.__name__}()"), note
        return False
    return True


def test_files_that_are_cut_short(tmp_path):
    for path, read, errors in examples(tmp_path):
        good = path.read_bytes()
        for length in range(len(good)):
            assert not tried(path, read, errors, good[:length], (path.name, length))
        assert tried(path, read, errors, good, path.name)


@pytest.mark.parametrize("seed", [1, None])
def test_mutated_files_raise_or_load_and_take_little_memory(tmp_path, seed):
    seed = seed or int(time.time())
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    try:
        for path, read, errors in examples(tmp_path):
            good = path.read_bytes()
            for i in range(1000):
                draw = random.Random(f"{seed} {path.name} {i}")
                data = bytearray(good)
                for _ in range(draw.choice((1, 1, 2, 8))):
                    at = draw.randrange(len(data))
                    kind = draw.randrange(5)
                    if kind == 0:
                        data[at] ^= 1 << draw.randrange(8)
                    elif kind == 1:
                        data[at] = draw.choice((0, 255, 127, 128, draw.randrange(256)))
                    elif kind == 2:
                        del data[at : at + draw.randrange(1, 20)]
                    elif kind == 3:
                        data[at:at] = data[(other := draw.randrange(len(data))) : other + draw.randrange(1, 40)]
                    else:
                        data[at : at + 8] = draw.choice((b"\xff" * 8, b"\0" * 8, (2**62).to_bytes(8, "little"), draw.randbytes(8)))
                    data = data or bytearray(b"x")
                tried(path, read, errors, bytes(data), (seed, path.name, i))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_archives_that_would_unpack_to_much_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\0" * 1_000_000)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = (0xFFFFFFF0).to_bytes(4, "little")  # 4 GB from a thousand bytes
    with pytest.raises(OSError, match="unpacks to more than it can"):
        io.load_npz(written(path, bytes(data)))
    data[at + 24 : at + 28] = (999_000).to_bytes(4, "little")
    with pytest.raises(OSError, match="damaged: it unpacks to another size"):
        io.load_npz(written(path, bytes(data)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", b"abc")
    with pytest.raises(OSError, match="method other than deflate"):
        io.load_npz(path)


# ---- writing ---------------------------------------------------------------------------------------------------------

WRITERS = [
    (lambda path: weft.save({"a": weft.ones(300_000)}, path), "save"),
    (lambda path: io.save_safetensors({"a": weft.ones(300_000)}, path), "save_safetensors"),
    (lambda path: io.save_npy(weft.ones(300_000), path), "save_npy"),
    (lambda path: io.save_npz({"a": weft.ones(300_000)}, path), "save_npz"),
]


@pytest.mark.parametrize("write, name", WRITERS)
def test_what_the_system_refuses(tmp_path, write, name):
    with pytest.raises(FileNotFoundError, match=rf"^{name}\(\): .*missing/a: the folder .*missing does not exist, make it first") as error:
        write(tmp_path / "missing" / "a")
    assert error.value.errno == errno.ENOENT
    with pytest.raises(IsADirectoryError, match=rf"^{name}\(\): .*it is a folder; name a file"):
        write(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match=rf"^{name}\(\): "):
        write(tmp_path / "file" / "a")
    path = written(tmp_path / "a", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=rf"^{name}\(\): .*a: it cannot be written: the file would be larger than this process may write"):
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["a", "file"]
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match=rf"^{name}\(\): /dev/full: it cannot be written: the disk is full"):
            write("/dev/full")
    write("/dev/null")


def test_no_permission(tmp_path):
    code = f"""if True:
        import os, pickle, weft
        weft.load({str(tmp_path / "ready")!r}), weft.save(1, "/dev/null"), weft.io  # imports: another user may not see Python's files
        if os.getuid() == 0: os.setuid(65534)
        for write in (lambda p: weft.save(1, p), lambda p: weft.io.save_npy(weft.ones(1), p), weft.load, weft.io.load_safetensors):
            for path in {str(tmp_path / "locked" / "a")!r}, {str(tmp_path / "secret")!r}:
                try: write(path)
                except PermissionError as error: print(error)
                else: raise SystemExit("no error")
    """
    (tmp_path / "locked").mkdir()
    (tmp_path / "secret").write_text("x")
    weft.save(1, tmp_path / "ready")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        os.chmod(folder, 0o755)
    os.chmod(tmp_path / "locked", 0)
    os.chmod(tmp_path / "secret", 0)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    os.chmod(tmp_path / "locked", 0o755)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8 and all("there is no permission" in line for line in lines), lines


def test_links_and_modes_are_kept(tmp_path):
    target = written(tmp_path / "target", b"old")
    os.chmod(target, 0o640)
    (tmp_path / "link").symlink_to(target)
    weft.save({"a": 1}, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and weft.load(target) == {"a": 1} and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]


def test_a_pipe_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    io.save_npy(weft.arange(3), tmp_path / "pipe")
    reader.join()
    (tmp_path / "a.npy").write_bytes(found[0])
    assert np.load(tmp_path / "a.npy").tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    code = f"""if True:
        import sys, weft
        path, kind = {str(path)!r}, {kind!r}
        save = weft.save if kind == "pt" else weft.io.save_safetensors
        print("ready", flush=True)
        for i in range(1000000):
            save({{"a": weft.full((200_000,), float(i))}}, path)
    """
    draw = random.Random(7)
    seen = set()
    for _ in range(12):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(0.02 + draw.random() * 0.15)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if path.exists():
            found = (weft.load(path) if kind == "pt" else io.load_safetensors(path))["a"]
            assert found.shape == (200_000,) and found.min().item() == found.max().item()
            seen.add(found[0].item())
    assert path.exists() and seen
