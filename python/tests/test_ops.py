"""Every op by name, as a function and as a method, against NumPy."""

import inspect
import math

import numpy as np
import pytest

import weft
import weft.nn.functional as F

RNG = np.random.default_rng(1)
X = RNG.uniform(0.2, 0.9, (3, 4)).astype("f")
Y = RNG.uniform(0.2, 0.9, (3, 4)).astype("f")


def close(tensor, array, rtol=2e-5, atol=1e-6):
    array = np.asarray(array)
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_allclose(tensor.detach().numpy(), array, rtol=rtol, atol=atol)


UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "trunc": np.trunc, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "reciprocal": np.reciprocal,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "erf": np.vectorize(math.erf), "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "relu": lambda a: np.maximum(a, 0), "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "logical_not": np.logical_not,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    a = X - 0.5 if name not in ("sqrt", "rsqrt", "log", "log2", "log10") else X
    close(getattr(weft, name)(weft.tensor(a)), UNARY[name](a))
    close(getattr(weft, name)(input=weft.tensor(a)), UNARY[name](a))
    close(getattr(weft.tensor(a), name)(), UNARY[name](a))


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floor_divide": np.floor_divide,
    "remainder": np.remainder, "fmod": np.fmod, "maximum": np.maximum, "minimum": np.minimum, "pow": np.power, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    close(getattr(weft, name)(weft.tensor(X), weft.tensor(Y)), BINARY[name](X, Y))
    close(getattr(weft.tensor(X), name)(weft.tensor(Y)), BINARY[name](X, Y))
    close(getattr(weft, name)(weft.tensor(X), 0.5), BINARY[name](X, np.float32(0.5)))


def test_binary_options():
    x = weft.tensor([1.0, 2.0])
    assert weft.add(x, x, alpha=2).tolist() == [3, 6] and x.sub(1, alpha=0.5).tolist() == [0.5, 1.5]
    n = weft.tensor([1, 2])
    for name in ("add", "sub", "add_", "sub_"):
        with pytest.raises(TypeError, match="alpha must be an integer, as the result is"):
            getattr(n.clone(), name)(n, alpha=0.5)
    with pytest.raises(TypeError, match="alpha must be an integer"):
        weft.add(n, n, alpha=1.0)
    assert n.clone().add_(n, alpha=2).tolist() == [3, 6] and x.clone().sub_(n, alpha=0.5).tolist() == [0.5, 1]
    flags = weft.tensor([True, False])
    assert flags.masked_fill(~flags, 1).tolist() == [True, True]
    assert flags.clone().masked_fill_(flags, 0.0).tolist() == [False, False]
    assert weft.div(weft.tensor([-7, 7]), 2, rounding_mode="trunc").tolist() == [-3, 3]
    assert weft.div(weft.tensor([-7, 7]), 2, rounding_mode="floor").tolist() == [-4, 3]
    assert x.clamp(1.5).tolist() == [1.5, 2] and weft.clamp(x, max=1.5).tolist() == [1, 1.5]
    assert weft.clamp(x, 1.2, max=1.5).tolist() == pytest.approx([1.2, 1.5])
    assert weft.where(x > 1, x, 0.0).tolist() == [0, 2] and x.where(x > 1, -1).tolist() == [-1, 2]
    assert x.masked_fill(x > 1, 9).tolist() == [1, 9]
    assert weft.bitwise_and(weft.tensor([6]), 3).tolist() == [2] and weft.tensor([1]).bitwise_left_shift(3).tolist() == [8]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "any", "all", "var", "std"])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(name, dim, keepdim):
    numpy_name = {"amax": "max", "amin": "min"}.get(name, name)
    more = {"ddof": 1} if name in ("var", "std") else {}
    want = getattr(np, numpy_name)(X, axis=dim, keepdims=keepdim, **more)
    close(getattr(weft, name)(weft.tensor(X), dim=dim, keepdim=keepdim), want)
    close(getattr(weft.tensor(X), name)(dim, keepdim=keepdim), want)


