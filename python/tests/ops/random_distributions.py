"""Distributions: each against SciPy's, by the test of Kolmogorov and Smirnov or by counts."""

import numpy as np
from scipy import stats

from .registry import FLOATS, D, Error, Sample, as_dtype, dtype_of, floats, op, to_numpy

UNLIKELY = 1e-7  # a right generator fails this rarely


def numbers(result, shape, dtype):
    assert tuple(result.shape) == tuple(shape) and str(result.dtype) == f"weft.{dtype}", f"{result.dtype}{list(result.shape)}"
    return to_numpy(result).astype("float64")


def fits(values, distribution):
    """Whether many numbers may come from a continuous distribution."""
    if values.size >= 1000:
        chance = stats.kstest(values.reshape(-1), distribution.cdf).pvalue
        assert chance > UNLIKELY, f"a sample of this kind has the probability {chance}"


def counts_fit(values, distribution, most):
    """The same of a discrete one, for 0 … most."""
    if values.size < 1000:
        return
    assert (values == np.round(values)).all() and (values >= 0).all()
    chances = np.append(distribution.pmf(np.arange(most)), distribution.sf(most - 1))
    seen = np.bincount(np.minimum(values.reshape(-1), most).astype("int64"), minlength=most + 1)
    used = chances * values.size >= 5
    expected = np.append(chances[used], chances[~used].sum()) * values.size
    seen = np.append(seen[used], seen[~used].sum())
    if expected[-1] == 0:
        expected, seen = expected[:-1], seen[:-1]
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > UNLIKELY


def wholes(dtype):
    return dtype in ("float16", "bfloat16")  # too coarse for a continuous test


def filling(*arguments):
    """A tensor to fill, with further arguments."""

    def samples():
        for dtype in FLOATS:
            for more in arguments:
                yield Sample(floats(5000, dtype=dtype), *more)
        for shape in ((), (0,), (3, 0), (1,), (7,), (40, 50)):
            yield Sample(floats(*shape), *arguments[0])
        yield Sample(floats(100, 80).T, *arguments[-1])
        yield Sample(floats(2000, dtype="float64")[::-2], *arguments[-1])

    return samples


def filled(distribution):
    def check(result, x, *arguments):
        values = numbers(result, x.shape, dtype_of(x))
        if not wholes(dtype_of(x)):
            fits(values, distribution(*arguments))

    return check


BAD_SIZE = Error(TypeError, "must be a float", floats(3), "a")
op("uniform_", "Tensor", filling((), (-3.0, 5.0)), check=filled(lambda low=0.0, high=1.0: stats.uniform(low, high - low)), gradient=False,
   errors=[Error(ValueError, "low must not exceed high", floats(3), 2.0, 1.0)])  # fmt: skip
op("normal_", "Tensor", filling((), (3.0, 0.5)), check=filled(lambda mean=0.0, std=1.0: stats.norm(mean, std)), gradient=False,
   errors=[Error(ValueError, "must not be negative", floats(3), 0.0, -1.0)])  # fmt: skip
op("log_normal_", "Tensor", filling((0.0, 1.0), (1.0, 0.5)), check=filled(lambda mean, std: stats.lognorm(std, scale=np.exp(mean))), gradient=False,
   errors=[Error(ValueError, "must be positive", floats(3), 0.0, 0.0)])  # fmt: skip
op("exponential_", "Tensor", filling((), (4.0,)), check=filled(lambda rate=1.0: stats.expon(scale=1 / rate)), gradient=False,
   errors=[Error(ValueError, "must be positive", floats(3), 0.0)])  # fmt: skip
op("cauchy_", "Tensor", filling((), (2.0, 3.0)), check=filled(lambda median=0.0, scale=1.0: stats.cauchy(median, scale)), gradient=False,
   errors=[Error(ValueError, "must be positive", floats(3), 0.0, -1.0)])  # fmt: skip


def geometric(result, x, p):
    counts_fit(numbers(result, x.shape, dtype_of(x)), stats.geom(p), 12)


op("geometric_", "Tensor", filling((0.3,), (0.8,)), check=geometric, gradient=False, errors=[Error(ValueError, "between 0 and 1", floats(3), 1.5)])


def coins(result, x, p=0.5):
    values = numbers(result, x.shape, dtype_of(x))
    assert np.isin(values, [0, 1]).all()
    if values.size >= 1000:
        assert abs(values.mean() - np.mean(p)) < 6 * 0.5 / np.sqrt(values.size)


op("bernoulli_", "Tensor", lambda: (*filling((), (0.2,))(), Sample(floats(3000, dtype="int64"), 0.7), Sample(floats(2, 3000), as_dtype([[0.1], [0.9]], "float32"))),
   check=coins, gradient=False, errors=[Error(TypeError, "must be", floats(3), "a")])  # fmt: skip


def wholes_below(result, x, low=0, high=None):
    values = numbers(result, x.shape, dtype_of(x))
    assert (values == np.round(values)).all() and (values >= low).all() and (high is None or (values < high).all())
    if values.size >= 1000 and high is not None:
        seen = np.bincount((values.reshape(-1) - low).astype("int64"), minlength=high - low)
        assert stats.chisquare(seen).pvalue > UNLIKELY


def whole_samples():
    yield from filling((), (2, 9))()
    for dtype in ("uint8", "int8", "int32", "int64", "bool"):
        yield Sample(floats(3000, dtype=dtype))


