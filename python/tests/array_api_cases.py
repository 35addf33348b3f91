"""Calls of every function of the array API standard, 2024.12, as functions of a namespace: test_array_api.py makes them with Weft's and
with NumPy's, python/parity/test_array_api.py with that of array_api_strict. All are within what the standard defines."""

import math

STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like",
    "types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128",
    "type functions": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal "
    "hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor "
    "maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square "
    "sqrt subtract tan tanh trunc",
    "indexing": "take take_along_axis",
    "products": "matmul matrix_transpose tensordot vecdot",
    "manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utilities": "all any diff",
    "inspection": "__array_api_version__ __array_namespace_info__",
    "linalg": "linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul "
    "linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet "
    "linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm",
    "fft": "fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq "
    "fft.fftshift fft.ifftshift",
    "attributes": "Array.T Array.device Array.dtype Array.mT Array.ndim Array.shape Array.size",
    "methods": "Array.__abs__ Array.__add__ Array.__and__ Array.__array_namespace__ Array.__bool__ Array.__complex__ Array.__dlpack__ "
    "Array.__dlpack_device__ Array.__eq__ Array.__float__ Array.__floordiv__ Array.__ge__ Array.__getitem__ Array.__gt__ Array.__index__ "
    "Array.__int__ Array.__invert__ Array.__le__ Array.__lshift__ Array.__lt__ Array.__matmul__ Array.__mod__ Array.__mul__ Array.__ne__ "
    "Array.__neg__ Array.__or__ Array.__pos__ Array.__pow__ Array.__rshift__ Array.__setitem__ Array.__sub__ Array.__truediv__ "
    "Array.__xor__ Array.to_device "
    + " ".join(f"Array.__{how}{name}__" for how in "ri" for name in "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()),
}  # fmt: skip


A = (-1.5, -0.5, 0.0, 0.25, 0.75, 1.25)
B = (2.0, 0.5, -1.0, 3.0, 1.5, -0.25)


def floats(xp, values=A, dtype="float32"):
    return xp.asarray(values, dtype=getattr(xp, dtype))


def ints(xp, *values, dtype="int64"):
    return xp.asarray(values, dtype=getattr(xp, dtype))


def grid(xp, dtype="float64"):
    return xp.reshape(xp.arange(24, dtype=getattr(xp, dtype)), (2, 3, 4))


def shuffled(xp):
    return xp.asarray([[3.0, 1.0, 2.0, 2.5], [0.5, -1.0, 4.0, 0.0], [9.0, 7.0, 8.0, -3.0]], dtype=xp.float64)


def square(xp):
    return xp.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]], dtype=xp.float64)


def _unary(name, values=A, kinds=("float32", "float64")):
    return [lambda xp, kind=kind: getattr(xp, name)(floats(xp, values, kind)) for kind in kinds]


def _binary(name, a=A, b=B, integers=False):
    cases = [lambda xp, kind=kind: getattr(xp, name)(floats(xp, a, kind), floats(xp, b, kind)) for kind in ("float32", "float64")]
    cases.append(lambda xp: getattr(xp, name)(xp.reshape(floats(xp, a), (2, 3)), floats(xp, b[:3])))
    cases.append(lambda xp: getattr(xp, name)(floats(xp, a), 1.5))
    cases.append(lambda xp: getattr(xp, name)(1.5, floats(xp, a)))
    if integers:
        cases.append(lambda xp: getattr(xp, name)(ints(xp, 5, -7, 9, dtype="int8"), ints(xp, 2, 3, -4, dtype="int16")))
        cases.append(lambda xp: getattr(xp, name)(ints(xp, 5, 7, 9, dtype="uint8"), ints(xp, 2, 3, 4, dtype="int8")))
        cases.append(lambda xp: getattr(xp, name)(ints(xp, 5, 7, 9, dtype="int32"), 2))
    return cases


