"""Arithmetic, comparisons, logic, bits, roundings, exponentials and trigonometry."""

import numpy as np
from scipy import special

from .registry import ALL, FLOATS, INTEGERS, NUMBERS, Error, Sample, binary, floats, integers, op, unary

NO_TENSOR = Error(TypeError, "input", "text")
NO_TENSORS = Error(TypeError, "input", "text", floats(3))
SHAPES_DIFFER = Error(RuntimeError, "broadcast", floats(3), floats(4))
INTS = (*INTEGERS, "bool")


# ---- of one tensor ---------------------------------------------------------------------------------------------------


def function(name, oracle, low=-2.0, high=2.0, *, dtypes=ALL, errors=(), forms="weft Tensor Tensor_", result="float", **more):
    """An op of one tensor; floats come out unless the result says otherwise."""
    return op(name, forms, lambda: unary(low, high, dtypes), oracle, result=result, errors=[NO_TENSOR, *errors], **more)


function("exp", np.exp)
function("exp2", np.exp2)
function("expm1", np.expm1)
function("log", np.log, 0.05, 5)
function("log2", np.log2, 0.05, 5)
function("log10", np.log10, 0.05, 5)
function("log1p", np.log1p, -0.9, 5)
function("sqrt", np.sqrt, 0.05, 5)
function("rsqrt", lambda x: 1 / np.sqrt(x), 0.05, 5)
function("reciprocal", lambda x: 1 / x, 0.2, 5)
function("sin", np.sin, -7, 7)
function("cos", np.cos, -7, 7)
function("tan", np.tan, -1.4, 1.4)
function("asin", np.arcsin, -0.95, 0.95, aliases="weft.arcsin")
function("acos", np.arccos, -0.95, 0.95, aliases="weft.arccos")
function("atan", np.arctan, aliases="weft.arctan")
function("sinh", np.sinh)
function("cosh", np.cosh)
function("tanh", np.tanh, forms="weft Tensor Tensor_ F")
function("erf", special.erf)
function(
    "neg",
    np.negative,
    dtypes=NUMBERS,
    result="promote",
    aliases="weft.negative",
    errors=[Error(TypeError, "bool", floats(3, dtype="bool"))],
)
function("abs", np.abs, dtypes=NUMBERS, result="promote", aliases="weft.absolute")
function("sign", lambda x: np.where(np.isnan(x), 0, np.sign(x)), dtypes=NUMBERS, result="promote")
function("square", np.square, dtypes=NUMBERS, result="promote")
function("trunc", np.trunc, -5, 5, dtypes=NUMBERS, result="promote")
function("floor", np.floor, -5, 5, dtypes=NUMBERS, result="promote")
function("ceil", np.ceil, -5, 5, dtypes=NUMBERS, result="promote")
function("round", np.round, -5, 5, dtypes=NUMBERS, result="promote")
function("isnan", np.isnan, forms="weft Tensor", dtypes=ALL, result="bool", gradient=False)
function("isinf", np.isinf, forms="weft Tensor", dtypes=ALL, result="bool", gradient=False)
function("isfinite", np.isfinite, forms="weft Tensor", dtypes=ALL, result="bool", gradient=False)
function("logical_not", np.logical_not, dtypes=ALL, result="bool", gradient=False)
op(
    "bitwise_not",
    "weft Tensor Tensor_",
    lambda: (Sample(floats(*shape, low=-100, high=100, dtype=d)) for d in INTS for shape in ((9,), (2, 3), (0,))),
    np.invert,
    gradient=False,
    errors=[Error(TypeError, "bits of f32", floats(3))],
)


def decimals():
    for digits in (1, 2, -1, 0):
        yield Sample(floats(9, low=-50, high=50), decimals=digits).unlike_torch(
            "rounds the scaled value in float32" if digits == 2 else None
        )
        yield Sample(floats(9, low=-50, high=50, dtype="float64"), decimals=digits)
    for array in (floats(), floats(0), floats(67), floats(5, 4).T, floats(9)[::-1]):
        yield Sample(array, decimals=1)
    yield Sample(np.array([0.5, 1.5, 2.5, -0.5, 125.0, 15.0, np.inf, np.nan]), decimals=-1)
    yield Sample(integers(5), decimals=0).unlike_torch("raises for integers")


op(
    "round",
    "weft Tensor Tensor_",
    decimals,
    lambda x, decimals: np.round(x, decimals),
    result="same",
    gradient=False,
    errors=[Error(TypeError, "decimals", integers(3), decimals=1)],
)


# ---- of two tensors --------------------------------------------------------------------------------------------------


