"""Tensors from nothing, from values and from foreign memory."""

import numpy as np

from .registry import ALL, D, Error, Raw, Sample, dtype_of, floats, op

# ---- by shape --------------------------------------------------------------------------------------------------------


def shapes(**kwargs):
    for size in ((3,), (2, 3), (0,), (67,), (2, 0, 3)):
        yield Sample(*size, **kwargs)
    yield Sample((), **kwargs)
    yield Sample((2, 3), **kwargs)
    yield Sample([4], **kwargs)
    for dtype in ALL:
        yield Sample(2, 3, dtype=D(dtype), **kwargs)


def sized(value):
    def oracle(*size, dtype=None):
        size = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
        return np.full(size, value)

    return oracle


BAD_SIZE = [Error(ValueError, "negative", -1), Error(TypeError, "size", "text")]
op("zeros", "weft", shapes, sized(0), result="float32", gradient=False, errors=BAD_SIZE)
op("ones", "weft", shapes, sized(1), result="float32", gradient=False, errors=BAD_SIZE)


def has_shape(result, *size, dtype=None):
    size = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    assert tuple(result.shape) == tuple(size) and str(result.dtype) == f"weft.{dtype or 'float32'}"


op("empty", "weft", shapes, check=has_shape, gradient=False, errors=BAD_SIZE)


def fulls():
    yield from (
        Sample((3,), 2.5),
        Sample((2, 3), 2),
        Sample((), True),
        Sample((0,), 1),
        Sample([67], -0.5),
        Sample((3,), float("nan")),
        Sample((3,), float("-inf")),
    )
    for dtype in ALL:
        yield Sample((2, 3), 1, dtype=D(dtype))


def kind_of_number(sample):
    value = sample.args[1]
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


op(
    "full",
    "weft",
    fulls,
    lambda size, value, dtype=None: np.full(size, value),
    result=kind_of_number,
    gradient=False,
    errors=[Error(ValueError, "negative", (-1,), 1), Error(ValueError, "256", (2,), 256, dtype=D("uint8"))],
)


def likes(*more, **kwargs):
    for dtype in ALL:
        yield Sample(floats(2, 3, dtype=dtype), *more, **kwargs)
    for array in (floats(), floats(0, 3), floats(67), floats(4, 3).T, floats(6)[::-1]):
        yield Sample(array, *more, **kwargs)
    yield Sample(floats(3), *more, dtype=D("int64"), **kwargs)


op(
    "zeros_like",
    "weft",
    likes,
    lambda x, dtype=None: np.zeros(x.shape),
    result="same",
    gradient=False,
    errors=[Error(TypeError, "input", 3)],
)
op("ones_like", "weft", likes, lambda x, dtype=None: np.ones(x.shape), result="same", gradient=False, errors=[Error(TypeError, "input", 3)])
op(
    "full_like",
    "weft",
    lambda: likes(1),
    lambda x, value, dtype=None: np.full(x.shape, value),
    result="same",
    gradient=False,
    errors=[Error(TypeError, "input", 3, 1)],
)


def is_like(result, x, dtype=None):
    assert tuple(result.shape) == x.shape and str(result.dtype) == f"weft.{dtype or dtype_of(x)}"


op("empty_like", "weft", likes, check=is_like, gradient=False, errors=[Error(TypeError, "input", 3)])


def news():
    for dtype in ALL:
        yield Sample(floats(5, dtype=dtype), 2, 3)
    yield Sample(floats(5), (2, 0))
    yield Sample(floats(5), 3, dtype=D("int64"))


def new(value):
    return lambda x, *size, dtype=None: sized(value)(*size)


op("new_zeros", "Tensor", news, new(0), result="same", gradient=False, errors=[Error(ValueError, "negative", floats(3), -1)])
op("new_ones", "Tensor", news, new(1), result="same", gradient=False, errors=[Error(ValueError, "negative", floats(3), -1)])
op(
    "new_full",
    "Tensor",
    lambda: (Sample(s.args[0], s.args[1:] if isinstance(s.args[1], int) else s.args[1], 1, **s.kwargs) for s in news()),
    lambda x, size, value, dtype=None: np.full(size, value),
    result="same",
    gradient=False,
    errors=[Error(ValueError, "negative", floats(3), (-1,), 1)],
)
op(
    "new_tensor",
    "Tensor",
    lambda: (Sample(floats(2, dtype=d), [[1, 0], [3, 1]], dtype=D(d)) for d in ALL),
    lambda x, data, dtype=None: np.array(data),
    result="same",
    gradient=False,
)


