"""The functions of weft.special that PyTorch has at the top level too."""

import numpy as np
from scipy import special

from .arithmetic import NO_TENSOR
from .registry import ALL, FLOATS, Error, Sample, as_dtype, binary, floats, op, unary

# ---- incomplete and multivariate gamma functions, Bessel's -------------------------------------------------------------


def bessel_arguments():
    yield from unary(-9, 9, ALL, unlike="NaN at infinities")


op(
    "i0",
    "weft Tensor Tensor_",
    bessel_arguments,
    lambda x: np.where(np.isinf(x), np.inf, special.i0(x)),
    result="float",
    errors=[NO_TENSOR],
)


def shapes_and_limits():
    yield from binary(0.1, 9, 0.1, 12, dtypes=FLOATS, special=False, numbers=())
    for dtype in ("float32", "float64"):
        a, x = np.meshgrid([0.0, 1e-3, 0.5, 1.0, 20.0, 300.0, np.inf], [0.0, 1e-6, 0.9, 1.0, 21.0, 290.0, np.inf])
        yield Sample(as_dtype(a.ravel(), dtype), as_dtype(x.ravel(), dtype)).unlike_torch("differs at infinities")
        yield Sample(as_dtype([np.nan, 1.0, -1.0, 1.0], dtype), as_dtype([1.0, np.nan, 1.0, -1.0], dtype))


GAMMA_SLOPES = [Sample(np.array([0.5, 2.0, 12.0]), np.array([0.3, 3.0, 9.0]))]
for _name, _share in (("igamma", special.gammainc), ("igammac", special.gammaincc)):
    op(
        _name,
        "weft Tensor Tensor_",
        shapes_and_limits,
        _share,
        result="float",
        gradient=(1,),
        gradients=GAMMA_SLOPES,
        errors=[Error(ValueError, "do not broadcast", floats(2), floats(3)), Error(TypeError, "'other'", floats(2), "x")],
    )


def multivariate():
    for p in (1, 2, 5):
        for array in (floats(), floats(0), floats(7), floats(4, 5).T, floats(9)[::-1]):
            yield Sample(np.asarray(array + np.float32(p + 1)), p)
        yield Sample(floats(6, low=p, high=40, dtype="float64"), p)


def multigammaln(x, p):
    return sum(special.gammaln(x - j / 2) for j in range(p)) + p * (p - 1) / 4 * np.log(np.pi)


op(
    "mvlgamma",
    "weft Tensor Tensor_",
    multivariate,
    multigammaln,
    result="float",
    errors=[Error(ValueError, "at least 1", floats(3), 0), Error(TypeError, "input", "text", 2)],
)
