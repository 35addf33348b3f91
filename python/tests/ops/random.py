"""Random numbers: each with a statistical check."""

import numpy as np

from .creation_series import KINDS
from .registry import FLOATS, INTEGERS, D, Error, Sample, dtype_of, floats, op, to_numpy


def check_drawn(got, x, low, high=None, **kwargs):
    first, end = (0, low) if high is None else (low, high)
    values = np.array(got.double().tolist()).reshape(got.shape)
    assert tuple(got.shape) == x.shape and ((values >= first) & (values < end) & (values == np.floor(values))).all()


op("randint_like", "weft", lambda: [*(Sample(floats(3, 4, dtype=d), 5) for d in KINDS if d != "bool"), Sample(floats(67), -3, 4), Sample(floats(0), 3), Sample(floats(), 3), Sample(floats(5), 2, dtype=D("int64"))], check=check_drawn, gradient=False, errors=[Error(ValueError, "below", floats(3), 2, 2)])


def values(result, shape, dtype):
    assert tuple(result.shape) == tuple(shape) and str(result.dtype) == f"weft.{dtype}", f"{result.dtype}{list(result.shape)}"
    return to_numpy(result).astype("float64")


def near(found, wanted, error, what):
    """A statistic within five standard errors."""
    assert abs(found - wanted) <= 5 * error, f"{what} {found} instead of {wanted} ± {error}"


def moments(x, mean, deviation, half=False):
    if x.size >= 1000:
        near(x.mean(), mean, deviation / np.sqrt(x.size) + half * 1e-3, "mean")
        near(x.std(), deviation, deviation / np.sqrt(x.size) + half * 1e-3, "deviation")


def size_of(size):
    return size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size


def sizes():
    yield from (Sample(20000), Sample(100, 200), Sample((100, 200)), Sample(0), Sample(()), Sample(1), Sample(3, 0), Sample(7))
    for dtype in FLOATS:
        yield Sample(5000, dtype=D(dtype))


def uniform(result, *size, dtype="float32"):
    x = values(result, size_of(size), dtype)
    assert ((x >= 0) & (x < 1)).all()
    moments(x, 0.5, 1 / np.sqrt(12), dtype in ("float16", "bfloat16"))


def normal(result, *size, dtype="float32"):
    x = values(result, size_of(size), dtype)
    assert np.isfinite(x).all()
    moments(x, 0, 1, dtype in ("float16", "bfloat16"))
    if x.size >= 10000:
        near((np.abs(x) < 1).mean(), 0.6827, 0.5 / np.sqrt(x.size), "share within one deviation")


op(
    "rand",
    "weft",
    sizes,
    check=uniform,
    gradient=False,
    errors=[Error(ValueError, "negative", -1), Error(TypeError, "float type", 3, dtype=D("int64"))],
)
op("randn", "weft", sizes, check=normal, gradient=False, errors=[Error(ValueError, "negative", -1)])


def likes():
    for dtype in FLOATS:
        yield Sample(floats(5000, dtype=dtype))
        yield Sample(floats(2, 3, dtype=dtype))
    yield from (Sample(floats(0, 3)), Sample(floats()), Sample(floats(30, 200).T), Sample(floats(4), dtype=D("float64")))


op(
    "rand_like",
    "weft",
    likes,
    check=lambda r, x, dtype=None: uniform(r, *x.shape, dtype=dtype or dtype_of(x)),
    gradient=False,
    errors=[Error(TypeError, "input", 3)],
)
op(
    "randn_like",
    "weft",
    likes,
    check=lambda r, x, dtype=None: normal(r, *x.shape, dtype=dtype or dtype_of(x)),
    gradient=False,
    errors=[Error(TypeError, "input", 3)],
)


def draws():
    yield from (
        Sample(10, (20000,)),
        Sample(-5, 5, (100, 200)),
        Sample(3, 4, (5,)),
        Sample(2, (0,)),
        Sample(2, ()),
        Sample(high=7, low=3, size=(3000,)),
    )
    for dtype in (*INTEGERS[:5], "float32"):
        yield Sample(0, 100, (2000,), dtype=D(dtype))


def drawn(result, *args, low=0, high=None, size=None, dtype="int64"):
    *ends, size = [*args] if args else [low, high, size]
    low, high = ends if len(ends) == 2 else (0, ends[0])
    x = values(result, size, dtype)
    assert ((x >= low) & (x < high) & (x == np.trunc(x))).all()
    moments(x, (low + high - 1) / 2, np.sqrt(((high - low) ** 2 - 1) / 12))


op("randint", "weft", draws, check=drawn, gradient=False, errors=[Error(ValueError, "low must be below high", 3, 3, (2,))])


def shuffled(result, n, dtype="int64"):
    assert sorted(values(result, (n,), dtype)) == list(range(n))


op(
    "randperm",
    "weft",
    lambda: [*(Sample(n) for n in (0, 1, 2, 3, 7, 67, 100, 500)), Sample(9, dtype=D("int32")), Sample(9, dtype=D("int16"))],
    check=shuffled,
    gradient=False,
    errors=[Error(ValueError, "negative", -1)],
)


def chances():
    for dtype in FLOATS:
        yield Sample(
            np.full(5000, 0.25, "float32").astype(dtype) if dtype != "bfloat16" else floats(5000, low=0.25, high=0.2500001, dtype=dtype)
        )
    yield from (
        Sample(np.zeros(99, "float32")),
        Sample(np.ones(99, "float32")),
        Sample(floats(0)),
        Sample(floats(low=0, high=1)),
        Sample(floats(40, 50, low=0, high=1).T),
        Sample(floats(4000, low=0, high=1)[::-2]),
    )


def tossed(result, p):
    x = values(result, p.shape, dtype_of(p))
    assert np.isin(x, (0, 1)).all()
    p = np.asarray(p, "float64")
    if p.size:
        near(x.mean(), p.mean(), np.sqrt((p * (1 - p)).sum()) / p.size + 1e-12, "mean")


op("bernoulli", "weft Tensor", chances, check=tossed, gradient=False, errors=[Error(TypeError, "input", 3)])


def written():
    yield from (Sample(*s.args) for s in likes())
    yield Sample(floats(5000), 2.0, 5.0)


op(
    "uniform",
    "Tensor_",
    written,
    gradient=False,
    check=lambda r, x, a=0.0, b=1.0: moments(values(r, x.shape, dtype_of(x)), (a + b) / 2, (b - a) / np.sqrt(12), True),
)
op("normal", "Tensor_", written, gradient=False, check=lambda r, x, a=0.0, b=1.0: moments(values(r, x.shape, dtype_of(x)), a, b, True))
