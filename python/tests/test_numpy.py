"""Memory shared with NumPy and with anything that speaks the buffer protocol or DLPack, both ways."""

import gc
import struct
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


def test_an_op_sees_an_array_as_it_is_at_the_call():
    observation, seen = np.zeros(3, "f"), []
    for i in range(3):
        observation[:] = i
        seen.append(weft.from_numpy(observation) * 1.0)
    assert [each.tolist() for each in seen] == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    t = weft.from_numpy(observation)
    a, part, rows = t * 2, t[1:] + 1, t[weft.tensor([0, 2])]
    observation[:] = 7
    b = t * 2
    assert a.tolist() == [4, 4, 4] and part.tolist() == [3, 3] and rows.tolist() == [2, 2] and b.tolist() == [14, 14, 14]
    observation[0] = 9  # reading the tensor itself sees what is there
    assert t.tolist() == [9, 7, 7] and t[:1].item() == 9 and np.shares_memory(t.numpy(), observation)
    copied = weft.tensor(observation) * 2
    observation[:] = 0
    assert copied.tolist() == [18, 14, 14]


def test_writes_in_place_write_the_array():
    a = np.arange(6, dtype="f").reshape(2, 3)
    t = weft.from_numpy(a)
    t.add_(1)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]
    t[0] = 10
    t[:, 1].mul_(2)
    t.T[2, 1] = -1
    assert a.tolist() == [[10, 20, 10], [4, 10, -1]] == t.tolist()
    before = t * 1
    t[1] += t[0]
    assert a.tolist() == [[10, 20, 10], [14, 30, 9]] and before.tolist() == [[10, 20, 10], [4, 10, -1]]
    t.zero_()
    assert not a.any()
    with pytest.raises(IndexError):
        t.add_(weft.arange(3)[weft.tensor([0, 1, 7])])
    assert not a.any()


def test_parameters_in_an_array_are_trained_there():
    values = np.ones((3, 2), "f")
    layer = weft.nn.Linear(2, 3)
    layer.weight = weft.nn.Parameter(weft.from_numpy(values))
    optimizer = weft.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        layer(weft.ones(4, 2)).sum().backward()
        optimizer.step()
    assert layer.weight.tolist() == [[-3, -3]] * 3
    assert values.tolist() == [[-3, -3]] * 3


def test_a_captured_function_reads_and_writes_an_array():
    a, state = np.ones(3, "f"), np.zeros(3, "f")
    total = weft.from_numpy(state)

    @weft.jit
    def add(x):
        total.add_(x * 2)
        return x + 1

    for i in range(3):
        a[:] = i
        assert add(weft.from_numpy(a)).tolist() == [i + 1] * 3
    assert state.tolist() == [6, 6, 6] == total.tolist()


def test_what_is_copied():
    def copied(use, writable=True):
        a = np.ones(1 << 16, "f")
        a.setflags(write=writable)
        t = weft.from_numpy(a)
        before = weft.counters()["buffers_allocated"]
        results = use(t)
        return weft.counters()["buffers_allocated"] - before, results

    assert copied(lambda t: [t * 2, t + 1, t.sum()])[0] == 1  # one copy for all ops between two runs
    assert copied(lambda t: [t[:64] * 2])[0] == 1
    assert copied(lambda t: [t * 2, t + 1, t[:64] * 2], writable=False)[0] == 0
    assert copied(lambda t: [t.numpy(), t[:64].numpy(), t.reshape(256, 256).T])[0] == 0


def test_a_training_step_fed_by_an_array_is_one_run():
    layer = weft.nn.Linear(8, 4)
    optimizer = weft.optim.Adam(layer.parameters())
    batch = np.ones((16, 8), "f")
    for _ in range(3):
        before = weft.counters()
        optimizer.zero_grad()
        loss = layer(weft.from_numpy(batch)).square().mean()
        loss.backward()
        optimizer.step()
        after = weft.counters()
        batch += 1
        loss.item()
    assert after["runs"] - before["runs"] == 1 and after["plans_made"] == before["plans_made"]


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


def test_numpy_shares_memory_that_both_may_write():
    t = weft.arange(6.0).reshape(2, 3)
    a, b, row = t.numpy(), t.numpy(), t[1]
    assert a.flags.writeable and np.shares_memory(a, b)
    a[1] = [7, 8, 9]
    assert t.tolist() == [[0, 1, 2], [7, 8, 9]] and row.tolist() == [7, 8, 9] and b[1, 0] == 7
    assert (t * 2)[1].tolist() == [14, 16, 18] and row.sum().item() == 24
    t += 1
    row.mul_(2)
    assert a.tolist() == [[1, 2, 3], [16, 18, 20]] and t.T[0].tolist() == [1, 16]
    del t, b, row
    gc.collect()
    assert a.sum() == 60
    assert np.shares_memory(a, weft.from_numpy(a).T.numpy())


