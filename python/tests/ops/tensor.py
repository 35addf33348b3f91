"""Conversions, copies, and values written everywhere."""

import numpy as np

from .registry import ALL, D, Error, Sample, dtype_of, floats, op

# ---- conversions -----------------------------------------------------------------------------------------------------


def conversions(*more):
    for dtype in ALL:
        yield Sample(floats(2, 3, low=0, high=100, dtype=dtype), *more)
    for array in (floats(), floats(0, 3), floats(67), floats(4, 3).T, floats(6)[::-1]):
        yield Sample(array, *more)


for _name, _dtype in (
    ("float", "float32"),
    ("double", "float64"),
    ("half", "float16"),
    ("bfloat16", "bfloat16"),
    ("long", "int64"),
    ("int", "int32"),
    ("short", "int16"),
    ("char", "int8"),
    ("byte", "uint8"),
    ("bool", "bool"),
):
    op(
        _name,
        "Tensor",
        lambda d=_dtype: (s for s in conversions() if d != "uint8" or np.asarray(s.args[0]).min(initial=0) >= 0),
        lambda x: x,
        result=_dtype,
        gradient=_dtype == "float64",
        promotes=False,
    )


def converted():
    for dtype in ALL:
        yield Sample(floats(2, 3, low=0, high=9), D(dtype))
        yield Sample(floats(2, 3, low=0, high=9, dtype="int64"), dtype=D(dtype))
    yield Sample(floats(3), floats(2, dtype="float64"))
    yield Sample(floats(3), "cpu")
    yield Sample(floats(3, 4).T, D("float64"), copy=True)
    yield Sample(floats(3, dtype="float64"), D("float64"))


def wanted(sample):
    target = sample.args[1] if len(sample.args) > 1 else sample.kwargs["dtype"]
    return dtype_of(target) if isinstance(target, np.ndarray) else str(target) if isinstance(target, D) else dtype_of(sample.args[0])


op(
    "to",
    "Tensor",
    converted,
    lambda x, *a, **k: x,
    result=wanted,
    gradient=(0,),
    errors=[Error(RuntimeError, "no device", floats(3), "gpu")],
    gradients=[Sample(floats(3, dtype="float64"), D("float64"))],
)
op(
    "type_as",
    "Tensor",
    lambda: (Sample(floats(2, 3, low=0, dtype=a), floats(1, dtype=b)) for a in ("float32", "int64", "bool") for b in ALL),
    lambda x, y: x,
    result=lambda s: dtype_of(s.args[1]),
    gradient=False,
)
for _name, _forms in (("clone", "weft Tensor"), ("contiguous", "Tensor"), ("cpu", "Tensor")):
    op(_name, _forms, conversions, lambda x: x, result="same")
op("detach", "weft Tensor", conversions, lambda x: x, result="same", gradient=False)
op(
    "copy",
    "Tensor_",
    lambda: (
        Sample(floats(2, 3, low=0, dtype=a), floats(*shape, low=0, dtype=b))
        for a in ALL
        for b, shape in (("float32", (2, 3)), ("int64", (3,)))
    ),
    lambda x, y: np.broadcast_to(y, x.shape),
    result="same",
    gradient=False,
    errors=[Error(RuntimeError, "broadcast", floats(3), floats(4))],
)
op(
    "fill",
    "Tensor_",
    lambda: (Sample(floats(2, 3, dtype=d), True if d == "bool" else 1) for d in ALL),
    lambda x, value: np.full(x.shape, value),
    result="same",
    gradient=False,
)
op("zero", "Tensor_", lambda: (Sample(floats(2, 3, dtype=d)) for d in ALL), lambda x: np.zeros(x.shape), result="same", gradient=False)
