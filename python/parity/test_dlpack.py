"""DLPack and NumPy, both ways, with PyTorch and NumPy on the other side: values, strides, memory that is shared, lifetimes."""

import gc
import weakref

import numpy as np
import pytest
import torch

import weft

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def arrays():
    """Names and arrays of all layouts."""
    base = np.arange(24)
    yield "plain", base
    yield "matrix", base.reshape(4, 6)
    yield "transposed", base.reshape(4, 6).T
    yield "fortran", np.asfortranarray(base.reshape(2, 3, 4))
    yield "sliced", base.reshape(4, 6)[1::2, 1:5:3]
    yield "scalar", np.array(3)
    yield "empty", np.zeros((0, 3), int)
    yield "broadcast", np.broadcast_to(base[:4], (3, 4))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, array", list(arrays()), ids=[name for name, _ in arrays()])
def test_round_trips(name, array, dtype):
    array = array.astype(dtype, order="K") if name != "broadcast" else np.broadcast_to(array[0].astype(dtype), array.shape)
    there = torch.from_numpy(array.copy(order="K"))
    mine = weft.from_dlpack(there)
    assert repr(mine.dtype) == f"weft.{dtype}" and tuple(mine.shape) == array.shape
    np.testing.assert_array_equal(mine.numpy(), array)
    np.testing.assert_array_equal(weft.from_dlpack(array).numpy(), array)
    np.testing.assert_array_equal(weft.from_numpy(array).numpy(), array)
    np.testing.assert_array_equal(torch.from_dlpack(mine).numpy(), array)
    np.testing.assert_array_equal(np.from_dlpack(mine), array)
    np.testing.assert_array_equal(np.asarray(memoryview(mine)), array)


def test_bfloat16():
    there = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    mine = weft.from_dlpack(there)
    assert mine.dtype is weft.bfloat16 and mine.tolist() == [1.5, -2]
    assert torch.equal(torch.from_dlpack(mine), there)


def test_negative_strides_come_in_from_numpy():
    array = np.arange(12.0).reshape(3, 4)[::-1, ::-2]
    np.testing.assert_array_equal(weft.from_numpy(array).numpy(), array)
    np.testing.assert_array_equal(np.from_dlpack(weft.from_numpy(array)), array)


def test_memory_is_shared_in():
    there = torch.arange(6.0).reshape(2, 3).t()
    mine = weft.from_dlpack(there)
    twice, expected = mine * 2, there * 2
    there[0, 0] = 50  # an op has seen what was there at the call
    np.testing.assert_array_equal(twice.numpy(), expected.numpy())
    assert mine[0, 0].item() == 50
    mine += 1
    assert there[0, 0].item() == 51 and mine[0, 0].item() == 51


def test_memory_is_shared_out():
    mine = (weft.arange(6.0) + 1).realize()
    for other in (torch.from_dlpack(mine).data_ptr(), np.from_dlpack(mine).ctypes.data, mine.numpy().ctypes.data):
        assert other == mine.data_ptr()
    view = mine.reshape(2, 3).t()[1:]
    assert np.from_dlpack(view).ctypes.data == mine.data_ptr() + 4 and torch.from_dlpack(view).stride() == (1, 3)
    assert not np.from_dlpack(mine).flags.writeable and mine.numpy().flags.writeable


def test_what_was_handed_out_sees_later_writes():
    mine = weft.arange(4.0)
    out, before = torch.from_dlpack(mine), mine + 1
    mine *= 10
    assert mine.tolist() == [0, 10, 20, 30] and out.tolist() == [0, 10, 20, 30] and before.tolist() == [1, 2, 3, 4]
    out += 1  # PyTorch does not ask whether it may
    assert mine.tolist() == [1, 11, 21, 31] and (mine * 2).tolist() == [2, 22, 42, 62]


def test_a_copy_is_a_copy():
    mine = weft.arange(4.0)
    copy = np.from_dlpack(mine, copy=True)
    assert copy.ctypes.data != mine.data_ptr()
    torch.from_dlpack(mine, copy=True).add_(1)
    old = torch.utils.dlpack.from_dlpack(mine.__dlpack__())  # without a version nobody knows "read-only"
    old.add_(1)
    assert mine.tolist() == [0, 1, 2, 3] and old.tolist() == [1, 2, 3, 4]


def test_lifetimes():
    mine = weft.arange(1000.0) + 1
    out = torch.from_dlpack(mine)
    del mine
    gc.collect()
    weft.trim_memory()
    assert out.sum().item() == 500500
    array = np.arange(1000.0)
    gone = weakref.ref(array)
    held = weft.from_dlpack(array)
    pending = held * 2
    del array
    gc.collect()
    assert gone() is not None and pending.sum().item() == 999000
    del held  # an op has a copy, and holds nothing
    gc.collect()
    weft.from_numpy(np.zeros(1))  # what was put aside is let go
    assert gone() is None


def test_what_cannot_go():
    leaf = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        torch.from_dlpack(leaf)
    assert torch.from_dlpack(leaf.detach()).tolist() == [1, 1]
    with pytest.raises(TypeError):
        weft.from_dlpack(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(TypeError, match="__dlpack__"):
        weft.from_dlpack([1, 2])
    capsule = torch.ones(2).__dlpack__()
    weft.from_dlpack(capsule)
    with pytest.raises(ValueError, match="used before"):
        weft.from_dlpack(capsule)


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # PyTorch's own
def test_ufuncs_as_in_pytorch():
    a = np.array([1.0, 4.0], np.float32)
    for function in (lambda m, t: np.sin(t), lambda m, t: np.add(t, a), lambda m, t: np.add(a, t)):
        ours, theirs = function(weft, weft.tensor(a)), function(torch, torch.tensor(a))
        assert type(ours) is weft.Tensor and type(theirs) is torch.Tensor
        assert repr(ours) == repr(theirs)
    assert np.greater(weft.tensor(a), 2).tolist() == [False, True]  # PyTorch makes bytes of bools
    for ours in (weft.tensor(a) * a, a * weft.tensor(a)):
        assert isinstance(ours, weft.Tensor) and ours.tolist() == [1, 16]
    assert np.sum(weft.tensor(a)) == 5 and np.stack([weft.tensor(a), weft.tensor(a)]).shape == (2, 2)
