"""What the parity tests share: the same values on both sides, weights that go over, and comparisons with useful messages.

    def test_gelu():
        check_function(F.gelu, TF.gelu, floats(4, 5), approximate="tanh")      # value and gradients

    def test_linear():
        check_module(nn.Linear(3, 4), tnn.Linear(3, 4), floats(5, 3))          # same weights, value and gradients

On both sides come Weft's thing first and PyTorch's second. Inputs are NumPy arrays: a float array becomes a tensor that
requires a gradient, any other array one that does not; what is no array (a number, a list, None) is passed on as it is.
"""

import numpy as np
import torch

import weft

# By the result's element type: relative, and absolute in units of the largest element that is compared with.
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


# ---- values on both sides --------------------------------------------------------------------------------------------


def floats(*shape, seed=0, dtype="float32", low=None, high=None):
    """Normal numbers, or uniform ones in [low, high)."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    return np.asarray(values, dtype)


def integers(*shape, high, seed=0, low=0):
    """Integers in [low, high), as int64."""
    return np.random.default_rng(seed).integers(low, high, shape)


def numpy_of(value):
    """A copy of a tensor of either side as an array; bfloat16 as float32."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy().copy()
    if isinstance(value, weft.Tensor):
        value = value.detach()
        return np.array((value.float() if value.dtype == weft.bfloat16 else value).numpy())
    return np.asarray(value)


def to_weft(value, requires_grad=None):
    """An array or a tensor of PyTorch as a Weft tensor with memory of its own."""
    array = numpy_of(value)
    wanted = array.dtype.kind == "f" if requires_grad is None else requires_grad
    return weft.tensor(array).requires_grad_(wanted)


def to_torch(value, requires_grad=None):
    """An array or a Weft tensor as a tensor of PyTorch with memory of its own."""
    array = numpy_of(value)
    wanted = array.dtype.kind == "f" if requires_grad is None else requires_grad
    return torch.from_numpy(array.copy()).requires_grad_(wanted)


def both(array, requires_grad=None):
    """The same values on both sides: (Weft's, PyTorch's)."""
    return to_weft(array, requires_grad), to_torch(array, requires_grad)


def copy_weights(source, target):
    """Writes the parameters and buffers of a module into those of the other side's module, by name."""
    convert = to_torch if isinstance(target, torch.nn.Module) else to_weft
    target.load_state_dict({name: convert(value, False) for name, value in source.state_dict().items()})


# ---- comparisons -----------------------------------------------------------------------------------------------------


def dtype_name(tensor):
    return str(tensor.dtype).rsplit(".", 1)[-1]


def assert_close(got, want, what="value", rtol=None, atol=None, check_dtype=True):
    """Weft's `got` is PyTorch's `want`: the type, the shape, and each element within rtol * |want| + atol."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{what}: {len(got)} results instead of {len(want)}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_close(g, w, f"{what}[{i}]", rtol, atol, check_dtype)
        return
    if want is None or got is None:
        assert got is None and want is None, f"{what}: {'nothing' if got is None else 'a tensor'} instead of " + (
            "nothing" if want is None else "a tensor"
        )
        return
    if check_dtype and isinstance(want, torch.Tensor) and isinstance(got, weft.Tensor):
        assert dtype_name(got) == dtype_name(want), f"{what}: {dtype_name(got)} instead of {dtype_name(want)}"
    tolerance = TOLERANCE.get(dtype_name(want) if isinstance(want, torch.Tensor) else "float64", 0)
    got, want = numpy_of(got), numpy_of(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape} instead of {want.shape}"
    if want.size == 0:
        return
    finite = np.abs(want[np.isfinite(want)]).max(initial=0) if want.dtype.kind == "f" else 0
    rtol = tolerance if rtol is None else rtol
    atol = tolerance * float(finite) if atol is None else atol
    fits = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    if not fits.all():
        with np.errstate(invalid="ignore"):
            distance = np.where(fits, -1, np.nan_to_num(np.abs(got.astype("f8") - want.astype("f8")), nan=np.inf))
        at = np.unravel_index(np.argmax(distance), want.shape)
        raise AssertionError(
            f"{what}: {(~fits).sum()} of {want.size} elements differ; the worst, at {tuple(map(int, at))}, is "
            f"{got[at]} instead of {want[at]} (rtol {rtol:g}, atol {atol:g})"
        )


def assert_same_gradients(module, oracle, rtol=None, atol=None):
    """The parameters of two modules have the same gradients, by name."""
    theirs = dict(oracle.named_parameters())
    ours = dict(module.named_parameters())
    assert ours.keys() == theirs.keys(), f"parameters {list(ours)} instead of {list(theirs)}"
    for name, parameter in theirs.items():
        assert_close(ours[name].grad, parameter.grad, f"gradient of {name}", rtol, atol)


def assert_same_state(module, oracle, rtol=None, atol=None):
    """Two modules, or state dicts, have the same names in the same order, and the same values."""
    ours = module if isinstance(module, dict) else module.state_dict()
    theirs = oracle if isinstance(oracle, dict) else oracle.state_dict()
    assert list(ours) == list(theirs), f"names {list(ours)} instead of {list(theirs)}"
    for name, value in theirs.items():
        assert_close(ours[name], value, name, rtol, atol)


# ---- whole checks ----------------------------------------------------------------------------------------------------


def _sides(inputs):
    pairs = [both(x) if isinstance(x, np.ndarray) else (x, x) for x in inputs]
    return [ours for ours, _ in pairs], [theirs for _, theirs in pairs]


def _seeds(results, seed=1):
    """A gradient for each float result: random, so that a wrong factor or a transposed gradient shows."""
    listed = results if isinstance(results, (tuple, list)) else [results]
    seeds = []
    for i, result in enumerate(listed):
        if isinstance(result, torch.Tensor) and result.requires_grad:
            values = floats(*result.shape, seed=seed + i).astype("float64")
            seeds.append((i, values))
    return seeds


def _backward(results, seeds):
    listed = results if isinstance(results, (tuple, list)) else [results]
    total = 0
    for i, values in seeds:
        result = listed[i]
        side = torch if isinstance(result, torch.Tensor) else weft
        total = total + (result * side.tensor(values).to(result.dtype)).sum()
    if seeds:
        total.backward()


def check_function(ours, theirs, *inputs, rtol=None, atol=None, gradients=True, **settings):
    """Both functions give the same values, and the same gradients for the float inputs. Returns both results."""
    own, other = _sides(inputs)
    got, want = ours(*own, **settings), theirs(*other, **settings)
    assert_close(got, want, getattr(ours, "__name__", "value"), rtol, atol)
    if gradients:
        seeds = _seeds(want)
        _backward(got, seeds)
        _backward(want, seeds)
        for i, (a, b) in enumerate(zip(own, other, strict=True)):
            if isinstance(b, torch.Tensor) and b.requires_grad:
                assert_close(a.grad, b.grad, f"gradient of argument {i}", rtol, atol)
    return got, want


def check_module(ours, theirs, *inputs, rtol=None, atol=None, gradients=True, **settings):
    """Two modules with the same weights (PyTorch's go over to Weft) give the same values, gradients and buffers."""
    assert list(ours.state_dict()) == list(theirs.state_dict()), (
        f"names {list(ours.state_dict())} instead of {list(theirs.state_dict())}"
    )
    copy_weights(theirs, ours)
    results = check_function(ours, theirs, *inputs, rtol=rtol, atol=atol, gradients=gradients, **settings)
    if gradients:
        assert_same_gradients(ours, theirs, rtol, atol)
    assert_same_state(ours, theirs, rtol, atol)
    return results
