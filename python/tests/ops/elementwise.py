"""Elementwise ops: arithmetic, comparisons, bits, roundings, exponentials and trigonometry."""

import numpy as np
from scipy import special

from .registry import ALL, FLOATS, INTEGERS, NUMBERS, Error, Sample, as_dtype, binary, floats, op, unary

NO_TENSOR = Error(TypeError, "input", "text")
SHAPES_DIFFER = Error(RuntimeError, "shape", floats(3), floats(4))


def function(name, oracle, low=-2.0, high=2.0, *, dtypes=ALL, errors=(), **more):
    """An op of one tensor that gives floats."""
    return op(name, more.pop("forms", "weft Tensor Tensor_"), lambda: unary(low, high, dtypes), oracle, result="float", errors=[NO_TENSOR, *errors], **more)


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
function("tanh", np.tanh)
function("erf", special.erf)
