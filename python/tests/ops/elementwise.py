"""Functions of one tensor that are more than an instruction: inverse hyperbolic ones, gamma and error functions, parts of floats."""

import numpy as np
from scipy import special

from .arithmetic import NO_TENSOR, SHAPES_DIFFER, function
from .registry import ALL, FLOATS, NUMBERS, Error, Sample, as_dtype, dtype_of, floats, integers, op, unary


def nearly():
    for dtype in FLOATS:
        x = floats(9, dtype=dtype)
        yield Sample(x, x * 1 if dtype != "bfloat16" else x)
        yield Sample(x, as_dtype(np.asarray(x, "float64") * 1.001, dtype), rtol=1e-2)
        yield Sample(
            as_dtype(np.array([np.nan, np.inf, -np.inf, np.inf]), dtype),
            as_dtype(np.array([np.nan, np.inf, np.inf, 1.0]), dtype),
            equal_nan=True,
        )
    yield Sample(floats(3, 1), floats(4), atol=0.5)
    yield Sample(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    yield Sample(floats(0), floats(0))


op(
    "isclose",
    "weft Tensor",
    nearly,
    np.isclose,
    result="bool",
    gradient=False,
    errors=[Error(ValueError, "tolerances", floats(3), floats(3), rtol=-1.0), SHAPES_DIFFER],
)
op("allclose", "weft Tensor", nearly, lambda *a, **k: bool(np.allclose(*a, **k)), gradient=False, result="bool")


def same():
    x = floats(3, 4)
    yield from (
        Sample(x, x),
        Sample(x, -x),
        Sample(x, x.T),
        Sample(floats(0), floats(0)),
        Sample(floats(), floats()),
        Sample(x[:, :2], x[:, :2].copy()),
    )
    for dtype in ("int64", "bool", "float16", "float64"):
        yield Sample(floats(5, dtype=dtype), floats(5, dtype=dtype))
    yield Sample(np.array([np.nan]), np.array([np.nan]))


op("equal", "weft Tensor", same, lambda x, y: bool(np.array_equal(x, y)), gradient=False)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5])
function("asinh", np.arcsinh, -5, 5, aliases="weft.arcsinh Tensor.arcsinh Tensor.arcsinh_")
function("acosh", np.arccosh, 1.2, 9, aliases="weft.arccosh Tensor.arccosh Tensor.arccosh_")
function("atanh", np.arctanh, -0.95, 0.95, aliases="weft.arctanh Tensor.arctanh Tensor.arctanh_")
function("cbrt", np.cbrt, 0.1, 9, torch=None, reason="NumPy's: PyTorch has none")
op("sinc", "weft Tensor Tensor_", lambda: unary(-4, 4, ALL, unlike="overflows at 3e38"), np.sinc, result="float", errors=[NO_TENSOR])
function("erfc", special.erfc, -3, 9)
function("erfinv", special.erfinv, -0.99, 0.99)
function("deg2rad", np.deg2rad, -400, 400)
function("rad2deg", np.rad2deg, -7, 7)
function("frac", lambda x: x - np.trunc(x), -5, 5, dtypes=FLOATS, result="same", errors=[Error(TypeError, "i64", integers(3))])
function(
    "positive",
    np.positive,
    forms="weft Tensor",
    dtypes=NUMBERS,
    result="promote",
    errors=[Error(TypeError, "bool", floats(3, dtype="bool"))],
)
function("isposinf", np.isposinf, forms="weft Tensor", result="bool", gradient=False)
function("isneginf", np.isneginf, forms="weft Tensor", result="bool", gradient=False)
function("isreal", np.isreal, forms="weft Tensor", result="bool", gradient=False)
op(
    "signbit",
    "weft Tensor",
    lambda: unary(dtypes=ALL, unlike="the sign of a NaN is the processor's"),
    lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    result="bool",
    gradient=False,
    promotes=False,
    errors=[NO_TENSOR],
)


# ---- gamma functions: near the zeros of their values an error is small beside 1, not beside the value -----------------


def negatives():
    """Values between the poles, and large ones."""
    yield from unary(0.2, 9, ALL)
    for dtype in FLOATS:
        yield Sample(as_dtype(np.linspace(-7.9, -0.1, 23), dtype)).unlike_torch(
            "looser near poles" if dtype in ("float16", "bfloat16") else None
        )
        yield Sample(as_dtype(np.array([12.5, 30.0, 100.0, 1000.0, 30000.0]), dtype))


SLOPES = [Sample(np.array([0.3, 1.0, 1.4616, 2.0, 7.3])), Sample(np.array([-0.4, -1.3, -3.6]))]
op(
    "lgamma",
    "weft Tensor Tensor_",
    negatives,
    lambda x: np.where(np.isneginf(x), np.inf, special.gammaln(x)),
    result="float",
    errors=[NO_TENSOR],
    gradients=SLOPES,
)
op("digamma", "weft Tensor Tensor_", negatives, special.digamma, result="float", errors=[NO_TENSOR], gradients=SLOPES)


