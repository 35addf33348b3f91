"""Functions of two and three tensors: angles, signs, powers, common divisors, blends."""

import numpy as np
from scipy import special

from .arithmetic import NO_TENSORS, NUMBER, SHAPES_DIFFER, pairwise
from .registry import FLOATS, INTEGERS, Error, Sample, as_dtype, binary, common_dtype, floats, integers, op

BOTH = "weft Tensor Tensor_"
ONLY_FLOATS = [SHAPES_DIFFER, Error(TypeError, "float", integers(3), integers(3))]


def as_float(function):
    """A NumPy function of floats, of numbers as well."""
    return lambda x, y: function(np.asarray(x, "float64"), np.asarray(y, "float64"))


def two(name, oracle, **settings):
    settings = {"forms": BOTH, "dtypes": FLOATS, "numbers": (), "more": NUMBER[:1], "result": "float", **settings}
    return pairwise(name, as_float(oracle), **settings)


two("atan2", np.arctan2, low=0.3, high=4, low2=-4, high2=-0.3, aliases="weft.arctan2 Tensor.arctan2 Tensor.arctan2_")
two("hypot", lambda x, y: np.where(np.isinf(x) | np.isinf(y), np.inf, np.hypot(x, y)), low=0.3)
two("logaddexp", np.logaddexp, forms="weft Tensor")
two("logaddexp2", np.logaddexp2, forms="weft Tensor")
two("xlogy", special.xlogy, low=0.1, high=3, low2=0.1, high2=4)
SIGNS = [
    Sample(as_dtype([1.0, -2.0, 0.0, -0.0, np.inf, np.nan], d)[:, None], as_dtype([1.0, -1.0, 0.0, -0.0, np.inf, -np.inf], d))
    for d in FLOATS
]
two("copysign", np.copysign, low=0.3, high=4, low2=-4, high2=-0.3, special=False, more=SIGNS)
two("fmax", np.fmax, forms="weft Tensor", result="promote")
two("fmin", np.fmin, forms="weft Tensor", result="promote")
two("float_power", np.float_power, low=0.2, high=3, forms=BOTH, result="float64", promotes=True)
two("ldexp", lambda x, y: x * np.exp2(y), low2=-6, high2=6, dtypes=("float32", "float64", "float16"))


def steps():
    for dtype in ("float32", "float64"):
        x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -(2.0**-126), 2.0], dtype)
        for towards in (np.inf, -np.inf, 0.0, 1.0, np.nan):
            yield Sample(x, np.full_like(x, towards))
        yield Sample(floats(67, dtype=dtype), floats(67, dtype=dtype, seed=1))
        yield Sample(floats(3, 1, dtype=dtype), floats(4, dtype=dtype, seed=1))
        yield Sample(floats(0, dtype=dtype), floats(0, dtype=dtype))
    yield Sample(floats(5, 4).T, floats(4, 5)[::-1])


def neighbours(dtype):
    """The oracle's float64 has other neighbours than the type."""
    return lambda x, y: np.nextafter(x.astype(dtype), y.astype(dtype))


for _dtype in ("float32", "float64"):
    op(
        "nextafter",
        BOTH,
        lambda d=_dtype: [s for s in steps() if s.args[0].dtype == d] * 2,
        neighbours(_dtype),
        result="promote",
        gradient=False,
        tolerance={_dtype: (0, 0)},
        reason="neighbours are exact",
        errors=[NO_TENSORS, *ONLY_FLOATS],
    )
two(
    "heaviside",
    lambda x, values: np.where(x == 0, values, np.where(x > 0, 1.0, 0.0)),
    result="promote",
    gradient=False,
    samples=lambda: [
        *(
            Sample(np.array([-1, 0, -0.0, 2, np.nan, np.inf, -np.inf]).astype(d), floats(7, dtype=d))
            for d in ("float32", "float64", "float16")
        ),
        *(Sample(integers(*s, low=-2, high=3), integers(*s, seed=1)) for s in ((7,), (3, 4), (0,), (), (67,))),
        Sample(floats(3, 1), floats(4)),
        Sample(integers(4, 5, low=-1, high=2).T, integers(5, 4, seed=1)[::-1]),
    ],
)