def pairwise(name, oracle, *, forms="weft Tensor", more=(), errors=(SHAPES_DIFFER,), gradient=True, samples=None, **settings):
    """An op of two tensors that broadcast; `more` samples after the standard ones."""
    known = {key: settings.pop(key) for key in ("low", "high", "low2", "high2", "dtypes", "special", "numbers") if key in settings}

    def made():
        yield from binary(**known)
        yield from more

    return op(name, forms, samples or made, oracle, errors=[NO_TENSORS, *errors], gradient=gradient, **settings)


def wrapping(function):
    """A NumPy ufunc that takes integer numbers which do not fit, and wraps."""

    def call(x, y, **settings):
        y = np.asarray(y).astype(x.dtype) if isinstance(x, np.ndarray) and x.dtype.kind in "iub" and type(y) is int else y
        return function(x, y, **settings)

    return call


SOME = (floats(3, 4, dtype="float64"), floats(3, 4, dtype="float64", seed=1))
pairwise(
    "add",
    lambda x, y, alpha=1: np.add(x, y * np.asarray(alpha).astype(np.result_type(x))),
    forms="weft Tensor Tensor_",
    numbers=(2, 0.5),
    more=[Sample(*SOME, alpha=0.5), Sample(floats(5, dtype="int64"), integers(5), alpha=3)],
    errors=[Error(ValueError, "256", floats(3, dtype="uint8"), 256)],
)
pairwise(
    "sub",
    lambda x, y, alpha=1: np.subtract(x, y * np.asarray(alpha).astype(np.result_type(x))),
    forms="weft Tensor Tensor_",
    dtypes=NUMBERS,
    numbers=(2, 0.5),
    more=[Sample(*SOME, alpha=0.5)],
    aliases="weft.subtract",
    errors=[Error(TypeError, "bool", floats(3, dtype="bool"), floats(3, dtype="bool"))],
)
pairwise("mul", np.multiply, forms="weft Tensor Tensor_", numbers=(2, 0.5), aliases="weft.multiply")


def divided(x, y, rounding_mode=None):
    if rounding_mode is None:
        return np.asarray(x, "float64") / y
    exact = np.asarray(x, "float64") / y
    return (
        np.trunc(exact) if rounding_mode == "trunc" else np.where(np.isfinite(exact), np.floor_divide(np.asarray(x, "float64"), y), exact)
    )


def division(sample):
    from .registry import RESULT_RULES

    return RESULT_RULES["promote" if sample.kwargs.get("rounding_mode") else "float"](sample)


WHOLE = [
    Sample(integers(9, low=-20, high=20, dtype=d), integers(9, low=1, high=7, dtype=d, seed=1), rounding_mode=mode)
    for d in ("int64", "int8", "int32")
    for mode in ("trunc", "floor")
]
pairwise(
    "div",
    divided,
    low2=0.5,
    high2=3,
    numbers=(2, 0.5),
    aliases="weft.divide weft.true_divide",
    result=division,
    promotes=True,
    more=[*WHOLE, Sample(*SOME, rounding_mode="floor"), Sample(*SOME, rounding_mode="trunc")],
    errors=[Error(ValueError, "rounding_mode", floats(3), 2, rounding_mode="up")],
)
op(
    "div",
    "Tensor_",
    lambda: binary(low2=0.5, high2=3, dtypes=FLOATS),
    np.divide,
    result="float",
    torch=lambda torch, x, y: x / y,
    errors=[Error(TypeError, "i64", floats(3, dtype="int64"), 2)],
)


def by_zero(function):
    """Integers by 0 give 0 (S12)."""

    def call(x, y):
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            return function(x, y)
        y = np.asarray(y)
        return np.where(y == 0, 0, function(x, np.where(y == 0, 1, y).astype(y.dtype)))

    return call


ZEROS = [Sample(integers(5, low=-9, high=9, dtype=d), np.array([0, 1, -1, 0, 2], d)).unlike_torch("S12") for d in ("int64", "int8")]
pairwise(
    "floor_divide",
    by_zero(np.floor_divide),
    forms="weft Tensor Tensor_",
    low=-9,
    high=9,
    low2=1,
    high2=5,
    dtypes=NUMBERS,
    more=ZEROS,
    gradient=False,
)
pairwise("remainder", by_zero(np.remainder), forms="weft Tensor Tensor_", low=-9, high=9, low2=1, high2=5, dtypes=NUMBERS, more=ZEROS)
pairwise("fmod", by_zero(np.fmod), forms="weft Tensor Tensor_", low=-9, high=9, low2=1, high2=5, dtypes=NUMBERS, more=ZEROS)
NUMBER = [Sample(floats(7), 0.5).unlike_torch("takes tensors only"), Sample(floats(7, dtype="int8"), 1).unlike_torch("takes tensors only")]
pairwise("maximum", np.maximum, numbers=(), more=NUMBER)
pairwise("minimum", np.minimum, numbers=(), more=NUMBER)