def test_more_reductions():
    x = weft.tensor(X)
    close(x.var(unbiased=False), X.var())
    close(x.std(0, correction=0), X.std(0))
    close(x.norm(), np.linalg.norm(X))
    close(x.norm(1, dim=1), np.abs(X).sum(1))
    close(x.norm(p=float("inf"), dim=0), X.max(0))
    close(weft.logsumexp(x, dim=1), np.log(np.exp(X).sum(1)))
    close(x.cumsum(1), X.cumsum(1))
    close(weft.cumprod(x, dim=0), X.cumprod(0))
    assert x.argmax().item() == X.argmax() and x.argmin(1).tolist() == X.argmin(1).tolist()
    values, indices = x.max(dim=1)
    close(values, X.max(1))
    assert indices.tolist() == X.argmax(1).tolist() and x.min(0, keepdim=True).values.shape == (1, 4)
    close(weft.max(x, weft.tensor(Y)), np.maximum(X, Y))
    assert x.sum(dtype=weft.float64).dtype is weft.float64 and weft.tensor([True, True]).sum().item() == 2


def test_movement():
    x = weft.tensor(X)
    close(x.reshape(4, 3), X.reshape(4, 3))
    close(x.view(-1), X.reshape(-1))
    close(weft.reshape(x, (2, 6)), X.reshape(2, 6))
    close(x.permute(1, 0), X.T)
    close(weft.permute(x, (1, 0)), X.T)
    close(x.transpose(0, 1), X.T)
    close(x.t(), X.T)
    close(x.unsqueeze(1).expand(3, 2, 4), np.broadcast_to(X[:, None], (3, 2, 4)))
    close(x.unsqueeze(0).squeeze(), X)
    close(x.reshape(1, 3, 1, 4).squeeze((0, 2)), X)
    close(x.flatten(), X.ravel())
    close(x.flip(0), X[::-1])
    close(weft.flip(x, (0, 1)), X[::-1, ::-1])
    close(x.narrow(1, 1, 2), X[:, 1:3])
    close(x.select(1, -1), X[:, -1])
    close(weft.cat([x, x], dim=1), np.concatenate([X, X], 1))
    close(weft.stack((x, x), -1), np.stack([X, X], -1))
    for piece, want in zip(x.split(3, dim=1), [X[:, :3], X[:, 3:]]):
        close(piece, want)
    assert [p.shape[1] for p in x.split([1, 3], 1)] == [1, 3] and [len(p) for p in x.chunk(2)] == [2, 1]
    assert len(x.unbind(1)) == 4
    close(x.repeat(2, 1), np.tile(X, (2, 1)))
    close(x.tile((2, 2)), np.tile(X, (2, 2)))
    close(x.repeat_interleave(2, dim=0), X.repeat(2, 0))
    close(x.roll(1, 0), np.roll(X, 1, 0))
    close(weft.roll(x, 3), np.roll(X, 3))
    close(x.movedim(0, 1), X.T)
    close(x.tril(), np.tril(X))
    close(weft.triu(x, diagonal=1), np.triu(X, 1))


def test_products():
    a, b = weft.tensor(X), weft.tensor(Y)
    close(a.matmul(b.T), X @ Y.T)
    close(weft.mm(a, b.T), X @ Y.T)
    close(weft.outer(a[0], b[0]), np.outer(X[0], Y[0]))
    close(weft.dot(a[0], b[0]), X[0] @ Y[0])


def test_indices_that_are_data():
    x, index = weft.tensor(X), weft.tensor([2, 0])
    close(x.index_select(1, index), X[:, [2, 0]])
    close(x.gather(1, weft.tensor([[0], [1], [3]])), X[[0, 1, 2], [0, 1, 3]][:, None])
    close(weft.take_along_dim(x, weft.tensor([[-1], [0], [0]]), dim=1), X[[0, 1, 2], [-1, 0, 0]][:, None])
    assert weft.zeros(4).scatter(0, index, weft.tensor([1.0, 2.0])).tolist() == [2, 0, 1, 0]
    assert weft.zeros(4).scatter_add_(0, weft.tensor([1, 1]), weft.ones(2)).tolist() == [0, 2, 0, 0]
    assert weft.zeros(3).index_add(0, weft.tensor([1, 1]), weft.ones(2)).tolist() == [0, 2, 0]
    assert weft.tensor([0, 3, 0, 5]).nonzero().tolist() == [[1], [3]]
    assert [t.tolist() for t in weft.nonzero(weft.eye(2), as_tuple=True)] == [[0, 1], [0, 1]]
    assert weft.arange(4).masked_select(weft.tensor([True, False, True, False])).tolist() == [0, 2]
    assert F.one_hot(weft.tensor([1, 0])).tolist() == [[0, 1], [1, 0]]


