"""weft.array_api against the standard's list of names, and its functions against NumPy's."""

from pathlib import Path

import numpy as np
import pytest

import weft
from array_api_cases import CASES, OPERATORS, STANDARD, floats, grid

xp = weft.ones(1).__array_namespace__()

# Not there, by reason; docs/array_api.md says more.
LEFT_OUT = {
    "complex": "complex64 complex128 conj imag real",
    "fft": STANDARD["fft"],
    "size": "Array.size",
}
LEFT_OUT = {name for names in LEFT_OUT.values() for name in names.split()}


def find(name):
    place, _, rest = name.partition(".")
    if place == "Array":
        return getattr(weft.Tensor, rest)
    return getattr(getattr(xp, place), rest) if rest else getattr(xp, name)


@pytest.mark.parametrize("part", STANDARD)
def test_names(part):
    for name in STANDARD[part].split():
        if name not in LEFT_OUT:
            find(name)
    absent = [name for name in STANDARD[part].split() if name in LEFT_OUT and name != "Array.size"]
    for name in absent:
        with pytest.raises(AttributeError):
            find(name)


def test_what_is_left_out_is_written_down():
    path = Path(__file__).parent.parent.parent / "docs" / "array_api.md"
    text = path.read_text(encoding="utf-8")
    for name in LEFT_OUT:
        assert f"`{name.removeprefix('Array.')}`" in text or f"`{name.split('.')[0]}`" in text, f"{name} is not in docs/array_api.md"


def test_every_function_has_a_case():
    parts = ("constants", "types", "inspection", "fft", "attributes", "methods")
    wanted = {name for part, names in STANDARD.items() if part not in parts for name in names.split()} - LEFT_OUT
    assert wanted <= CASES.keys(), f"no case: {sorted(wanted - CASES.keys())}"


def assert_same(got, want, what):
    if isinstance(want, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(want), what
        for g, w in zip(got, want):
            assert_same(g, w, what)
    elif isinstance(got, weft.Tensor):
        want = np.asarray(want)
        assert str(got.dtype) == f"weft.{want.dtype.name}", f"{what}: {got.dtype} instead of {want.dtype}"
        assert tuple(got.shape) == want.shape, f"{what}: {tuple(got.shape)} instead of {want.shape}"
        rtol = 1.3e-6 if want.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=rtol, err_msg=what)
    else:
        assert got == want, f"{what}: {got} instead of {want}"


def numpy_call(case):
    with np.errstate(all="ignore"):
        return case(Numpy())


class Numpy:
    """NumPy's namespace, with what it lacks of the standard."""

    def __getattr__(self, name):
        return getattr(np, name)

    def asarray(self, values, *, dtype=None, copy=None):
        made = np.array(values, dtype=dtype, copy=copy)
        return made.astype(np.float32) if dtype is None and made.dtype == np.float64 and not isinstance(values, np.ndarray) else made

    def zeros(self, shape, dtype=np.float32):
        return np.zeros(shape, dtype)

    def empty(self, shape, dtype=np.float32):
        return np.empty(shape, dtype)

    def full(self, shape, value, dtype=None):
        return np.full(shape, value, dtype)

    def concat(self, arrays, *, axis=0):
        return np.concatenate(arrays, axis=axis)

    def sort(self, x, *, axis=-1, descending=False, stable=True):
        ordered = np.sort(x, axis=axis, stable=True)
        return np.flip(ordered, axis) if descending else ordered

    def argsort(self, x, *, axis=-1, descending=False, stable=True):
        return np.argsort(-x if descending else x, axis=axis, stable=True)

    def expand_dims(self, x, *, axis=0):
        return np.expand_dims(x, axis)

    def finfo(self, kind):
        return np.finfo(getattr(kind, "dtype", kind) if isinstance(kind, np.ndarray) else kind)

    def take_along_axis(self, x, indices, *, axis=-1):  # NumPy 2.2, the last for Python 3.10, has no default
        return np.take_along_axis(x, indices, axis)

    def clip(self, x, min=None, max=None):
        return np.clip(x, min, max)

    def cumulative_prod(self, x, *, axis=None, dtype=None, include_initial=False):
        return np.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    for i, case in enumerate(CASES[name]):
        assert_same(case(xp), numpy_call(case), f"{name}, case {i}")


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    for i, case in enumerate(OPERATORS[name]):
        assert_same(case(xp), numpy_call(case), f"{name}, case {i}")