def power(x, y):
    if np.asarray(x).dtype.kind != "f":
        return np.power(x, y)
    return np.power(np.asarray(x, "float64"), y)


pairwise(
    "pow",
    power,
    forms="weft Tensor Tensor_",
    low=0.2,
    high=3,
    low2=0,
    high2=3,
    dtypes=NUMBERS,
    numbers=(2, 3, 0),
    more=[
        Sample(floats(9), 2),
        Sample(floats(9), 3.0),
        Sample(floats(9, low=0.1), -0.5),
        Sample(2, floats(5)),
        Sample(floats(3, dtype="float64"), 3),
    ],
    errors=[Error(ValueError, "negative", integers(3), -2), Error(TypeError, "bool", floats(3, dtype="bool"), floats(3, dtype="bool"))],
)
for _name, _oracle, _alias in (
    ("eq", np.equal, ""),
    ("ne", np.not_equal, "weft.not_equal"),
    ("lt", np.less, "weft.less"),
    ("le", np.less_equal, "weft.less_equal"),
    ("gt", np.greater, "weft.greater"),
    ("ge", np.greater_equal, "weft.greater_equal"),
):
    pairwise(_name, _oracle, forms="weft Tensor Tensor_", result="bool", gradient=False, aliases=_alias, numbers=(1, 0.5))
for _name, _oracle in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)):
    pairwise(_name, _oracle, forms="weft Tensor Tensor_", result="bool", gradient=False, promotes=False, numbers=(), more=NUMBER)
for _name, _oracle in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)):
    pairwise(
        _name,
        wrapping(_oracle),
        forms="weft Tensor Tensor_",
        gradient=False,
        samples=lambda: (
            s for s in binary(-100, 100, dtypes=INTS) if not any(getattr(a, "dtype", np.dtype(int)).kind == "f" for a in s.args)
        ),
        errors=[Error(TypeError, "bits of f32", floats(3), floats(3)), Error(RuntimeError, "broadcast", integers(3), integers(4))],
    )


def shifts():
    for dtype in INTEGERS:
        yield Sample(floats(9, low=-100, high=100, dtype=dtype), integers(9, high=8, dtype=dtype, seed=1))
        yield Sample(floats(2, 3, low=-100, high=100, dtype=dtype), 3)
    yield Sample(integers(3, 1, dtype="int32"), integers(1, 4, high=6, dtype="int32"))
    yield Sample(integers(0), integers(0))
    yield Sample(np.array([1, -1, 7, -7]), np.array([64, 64, 70, 63])).unlike_torch("S15")


def shifted(left):
    def call(x, y):
        x, y = np.broadcast_arrays(x, np.asarray(y).astype(np.asarray(x).dtype))
        bits = 8 * x.dtype.itemsize
        over = (y >= bits) | (y < 0)
        inside = np.where(over, 0, y).astype(x.dtype)
        if left:
            return np.where(over, 0, np.left_shift(x, inside))
        return np.where(over, np.where(x < 0, -1, 0) if x.dtype.kind == "i" else 0, np.right_shift(x, inside))

    return call


for name, left in (("bitwise_left_shift", True), ("bitwise_right_shift", False)):
    pairwise(
        name,
        shifted(left),
        forms="weft Tensor Tensor_",
        samples=shifts,
        gradient=False,
        errors=[Error(TypeError, "f32", floats(3), 1)],
    )


# ---- limits, choices, closeness --------------------------------------------------------------------------------------


def clamps():
    for dtype in NUMBERS:
        yield Sample(floats(9, low=-5, high=5, dtype=dtype), 1, 3)
    yield from (Sample(a, -1.0, 1.0) for a in (floats(), floats(0), floats(1), floats(67), floats(5, 4).T, floats(9)[::-1], floats(9)[::2]))
    yield Sample(floats(9), min=-1)
    yield Sample(floats(9), max=0.5)
    yield Sample(floats(9, dtype="int8"), max=0.5)
    yield Sample(floats(9), 1.0, -1.0)
    yield Sample(np.array([np.nan, np.inf, -np.inf, -0.0], "float32"), -1.0, 1.0)
    yield Sample(floats(3, 4), floats(4, low=-1, high=0), floats(3, 1, low=0, high=1))
    yield Sample(floats(3, 4), min=floats(4, low=-1, high=0))
    yield Sample(floats(5, dtype="float64"), -1.0, 1.0)
    yield Sample(floats(2, 3, dtype="float64"), floats(3, low=-1, high=0, dtype="float64"), floats(2, 1, low=0, high=1, dtype="float64"))