def test_what_was_recorded_does_not_see_what_is_written_to_the_array():
    t = weft.arange(4.0).realize()
    before = t * 2
    a = t.numpy()
    after = t * 3
    a[:] = 1
    assert before.tolist() == [0, 2, 4, 6] and after.tolist() == [0, 3, 6, 9] and (t * 4).tolist() == [4] * 4
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    b = w.detach().numpy()
    b += 10
    loss.backward()
    assert w.tolist() == [11, 12] and w.grad.tolist() == [2, 4] and b.tolist() == [11, 12]
    out = w * 3
    c = out.detach().numpy()
    c[0] = 0
    assert out.tolist() == [0, 36] and (out * 2).tolist() == [0, 72]
    (g,) = weft.autograd.grad((out * 2).sum(), w)
    assert g.tolist() == [6, 6]
    with weft.no_grad():
        out.detach().mul_(2)
    assert c.tolist() == [0, 72]


def test_an_optimiser_trains_what_numpy_looks_at():
    model = weft.nn.Linear(3, 2)
    weights = model.weight.detach().numpy()
    step = weft.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        step.zero_grad()
        before = weights.copy()
        model(weft.ones(1, 3)).sum().backward()
        step.step()
        np.testing.assert_allclose(weights, before - 0.5, rtol=1e-5)
    weights[:] = 0
    assert model(weft.ones(1, 3)).tolist() == [model.bias.tolist()]


def test_numpy_is_read_only_where_elements_share_a_place():
    wide = weft.arange(3.0).expand(2, 3).numpy()
    assert not wide.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        wide[0, 0] = 1
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    assert not weft.from_numpy(fixed).numpy().flags.writeable and not weft.from_numpy(fixed)[1:].numpy().flags.writeable
    t = weft.zeros(3)
    struct.pack_into("f", t, 4, 2.5)
    assert t.tolist() == [0, 2.5, 0]
    with pytest.raises((BufferError, TypeError)):
        struct.pack_into("f", t.expand(2, 3), 4, 2.5)
    reversed_ = t.flip(0).numpy()
    reversed_[0] = 1
    assert reversed_.tolist() == [1, 2.5, 0]


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


def test_from_dlpack_copies_where_it_is_asked_to():
    a = np.arange(3.0)
    shared, copied = weft.from_dlpack(a, copy=False), weft.from_dlpack(a, copy=True)
    there, back = weft.from_dlpack(a, device="guarded"), weft.from_dlpack(a, device="cpu", copy=False)
    a[0] = 7
    assert shared.tolist() == [7, 1, 2] == back.tolist() and copied.tolist() == [0, 1, 2] == there.tolist()
    assert there.device == weft.device("guarded:0") and weft.from_dlpack(a, device="guarded", copy=True).device == there.device
    copied[1] = 5.0
    assert a.tolist() == [7, 1, 2]
    with weft.device("guarded"):
        assert weft.from_dlpack(a).device == weft.device("cpu")  # where the memory is
    with pytest.raises(BufferError, match="on cpu, not on guarded:0.*copy=False"):
        weft.from_dlpack(a, device="guarded", copy=False)

    class Old:  # before version 1.0 of DLPack: no max_version, no copy
        def __dlpack__(self):
            return a.__dlpack__()

    assert np.shares_memory(weft.from_dlpack(Old(), copy=False).numpy(), a)

    class Copies:  # says so in the capsule, whatever was asked for
        def __dlpack__(self, max_version=None, copy=None):
            return a.__dlpack__(max_version=(1, 0), copy=True)

    assert weft.from_dlpack(Copies(), copy=True).tolist() == [7, 1, 2]
    with pytest.raises(BufferError, match="shares no memory.*copy=False"):
        weft.from_dlpack(Copies(), copy=False)


def test_numpys_words():
    t = weft.arange(6.0).reshape(2, 3)
    assert t.sum(axis=0).tolist() == [3, 5, 7] and weft.softmax(t, axis=1).sum(axis=1, keepdims=True).shape == (2, 1)
    assert np.mean(t, axis=1).tolist() == [1, 4]
    with pytest.raises(TypeError, match="'dim' was given twice"):
        t.sum(0, axis=1)