def polygammas():
    for n in (0, 1, 2, 5):
        for dtype in ("float32", "float64"):
            yield Sample(n, floats(9, low=0.3, high=9, dtype=dtype))
            yield Sample(n, as_dtype([-0.5, -1.3, -2.7], dtype)).unlike_torch("loses digits below 0")
    for array in (floats(), floats(0), floats(67, low=0.5), floats(5, 4, low=0.5).T, floats(9, low=0.5)[::-1]):
        yield Sample(1, np.asarray(np.abs(array) + np.float32(0.1)))
    yield Sample(1, integers(5, low=1))
    yield Sample(1, np.array([np.nan, np.inf, 0.0], "float32"))
    yield Sample(2, floats(5, low=0.5, high=4, dtype="float16"))


def polygamma(n, x):
    if n == 0:
        return special.digamma(x)
    if n == 1 and np.any(x < 0):
        fraction = x - np.round(x)
        return np.where(x < 0, (np.pi / np.sin(np.pi * fraction)) ** 2 - special.polygamma(1, 1 - x), special.polygamma(1, np.abs(x)))
    if np.any(x < 0):  # up to 0 by the recurrence
        y, rest = np.array(x, "float64"), np.zeros_like(x)
        for _ in range(5):
            below = y < 0
            rest = rest + np.where(below, (-1.0) ** (n + 1) * special.factorial(n) / np.where(below, y, 1.0) ** (n + 1), 0)
            y = np.where(below, y + 1, y)
        return special.polygamma(n, y) + rest
    return special.polygamma(n, x)


op(
    "polygamma",
    "weft",
    polygammas,
    polygamma,
    result=lambda s: dtype_of(s.args[1]) if s.args[1].dtype.kind == "f" else "float32",
    gradients=[Sample(1, np.array([0.4, 1.7, 6.0, -1.3])), Sample(3, np.array([0.7, 2.5]))],
    errors=[Error(ValueError, "negative", -1, floats(3)), Error(ValueError, "at most", 99, floats(3))],
)
op(
    "polygamma",
    "Tensor",
    lambda: (Sample(s.args[1], s.args[0]).unlike_torch(s.unlike) for s in polygammas()),
    lambda x, n: polygamma(n, x),
    result="float",
    promotes=False,
    gradients=[Sample(np.array([0.4, 1.7, 6.0]), 2)],
)


# ---- logit, replacing ------------------------------------------------------------------------------------------------


def chances():
    yield from unary(0.05, 0.95)
    for eps in (0.0, 0.1, 0.3):
        yield Sample(np.array([0.0, 0.05, 0.5, 0.99, 1.0], "float32"), eps)
    yield Sample(floats(7, low=0, high=1, dtype="float64"), eps=0.2)


def logit(x, eps=None):
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


op("logit", "weft Tensor Tensor_", chances, logit, result="float", errors=[NO_TENSOR])


def holes():
    for dtype in FLOATS:
        yield Sample(as_dtype(SPECIAL, dtype))
        yield Sample(as_dtype(SPECIAL, dtype), 1.0, 2.0, 3.0)
        yield Sample(as_dtype(SPECIAL, dtype), nan=-1.0, neginf=0.0)
    yield from (
        Sample(a)
        for a in (floats(), floats(0), floats(67), floats(5, 4).T, integers(5), floats(4, dtype="bool"), floats(5, dtype="float64"))
    )


LARGEST = {
    "float16": 65504.0,
    "bfloat16": 2.0**128 - 2.0**120,
    "float32": float(np.finfo("float32").max),
    "float64": float(np.finfo("float64").max),
}


def filled(limit):
    return lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(
        x, nan=nan, posinf=limit if posinf is None else posinf, neginf=-limit if neginf is None else neginf
    )


for _dtype in FLOATS:
    op(
        "nan_to_num",
        "weft Tensor Tensor_",
        lambda d=_dtype: [s for s in holes() if dtype_of(s.args[0]) == d] * 4,
        filled(LARGEST[_dtype]),
        result="same",
        gradients=[Sample(floats(5, dtype="float64"))],
    )
op("nan_to_num", "weft", lambda: [Sample(integers(n)) for n in range(10)], lambda x: x, result="same", gradient=False, errors=[NO_TENSOR])


# ---- mantissa and exponent -------------------------------------------------------------------------------------------


def parts():
    for dtype in FLOATS:
        yield Sample(as_dtype(SPECIAL, dtype)).unlike_torch("has no defined exponent for infinities and NaN")
        yield Sample(floats(9, low=-50, high=50, dtype=dtype))
    yield from (
        Sample(a)
        for a in (floats(), floats(0), floats(1), floats(67), floats(5, 4).T, floats(9)[::-1], np.float32([1e-30, 3e38, 2.0**-126]))
    )


def frexp(x):
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0)


op(
    "frexp",
    "weft Tensor",
    parts,
    frexp,
    result=("same", "int32"),
    gradients=[Sample(np.array([0.3, 1.7, -5.0]))],
    errors=[Error(TypeError, "i64", integers(3))],
)