def clamped(x, min=None, max=None):
    x = np.asarray(x)
    low = x if min is None else np.where(np.isnan(x), x, np.maximum(x, min))
    return low if max is None else np.where(np.isnan(low), low, np.minimum(low, max))


op(
    "clamp",
    "weft Tensor",
    clamps,
    clamped,
    aliases="weft.clip",
    result=lambda s: _with_limits(s),
    errors=[NO_TENSOR, Error(ValueError, "min", floats(3))],
)
op("clamp", "Tensor_", lambda: (s for s in clamps() if s.args[0].dtype.kind == "f"), clamped, result="same", promotes=False)


def _with_limits(sample):
    from .registry import common_dtype

    return common_dtype([*sample.args, *sample.kwargs.values()])


def choices():
    for dtype in ALL:
        yield Sample(integers(9, high=2) > 0, floats(9, dtype=dtype), floats(9, dtype=dtype, seed=1))
    for a, b, c in (((), (), ()), ((0,), (0,), (1,)), ((67,), (), (67,)), ((3, 1), (4,), (1, 1)), ((2, 3, 5), (5,), (3, 1))):
        yield Sample(np.asarray(floats(*a) > 0), floats(*b), floats(*c, seed=1))
    yield Sample(floats(4, 5).T > 0, floats(5, 4)[::-1], floats(5, 8)[:, ::2])
    yield Sample(floats(7) > 0, floats(7), 0.0)
    yield Sample(floats(7) > 0, floats(7, dtype="int64"), floats(7))
    yield Sample(floats(7) > 0, 1.5, floats(7, dtype="float64"))
    yield Sample(np.array([True, False]), np.array([1.0, np.nan], "float32"), np.array([np.nan, 2.0], "float32"))


op(
    "where",
    "weft",
    choices,
    np.where,
    result=lambda s: _chosen(s),
    errors=[Error(RuntimeError, "broadcast", floats(3) > 0, floats(4), floats(3))],
)
op(
    "where",
    "Tensor",
    lambda: (Sample(s.args[1], s.args[0], s.args[2]) for s in choices() if isinstance(s.args[1], np.ndarray)),
    lambda x, c, y: np.where(c, x, y),
    result=lambda s: _chosen(Sample(s.args[1], s.args[0], s.args[2])),
    gradients=[Sample(floats(2, 3, dtype="float64"), floats(2, 3) > 0, floats(3, dtype="float64", seed=1))],
)


def _chosen(sample):
    from .registry import common_dtype

    return common_dtype(sample.args[1:])


def filled():
    for dtype in ALL:
        yield Sample(floats(3, 4, dtype=dtype), floats(3, 4) > 0, dtype == "bool" or 1)
    yield Sample(floats(3, 4), floats(4) > 0, -np.inf)
    yield Sample(floats(3, 4).T, floats(4, 3)[::-1] > 0, 2.5)
    yield Sample(floats(0), floats(0) > 0, 1.0)
    yield Sample(floats(), np.array(True), 1.0)
    yield Sample(floats(67), floats(67) > 0, np.array(3.0, "float32"))
    yield Sample(floats(5, dtype="float64"), floats(5, dtype="float64") > 0, np.array(3.0))


op(
    "masked_fill",
    "weft Tensor Tensor_",
    filled,
    lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
    result="same",
    errors=[Error(TypeError, "bool", floats(3), floats(3), 1.0), Error(RuntimeError, "broadcast", floats(3), floats(4) > 0, 1.0)],
)

# ---- other names -----------------------------------------------------------------------------------------------------

op("rsub", "weft", lambda: [Sample(floats(3, 4, dtype=d), floats(3, 4, dtype=d, seed=1)) for d in (*FLOATS, "int64", "int32", "uint8", "int8")] + [Sample(floats(3), 2), Sample(floats(3), floats(3, seed=1), alpha=2), Sample(floats(3), 1.5, alpha=0.5)],
   lambda x, other, alpha=1: other - alpha * x, errors=[Error(TypeError, "other", floats(3), "a")])  # fmt: skip
op("fill", "weft", lambda: [Sample(floats(3, 4, dtype=d), 1) for d in (*FLOATS, "int64", "int32", "uint8", "bool")] + [Sample(floats(0), 2.5), Sample(floats(3), np.array(1.5, "float32")), Sample(floats(), 2)],
   lambda x, value: np.full_like(x, value), result="same", gradients=[Sample(floats(3, dtype="float64"), np.array(1.5))], errors=[Error(RuntimeError, "a number or a 0-d tensor", floats(3), floats(2))])  # fmt: skip
