"""x[…] and x[…] = v, against NumPy (and PyTorch where the two differ: an int beside index tensors is a plain axis)."""

import numpy as np
import pytest

import weft

A = np.arange(60.0, dtype="f").reshape(3, 4, 5)
MASK = (np.arange(12).reshape(3, 4) % 3) == 0

INDICES = {
    "int": 1, "negative": -1, "ints": (1, 2), "all ints": (1, 2, 3), "slice": slice(1, 3), "step": (slice(None), slice(0, 4, 2)),
    "reverse": (slice(None, None, -1),), "reverse step": (0, slice(3, 0, -2)), "none": (None, 0, None), "ellipsis": (..., 0),
    "middle": (0, ..., slice(1, 2)), "only": (...,), "list": [2, 0], "list axis": (slice(None), [1, -1]), "pair": ([0, 2], [1, 3]),
    "broadcast": ([[0], [2]], [1, 3]), "slices between": ([0, 2], slice(None), [1, 3]), "front": (slice(None), [0, 1], [1, 3]),
    "array": np.array([0, 2]), "2-d": np.array([[0, 1], [2, 0]]), "mask": A[:, :, 0] > 20, "full mask": A > 30,
    "mask axis": (slice(None), np.array([True, False, True, False])), "bools": [True, False, True], "empty": slice(2, 2),
    "no rows": (np.zeros(3, bool),), "step and list": (slice(None, None, 2), [0, 1]), "mask and slice": (MASK, slice(1, 3)),
}  # fmt: skip


def as_weft(index):
    if isinstance(index, tuple):
        return tuple(as_weft(each) for each in index)
    return weft.tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("name", INDICES)
def test_reading(name):
    index = INDICES[name]
    for given in (index, as_weft(index)):
        got = weft.tensor(A)[given].numpy()
        assert got.shape == A[index].shape
        np.testing.assert_array_equal(got, A[index])


@pytest.mark.parametrize("name", INDICES)
def test_writing(name):
    index = INDICES[name]
    part = A[index]
    for value in (-1, np.arange(part.size, dtype="f").reshape(part.shape) - 100):
        x, a = weft.tensor(A), A.copy()
        x[as_weft(index)] = weft.tensor(value) if isinstance(value, np.ndarray) else value
        a[index] = value
        np.testing.assert_array_equal(x.numpy(), a)


def test_writing_broadcasts_and_converts():
    x = weft.zeros(2, 3)
    x[[0, 1], 1:] = weft.tensor([1, 2])
    assert x.tolist() == [[0, 1, 2], [0, 1, 2]]
    x[x == 2] = weft.tensor(7)
    assert x.tolist() == [[0, 1, 7], [0, 1, 7]]
    x[0] += 1
    x[:, 0] *= 3
    assert x.tolist() == [[3, 2, 8], [0, 1, 7]]


def test_an_index_tensor_may_be_0d():
    x = weft.tensor(A)
    np.testing.assert_array_equal(x[weft.tensor(1)].numpy(), A[1])
    np.testing.assert_array_equal(x[np.int64(1)].numpy(), A[1])


def test_gradients_pass_through():
    x = weft.ones(4, requires_grad=True)
    (x[[0, 0, 2]].sum() + 2 * x[1:3].sum() + x[x > 0].sum()).backward()
    assert x.grad.tolist() == [3, 3, 4, 1]
    y = weft.zeros(3)
    w = weft.ones(2, requires_grad=True)
    y[[0, 2]] = w * 2
    y.sum().backward()
    assert w.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (3, IndexError, "out of range"),
        ((0, 0, 0, 0), IndexError, "index"),
        (1.5, TypeError, "an index must be an int"),
        ("a", TypeError, "not str"),
        ([1.5], IndexError, "integers or bools, not f32"),
        (True, TypeError, "True and False"),
        ([True, False], IndexError, "mask of the shape"),
        (slice(0, 1, 0), ValueError, "step"),
        (slice("a", 1), TypeError, "start"),
    ],
)
def test_bad_indices(index, error, message):
    with pytest.raises(error, match=message):
        weft.tensor(A)[index]
    with pytest.raises(error, match=message):
        weft.tensor(A)[index] = 0


def test_an_index_out_of_range_raises_when_it_runs():
    y = weft.tensor(A)[[0, 5]]
    with pytest.raises(IndexError):
        y.realize()
    x = weft.zeros(3)
    x[[0, 5]] = 1
    with pytest.raises(IndexError):
        x.realize()


def test_an_index_of_uint8_is_a_mask():
    x = weft.arange(12.0).reshape(3, 4)
    mask = weft.tensor([1, 0, 2], dtype=weft.uint8)
    with pytest.warns(UserWarning, match="uint8"):
        assert x[mask].tolist() == x[weft.tensor([True, False, True])].tolist()
    with pytest.warns(UserWarning, match="uint8"):
        assert x[np.array([1, 0, 1], np.uint8)].shape == (2, 4)
        assert x[:, weft.tensor([1, 0, 0, 1], dtype=weft.uint8)].tolist() == x[:, [0, 3]].tolist()
        assert x[(x > 5).to(weft.uint8)].tolist() == [6, 7, 8, 9, 10, 11]
        assert x[weft.tensor(1, dtype=weft.uint8)].shape == (1, 3, 4) and x[weft.tensor(0, dtype=weft.uint8)].shape == (0, 3, 4)
        y = x.clone()
        y[mask] = weft.zeros(2, 4)
        assert y.tolist() == [[0] * 4, [4, 5, 6, 7], [0] * 4]
        y[mask] = 1.0
        assert y[:, 0].tolist() == [1, 4, 1]
        assert weft.index_put(x, (mask,), weft.tensor(7.0))[:, 0].tolist() == [7, 4, 7]
        with pytest.raises(IndexError, match="mask"):
            x[weft.tensor([1, 0], dtype=weft.uint8)]
    for positions in ([1, 0, 1], bytearray([1, 0, 1]), weft.tensor([1, 0, 1], dtype=weft.int32), np.array([1, 0, 1])):
        assert x[positions][:, 0].tolist() == [4, 0, 4]


def test_windows_of_rows():  # the index is a sum, with a check, in rows of a length past a vector
    table, starts = np.arange(500.0, dtype=np.float32), np.array([3, 0, 400, -90], dtype=np.int64)
    rows = weft.tensor(table)[weft.tensor(starts).reshape(-1, 1) + weft.arange(65)]
    expected = table[starts.reshape(-1, 1) + np.arange(65)]
    later, earlier = rows[:, 1:] * 2.0, rows[:, :-1] + 1.0
    weft.realize(later, earlier)
    assert np.array_equal(later.numpy(), expected[:, 1:] * 2) and np.array_equal(earlier.numpy(), expected[:, :-1] + 1)
    assert np.array_equal(rows.numpy(), expected)
    drawn = weft.tensor(table)[weft.randint(0, 435, (7, 1)) + weft.arange(65)]
    x, y = drawn[:, :-1], drawn[:, 1:]
    assert (y - x).min() == 1 and (y - x).max() == 1