op("random_", "Tensor", whole_samples, check=wholes_below, gradient=False, errors=[Error(ValueError, "low must be below high", floats(3), 3, 3)])


def normals(result, mean=0.0, std=1.0, size=None, dtype=None):
    shape = size if size is not None else np.broadcast_shapes(np.shape(mean), np.shape(std))
    kinds = [dtype_of(a) for a in (mean, std) if isinstance(a, np.ndarray)]
    values = numbers(result, shape, dtype or (kinds[0] if kinds else "float32"))
    if values.size >= 1000 and not wholes(dtype or (kinds or ["float32"])[0]):
        fits((values - np.asarray(mean, "float64")) / np.asarray(std, "float64"), stats.norm())


def normal_samples():
    for dtype in FLOATS:
        yield Sample(floats(2000, dtype=dtype), 2.0)
        yield Sample(0.5, floats(2000, dtype=dtype, low=0.5, high=3.0))
        yield Sample(1.0, 2.0, (40, 50), dtype=D(dtype))
    yield Sample(floats(30, 1), floats(1, 50, low=0.1, high=4.0))
    yield Sample(floats(0), 1.0)
    yield Sample(floats(), 1.0)
    yield Sample(size=(3, 4))


op("normal", "weft", normal_samples, check=normals, gradient=False,
   errors=[Error(TypeError, "size", 0.0, 1.0), Error(ValueError, "must not be negative", floats(3), -1.0), Error(TypeError, "must be numbers", floats(3), 1.0, (3,))])  # fmt: skip


def truncated(result, size, mean=0.0, std=1.0, a=-2.0, b=2.0, dtype="float32"):
    values = numbers(result, np.zeros(size).shape, dtype)
    assert ((values >= a) & (values <= b)).all()
    if not wholes(dtype):
        fits(values, stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std))


def truncated_samples():
    for dtype in FLOATS:
        yield Sample(5000, dtype=D(dtype))
        yield Sample((40, 50), 1.0, 2.0, -1.0, 4.0, dtype=D(dtype))
    for size in (0, 1, (3, 0), ()):
        yield Sample(size)
    yield Sample((3000,), mean=0.5, std=0.1, a=0.0, b=0.6)


op("truncated_normal", "weft", truncated_samples, check=truncated, gradient=False, errors=[Error(ValueError, "must be positive", 3, 0.0, -1.0)])


def events(result, rate):
    values = numbers(result, rate.shape, dtype_of(rate))
    if rate.size >= 1000 and (rate == rate.flat[0]).all():
        counts_fit(values, stats.poisson(float(rate.flat[0])), int(3 * float(rate.flat[0]) + 12))
    assert np.isnan(values[np.isnan(rate) | (rate < 0)]).all()
    assert (values[rate == 0] == 0).all()


def rates():
    for rate in (0.2, 3.0, 9.9, 10.0, 40.0, 300.0):
        yield Sample(np.full(5000, rate, "float32"))
    for dtype in FLOATS:
        yield Sample(as_dtype(np.full(2000, 4.0), dtype))
    for shape in ((), (0,), (3, 5)):
        yield Sample(floats(*shape, low=0.0, high=20.0))
    yield Sample(np.array([0.0, -1.0, np.nan, 2.0]))
    yield Sample(floats(6, 4, low=0.0, high=9.0).T)


op("poisson", "weft", rates, check=events, gradient=False, errors=[Error(TypeError, "must be floats", floats(3, dtype="int64"))])


def choices(result, weights, num_samples, replacement=False):
    shape = (*weights.shape[:-1], num_samples)
    values = numbers(result, shape, "int64").astype("int64")
    for w, row in zip(np.reshape(weights, (-1, weights.shape[-1])).astype("float64"), values.reshape(-1, num_samples)):
        assert ((row >= 0) & (row < len(w))).all() and (w[row] > 0).all()
        if not replacement:
            assert len(set(row.tolist())) == num_samples
        elif num_samples >= 1000:
            used = w > 0
            assert stats.chisquare(np.bincount(row, minlength=len(w))[used], w[used] / w.sum() * num_samples).pvalue > UNLIKELY


def weights():
    for dtype in FLOATS:
        yield Sample(as_dtype(np.array([1.0, 0.0, 2.0, 5.0, 0.0]), dtype), 3000, True)
        yield Sample(floats(3, 7, dtype=dtype, low=0.1, high=1.0), 7)
    yield Sample(floats(2, 9, low=0.0, high=1.0), 4000, replacement=True)
    yield Sample(np.array([0.0, 1.0]), 1)
    yield Sample(floats(50, low=0.1, high=1.0)[::-2], 5)
    yield Sample(floats(0, 3), 2)
    yield Sample(floats(4, 3, low=0.1, high=1.0).T, 4)


op("multinomial", "weft Tensor", weights, check=choices, gradient=False,
   errors=[Error(ValueError, "must be finite and not negative", np.array([1.0, -1.0]), 1), Error(ValueError, "sum to 0", np.zeros(3), 1),
           Error(ValueError, "only 1 weights are not 0", np.array([0.0, 1.0]), 2), Error(ValueError, "one or two axes", floats(2, 2, 2), 1),
           Error(ValueError, "something to draw", np.ones(3), 0)])  # fmt: skip
