"""Tensors: making them, their facts and values, operators, printing, copying."""

import copy
import operator
import pickle

import numpy as np
import pytest

import weft

DTYPES = [
    weft.bool, weft.uint8, weft.uint16, weft.uint32, weft.uint64, weft.int8, weft.int16, weft.int32, weft.int64,
    weft.float16, weft.bfloat16, weft.float32, weft.float64,
]  # fmt: skip


def test_tensor_from_numbers():
    assert weft.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert weft.tensor([[1, 2], [3, 4]]).dtype is weft.int64
    assert weft.tensor([1, 2.5]).dtype is weft.float32
    assert weft.tensor([True, False]).tolist() == [True, False]
    assert weft.tensor(3).shape == () and weft.tensor(3).item() == 3
    assert weft.tensor([]).shape == (0,) and weft.tensor([]).dtype is weft.float32
    assert weft.tensor((1, 2), dtype=weft.float64).dtype is weft.float64
    assert weft.tensor([1.0, 2.0], dtype=float).dtype is weft.float64
    assert weft.tensor([weft.tensor(1.0), 2.0]).tolist() == [1, 2]
    assert weft.tensor([np.float32(1.5), np.int64(2)]).tolist() == [1.5, 2]
    assert weft.tensor([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert weft.tensor(2**63, dtype=weft.uint64).item() == 2**63


def test_tensor_is_a_copy():
    x = weft.ones(2)
    y = weft.tensor(x)
    y += 1
    assert x.tolist() == [1, 1] and y.tolist() == [2, 2]


def test_factories():
    assert weft.zeros(2, 3).shape == (2, 3) and weft.zeros((2, 3)).shape == (2, 3) and weft.zeros([2]).shape == (2,)
    assert weft.zeros(size=(2, 3)).shape == (2, 3)
    assert weft.ones(2, dtype=weft.int32).tolist() == [1, 1]
    assert weft.full((2,), 7).tolist() == [7, 7] and weft.full((2,), 7).dtype is weft.int64
    assert weft.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert weft.arange(1, 2, 0.5).tolist() == [1, 1.5]
    assert weft.arange(end=3).tolist() == [0, 1, 2] and weft.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert weft.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert weft.linspace(start=0, end=1, steps=2).tolist() == [0, 1]
    assert weft.eye(2).tolist() == [[1, 0], [0, 1]] and weft.eye(1, 2).tolist() == [[1, 0]]
    x = weft.ones(2, dtype=weft.float16)
    assert weft.zeros_like(x).dtype is weft.float16 and weft.ones_like(x, dtype=weft.int8).dtype is weft.int8
    assert weft.full_like(x, 3).tolist() == [3, 3] and x.new_zeros(3).dtype is weft.float16
    assert weft.zeros(2, requires_grad=True).requires_grad and weft.zeros(1, device="cpu").device == weft.device("cpu")
    assert weft.Tensor(2, 3).shape == (2, 3) and weft.Tensor([1, 2]).dtype is weft.float32


def test_random_numbers_follow_the_seed():
    weft.manual_seed(7)
    a, b = weft.rand(100), weft.randn(2, 2)
    weft.manual_seed(7)
    assert (weft.rand(100) == a).all() and (weft.randn((2, 2)) == b).all()
    assert 0 <= a.min().item() and a.max().item() < 1
    digits = weft.randint(10, (50,))
    assert digits.dtype is weft.int64 and 0 <= digits.min() and digits.max() < 10
    assert weft.randint(5, 6, (3,)).tolist() == [5, 5, 5] and weft.randint(1, size=(2,)).tolist() == [0, 0]
    assert weft.rand_like(weft.zeros(3, dtype=weft.float64)).dtype is weft.float64
    state = weft.get_rng_state()
    c = weft.rand(3)
    weft.set_rng_state(state)
    assert (weft.rand(3) == c).all()


def test_facts():
    x = weft.zeros(2, 3)
    assert x.shape == (2, 3) == x.size() and x.size(-1) == 3 and repr(x.shape) == "weft.Size([2, 3])"
    assert x.ndim == x.dim() == 2 and x.numel() == 6 and len(x) == 2 and x.nbytes == 24 and x.shape[1:].numel() == 3
    assert x.T.shape == (3, 2) and x.mT.shape == (3, 2) and x.is_floating_point() and not x.is_cuda
    assert weft.is_tensor(x) and str(x.device) == "cpu" and isinstance(hash(x), int)
    assert {x: 1}[x] == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_dtypes(dtype):
    x = weft.ones(3, dtype=dtype)
    assert x.dtype is dtype and x.tolist() == [1, 1, 1] and x.element_size() == dtype.itemsize
    assert x.to(weft.float64).tolist() == [1, 1, 1] and x.float().to(dtype).dtype is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype is dtype and again.tolist() == x.tolist()
    assert f"{dtype!r}".startswith("weft.")


def test_casts_by_name():
    x = weft.tensor([1.7])
    assert [x.half().dtype, x.double().dtype, x.int().dtype, x.long().dtype, x.short().dtype, x.bool().dtype] == [
        weft.float16, weft.float64, weft.int32, weft.int64, weft.int16, weft.bool]  # fmt: skip
    assert x.int().item() == 1 and x.to(weft.zeros(1, dtype=weft.int8)).dtype is weft.int8
    assert x.to("cpu", weft.float64).dtype is weft.float64 and x.to(dtype=weft.half).dtype is weft.float16
    assert weft.promote_types(weft.int32, weft.float16) is weft.float16


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]  # fmt: skip


@pytest.mark.parametrize("op", BINARY)
def test_operators_and_reflected_forms(op):
    a, b = np.array([1.0, 2.0, 4.0], np.float32), np.array([4.0, 2.0, 0.5], np.float32)
    x, y = weft.tensor(a), weft.tensor(b)
    np.testing.assert_allclose(op(x, y).numpy(), op(a, b), rtol=1e-6)
    np.testing.assert_allclose(op(x, 2.0).numpy(), op(a, np.float32(2)), rtol=1e-6)
    np.testing.assert_allclose(op(2, x).numpy(), op(np.float32(2), a), rtol=1e-6)
    assert isinstance(op(a, y), weft.Tensor) and isinstance(op(x, b), weft.Tensor)
    assert op(x, 2).dtype in (weft.float32, weft.bool)


def test_bit_and_matrix_operators():
    x, y = weft.tensor([12, 10]), weft.tensor([10, 3])
    assert [(x & y).tolist(), (x | y).tolist(), (x ^ 1).tolist()] == [[8, 2], [14, 11], [13, 11]]
    assert [(x << 1).tolist(), (x >> 1).tolist(), (1 << y).tolist()] == [[24, 20], [6, 5], [1024, 8]]
    assert (~x).tolist() == [-13, -11] and (-x).tolist() == [-12, -10] and (+x).tolist() == [12, 10]
    assert abs(-x).tolist() == [12, 10] and (~weft.tensor([True])).tolist() == [False]
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f"), np.ones((4, 5), "f")
    np.testing.assert_allclose((weft.tensor(a) @ weft.tensor(b)).numpy(), a @ b, rtol=1e-5)


def test_in_place_forms_keep_the_object():
    x = alias = weft.ones(3)
    view = x[1:]
    x += 1
    x *= weft.tensor([1.0, 2.0, 3.0])
    x -= 1
    x /= 2
    assert x is alias and x.tolist() == [0.5, 1.5, 2.5] and view.tolist() == [1.5, 2.5]
    x **= 2
    x //= 1
    assert x is alias and x.tolist() == [0, 2, 6]
    n = weft.tensor([5, 6])
    n %= 4
    n |= 8
    n <<= 1
    assert n.tolist() == [18, 20]
    assert x.add_(1).mul_(2).clamp_(max=5).fill_(3).zero_() is x
    assert x.copy_(weft.tensor([1, 2, 3])).tolist() == [1, 2, 3] and x.exp_() is x
    with pytest.raises(weft.DTypeError, match="in-place|add_"):
        n += 0.5


def test_values():
    assert weft.tensor(2.5).item() == 2.5 and type(weft.tensor(2).item()) is int and weft.tensor(True).item() is True
    assert bool(weft.tensor([[1]])) and not weft.tensor(0.0)
    assert float(weft.tensor(1)) == 1.0 and int(weft.tensor(2.9)) == 2 and [10, 20][weft.tensor(1)] == 20
    assert 2 in weft.tensor([1, 2]) and 3 not in weft.tensor([1, 2])
    assert [int(i) for i in weft.arange(3)] == [0, 1, 2] and f"{weft.tensor(1.234):.1f}" == "1.2"
    assert (weft.ones(2) == None) is False  # noqa: E711


def test_repr():
    assert repr(weft.tensor([[1.0, 2.0], [3.0, 4.5]])) == "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"
    assert repr(weft.tensor([1, 2])) == "tensor([1, 2])" and repr(weft.tensor(1.0)) == "tensor(1.)"
    assert repr(weft.zeros(1, dtype=weft.float16)) == "tensor([0.], dtype=weft.float16)"
    assert repr(weft.ones(1, requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert "..." in repr(weft.zeros(2000)) and len(repr(weft.zeros(500, 500))) < 1000


def test_copies():
    x = weft.ones(2, 2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad and y.tolist() == x.tolist() and y.grad.tolist() == [[3, 3], [3, 3]]
    with weft.no_grad():
        y += 1
    assert x.tolist() == [[1, 1], [1, 1]]
    z = pickle.loads(pickle.dumps(x))
    assert z.requires_grad and z.tolist() == x.tolist()
    both = copy.deepcopy([x, x])
    assert both[0] is both[1]
    assert pickle.loads(pickle.dumps(weft.zeros(0, 3))).shape == (0, 3)
    assert x.clone().tolist() == x.tolist() and copy.copy(x).tolist() == x.tolist()


def test_explain_and_counters():
    before = weft.counters()["kernels_launched"]
    y = weft.rand(100).softmax(0)
    plan = weft.explain(y)
    assert len(plan.kernels) == 1 and "kernel" in repr(plan) and plan.kernels[0].compute
    y.realize()
    assert weft.counters()["kernels_launched"] > before
    weft.set_num_threads(2)
    assert weft.get_num_threads() == 2


def test_view_always_shares_values():
    v = (weft.arange(6.0).reshape(2, 3).t() + 1).t()
    flat = v.view(-1)
    v.add_(10)
    flat[0] = 0
    assert flat.tolist() == [0, 12, 13, 14, 15, 16] and v.tolist() == [[0, 12, 13], [14, 15, 16]]
    with pytest.raises(weft.ShapeError, match=r"^view\("):
        v.view(4, 2)