def softmax(a, axis):
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_functional():
    x = weft.tensor(X - 0.5)
    a = X - 0.5
    close(F.relu(x), np.maximum(a, 0))
    close(F.leaky_relu(x, negative_slope=0.2), np.where(a > 0, a, 0.2 * a))
    close(F.elu(x), np.where(a > 0, a, np.expm1(a)))
    close(F.silu(x), a / (1 + np.exp(-a)))
    close(F.softplus(x), np.log1p(np.exp(a)))
    close(F.gelu(x), a * 0.5 * (1 + np.vectorize(math.erf)(a / math.sqrt(2))))
    close(F.hardtanh(x, -0.1, 0.1), a.clip(-0.1, 0.1))
    close(F.logsigmoid(x), -np.log1p(np.exp(-a)))
    close(F.softmax(x, dim=1), softmax(a, 1))
    close(x.log_softmax(-1), np.log(softmax(a, -1)), rtol=1e-4)
    close(F.linear(x, weft.tensor(Y), weft.ones(3)), a @ Y.T + 1)
    mean, var = a.mean(1, keepdims=True), a.var(1, keepdims=True)
    close(F.layer_norm(x, (4,)), (a - mean) / np.sqrt(var + 1e-5), rtol=1e-4)
    close(F.rms_norm(x, (4,), eps=1e-5), a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5), rtol=1e-4)
    close(F.pad(x, (1, 1), value=2.0), np.pad(a, ((0, 0), (1, 1)), constant_values=2))
    close(F.embedding(weft.tensor([2, 0]), x), a[[2, 0]])
    assert F.dropout(x, 0.5, training=False).tolist() == x.tolist()
    image = weft.arange(16.0).reshape(1, 1, 4, 4)
    assert F.max_pool2d(image, 2).tolist() == [[[[5, 7], [13, 15]]]]
    assert F.avg_pool2d(image, 2, stride=2).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert F.conv2d(image, weft.ones(1, 1, 2, 2), stride=2).tolist() == [[[[10, 18], [42, 50]]]]
    assert F.conv2d(image[0], weft.ones(1, 1, 2, 2), weft.ones(1), padding=1).shape == (1, 5, 5)
    assert F.conv1d(weft.ones(1, 1, 4), weft.ones(1, 1, 2)).tolist() == [[[2, 2, 2]]]


def test_losses():
    labels = weft.tensor([1, 3, -100])
    logs = np.log(softmax(X, 1))
    close(F.cross_entropy(weft.tensor(X), labels), -(logs[0, 1] + logs[1, 3]) / 2)
    close(F.cross_entropy(weft.tensor(X), weft.tensor([1, 3, 0]), reduction="sum"), -(logs[0, 1] + logs[1, 3] + logs[2, 0]))
    close(F.nll_loss(weft.tensor(logs), labels, reduction="none"), [-logs[0, 1], -logs[1, 3], 0])
    close(F.mse_loss(weft.tensor(X), weft.tensor(Y)), ((X - Y) ** 2).mean())
    close(F.l1_loss(weft.tensor(X), weft.tensor(Y), reduction="sum"), np.abs(X - Y).sum())
    target = (Y > 0.5).astype("f")
    want = -(target * np.log(X) + (1 - target) * np.log(1 - X)).mean()
    close(F.binary_cross_entropy(weft.tensor(X), weft.tensor(target)), want)
    close(F.binary_cross_entropy_with_logits(weft.tensor(np.log(X / (1 - X))), weft.tensor(target)), want)


def test_signatures_can_be_inspected():
    assert str(inspect.signature(weft.sum)) == "(input, dim=None, keepdim=False, *, dtype=None, out=None)"
    assert str(inspect.signature(weft.Tensor.sum)) == "(self, /, dim=None, keepdim=False, *, dtype=None)"
    assert "sum over axes" in weft.sum.__doc__
    for name in dir(weft._weft):
        each = getattr(weft._weft, name)
        if callable(each) and not isinstance(each, type):
            assert each.__doc__ and inspect.signature(each), name


def test_a_truncated_quotient_is_that_of_the_rounded_division():
    a = np.array([2.000786, -4.8863893, 7.0, -7.0], "f4")
    for b in (np.float32(0.1), np.float32(0.3), np.float32(2)):
        got = weft.div(weft.from_numpy(a), float(b), rounding_mode="trunc").numpy()
        assert np.array_equal(got, np.trunc(a / b))
    assert weft.div(weft.tensor([7, -7]), 2, rounding_mode="trunc").tolist() == [3, -3]


def test_a_long_running_sum_stays_accurate():
    x = weft.full((1_000_000,), 0.1)
    exact = np.cumsum(np.full(1_000_000, np.float32(0.1), "f8"))
    assert np.allclose(x.cumsum(0).numpy(), exact, rtol=1.3e-6)
