"""Activations: relu and its relatives, softmax, gates."""

import numpy as np
from scipy import special

from .registry import ALL, FLOATS, NUMBERS, D, Error, Sample, as_dtype, floats, integers, op, scan, to_numpy, unary

NO_TENSOR = Error(TypeError, "input", "text")


def activation(
    name, oracle, low=-3.0, high=3.0, *, forms="F", dtypes=FLOATS, more=(), inplace=True, unlike=None, result="same", **settings
):
    """A function of each element; with `inplace` it also writes its argument."""

    def samples():
        yield from unary(low, high, dtypes, unlike=unlike)
        yield from more
        if inplace:
            yield Sample(floats(7), inplace=False)

    settings.setdefault("errors", [NO_TENSOR])
    return op(name, forms, samples, lambda x, *a, inplace=False, **k: oracle(x, *a, **k), result=result, promotes=True, **settings)


def keeping_nan(x, y):
    return np.where(np.isnan(x), x, y)


def silu(x):
    return np.where(np.isneginf(x), np.nan, x * special.expit(x))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


activation("relu", lambda x: np.maximum(x, 0), forms="weft Tensor Tensor_", dtypes=NUMBERS, inplace=False, aliases="F.relu")
activation("sigmoid", special.expit, forms="weft Tensor Tensor_ F", dtypes=ALL, inplace=False, result="float")
activation("relu6", lambda x: np.clip(x, 0, 6), -2, 9)
activation(
    "leaky_relu",
    lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
    more=[Sample(floats(9), 0.2), Sample(floats(9), negative_slope=1.5)],
)
activation("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), more=[Sample(floats(9), 0.5), Sample(floats(9), alpha=2.0)])
activation(
    "celu",
    lambda x, alpha=1.0: np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0),
    more=[Sample(floats(9), 0.5)],
    errors=[Error(ValueError, "alpha", floats(3), 0.0)],
)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
activation("selu", lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)))


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


activation(
    "gelu",
    gelu,
    inplace=False,
    unlike="gives NaN at infinity in vectors",
    more=[Sample(floats(9), approximate="tanh"), Sample(floats(3, dtype="float64"), approximate="tanh")],
    errors=[Error(ValueError, "approximate", floats(3), approximate="some")],
)
activation("silu", silu)
activation("mish", lambda x: np.where(np.isneginf(x), np.nan, x * np.tanh(np.logaddexp(0, x))))
activation(
    "hardtanh",
    lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    more=[Sample(floats(9), -0.5, 2.0)],
    errors=[Error(ValueError, "low must not be above high", floats(3), 1.0, -1.0)],
)
activation(
    "hardswish", lambda x: np.where(np.isneginf(x), np.nan, x * np.clip(x + 3, 0, 6) / 6), -5, 5, unlike="overflows before it divides by 6"
)
activation("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, -5, 5)
activation(
    "hardshrink",
    lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    forms="F weft Tensor",
    inplace=False,
    more=[Sample(floats(9), 1.0)],
)
activation(
    "softshrink",
    lambda x, lambd=0.5: keeping_nan(x, np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0))),
    inplace=False,
    more=[Sample(floats(9), 1.0)],
    errors=[Error(ValueError, "lambda", floats(3), -1.0)],
)
activation("tanhshrink", lambda x: x - np.tanh(x), inplace=False)
activation("softsign", lambda x: x / (1 + np.abs(x)), inplace=False)
activation("softplus", softplus, inplace=False, more=[Sample(floats(9), 2.0), Sample(floats(9, high=9), 1.0, 3.0)])
activation("logsigmoid", lambda x: -np.logaddexp(0, -x), inplace=False)
op(
    "threshold",
    "F weft",
    lambda: unary(threshold=0.5, value=-7.0),
    lambda x, threshold, value: np.where(x <= threshold, value, x),
    result="same",
    errors=[Error(TypeError, "threshold", floats(3))],
)


def prelus():
    for dtype in FLOATS:
        yield Sample(floats(2, 3, 4, dtype=dtype), floats(3, dtype=dtype, seed=1))
        yield Sample(floats(9, dtype=dtype), floats(1, dtype=dtype, seed=1))
    yield Sample(floats(4, 3).T[:, ::-1], floats(4, seed=1))
    yield Sample(floats(), floats(1, seed=1))
    yield Sample(floats(0, 3), floats(3, seed=1))
    yield Sample(floats(2, 3, dtype="float64"), floats(3, dtype="float64", seed=1))