def whole_numbers():
    for dtype in INTEGERS:
        low = 0 if dtype.startswith("u") else -100
        yield Sample(integers(21, low=low, high=100, dtype=dtype), integers(21, low=low, high=100, dtype=dtype, seed=1)).unlike_torch(
            None if dtype in ("int64", "int32", "int16", "int8", "uint8") else "has no such kernel"
        )
    yield Sample(integers(3, 1), integers(4))
    yield Sample(integers(0), integers(0))
    yield Sample(np.array(12), np.array(18))
    yield Sample(integers(5, 4).T, integers(4, 5)[::-1])
    yield Sample(np.array([0, 0, 5, -7, 2**40]), np.array([0, 3, 0, 7, 2**41 + 2**40]))
    yield Sample(integers(67, high=10**12), integers(67, high=10**6, seed=1))


NO_INTEGERS = [Error(TypeError, "integers", floats(3), floats(3)), Error(RuntimeError, "broadcast", integers(3), integers(4))]
pairwise("gcd", np.gcd, forms=BOTH, samples=whole_numbers, gradient=False, errors=NO_INTEGERS)
pairwise(
    "lcm",
    np.lcm,
    forms=BOTH,
    samples=lambda: [s for s in whole_numbers() if s.args[0].dtype.itemsize > 1],
    gradient=False,
    errors=NO_INTEGERS,
)


# ---- three tensors ---------------------------------------------------------------------------------------------------


def blends():
    for sample in binary(dtypes=FLOATS, special=False, numbers=()):
        if common_dtype(sample.args[:1]) == common_dtype(sample.args[1:]):
            yield Sample(*sample.args, 0.3)
    yield Sample(floats(7), floats(7, seed=1), floats(7, low=0, high=1, seed=2))
    yield Sample(floats(3, 1), floats(4, seed=1), floats(3, 4, seed=2))
    yield Sample(floats(5), floats(5, seed=1), 0.0)
    yield Sample(floats(5), floats(5, seed=1), 1.0)
    yield Sample(floats(3, dtype="float64"), floats(3, dtype="float64", seed=1), floats(3, dtype="float64", seed=2))


op(
    "lerp",
    BOTH,
    blends,
    lambda x, end, weight: x + weight * (end - x),
    result="promote",
    errors=[Error(RuntimeError, "broadcast", floats(3), floats(4), 0.5), Error(TypeError, "float", integers(3), integers(3), integers(3))],
)


def terms(dtypes, low=-2.0):
    for dtype in dtypes:
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4, dtype=dtype, seed=1), floats(3, 4, low=low, dtype=dtype, seed=2))
    for a, b, c in (((), (), ()), ((0,), (0,), (1,)), ((67,), (67,), (67,)), ((2, 3), (3,), (2, 1)), ((1,), (3, 1), (4,))):
        yield Sample(floats(*a), floats(*b, seed=1), floats(*c, low=low, seed=2))
        yield Sample(floats(*a), floats(*b, seed=1), floats(*c, low=low, seed=2), value=0.5)
    yield Sample(floats(5, 4).T, floats(4, 5, seed=1)[::-1], floats(4, 10, low=low, seed=2)[:, ::2], value=-2)
    yield Sample(
        floats(2, 3, dtype="float64"), floats(3, dtype="float64", seed=1), floats(2, 1, low=low, dtype="float64", seed=2), value=0.5
    )


SIGNED = ("int64", "int32", "int8", "uint8")
op(
    "addcmul",
    BOTH,
    lambda: terms((*FLOATS, *SIGNED)),
    lambda x, a, b, value=1: x + value * a * b,
    promotes=True,
    errors=[
        Error(RuntimeError, "broadcast", floats(3), floats(4), floats(3)),
        Error(TypeError, "value", integers(3), integers(3), integers(3), value=0.5),
        Error(TypeError, "bool", *[floats(3, dtype="bool")] * 3),
    ],
)
op(
    "addcdiv",
    BOTH,
    lambda: terms(FLOATS, 0.5),
    lambda x, a, b, value=1: x + value * a / b,
    promotes=True,
    errors=[Error(TypeError, "quotient", floats(3), integers(3), integers(3))],
)
