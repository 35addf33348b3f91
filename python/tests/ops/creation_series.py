"""Rows of numbers by a formula, windows of spectra, memory as numbers."""

import math

import numpy as np
from scipy.signal import windows as spectra

import weft

from .registry import FLOATS, D, Error, Sample, floats, integers, op

KINDS = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "uint8", "int16")


def typed(*argument_lists, **kwargs):
    for arguments in argument_lists:
        yield Sample(*arguments, **kwargs)
    for dtype in FLOATS:
        yield Sample(*argument_lists[0], dtype=D(dtype))


op("logspace", "weft", lambda: typed((0, 3, 4), (-2, 2, 9), (1, 2, 1), (0, 1, 0), (2, -1, 7), (0, 8, 5, 2.0), (0.5, 1.5, 67)), lambda start, end, steps, base=10.0, dtype=None: np.logspace(start, end, steps, base=base), result="float32", gradient=False,
   errors=[Error(ValueError, "negative", 0, 1, -1), Error(TypeError, "start", "a", 1, 2)])  # fmt: skip


def vanders():
    for dtype in ("float32", "float64", "int64", "int32", "float16", "bfloat16"):
        yield Sample(floats(4, dtype=dtype))
    for n in (None, 0, 1, 3, 6):
        for increasing in (False, True):
            yield Sample(floats(5), n, increasing)
    yield Sample(floats(0))
    yield Sample(floats(8)[::-2], 3)


def their_vander(torch, x, N=None, increasing=False):
    if not x.requires_grad:
        return torch.vander(x, N, increasing)
    powers = torch.arange(len(x) if N is None else N)  # the gradient of vander itself raises
    return x[:, None] ** (powers if increasing else powers.flip(0))


op("vander", "weft", vanders, lambda x, N=None, increasing=False: np.vander(x, N, increasing), result="sum", gradients=[Sample(floats(3, low=0.5, dtype="float64"))], torch_tolerance={"float32": (4e-6, 1e-5)},
   reason="powers are within 4 units in the last place", torch=their_vander, errors=[Error(RuntimeError, "one axis", floats(2, 2)), Error(ValueError, "negative", floats(2), -1)])  # fmt: skip


def lengths(*more):
    return lambda: typed((7,), (8,), (1,), (0,), (2,), (67,), (7, False), (8, False), (1, False), (2, False), *more)


def window(make):
    def oracle(length, periodic=True, *settings, dtype=None):
        if length <= 1:
            return np.ones(length)
        return make(length + periodic, *settings)[:length]

    return oracle


LENGTHS = [Error(ValueError, "negative", -1), Error(TypeError, "float", 3, dtype=weft.int64)]
op("hann_window", "weft", lengths(), window(spectra.hann), result="float32", gradient=False, errors=LENGTHS)
op("blackman_window", "weft", lengths(), window(spectra.blackman), result="float32", gradient=False, errors=LENGTHS)
op("bartlett_window", "weft", lengths(), window(spectra.bartlett), result="float32", gradient=False, errors=LENGTHS)
op("hamming_window", "weft", lengths((7, True, 0.6), (7, False, 0.5, 0.3)), window(lambda n, alpha=0.54, beta=0.46: alpha - beta * np.cos(2 * math.pi * np.arange(n) / (n - 1))), result="float32", gradient=False, errors=LENGTHS)
op("kaiser_window", "weft", lengths((7, True, 3.0), (7, False, 0.0)), window(lambda n, beta=12.0: spectra.kaiser(n, beta)), result="float32", gradient=False, errors=LENGTHS)


# ---- memory ----------------------------------------------------------------------------------------------------------


def check_buffer(got, buffer, dtype, **kwargs):
    count = kwargs.get("count", -1)
    want = np.frombuffer(buffer, "uint16" if dtype == "bfloat16" else str(dtype), count, kwargs.get("offset", 0))
    values = got.cpu().view(weft.uint16).numpy() if dtype == "bfloat16" else got.cpu().numpy()
    assert got.dtype is getattr(weft, dtype) and (values == want).all() and values.shape == want.shape


BYTES = bytes(range(1, 49))
op("frombuffer", "weft", lambda: [*(Sample(BYTES, dtype=D(d)) for d in ("uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64", "bfloat16", "float32")), Sample(bytearray(BYTES), dtype=D("int32"), offset=8), Sample(BYTES, dtype=D("int16"), count=3), Sample(BYTES, dtype=D("int32"), count=2, offset=3)],
   check=check_buffer, gradient=False, errors=[Error(ValueError, "empty", b"", dtype=D("uint8")), Error(ValueError, "whole number", b"abc", dtype=D("int16")), Error(ValueError, "exceed", b"abcd", dtype=D("int16"), count=3), Error(ValueError, "'offset'", b"abcd", dtype=D("int16"), offset=4), Error(ValueError, "'count'", b"abcd", dtype=D("int16"), count=0)])  # fmt: skip


def check_array(got, value, dtype=None, copy=None):
    want = np.asarray(value, dtype=None if dtype is None else "float32" if dtype == "bfloat16" else str(dtype))
    want = want.astype("float32") if want.dtype == "float64" and not isinstance(value, np.ndarray) and dtype is None else want
    assert tuple(got.shape) == want.shape and (np.array(got.float().tolist()).reshape(want.shape) == want.astype("float32")).all()
    assert dtype is None or got.dtype is getattr(weft, dtype)


op("asarray", "weft", lambda: [*(Sample(floats(3, 4, dtype=d)) for d in KINDS), Sample([1.0, 2.5]), Sample([[1, 2], [3, 4]]), Sample(3), Sample(floats(4, 3).T), Sample(integers(3), dtype=D("float32")), Sample(floats(3), copy=True), Sample(floats(3), copy=False), Sample([1, 2], copy=True)],
   check=check_array, gradient=False, errors=[Error(ValueError, "copy", [1, 2], copy=False), Error(ValueError, "copy", integers(3), dtype=D("float32"), copy=False), Error(TypeError, "data", "text")])  # fmt: skip
op("new_empty", "Tensor", lambda: [*(Sample(floats(2, dtype=d), 3, 4) for d in KINDS), Sample(floats(2), 0), Sample(floats(2), (2, 3)), Sample(floats(2), 3, dtype=D("int64"))], check=lambda got, x, *size, dtype=None: None if tuple(got.shape) == tuple(size[0] if isinstance(size[0], tuple) else size) else 1 / 0, gradient=False, errors=[Error(ValueError, "negative", floats(2), -1)])