# ---- by rule ---------------------------------------------------------------------------------------------------------


def ranges():
    yield from (
        Sample(5),
        Sample(2, 7),
        Sample(2, 11, 3),
        Sample(5, 0, -2),
        Sample(0),
        Sample(3, 3),
        Sample(67),
        Sample(0.5, 3),
        Sample(0, 1, 0.1),
        Sample(1.0, -1.0, -0.25),
        Sample(0, 5, -1).unlike_torch("raises"),
    )
    yield Sample(0, 5, dtype=D("float32"))
    yield Sample(0, 5, dtype=D("float64"))
    yield Sample(0, 5, dtype=D("int8"))
    yield Sample(0, 5, 1, dtype=D("float16"))


op(
    "arange",
    "weft",
    ranges,
    lambda *a, dtype=None: np.arange(*a),
    result=lambda s: "int64" if all(isinstance(a, int) for a in s.args) else "float32",
    gradient=False,
    errors=[Error(ValueError, "step", 0, 5, 0)],
)


def spaces():
    yield from (
        Sample(0, 1, 5),
        Sample(-3, 10, 67),
        Sample(1, 1, 3),
        Sample(5.0, -5.0, 11),
        Sample(0, 1, 1),
        Sample(0, 1, 0),
        Sample(0.1, 0.7, 7),
    )
    for dtype in ("float64", "float16", "bfloat16"):
        yield Sample(0, 8, 9, dtype=D(dtype))


op(
    "linspace",
    "weft",
    spaces,
    lambda start, end, steps, dtype=None: np.linspace(start, end, steps),
    result="float32",
    gradient=False,
    errors=[Error(ValueError, "negative", 0, 1, -1)],
)


def eyes():
    yield from (Sample(3), Sample(0), Sample(1), Sample(3, 5), Sample(5, 3), Sample(67, 2))
    for dtype in ("float64", "int64", "bool", "float16", "bfloat16"):
        yield Sample(3, dtype=D(dtype))


op(
    "eye",
    "weft",
    eyes,
    lambda n, m=None, dtype=None: np.eye(n, m),
    result="float32",
    gradient=False,
    errors=[Error(ValueError, "negative", -1)],
)


# ---- from values -----------------------------------------------------------------------------------------------------


def values():
    yield from (
        Sample([1, 2, 3]),
        Sample([[1.5, 2], [3, 4]]),
        Sample(2.5),
        Sample(True),
        Sample([]),
        Sample([[], []]),
        Sample([True, False]),
        Sample((1, 2.0)),
        Sample(-(2**62)),
    )
    for dtype in ALL:
        yield Sample([[1, 0], [1, 1]], dtype=D(dtype))


def kind_of_values(sample):
    kind = np.asarray(sample.args[0]).dtype.kind
    return {"i": "int64", "f": "float32", "b": "bool"}[kind]


op(
    "tensor",
    "weft",
    values,
    lambda data, dtype=None: np.asarray(data),
    result=kind_of_values,
    gradient=False,
    errors=[
        Error(ValueError, "a list of 2", [[1], [2, 3]]),
        Error(TypeError, "data", "text"),
        Error(ValueError, "256", 256, dtype=D("uint8")),
    ],
)
op(
    "as_tensor",
    "weft",
    values,
    lambda data, dtype=None: np.asarray(data),
    result=kind_of_values,
    gradient=False,
    errors=[Error(ValueError, "a list of 2", [[1], [2, 3]])],
)


def foreign():
    for dtype in ALL:
        if dtype != "bfloat16":
            yield Sample(Raw(floats(2, 3, dtype=dtype)))
    for array in (floats(), floats(0, 3), floats(4, 3).T, floats(6)[::2]):
        yield Sample(Raw(array))


op(
    "from_numpy",
    "weft",
    lambda: [*foreign(), Sample(Raw(floats(6)[::-1]))],
    lambda x: x,
    result=lambda s: s.args[0].array.dtype.name,
    gradient=False,
    errors=[Error(TypeError, "ndarray", [1, 2])],
)
op(
    "from_dlpack",
    "weft",
    foreign,
    lambda x: x,
    result=lambda s: s.args[0].array.dtype.name,
    gradient=False,
    errors=[Error(TypeError, "__dlpack__", 3)],
)