def test_namespace():
    x = weft.ones(2)
    assert (
        x.__array_namespace__(api_version="2023.12") is weft.array_api
        and xp.__array_api_version__ == "2024.12" == weft.__array_api_version__
    )
    with pytest.raises(ValueError, match="2020.01"):
        x.__array_namespace__(api_version="2020.01")
    assert x.to_device("cpu").tolist() == [1, 1] and x.to_device(x.device).device == x.device
    with pytest.raises(RuntimeError, match="gpu"):
        x.to_device("gpu")
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    with pytest.raises(AttributeError, match="fft"):
        xp.fft
    assert "sort" in dir(xp) and "hypot" in dir(xp)


def test_info():
    info = weft.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}
    assert [str(d) for d in info.devices()] == ["cpu"] and str(info.default_device()) == "cpu"
    assert info.default_dtypes() == {"real floating": weft.float32, "integral": weft.int64, "indexing": weft.int64}
    assert list(info.dtypes(kind="unsigned integer")) == ["uint8", "uint16", "uint32", "uint64"] and len(info.dtypes()) == 11
    assert info.dtypes(kind=("bool", "real floating")) == {"bool": weft.bool, "float32": weft.float32, "float64": weft.float64}
    assert xp.zeros((1,) * 40).ndim == 40


def test_copies():
    array = np.arange(3.0)
    shared, copied = xp.asarray(array), xp.asarray(array, copy=True)
    array[0] = 7
    assert shared.tolist() == [7, 1, 2] and copied.tolist() == [0, 1, 2]
    x = floats(xp)
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and xp.astype(x, xp.float32, copy=False) is x
    y = xp.asarray(x, copy=True)
    y[0] = 9.0
    assert x[0] == -1.5
    for bad in (
        lambda: xp.asarray([1.0], copy=False),
        lambda: xp.asarray(x, dtype=xp.int8, copy=False),
        lambda: xp.asarray(array, dtype=xp.int8, copy=False),
    ):
        with pytest.raises(ValueError, match="copy=False"):
            bad()
    assert xp.from_dlpack(array, copy=True).tolist() == [7, 1, 2]
    assert xp.asarray([1.0], requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: xp.squeeze(grid(xp), 0), ValueError, "axis 0 has the size 2"),
        (lambda: xp.take(grid(xp), xp.asarray([0])), ValueError, "'axis' is needed"),
        (lambda: xp.cumulative_sum(grid(xp)), ValueError, "'axis' is needed"),
        (lambda: xp.nonzero(xp.asarray(1)), ValueError, "0-d"),
        (lambda: xp.matrix_transpose(floats(xp)), ValueError, "two axes"),
        (lambda: xp.moveaxis(grid(xp), 3, 0), IndexError, "axis 3"),
        (lambda: xp.moveaxis(grid(xp), (0, 0), (1, 2)), ValueError, "each once"),
        (lambda: xp.meshgrid(floats(xp), indexing="yx"), ValueError, "'xy' or 'ij'"),
        (lambda: xp.vecdot(xp.ones((3,)), xp.ones((1,))), ValueError, "must be equal"),
        (lambda: xp.isdtype(xp.int8, "integer"), ValueError, "kind"),
        (lambda: xp.result_type(1, 2.0), ValueError, "there must be a tensor"),
        (lambda: xp.result_type(xp.int8, "int8"), TypeError, "no tensor"),
        (lambda: xp.broadcast_arrays(xp.ones((2,)), xp.ones((3,))), ValueError, "do not broadcast"),
        (lambda: xp.eye(3, device="gpu"), ValueError, "gpu"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_gradients_flow():
    x = weft.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda x: xp.std(x, axis=1) + xp.vecdot(x, x) + xp.cumulative_prod(x, axis=0)[0], x)