def prelu(x, weight):
    weight = weight.reshape((-1,) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(()) if x.ndim == 0 else weight
    return np.where(x > 0, x, weight * x)


op("prelu", "F weft Tensor", prelus, prelu, result="same", errors=[Error(RuntimeError, "weight", floats(2, 3), floats(4))])


def gates():
    for dtype in FLOATS:
        yield Sample(floats(3, 6, dtype=dtype))
    yield Sample(floats(4, 3), dim=0)
    yield Sample(floats(4, 3), 0)
    yield Sample(floats(4, 67, 2))
    yield Sample(floats(0, 4))
    yield Sample(floats(6, 5).T[::-1])
    yield Sample(np.array([np.inf, 1, np.nan, -np.inf], "float32"))
    yield Sample(floats(2, 4, dtype="float64"))


def glu(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * special.expit(b)


op(
    "glu",
    "F",
    gates,
    glu,
    result="same",
    errors=[Error(RuntimeError, "no halves", floats(3)), Error(IndexError, "out of range", floats(4), 3)],
)


# ---- softmax ---------------------------------------------------------------------------------------------------------


def rows():
    yield from scan(-4, 4, FLOATS)
    yield Sample(floats(3, 5) * 100, dim=1)
    yield Sample(as_dtype([[-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf]], "float32"), dim=1)
    yield Sample(floats(3, 5), dim=1, dtype=D("float64"))
    yield Sample(floats(3, 5, dtype="int64"), dim=1, dtype=D("float32"))


def log_softmax(x, dim, dtype=None):
    if x.ndim == 0:
        return np.where(np.isfinite(x), 0.0, np.nan)
    if x.shape[dim] == 0:
        return x
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


AXIS = [Error(IndexError, "axis 2 is out of range", floats(3), 2)]
op("softmax", "weft Tensor", rows, lambda x, dim, dtype=None: np.exp(log_softmax(x, dim)), result="same", errors=AXIS, aliases="F.softmax")
op("log_softmax", "weft Tensor", rows, log_softmax, result="same", errors=AXIS, aliases="F.log_softmax")
op("softmin", "F", rows, lambda x, dim, dtype=None: np.exp(log_softmax(-x, dim)), result="same", errors=AXIS)


# ---- forms without the argument `inplace` ----------------------------------------------------------------------------


def plain(name, forms, oracle, *more, **settings):
    """An activation as weft has it, and as F has it in place."""
    return op(
        name,
        forms,
        lambda: [*unary(-3, 3), *more],
        oracle,
        result="same",
        promotes=True,
        errors=[] if forms == "F_" else [NO_TENSOR],
        **settings,
    )


plain("relu", "F_", lambda x: np.maximum(x, 0))
plain("leaky_relu", "F_", lambda x, slope=0.01: np.where(x > 0, x, x * slope), Sample(floats(9), 0.2))
plain("elu", "F_", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), Sample(floats(9), 0.5))
plain("celu", "weft F_", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)), Sample(floats(9), 0.5))
plain("selu", "weft F_", lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)))
plain("hardtanh", "F_", lambda x, low=-1.0, high=1.0: np.clip(x, low, high), Sample(floats(9), -0.5, 2.0))
op(
    "threshold",
    "F_",
    lambda: unary(threshold=0.5, value=-7.0),
    lambda x, threshold, value: np.where(x <= threshold, value, x),
    result="same",
)


# ---- random ones -----------------------------------------------------------------------------------------------------

plain(
    "rrelu",
    "weft F F_",
    lambda x, lower=1 / 8, upper=1 / 3, training=False: np.where(x > 0, x, x * (lower + upper) / 2),
    Sample(floats(9), 0.5, 0.7),
)


def has_random_slopes(result, x, lower=1 / 8, upper=1 / 3, training=False):
    got = to_numpy(result).astype("float64")
    assert got.shape == x.shape and (got[x >= 0] == x[x >= 0]).all()
    slopes = got[x < 0] / x[x < 0].astype("float64")
    assert (slopes > lower - 1e-3).all() and (slopes < upper + 1e-3).all() and (slopes.size < 9 or slopes.std() > (upper - lower) / 8)


op(
    "rrelu",
    "weft F",
    lambda: (
        [Sample(floats(*s, low=-3), training=True) for s in ((), (0,), (1,), (7,), (67,), (3, 5), (2, 3, 5), (500,))]
        + [Sample(floats(300, low=-3, dtype=d), 0.2, 0.9, True) for d in ("float32", "float64", "float16")]
    ),
    check=has_random_slopes,
    gradient=False,
    torch=None,
    reason="random numbers",
    errors=[Error(ValueError, "lower", floats(3), 0.5, 0.1)],
)


def is_a_choice(result, logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    got = to_numpy(result).astype("float64")
    assert got.shape == logits.shape
    if got.size:
        np.testing.assert_allclose(got.sum(dim), 1, atol=5e-3)
        assert not hard or (np.isclose(got, 0, atol=1e-6) | np.isclose(got, 1, atol=1e-6)).all()


op(
    "gumbel_softmax",
    "F",
    lambda: (
        [Sample(floats(*s, dtype=d), hard=h) for h in (False, True) for d in ("float32", "float64", "float16") for s in ((7,), (3, 5))]
        + [Sample(floats(4, 5), tau=0.1), Sample(floats(4, 5), dim=0), Sample(floats(0, 5)), Sample(floats(5, 4).T)]
    ),
    check=is_a_choice,
    gradient=False,
    torch=None,
    reason="random numbers; its gradient is softmax's",
    errors=[Error(ValueError, "tau", floats(3), 0.0), Error(TypeError, "float", integers(3)), Error(IndexError, "axis", floats(3), dim=2)],
)
