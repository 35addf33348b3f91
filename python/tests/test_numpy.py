"""Memory shared with NumPy and with anything that speaks the buffer protocol or DLPack, both ways."""

import gc
import weakref

import numpy as np
import pytest

import weft

TYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]


@pytest.mark.parametrize("code", TYPES)
def test_all_types_both_ways(code):
    a = np.array([[0, 1, 1], [1, 0, 1]], code)
    for array in (a, a.T, a[::-1], a[:, ::2], np.asfortranarray(a), a[::-1, ::-1]):
        t = weft.from_numpy(array)
        assert t.shape == array.shape
        back = t.numpy()
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)
        np.testing.assert_array_equal(weft.tensor(array).numpy(), array)


def test_from_numpy_reads_when_the_graph_runs():
    a = np.ones(3, "f")
    y = weft.from_numpy(a) * 2
    a[:] = 5
    assert y.tolist() == [10, 10, 10]
    z = weft.tensor(a) * 2
    a[:] = 0
    assert z.tolist() == [10, 10, 10]


def test_read_only_and_odd_arrays():
    a = np.arange(6.0).reshape(2, 3)
    a.setflags(write=False)
    assert weft.from_numpy(a).sum().item() == 15
    assert weft.from_numpy(np.array(3.0)).item() == 3 and weft.from_numpy(np.zeros((0, 2))).shape == (0, 2)
    record = np.zeros(3, np.dtype([("x", "u1"), ("y", "<f4")]))
    record["y"] = [1, 2, 3]
    assert weft.from_numpy(record["y"]).tolist() == [1, 2, 3]  # strides that are no multiple of the element's size
    assert weft.as_tensor(np.broadcast_to(np.float32(2), (2, 2))).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(TypeError, match="there is no element type for an array of the format"):
        weft.from_numpy(np.zeros(2, complex))
    with pytest.raises(TypeError, match="there is no element type"):
        weft.from_numpy(np.zeros(2, ">f4"))
    with pytest.raises(TypeError, match="must be a NumPy array, not list"):
        weft.from_numpy([1, 2])


def test_the_array_is_kept_alive_and_let_go():
    a = np.ones(1000, "f")
    alive = weakref.ref(a)
    t = weft.from_numpy(a)
    del a
    gc.collect()
    assert t.sum().item() == 1000 and alive() is not None
    del t
    gc.collect()
    for _ in range(100):  # Python's main thread lets go when it next looks
        pass
    assert alive() is None


def test_numpy_is_read_only_and_shares_memory():
    t = weft.arange(6.0).reshape(2, 3)
    a, b = t.numpy(), t.numpy()
    assert not a.flags.writeable and np.shares_memory(a, b)
    with pytest.raises(ValueError, match="read-only"):
        a[0, 0] = 1
    t += 1  # takes other memory: what numpy() gave stays
    assert a[0, 0] == 0 and t.numpy()[0, 0] == 1
    del t, b
    gc.collect()
    assert a.sum() == 15
    assert np.shares_memory(a, weft.from_numpy(a).T.numpy())


def test_numpy_functions():
    t = weft.tensor([1.0, 4.0])
    assert type(np.sqrt(t)) is weft.Tensor and np.sqrt(t).tolist() == [1, 2]  # a ufunc gives a tensor
    assert np.add(t, np.ones(2, "f")).tolist() == [2, 5] and np.sum(t) == 5
    assert np.asarray(t, copy=False).base is not None and np.array(t, copy=True).flags.writeable
    with pytest.raises(ValueError, match="needs a copy"):
        t.__array__(np.float64, copy=False)
    assert np.shares_memory(t.__array__(np.float32), t.numpy())
    assert np.array(t).flags.writeable and np.asarray(t, dtype="f8").dtype == np.float64
    assert t.__array__(np.float64).dtype == np.float64 and memoryview(t).tolist() == [1, 4]
    assert isinstance(np.ones(2) * t, weft.Tensor) and isinstance(np.float32(2) * t, weft.Tensor)
    assert weft.tensor(np.float64(3)).dtype is weft.float64
    with pytest.raises(weft.GradError, match="detach"):
        weft.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="bfloat16"):
        weft.ones(1, dtype=weft.bfloat16).numpy()


@pytest.mark.parametrize("code", TYPES)
def test_dlpack_with_numpy(code):
    a = np.array([[0, 1, 1], [1, 0, 1]], code)
    t = weft.from_dlpack(a[:, ::-1] if code != "?" else a)
    np.testing.assert_array_equal(t.numpy(), a[:, ::-1] if code != "?" else a)
    back = np.from_dlpack(weft.tensor(a))
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)


def test_dlpack_is_read_only_or_a_copy():
    t = weft.arange(4.0).realize()
    assert t.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(t)
    assert not shared.flags.writeable and np.shares_memory(shared, t.numpy())
    capsule = t.__dlpack__()
    copied = weft.from_dlpack(capsule)
    assert copied.tolist() == [0, 1, 2, 3] and not np.shares_memory(copied.numpy(), t.numpy())
    with pytest.raises(ValueError, match="used before"):
        weft.from_dlpack(capsule)
    with pytest.raises(TypeError, match="an object with __dlpack__"):
        weft.from_dlpack([1])
    owned = np.from_dlpack(t, copy=True)
    owned += 1
    assert t.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__(copy=False)
    assert weft.from_dlpack(weft.ones(2, dtype=weft.bfloat16)).dtype is weft.bfloat16
    a = np.ones(3)
    alive, t = weakref.ref(a), weft.from_dlpack(a)
    del a
    assert alive() is not None and t.sum().item() == 3
    del t
    gc.collect()
    for _ in range(100):
        pass
    assert alive() is None


def test_numpys_words():
    t = weft.arange(6.0).reshape(2, 3)
    assert t.sum(axis=0).tolist() == [3, 5, 7] and weft.softmax(t, axis=1).sum(axis=1, keepdims=True).shape == (2, 1)
    assert np.mean(t, axis=1).tolist() == [1, 4]
    with pytest.raises(TypeError, match="'dim' was given twice"):
        t.sum(0, axis=1)
