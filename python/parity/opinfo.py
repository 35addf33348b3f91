"""Runs an entry of PyTorch's own list of ops (OpInfo) on Weft: the function of the same name, with the samples that PyTorch tests itself
with, and compares values, dtypes, shapes and gradients.

PyTorch in float64 says what is right: where Weft and PyTorch differ in float32, Weft may be twice as far from that as PyTorch is.
"""

import collections.abc

import numpy as np
import torch
from helpers import TOLERANCE, dtype_name, numpy_of
from torch.testing._internal.common_methods_invocations import op_db

import weft

ENTRIES = {entry.formatted_name: entry for entry in op_db}
SAMPLES = 10  # of each entry, spread over all that it has
SIZE = 20_000  # elements of one argument; larger samples say nothing more

# Results that are random, or memory as it was found: only their types and shapes are compared.
UNSPECIFIED = set(
    "bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial new_empty new_empty_strided "
    "normal normal_in_place normal_number_mean poisson rand_like randint randint_like randn randn_like uniform nn_functional_rrelu "
    "nn_functional_alpha_dropout nn_functional_dropout nn_functional_dropout2d nn_functional_dropout3d nn_functional_feature_alpha_dropout_with_train "
    "nn_functional_fractional_max_pool2d nn_functional_fractional_max_pool3d nn_functional_scaled_dot_product_attention_dropout resize_ resize_as_".split()
)
# Results that are right up to signs or rotations: what the sample makes of them is compared.
UP_TO_SIGNS = {"svd", "linalg_svd", "linalg_eigh", "pca_lowrank", "svd_lowrank"}


class Missing(Exception):
    """Weft has no function of this name."""


class Unsupported(Exception):
    """A sample with complex numbers, sparse tensors or other things that Weft has no word for."""


def _at(path):
    place = weft
    for part in path.split("."):
        place = getattr(place, part, None)
    return place


def _writing(name):
    """A method that writes into its tensor, applied to a copy."""
    return lambda x, *args, **kwargs: getattr(x.clone(), name)(*args, **kwargs)


# Entries whose function takes the sample's arguments in another order, or is a property or a method that writes.
CALLS = {
    "einsum": lambda tensors, equation: weft.einsum(equation, tensors),
    "where": lambda x, condition, other, **kwargs: weft.where(condition, x, other, **kwargs),
    "polygamma": lambda x, n, **kwargs: weft.polygamma(n, x, **kwargs),
    "special.polygamma": lambda x, n, **kwargs: weft.special.polygamma(n, x, **kwargs),
    "nn.functional.embedding": lambda weight, indices, **kwargs: weft.nn.functional.embedding(indices, weight, **kwargs),
    "nn.functional.embedding_bag": lambda weight, indices, **kwargs: weft.nn.functional.embedding_bag(indices, weight, **kwargs),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "H": lambda x: x.H,
    "mH": lambda x: x.mH,
    "resize_": _writing("resize_"),
    "resize_as_": _writing("resize_as_"),
    "zero_": _writing("zero_"),
    "uniform": _writing("uniform_"),
    "cauchy": _writing("cauchy_"),
    "exponential": _writing("exponential_"),
    "geometric": _writing("geometric_"),
    "log_normal": _writing("log_normal_"),
    "normal_in_place": _writing("normal_"),
    "svd_lowrank": lambda a, b, **kwargs: weft.svd_lowrank(a @ b.mT, **kwargs),
    "pca_lowrank": lambda a, b, **kwargs: weft.pca_lowrank(a @ b.mT, **kwargs),
    "linalg_pinv_singular": lambda a, b: weft.linalg.pinv(a @ b.mT),
    "linalg_lstsq_grad_oriented": lambda a, b, driver: weft.linalg.lstsq(a, b, driver=driver)[:2],
    "normal_number_mean": lambda std, mean, *args, **kwargs: weft.normal(mean, std, *args, **kwargs),
}
# weft has these names for something else: element types, or functions of the array API.
METHODS = "bool int float double half bfloat16 long short byte char to repeat".split()


def find(entry):
    """Weft's function for an entry, or Missing."""
    if entry.formatted_name in CALLS or entry.name in CALLS:
        return CALLS.get(entry.formatted_name) or CALLS[entry.name]
    found = None if entry.name in METHODS else _at(entry.name)
    found = found if callable(found) else getattr(weft.Tensor, entry.name, None)
    if not callable(found):
        raise Missing(f"weft has no '{entry.name}'")
    return found


