"""What weft takes from the array API standard beside PyTorch's names. python/tests/test_array_api.py tests the standard as a whole."""

import numpy as np

from .registry import ALL, FLOATS, INTEGERS, D, Error, Sample, dtype_of, floats, integers, op, strided

KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16")
NONE = "PyTorch has none"


def same(name, oracle, *argument_lists, shape=(2, 3, 4), more=(), **settings):
    """An op that moves elements: the dtype stays. Keyword arguments come as a dict at the end of a list."""

    def called(x, arguments):
        named = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        return Sample(x, *(arguments[:-1] if named else arguments), **named)

    def samples():
        for arguments in argument_lists:
            yield called(floats(*shape), arguments)
        for array in [*strided(*shape), *(floats(*shape, dtype=d) for d in KINDS)]:
            yield called(array, argument_lists[0])
        yield from more

    return op(
        name, "weft", samples, oracle, result=settings.pop("result", "same"), torch=settings.pop("torch", None), reason=NONE, **settings
    )


same(
    "expand_dims",
    lambda x, axis=0: np.expand_dims(x, axis),
    ({"axis": 1},),
    (),
    ({"axis": -1},),
    torch=lambda torch, x, axis=0: x.unsqueeze(axis),
    errors=[Error(IndexError, "out of range", floats(3), axis=2)],
)
same(
    "permute_dims",
    np.transpose,
    ((2, 0, 1),),
    ((0, 1, 2),),
    ((-1, 1, 0),),
    torch=lambda torch, x, axes: x.permute(axes),
    errors=[Error(ValueError, "axes", floats(2, 3), (0,))],
)
same(
    "repeat",
    lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    (2, {"axis": 1}),
    (3,),
    (0, {"axis": 0}),
    (2, {"axis": -1}),
    more=[Sample(floats(3), np.array([0, 2, 1])), Sample(floats(2, 3), np.array([2, 1]), axis=0), Sample(floats(2, dtype="float64"), 2)],
    torch=lambda torch, x, repeats, axis=None: torch.repeat_interleave(x, repeats, axis),
    errors=[Error(ValueError, "negative", floats(3), -1)],
)
same(
    "astype",
    lambda x, dtype: x,
    (D("float64"),),
    (D("int32"),),
    (D("float32"),),
    result=lambda s: str(s.args[1]),
    torch=lambda torch, x, dtype: x.to(dtype),
    promotes=False,
    gradients=[Sample(floats(3, dtype="float64"), D("float64"))],
)
same(
    "broadcast_arrays",
    lambda x, y: [*np.broadcast_arrays(x, y)],
    (floats(3, 4),),
    (floats(),),
    (floats(5, 1, 1, 1),),
    result=lambda s: tuple(map(dtype_of, s.args)),
    torch=lambda torch, x, y: torch.broadcast_tensors(x, y),
    gradients=[Sample(floats(2, 1, dtype="float64"), floats(3, dtype="float64"))],
    errors=[Error(ValueError, "do not broadcast", floats(3), floats(4))],
)
op(
    "bitwise_invert",
    "weft",
    lambda: (Sample(floats(9, low=-100, high=100, dtype=d)) for d in (*INTEGERS, "bool", "int64", "int8")),
    np.invert,
    gradient=False,
    torch=lambda torch, x: torch.bitwise_not(x),
    errors=[Error(TypeError, "bits of f32", floats(3))],
)
op(
    "take_along_axis",
    "weft",
    lambda: (
        [Sample(floats(3, 4, dtype=d), integers(3, 2, low=-4, high=4), axis=1) for d in KINDS]
        + [Sample(floats(3, 4), integers(3, 2, high=4)), Sample(floats(4, 3).T, integers(2, 4, high=3), axis=0)]
    ),
    lambda x, index, axis=-1: np.take_along_axis(x, index, axis),
    result="same",
    torch=None,
    reason=NONE,
    gradients=[Sample(floats(2, 3, dtype="float64"), integers(2, 2, high=3))],
    errors=[Error(TypeError, "ind", floats(3), floats(3))],
)


def running(function):
    def oracle(x, axis=None, dtype=None, include_initial=False):
        x = x.astype(dtype or ("uint64" if x.dtype.kind == "u" else "int64" if x.dtype.kind in "ib" else x.dtype))
        axis = 0 if axis is None else axis
        result = function(x, axis=axis)
        first = np.take(result, [0], axis) * 0 + (function is np.cumprod)
        return np.concatenate([first.astype(x.dtype), result], axis) if include_initial else result

    return oracle


def runs(low, high):
    def samples():
        for dtype in (*FLOATS, *INTEGERS):
            yield Sample(floats(3, 5, low=low, high=high, dtype=dtype), axis=1)
        yield Sample(floats(7, low=low, high=high))
        yield Sample(floats(67, low=low, high=high), include_initial=True)
        yield Sample(floats(5, 3, low=low, high=high).T[::-1], axis=0, include_initial=True)
        yield Sample(floats(3, 4, dtype="int8"), axis=0, dtype=D("float32"))
        yield Sample(floats(2, 3, low=low, high=high, dtype="float64"), axis=1)

    return samples


def run_type(sample):
    kind = dtype_of(sample.args[0])
    return kind if kind in FLOATS else "uint64" if kind.startswith("u") else "int64"


for _name, _function, _ends in (("cumulative_sum", np.cumsum, (-2, 2)), ("cumulative_prod", np.cumprod, (0.5, 1.5))):
    op(
        _name,
        "weft",
        runs(*_ends),
        running(_function),
        result=run_type,
        torch=None,
        reason=NONE,
        errors=[Error(ValueError, "'axis' is needed", floats(2, 3)), Error(IndexError, "out of range", floats(3), axis=1)],
    )


def repeated():
    for dtype in KINDS:
        yield Sample(floats(9, low=0, high=4, dtype=dtype))
    yield from (
        Sample(integers(3, 4, high=5)),
        Sample(integers(67, high=9)),
        Sample(integers(0)),
        Sample(np.array(3)),
        Sample(integers(4, 3, high=4).T[::-1]),
    )


def distinct(*parts):
    def oracle(x):
        values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        every = {"values": values, "first": first, "inverse": inverse.reshape(x.shape), "counts": counts}
        found = [every[part] for part in parts]
        return found if len(found) > 1 else found[0]

    return oracle


for _name, _parts in (
    ("unique_all", "values first inverse counts"),
    ("unique_counts", "values counts"),
    ("unique_inverse", "values inverse"),
    ("unique_values", "values"),
):
    _many = len(_parts.split())
    op(
        _name,
        "weft",
        repeated,
        distinct(*_parts.split()),
        result=lambda s, n=_many: (dtype_of(s.args[0]), *["int64"] * (n - 1)) if n > 1 else dtype_of(s.args[0]),
        gradient=False,
        torch=None,
        reason=NONE,
        errors=[Error(TypeError, "input", [1])],
    )

op(
    "to_device",
    "Tensor",
    lambda: [Sample(floats(2, 3, dtype=d), "cpu") for d in ALL],
    lambda x, device: x,
    result="same",
    torch=None,
    reason=NONE,
    errors=[Error(RuntimeError, "no device", floats(3), "gpu")],
    gradients=[Sample(floats(3, dtype="float64"), "cpu")],
)