def _bits(name):
    return [
        lambda xp: getattr(xp, name)(ints(xp, 5, 7, 9, dtype="int32"), ints(xp, 1, 2, 3, dtype="int32")),
        lambda xp: getattr(xp, name)(ints(xp, 5, 7, 9, dtype="uint8"), 2),
    ]


def _bools(name):
    return [lambda xp: getattr(xp, name)(xp.asarray([True, True, False, False]), xp.asarray([True, False, True, False]))]


POSITIVE, BELOW_ONE, ABOVE_ONE = (0.25, 0.5, 1.0, 2.0, 7.5), (-0.9, -0.25, 0.0, 0.5, 0.75), (1.0, 1.5, 2.0, 7.5)
CASES = {name: _unary(name) for name in "asinh atan ceil cos cosh exp expm1 floor round sin sinh square tan tanh trunc".split()}
CASES |= {name: [*_unary(name), lambda xp, name=name: getattr(xp, name)(ints(xp, 3, -2, 0))] for name in "abs negative positive".split()}
CASES |= {name: _unary(name, BELOW_ONE) for name in "acos asin atanh log1p".split()}
CASES |= {name: _unary(name, POSITIVE) for name in "log log2 log10 reciprocal sqrt".split()}
CASES |= {name: _unary(name, (0.0, -0.0, 1.0, math.nan, math.inf, -math.inf)) for name in "isfinite isinf isnan signbit sign".split()}
CASES |= {"acosh": _unary("acosh", ABOVE_ONE)}
CASES |= {name: _binary(name) for name in "atan2 copysign divide hypot logaddexp".split()}
CASES |= {name: _binary(name, integers=True) for name in "add equal floor_divide greater greater_equal less less_equal maximum minimum multiply not_equal remainder subtract".split()}
CASES |= {name: _bits(name) for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()}
CASES |= {name: _bools(name) for name in "logical_and logical_or logical_xor bitwise_and".split() if name not in CASES}
CASES |= {
    "nextafter": [lambda xp: xp.nextafter(floats(xp), floats(xp, B)), lambda xp: xp.nextafter(floats(xp, A, "float64"), floats(xp, B, "float64"))],
    "pow": [lambda xp: xp.pow(floats(xp, POSITIVE), floats(xp, B[:5])), lambda xp: xp.pow(ints(xp, 2, 3, -4), ints(xp, 3, 0, 2)), lambda xp: xp.pow(floats(xp), 2)],
    "bitwise_invert": [lambda xp: xp.bitwise_invert(ints(xp, 5, -7, dtype="int16")), lambda xp: xp.bitwise_invert(xp.asarray([True, False]))],
    "logical_not": [lambda xp: xp.logical_not(xp.asarray([True, False]))],
    "clip": [
        lambda xp: xp.clip(floats(xp), -1.0, 0.5), lambda xp: xp.clip(floats(xp), min=0.0), lambda xp: xp.clip(ints(xp, 5, 7, 9), max=8), lambda xp: xp.clip(floats(xp)),
        lambda xp: xp.clip(grid(xp), xp.asarray([1.0, 2.0, 3.0, 4.0], dtype=xp.float64), 10.0),
    ],
    "where": [lambda xp: xp.where(floats(xp) > 0, floats(xp), floats(xp, B)), lambda xp: xp.where(floats(xp) > 0, floats(xp), 0.0)],
    # ---- creation
    "arange": [lambda xp: xp.arange(5), lambda xp: xp.arange(2, 9, 3), lambda xp: xp.arange(2, stop=7), lambda xp: xp.arange(5, 0, -2, dtype=xp.float64), lambda xp: xp.arange(0, 5, -1)],
    "asarray": [
        lambda xp: xp.asarray([[1, 2], [3, 4]]), lambda xp: xp.asarray([1, 2], dtype=xp.float64), lambda xp: xp.asarray(3, dtype=xp.int8), lambda xp: xp.asarray(True),
        lambda xp: xp.asarray(floats(xp), dtype=xp.float64), lambda xp: xp.asarray(floats(xp), copy=True), lambda xp: xp.asarray([[]], dtype=xp.float32),
    ],
    "empty": [lambda xp: xp.empty((2, 0)), lambda xp: 0 * xp.zeros((3,), dtype=xp.int32)],
    "empty_like": [lambda xp: xp.empty_like(xp.zeros((0, 3), dtype=xp.int16))],
    "eye": [lambda xp: xp.eye(3, dtype=xp.float32), lambda xp: xp.eye(2, 4, k=1, dtype=xp.int32), lambda xp: xp.eye(4, 2, k=-2, dtype=xp.float64), lambda xp: xp.eye(0, dtype=xp.bool)],
    "from_dlpack": [lambda xp: xp.from_dlpack(floats(xp))],
    "full": [lambda xp: xp.full((2, 3), 7), lambda xp: xp.full(3, 2.5, dtype=xp.float64), lambda xp: xp.full((), True), lambda xp: xp.full((0,), 1, dtype=xp.uint8)],
    "full_like": [lambda xp: xp.full_like(floats(xp), 2), lambda xp: xp.full_like(floats(xp), 2, dtype=xp.int8)],
    "linspace": [
        lambda xp: xp.linspace(0.0, 1.0, 5, dtype=xp.float64), lambda xp: xp.linspace(0.0, 1.0, num=4, endpoint=False, dtype=xp.float32), lambda xp: xp.linspace(3.0, -3.0, 1, dtype=xp.float32),
        lambda xp: xp.linspace(0.0, 1.0, 0, dtype=xp.float32),
    ],
    "meshgrid": [
        lambda xp: xp.meshgrid(ints(xp, 1, 2, 3), ints(xp, 4, 5)), lambda xp: xp.meshgrid(ints(xp, 1, 2, 3), ints(xp, 4, 5), indexing="ij"),
        lambda xp: xp.meshgrid(ints(xp, 0), ints(xp, 1, 2), ints(xp, 1, 2, 3)),
    ],
    "ones": [lambda xp: xp.ones((2, 3), dtype=xp.float32), lambda xp: xp.ones(3, dtype=xp.bool)],
    "ones_like": [lambda xp: xp.ones_like(floats(xp)), lambda xp: xp.ones_like(floats(xp), dtype=xp.uint16)],
    "tril": [lambda xp: xp.tril(grid(xp)), lambda xp: xp.tril(grid(xp), k=-1)],
    "triu": [lambda xp: xp.triu(grid(xp)), lambda xp: xp.triu(grid(xp), k=2)],
    "zeros": [lambda xp: xp.zeros((2, 3), dtype=xp.float64), lambda xp: xp.zeros((), dtype=xp.int8)],
    "zeros_like": [lambda xp: xp.zeros_like(grid(xp)), lambda xp: xp.zeros_like(grid(xp), dtype=xp.bool)],
    # ---- types
    "astype": [lambda xp: xp.astype(floats(xp), xp.int32), lambda xp: xp.astype(ints(xp, 0, 3), xp.bool), lambda xp: xp.astype(floats(xp), xp.float32, copy=False)],
    "can_cast": [
        lambda xp: xp.can_cast(xp.int8, xp.int16), lambda xp: xp.can_cast(xp.float64, xp.float32), lambda xp: xp.can_cast(floats(xp), xp.float64), lambda xp: xp.can_cast(xp.uint8, xp.int8),
        lambda xp: xp.can_cast(xp.uint64, xp.int64), lambda xp: xp.can_cast(xp.uint32, xp.int64),
    ],
    "finfo": [
        lambda xp, name=name: [float(getattr(xp.finfo(getattr(xp, name)), f)) for f in ("bits", "eps", "max", "min", "smallest_normal")] for name in ("float32", "float64")
    ] + [lambda xp: float(xp.finfo(floats(xp)).max)],
    "iinfo": [lambda xp, name=name: [int(getattr(xp.iinfo(getattr(xp, name)), f)) for f in ("bits", "max", "min")] for name in ("int8", "uint8", "int64", "uint64")],
    "isdtype": [lambda xp, kind=kind: [bool(xp.isdtype(getattr(xp, t), kind)) for t in ("bool", "int8", "uint64", "float32")] for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", ("bool", "integral"))]
    + [lambda xp: bool(xp.isdtype(xp.int8, xp.int8)), lambda xp: bool(xp.isdtype(xp.int8, (xp.int16, "real floating")))],
    "result_type": [
        lambda xp: xp.zeros((), dtype=xp.result_type(xp.int8, xp.uint8)), lambda xp: xp.zeros((), dtype=xp.result_type(xp.float32, xp.float64)),
        lambda xp: xp.zeros((), dtype=xp.result_type(floats(xp), 1.0)), lambda xp: xp.zeros((), dtype=xp.result_type(ints(xp, 1, dtype="int16"), xp.int8, 3)),
    ],
    # ---- manipulation
    "broadcast_arrays": [lambda xp: xp.broadcast_arrays(grid(xp), xp.asarray([1.0, 2.0, 3.0, 4.0]), xp.asarray([[1], [2], [3]]))],
    "broadcast_to": [lambda xp: xp.broadcast_to(ints(xp, 1, 2, 3), (2, 3)), lambda xp: xp.broadcast_to(xp.asarray(1), (0,))],
    "concat": [lambda xp: xp.concat([grid(xp), grid(xp)], axis=1), lambda xp: xp.concat((grid(xp), floats(xp, B, "float64")), axis=None),
               lambda xp: xp.concat([ints(xp, 1, dtype="int8"), ints(xp, 2, dtype="int16")])],
    "expand_dims": [lambda xp: xp.expand_dims(grid(xp), axis=1), lambda xp: xp.expand_dims(grid(xp), axis=-1)],
    "flip": [lambda xp: xp.flip(grid(xp)), lambda xp: xp.flip(grid(xp), axis=-1), lambda xp: xp.flip(grid(xp), axis=(0, 2))],
    "moveaxis": [lambda xp: xp.moveaxis(grid(xp), 0, -1), lambda xp: xp.moveaxis(grid(xp), (0, 1), (2, 0)), lambda xp: xp.moveaxis(grid(xp), (-1,), (0,))],
    "permute_dims": [lambda xp: xp.permute_dims(grid(xp), (2, 0, 1)), lambda xp: xp.permute_dims(grid(xp), axes=(2, 1, 0))],
    "repeat": [lambda xp: xp.repeat(ints(xp, 1, 2, 3), 2), lambda xp: xp.repeat(grid(xp), 2, axis=1), lambda xp: xp.repeat(ints(xp, 1, 2, 3), ints(xp, 0, 2, 1)), lambda xp: xp.repeat(grid(xp), ints(xp, 2, 0), axis=0)],
    "reshape": [lambda xp: xp.reshape(grid(xp), (4, 6)), lambda xp: xp.reshape(grid(xp), (-1,)), lambda xp: xp.reshape(grid(xp), (6, 4), copy=True)],
    "roll": [lambda xp: xp.roll(grid(xp), 1), lambda xp: xp.roll(grid(xp), -2, axis=1), lambda xp: xp.roll(grid(xp), (1, 2), axis=(0, 2)), lambda xp: xp.roll(grid(xp), 1, axis=(0, 1))],
    "squeeze": [lambda xp: xp.squeeze(xp.zeros((1, 3, 1)), 0), lambda xp: xp.squeeze(xp.zeros((1, 3, 1)), (0, 2)), lambda xp: xp.squeeze(xp.zeros((1, 3, 1)), axis=-1)],
    "stack": [lambda xp: xp.stack([grid(xp), grid(xp)]), lambda xp: xp.stack((grid(xp), grid(xp)), axis=-1)],
    "tile": [lambda xp: xp.tile(grid(xp), (2, 1, 1)), lambda xp: xp.tile(ints(xp, 1, 2), (2, 3)), lambda xp: xp.tile(grid(xp), (2,))],
    "unstack": [lambda xp: list(xp.unstack(grid(xp))), lambda xp: list(xp.unstack(grid(xp), axis=-1))],
    "matrix_transpose": [lambda xp: xp.matrix_transpose(grid(xp))],
    # ---- indices, order, search
    "take": [lambda xp: xp.take(grid(xp), ints(xp, 2, 0, 2), axis=1), lambda xp: xp.take(ints(xp, 7, 8, 9), ints(xp, 2, 0)), lambda xp: xp.take(grid(xp), ints(xp, 0), axis=-1)],
    "take_along_axis": [lambda xp: xp.take_along_axis(shuffled(xp), xp.argsort(shuffled(xp))), lambda xp: xp.take_along_axis(shuffled(xp), xp.asarray([[0, 1, 2, 0]]), axis=0)],
    "argmax": [lambda xp: xp.argmax(shuffled(xp)), lambda xp: xp.argmax(shuffled(xp), axis=1), lambda xp: xp.argmax(shuffled(xp), axis=0, keepdims=True)],
    "argmin": [lambda xp: xp.argmin(shuffled(xp)), lambda xp: xp.argmin(shuffled(xp), axis=1), lambda xp: xp.argmin(shuffled(xp), axis=0, keepdims=True)],
    "count_nonzero": [lambda xp: xp.count_nonzero(grid(xp)), lambda xp: xp.count_nonzero(grid(xp), axis=(0, 2)), lambda xp: xp.count_nonzero(grid(xp), axis=1, keepdims=True)],
    "nonzero": [lambda xp: list(xp.nonzero(floats(xp))), lambda xp: list(xp.nonzero(grid(xp) > 20))],
    "searchsorted": [
        lambda xp: xp.searchsorted(floats(xp), floats(xp, B)), lambda xp: xp.searchsorted(floats(xp), floats(xp), side="right"),
        lambda xp: xp.searchsorted(floats(xp, B), floats(xp), sorter=xp.argsort(floats(xp, B))),
    ],
    "unique_all": [lambda xp: list(xp.unique_all(ints(xp, 3, 1, 3, 2, 1))), lambda xp: list(xp.unique_all(xp.asarray([[2, 1], [2, 2]])))],
    "unique_counts": [lambda xp: list(xp.unique_counts(ints(xp, 3, 1, 3, 2, 1)))],
    "unique_inverse": [lambda xp: list(xp.unique_inverse(xp.asarray([[2.5, 1.0], [2.5, 2.5]])))],
    "unique_values": [lambda xp: xp.sort(xp.unique_values(ints(xp, 3, 1, 3, 2, 1))), lambda xp: xp.unique_values(xp.zeros((0,)))],
    "argsort": [lambda xp: xp.argsort(shuffled(xp)), lambda xp: xp.argsort(shuffled(xp), axis=0, descending=True), lambda xp: xp.argsort(ints(xp, 1, 0, 1, 0), stable=True)],
    "sort": [lambda xp: xp.sort(shuffled(xp)), lambda xp: xp.sort(shuffled(xp), axis=0, descending=True), lambda xp: xp.sort(ints(xp, 3, 1, 2, dtype="uint8"))],
    # ---- reductions
    "max": [lambda xp: xp.max(shuffled(xp)), lambda xp: xp.max(shuffled(xp), axis=0), lambda xp: xp.max(grid(xp), axis=(0, 2), keepdims=True)],
    "min": [lambda xp: xp.min(shuffled(xp)), lambda xp: xp.min(shuffled(xp), axis=0), lambda xp: xp.min(grid(xp), axis=(0, 2), keepdims=True)],
    "mean": [lambda xp: xp.mean(grid(xp)), lambda xp: xp.mean(grid(xp), axis=1), lambda xp: xp.mean(floats(xp), keepdims=True)],
    "sum": [
        lambda xp: xp.sum(grid(xp)), lambda xp: xp.sum(grid(xp), axis=(0, 1)), lambda xp: xp.sum(ints(xp, 100, 100, dtype="int8")), lambda xp: xp.sum(ints(xp, 200, 100, dtype="uint8")),
        lambda xp: xp.sum(floats(xp), dtype=xp.float64, keepdims=True), lambda xp: xp.sum(xp.zeros((0, 3)), axis=0), lambda xp: xp.sum(grid(xp), axis=()),
    ],
    "prod": [lambda xp: xp.prod(floats(xp)), lambda xp: xp.prod(grid(xp), axis=-1), lambda xp: xp.prod(ints(xp, 100, 3, dtype="int8")), lambda xp: xp.prod(ints(xp, 100, 3, dtype="uint16"))],
    "var": [lambda xp: xp.var(shuffled(xp)), lambda xp: xp.var(shuffled(xp), axis=1, correction=1.0), lambda xp: xp.var(shuffled(xp), axis=(0,), keepdims=True)],
    "std": [lambda xp: xp.std(shuffled(xp)), lambda xp: xp.std(shuffled(xp), axis=1, correction=1.0), lambda xp: xp.std(shuffled(xp), axis=(0,), keepdims=True)],
    "cumulative_sum": [
        lambda xp: xp.cumulative_sum(floats(xp)), lambda xp: xp.cumulative_sum(grid(xp), axis=1), lambda xp: xp.cumulative_sum(ints(xp, 100, 100, dtype="int8"), include_initial=True),
        lambda xp: xp.cumulative_sum(ints(xp, 200, 100, dtype="uint8")), lambda xp: xp.cumulative_sum(grid(xp), axis=-1, include_initial=True),
    ],
    "cumulative_prod": [lambda xp: xp.cumulative_prod(floats(xp)), lambda xp: xp.cumulative_prod(grid(xp), axis=0), lambda xp: xp.cumulative_prod(ints(xp, 2, 3, dtype="int16"), include_initial=True)],
    "all": [lambda xp: xp.all(grid(xp)), lambda xp: xp.all(grid(xp), axis=0), lambda xp: xp.all(grid(xp) > 0, axis=(1, 2), keepdims=True), lambda xp: xp.all(xp.zeros((0,)))],
    "any": [lambda xp: xp.any(grid(xp)), lambda xp: xp.any(grid(xp) > 22, axis=0), lambda xp: xp.any(grid(xp) > 22, axis=(1, 2), keepdims=True), lambda xp: xp.any(xp.zeros((0,)))],
    "diff": [
        lambda xp: xp.diff(shuffled(xp)), lambda xp: xp.diff(shuffled(xp), axis=0, n=2), lambda xp: xp.diff(floats(xp), prepend=floats(xp, (5.0,)), append=floats(xp, (1.0, 2.0))),
        lambda xp: xp.diff(shuffled(xp), n=9),
    ],
    # ---- products
    "matmul": [lambda xp: xp.matmul(square(xp), square(xp)), lambda xp: xp.matmul(grid(xp), xp.ones((4,), dtype=xp.float64)), lambda xp: xp.matmul(ints(xp, 1, 2), ints(xp, 3, 4))],
    "tensordot": [lambda xp: xp.tensordot(square(xp), square(xp)), lambda xp: xp.tensordot(grid(xp), square(xp), axes=((1,), (0,))), lambda xp: xp.tensordot(square(xp), square(xp), axes=0)],
    "vecdot": [lambda xp: xp.vecdot(grid(xp), grid(xp)), lambda xp: xp.vecdot(grid(xp), xp.ones((4,), dtype=xp.float64)), lambda xp: xp.vecdot(square(xp), square(xp), axis=-2)],
    # ---- linalg; what is unique up to signs is multiplied together again
    "linalg.cholesky": [lambda xp: xp.linalg.cholesky(square(xp)), lambda xp: xp.linalg.cholesky(square(xp), upper=True)],
    "linalg.cross": [lambda xp: xp.linalg.cross(square(xp), xp.flip(square(xp))), lambda xp: xp.linalg.cross(square(xp), xp.flip(square(xp)), axis=-2)],
    "linalg.det": [lambda xp: xp.linalg.det(square(xp))],
    "linalg.diagonal": [lambda xp: xp.linalg.diagonal(grid(xp)), lambda xp: xp.linalg.diagonal(grid(xp), offset=-1)],
    "linalg.eigh": [lambda xp: xp.linalg.eigh(square(xp)).eigenvalues, lambda xp: xp.abs(xp.linalg.eigh(square(xp)).eigenvectors)],
    "linalg.eigvalsh": [lambda xp: xp.linalg.eigvalsh(square(xp))],
    "linalg.inv": [lambda xp: xp.linalg.inv(square(xp))],
    "linalg.matmul": [lambda xp: xp.linalg.matmul(square(xp), square(xp))],
    "linalg.matrix_norm": [lambda xp, ord=ord: xp.linalg.matrix_norm(square(xp), ord=ord) for ord in ("fro", "nuc", 1, 2, math.inf, -1)] + [lambda xp: xp.linalg.matrix_norm(grid(xp), keepdims=True)],
    "linalg.matrix_power": [lambda xp, n=n: xp.linalg.matrix_power(square(xp), n) for n in (0, 1, 3, -2)],
    "linalg.matrix_rank": [lambda xp: xp.linalg.matrix_rank(square(xp)), lambda xp: xp.linalg.matrix_rank(xp.ones((3, 4), dtype=xp.float64)), lambda xp: xp.linalg.matrix_rank(square(xp), rtol=0.9)],
    "linalg.matrix_transpose": [lambda xp: xp.linalg.matrix_transpose(grid(xp))],
    "linalg.outer": [lambda xp: xp.linalg.outer(floats(xp), floats(xp, B[:2]))],
    "linalg.pinv": [lambda xp: xp.linalg.pinv(shuffled(xp)), lambda xp: xp.linalg.pinv(shuffled(xp), rtol=0.2)],
    "linalg.qr": [lambda xp: xp.abs(xp.linalg.qr(shuffled(xp)).Q), lambda xp: xp.matmul(*xp.linalg.qr(shuffled(xp), mode="complete"))],
    "linalg.slogdet": [lambda xp: xp.linalg.slogdet(square(xp)).sign, lambda xp: xp.linalg.slogdet(square(xp)).logabsdet],
    "linalg.solve": [lambda xp: xp.linalg.solve(square(xp), xp.ones((3,), dtype=xp.float64)), lambda xp: xp.linalg.solve(square(xp), square(xp) + 1)],
    "linalg.svd": [lambda xp: xp.linalg.svd(shuffled(xp)).S, lambda xp: xp.abs(xp.linalg.svd(shuffled(xp), full_matrices=False).Vh)],
    "linalg.svdvals": [lambda xp: xp.linalg.svdvals(shuffled(xp))],
    "linalg.tensordot": [lambda xp: xp.linalg.tensordot(square(xp), square(xp), axes=1)],
    "linalg.trace": [lambda xp: xp.linalg.trace(grid(xp)), lambda xp: xp.linalg.trace(grid(xp), offset=1), lambda xp: xp.linalg.trace(xp.ones((2, 2), dtype=xp.int8))],
    "linalg.vecdot": [lambda xp: xp.linalg.vecdot(grid(xp), grid(xp))],
    "linalg.vector_norm": [
        lambda xp: xp.linalg.vector_norm(grid(xp)), lambda xp: xp.linalg.vector_norm(grid(xp), axis=1, ord=1), lambda xp: xp.linalg.vector_norm(grid(xp), axis=(0, 2), keepdims=True, ord=math.inf),
        lambda xp: xp.linalg.vector_norm(shuffled(xp), axis=-1, ord=3),
    ],
}  # fmt: skip


def _two(op, kind="float32"):
    """x op y, x op number, number op x."""
    if kind == "float32":
        return [lambda xp: op(floats(xp), floats(xp, B)), lambda xp: op(floats(xp), 1.5), lambda xp: op(1.5, floats(xp))]
    return [lambda xp: op(ints(xp, 5, 6, 7), ints(xp, 1, 2, 3)), lambda xp: op(ints(xp, 5, 6, 7), 2), lambda xp: op(2, ints(xp, 5, 6, 7))]


def _in_place(statement, kind="float32"):
    def case(xp):
        x = floats(xp) if kind == "float32" else square(xp) if kind == "square" else ints(xp, 5, 6, 7)
        y = floats(xp, B) if kind == "float32" else square(xp) if kind == "square" else ints(xp, 1, 2, 3)
        scope = {"x": x, "y": y}
        exec(statement, scope)
        return scope["x"]

    return [case]


OPERATORS = {
    "add": _two(lambda x, y: x + y), "sub": _two(lambda x, y: x - y), "mul": _two(lambda x, y: x * y), "truediv": _two(lambda x, y: x / y),
    "floordiv": _two(lambda x, y: x // y)[:2], "mod": _two(lambda x, y: x % y)[:2], "pow": _two(lambda x, y: x**y, "int")[:2],
    "and": _two(lambda x, y: x & y, "int"), "or": _two(lambda x, y: x | y, "int"), "xor": _two(lambda x, y: x ^ y, "int"),
    "lshift": _two(lambda x, y: x << y, "int"), "rshift": _two(lambda x, y: x >> y, "int"),
    "eq": _two(lambda x, y: x == y), "ne": _two(lambda x, y: x != y), "lt": _two(lambda x, y: x < y), "le": _two(lambda x, y: x <= y),
    "gt": _two(lambda x, y: x > y), "ge": _two(lambda x, y: x >= y),
    "unary": [lambda xp: -floats(xp), lambda xp: +floats(xp), lambda xp: abs(floats(xp)), lambda xp: ~ints(xp, 1, 2)],
    "matmul": [lambda xp: square(xp) @ square(xp)],
    "in place": [
        *(c for s in ("x += y", "x -= y", "x *= y", "x /= y", "x //= y", "x %= y", "x **= 2", "x += 1", "x *= 2.5") for c in _in_place(s)),
        *(c for s in ("x &= y", "x |= y", "x ^= y", "x <<= y", "x >>= y", "x **= y", "x -= 1") for c in _in_place(s, "int")),
        *_in_place("x @= y", "square"), *_in_place("x[1:3] = 7.0"), *_in_place("x[x > 0.5] = 0.0"), *_in_place("x[0] = y[1]"),
    ],
    "items": [
        lambda xp: grid(xp)[1, ...], lambda xp: grid(xp)[..., 0], lambda xp: grid(xp)[:, None, 1:, :], lambda xp: grid(xp)[0, ::-1, ::2], lambda xp: grid(xp)[grid(xp) > 5],
        lambda xp: grid(xp)[xp.asarray(1), 2, 3], lambda xp: grid(xp)[:, 1, -1], lambda xp: grid(xp)[..., 1:, :],
    ],
    "numbers": [
        lambda xp: bool(xp.asarray(True)), lambda xp: int(xp.asarray(3)), lambda xp: float(xp.asarray(2.5)), lambda xp: complex(xp.asarray(2.5)), lambda xp: [1, 2, 3][xp.asarray(1)],
        lambda xp: int(xp.asarray(2.75)), lambda xp: float(xp.asarray(True)),
    ],
    "attributes": [lambda xp: list(grid(xp).shape), lambda xp: grid(xp).ndim, lambda xp: square(xp).T, lambda xp: grid(xp).mT, lambda xp: grid(xp).dtype == xp.float64],
}  # fmt: skip