def to_weft(value, leaves, dtype=None):
    """An argument of PyTorch's for Weft; tensors that require gradients are collected as pairs."""
    if isinstance(value, torch.Tensor):
        if value.is_complex() or value.layout != torch.strided or value.is_quantized:
            raise Unsupported("a complex, sparse or quantised tensor")
        array = value.detach().clone()
        bfloat16 = array.dtype == torch.bfloat16
        made = weft.from_numpy((array.float() if bfloat16 else array).numpy())
        made = made.bfloat16() if bfloat16 else made
        if value.requires_grad:
            leaves.append((made.requires_grad_(), value))
        return made
    if isinstance(value, torch.dtype):
        found = getattr(weft, dtype_name_of(value), None)
        if found is None:
            raise Unsupported(str(value))
        return found
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (torch.memory_format, torch.layout)):
        return getattr(weft, str(value).rpartition(".")[2])
    if isinstance(value, complex):
        raise Unsupported("a complex number")
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(to_weft(each, leaves) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(to_weft(each, leaves) for each in value)
    if isinstance(value, dict):
        return {key: to_weft(each, leaves) for key, each in value.items()}
    if isinstance(value, (torch.Generator, torch.nn.Module)):
        raise Unsupported("an object of PyTorch's")
    return value


def dtype_name_of(dtype):
    return str(dtype).rpartition(".")[2]


def tensors_in(value):
    if isinstance(value, (torch.Tensor, weft.Tensor)):
        yield value
    elif isinstance(value, collections.abc.Mapping):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)


def samples_of(entry):
    """A bounded number of samples, spread over all of them: the first, the last and some between."""
    dtype = torch.float32 if torch.float32 in entry.dtypes else torch.int64 if torch.int64 in entry.dtypes else None
    if dtype is None:
        raise Unsupported("neither float32 nor int64")
    wanted = entry.supports_autograd and dtype == torch.float32
    found = []
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=wanted):
        given = list(tensors_in((sample.input, sample.args, sample.kwargs)))
        if sum(each.numel() if each.layout == torch.strided else 0 for each in given) <= SIZE:
            found.append(sample)
    step = max(1, -(-len(found) // SAMPLES))
    return found[::step] + ([found[-1]] if (len(found) - 1) % step else [])


def _double(value):
    """The same argument in float64, with leaves of its own."""
    if isinstance(value, torch.Tensor):
        copy = value.detach().double() if value.dtype == torch.float32 else value.detach().clone()
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_double, value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(map(_double, value))
    if isinstance(value, dict):
        return {key: _double(each) for key, each in value.items()}
    return value


def _detached(value):
    """The same argument as a leaf, so that its gradient stays there."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return value


def _mapped(function, value):
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(function, each) for each in value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_mapped(function, each) for each in value)
    if isinstance(value, dict):
        return {key: _mapped(function, each) for key, each in value.items()}
    return function(value)


def _gradients(side, results, leaves):
    """The gradients of the leaves, for a random gradient of each result: in PyTorch's order."""
    total = 0
    for i, result in enumerate(results):
        if result.requires_grad:
            seed = np.random.default_rng(i).standard_normal(tuple(result.shape))
            total = total + (result * side.tensor(seed).to(result.dtype)).sum()
    if not isinstance(total, int):
        total.backward()
    return [leaf.grad for leaf in leaves]


def close(got, want, exact, what):
    """Weft's tensor is PyTorch's, or as near to `exact` (a function that gives PyTorch's in float64) as PyTorch's is."""
    if want is None or got is None:
        other = got if want is None else want
        assert other is None or not numpy_of(other).any(), f"{what}: {'nothing' if got is None else 'a tensor'}, unlike PyTorch"
        return
    assert dtype_name(got) == dtype_name(want), f"{what}: {dtype_name(got)} instead of {dtype_name(want)}"
    assert tuple(got.shape) == tuple(want.shape), f"{what}: shape {tuple(got.shape)} instead of {tuple(want.shape)}"
    tolerance = TOLERANCE.get(dtype_name(want), 0)
    got, want = numpy_of(got), numpy_of(want.clone())  # gradients that are 0 everywhere have no memory
    if want.size == 0:
        return
    scale = float(np.abs(want[np.isfinite(want)]).max(initial=0.01)) if want.dtype.kind == "f" else 0  # values are about 1
    fits = np.isclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if fits.all():
        return
    if want.dtype.kind == "f":
        right = numpy_of(exact())
        with np.errstate(all="ignore"):
            allowed = 2 * np.nanmax(np.where(np.isfinite(right), np.abs(want - right), 0)) + tolerance * (np.abs(right) + scale)
            fits |= (np.abs(got - right) <= allowed) | (got == right) | (np.isnan(got) & np.isnan(right))
    if not fits.all():
        at = tuple(int(i) for i in np.argwhere(~fits)[0])
        raise AssertionError(f"{what}: {(~fits).sum()} of {want.size} elements differ; at {at} {got[at]} instead of {want[at]}")


def check_sample(entry, function, sample):
    """One sample, on both sides."""
    theirs = _mapped(_detached, [sample.input, *sample.args]), _mapped(_detached, sample.kwargs)
    leaves = []
    args, kwargs = to_weft(theirs[0], leaves), to_weft(theirs[1], leaves)
    want = entry.op(*theirs[0], **theirs[1])
    got = function(*args, **kwargs)
    name = entry.formatted_name
    if name in UP_TO_SIGNS:
        want, got = sample.output_process_fn_grad(want), sample.output_process_fn_grad(got)
    if not isinstance(want, (torch.Tensor, list, tuple)):
        assert type(got) is type(want) and got == want or got != got and want != want, f"{got!r} instead of {want!r}"
        return
    ours, others = list(tensors_in(got)), list(tensors_in(want))
    if any(each.is_complex() for each in others):
        raise Unsupported("a complex result")
    assert len(ours) == len(others), f"{len(ours)} results instead of {len(others)}"
    if name in UNSPECIFIED or is_random(sample):
        for g, w in zip(ours, others):
            assert (dtype_name(g), tuple(g.shape)) == (dtype_name(w), tuple(w.shape)), f"{g.dtype} {g.shape} instead of {w.dtype} {w.shape}"
        return
    exact = []

    def run_exactly():
        if not exact:
            double = _double(theirs[0]), _double(theirs[1])
            result = entry.op(*double[0], **double[1])
            result = sample.output_process_fn_grad(result) if name in UP_TO_SIGNS else result
            results, found = list(tensors_in(result)), [each for each in tensors_in(double) if each.requires_grad]
            exact.append((results, _gradients(torch, _differentiated(sample, name, result), found)))
        return exact[0]

    for i, (g, w) in enumerate(zip(ours, others)):
        close(g, w, lambda i=i: run_exactly()[0][i], f"result {i}")
    if leaves and entry.supports_autograd:
        own = _gradients(weft, _differentiated(sample, name, got), [leaf for leaf, _ in leaves])
        other = _gradients(torch, _differentiated(sample, name, want), [leaf for _, leaf in leaves])
        for i, (g, w) in enumerate(zip(own, other)):
            close(g, w, lambda i=i: run_exactly()[1][i], f"gradient of tensor {i}")


def is_random(sample):
    """Whether chance decides: elements are dropped, say."""
    given = [*sample.args, *sample.kwargs.values()]
    if sample.kwargs.get("M") is not None:  # of svd_lowrank: a matrix of full rank, which random projections approximate
        return True
    return sample.kwargs.get("dropout_p", 0) > 0 or ("training" in sample.kwargs and 0.5 in [v for v in given if isinstance(v, float)])


def _differentiated(sample, name, result):
    """The results that have gradients, as the sample says."""
    return list(tensors_in(result if name in UP_TO_SIGNS else sample.output_process_fn_grad(result)))


def shown(value):
    if isinstance(value, torch.Tensor):
        return f"{dtype_name(value)}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value)


def check(entry):
    """Raises for the first sample that fails. Returns how many were compared."""
    function = find(entry)
    compared = 0
    for sample in samples_of(entry):
        try:
            check_sample(entry, function, sample)
            compared += 1
        except Unsupported:
            pass
        except Exception as error:
            named = [f"{key}={shown(value)}" for key, value in sample.kwargs.items()]
            call = ", ".join([*map(shown, [sample.input, *sample.args]), *named])
            raise AssertionError(f"{entry.name}({call}): {type(error).__name__ + ': ' if not isinstance(error, AssertionError) else ''}{error}") from error
    if not compared:
        raise Unsupported("no sample without complex numbers or sparse tensors")
    return compared


def check_out(entry):
    """The first samples with `out`, a tensor (or several) that has the result afterwards, and is returned."""
    function = find(entry)
    for sample in samples_of(entry)[:2]:
        try:
            args, kwargs = to_weft([sample.input, *sample.args], []), to_weft(sample.kwargs, [])
        except Unsupported:
            continue
        with weft.no_grad():
            plain = function(*args, **kwargs)
            results = list(tensors_in(plain))
            places = [weft.empty(0, dtype=each.dtype) for each in results]
            got = function(*args, **kwargs, out=places[0] if isinstance(plain, weft.Tensor) else tuple(places))
        assert all(a is b for a, b in zip(tensors_in(got), places, strict=True)), "gives something else than 'out'"
        for place, result in zip(places, results):
            assert place.shape == result.shape, f"'out' has the shape {place.shape} instead of {result.shape}"
            if entry.formatted_name not in UNSPECIFIED:
                np.testing.assert_array_equal(numpy_of(place), numpy_of(result))
