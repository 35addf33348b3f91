"""One entry for each public op: what to call it with, what must come out, what must raise. test_registry.py runs them all against
NumPy and SciPy, python/parity/test_registry.py against PyTorch. A public op without an entry fails both.

An entry goes into the module of its topic (arithmetic.py, movement_joining.py, …), which the package imports by itself:

    def samples():
        yield from unary(low=0.1, high=5)                      # the standard ones: all shapes, strides, dtypes, NaN and infinities
        yield Sample(floats(3, 4), base=2.0)                   # one more: positional and keyword arguments
        yield Sample(floats(5), dtype=D("float64"))            # D("float64") is weft.float64, torch.float64, np.float64 on each side

    op(
        "log_base",                                            # the name, of all forms below
        "weft Tensor Tensor_ F linalg",                        # weft.log_base, Tensor.log_base, Tensor.log_base_, F.…, weft.linalg.…
        samples,
        lambda x, base=np.e: np.log(x) / np.log(base),         # the oracle; gets NumPy arrays, floats as float64
        aliases="weft.logb Tensor.logb",                       # further names of the same op
        result="float",                                        # the rule of the result's dtype, see RESULT_RULES
        errors=[
            Error(TypeError, "must be a Tensor", None),        # class, part of the message, arguments …
            Error(ValueError, "base", floats(3), base=-1),
        ],
        tolerance={"float32": (3e-6, 1e-5)},                   # an exception from TOLERANCES …
        reason="cancellation near 1",                          # … has a reason
    )

What else there is (all have defaults):

gradient        True: each float argument of up to two small samples is checked by finite differences in float64, the first and the
                second derivative. False: the op has none. "first": no second derivative; say why in `reason`. Or a tuple of positions:
                only these arguments.
gradients       samples for that check, where the first small ones do not suit (kinks, ties). Weft's gradcheck, float64, few elements.
check           instead of the oracle: check(result, *args, **kwargs) asserts what holds of a random result.
torch           "same" (the default): the same name in PyTorch; None: PyTorch has none, or other semantics (say why in `reason`); or a
                function(torch, *args, **kwargs) that makes the same call there.
Sample(…).unlike_torch("S35")   this sample is not compared with PyTorch, for the reason that line of docs/semantics.md gives.
torch_tolerance as tolerance, for the comparison with PyTorch alone, where PyTorch is the one that is farther off.
promotes        whether the oracle gets its arrays in their common type, as the op computes (True for the rules promote, float, bool).

Arguments are NumPy arrays, which become tensors (with their strides; `BF16` arrays become bfloat16; `Raw(array)` stays one), lists
and tuples of them, and plain values. An in-place form is tried on those samples whose result has the first argument's shape and dtype.
Entries share nothing but these makers, so that a failing one is found by its name: pytest -k "ops and softmax".
"""

from __future__ import annotations

import math
import os

import numpy as np

import weft

# By the result's dtype: relative, absolute.
TOLERANCES = {"float64": (1e-7, 1e-7), "float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *INTEGERS, "bool")
NUMBERS = (*FLOATS, *INTEGERS)

PLACES = {"weft": weft, "Tensor": weft.Tensor, "F": weft.nn.functional}
if hasattr(weft, "linalg"):
    PLACES["linalg"] = weft.linalg

ENTRIES = []

DEVICE = os.environ.get("WEFT_TEST_DEVICE", "cpu")  # where all of it is computed


# ---- values ----------------------------------------------------------------------------------------------------------


class BF16(np.ndarray):
    """float32 values that bfloat16 can hold; the tensor made of them is bfloat16."""


class D(str):
    """A dtype by name, for whoever is called."""

    __slots__ = ()


class Raw:
    """An array that nobody converts."""

    def __init__(self, array):
        self.array = array


class Sample:
    """Arguments of one call."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs, self.unlike = args, kwargs, None

    def unlike_torch(self, reason):
        """PyTorch gives something else here: `reason` is a line of docs/semantics.md, or a short sentence."""
        self.unlike = reason
        return self

    def __repr__(self):
        parts = [_shown(a) for a in self.args] + [f"{name}={_shown(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join(parts)})"


class Error:
    """A call that must raise: the class, a part of the message, the arguments."""

    def __init__(self, kind, text, *args, **kwargs):
        self.kind, self.text, self.sample = kind, text, Sample(*args, **kwargs)


def _shown(value):
    if isinstance(value, np.ndarray):
        steps = "" if value.flags.c_contiguous else f" strides {tuple(s // value.itemsize for s in value.strides)}"
        return f"{dtype_of(value)}{list(value.shape)}{steps}" + (f" {value.tolist()}" if value.size <= 8 else "")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def dtype_of(array):
    return "bfloat16" if isinstance(array, BF16) else array.dtype.name


def bf16(values):
    """The nearest values that bfloat16 has."""
    bits = np.ascontiguousarray(values, "float32").view("uint32").astype("uint64")
    rounded = (
        ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16) << np.uint64(16)).astype("uint32").view("float32")
    )
    return np.where(np.isnan(values), np.float32(np.nan), rounded).reshape(np.shape(values)).view(BF16)


def as_dtype(values, dtype):
    """Values as an array of a dtype by name."""
    if dtype == "bfloat16":
        return bf16(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(dtype)


def floats(*shape, low=-2.0, high=2.0, dtype="float32", seed=0):
    """Uniform numbers in [low, high); whole ones for integer types, all of them possible."""
    rng = np.random.default_rng((seed, *shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        low = max(math.ceil(low), 0 if dtype.startswith("u") else -100)
        return rng.integers(low, max(math.floor(high), low + 1) + 1, shape).astype(dtype)
    return as_dtype(rng.uniform(low, high, shape), dtype)


def integers(*shape, low=0, high=10, dtype="int64", seed=0):
    """Integers in [low, high)."""
    return np.random.default_rng((seed, *shape)).integers(low, high, shape).astype(dtype)


# ---- samples ---------------------------------------------------------------------------------------------------------

SHAPES = ((), (0,), (1,), (7,), (67,), (3, 0), (2, 3, 5))
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e38, -3e38)


def strided(*shape, **how):
    """The same shape in other strides: every second element, transposed, backwards."""
    yield floats(*shape[:-1], 2 * shape[-1], **how)[..., ::2]
    yield floats(*reversed(shape), **how).T
    yield floats(*shape, **how)[..., ::-1]
    yield floats(*shape, **how)[::-1]


def unary(low=-2.0, high=2.0, dtypes=FLOATS, special=True, unlike=None, **kwargs):
    """Samples of one tensor: values in [low, high), sizes 0, 1, odd, more than a vector, 0-d, strides, all dtypes, NaN and infinities
    (`unlike`: why PyTorch differs there)."""
    for shape in SHAPES:
        yield Sample(floats(*shape, low=low, high=high), **kwargs)
    for array in strided(4, 5, low=low, high=high):
        yield Sample(array, **kwargs)
    for dtype in dtypes:
        yield Sample(floats(3, 4, low=low, high=high, dtype=dtype), **kwargs)
        yield Sample(floats(21, low=low, high=high, dtype=dtype), **kwargs)
    if special:
        for dtype in (d for d in dtypes if d in FLOATS):
            yield Sample(as_dtype(np.array(SPECIAL), dtype), **kwargs).unlike_torch(unlike)


def binary(low=-2.0, high=2.0, low2=None, high2=None, dtypes=ALL, special=True, numbers=(2,), **kwargs):
    """Samples of two tensors that broadcast, of a tensor and a number; the second in [low2, high2)."""
    first = {"low": low, "high": high}
    second = {"low": low if low2 is None else low2, "high": high if high2 is None else high2, "seed": 1}
    pairs = [
        ((), ()),
        ((0,), (0,)),
        ((0,), (1,)),
        ((1,), (7,)),
        ((67,), (67,)),
        ((67,), ()),
        ((), (5,)),
        ((3, 1), (1, 5)),
        ((2, 3, 5), (3, 1)),
    ]
    for a, b in [*pairs, ((4, 0), (1, 0))]:
        yield Sample(floats(*a, **first), floats(*b, **second), **kwargs)
    for a, b in zip(strided(4, 5, **first), [*strided(4, 5, **second)][::-1]):
        yield Sample(a, b, **kwargs)
    for dtype in dtypes:
        yield Sample(floats(3, 4, dtype=dtype, **first), floats(3, 4, dtype=dtype, **second), **kwargs)
        yield Sample(floats(21, dtype=dtype, **first), floats(21, dtype=dtype, **second), **kwargs)
    for a, b in (
        ("int64", "float32"),
        ("uint8", "int8"),
        ("float16", "bfloat16"),
        ("bool", "int32"),
        ("float32", "float64"),
        ("int8", "float16"),
    ):
        if a in dtypes and b in dtypes:
            yield Sample(floats(5, dtype=a, **first), floats(5, dtype=b, **second), **kwargs)
    for number in numbers:
        for dtype in ("float32", "float16", "int8"):
            if dtype in dtypes:
                yield Sample(floats(7, dtype=dtype, **first), number, **kwargs)
    if special:
        for dtype in (d for d in dtypes if d in FLOATS):
            values = as_dtype(np.array(SPECIAL[:9]), dtype)
            yield Sample(values[:, None], values, **kwargs)


def reduction(low=-2.0, high=2.0, dtypes=ALL, special=True, empty=True, tuples=True, none=True, **kwargs):
    """Samples of one tensor with dim and keepdim; `empty`: also over nothing; `tuples`: dim may be a tuple; `none`: or left out."""
    how = {"low": low, "high": high}
    for shape in ((7,), (67,), (1,), (3, 5), (2, 3, 5), (3, 67)):
        if none:
            yield Sample(floats(*shape, **how), **kwargs)
        yield Sample(floats(*shape, **how), dim=-1, **kwargs)
        yield Sample(floats(*shape, **how), dim=0, keepdim=True, **kwargs)
    yield Sample(floats(**how), dim=0, **kwargs)
    yield Sample(floats(2, 3, 5, **how), dim=1, **kwargs)
    yield Sample(floats(0, 3, **how), dim=1, **kwargs)
    if "float64" in dtypes:
        yield Sample(floats(2, 3, dtype="float64", **how), dim=1, **kwargs)
        yield Sample(floats(2, 3, dtype="float64", **how), dim=0, keepdim=True, **kwargs)
    if empty:
        yield Sample(floats(0, 3, **how), dim=0, **kwargs)
        yield Sample(floats(3, 0, **how), dim=-1, keepdim=True, **kwargs)
    if tuples:
        yield Sample(floats(2, 3, 5, **how), dim=(0, -1), **kwargs)
        yield Sample(floats(2, 3, 5, **how), dim=(2, 1), keepdim=True, **kwargs)
    for array in strided(4, 5, **how):
        yield Sample(array, dim=1, **kwargs)
    for dtype in dtypes:
        yield Sample(floats(3, 9, dtype=dtype, **how), dim=1, **kwargs)
        yield Sample(floats(3, 9, dtype=dtype, **how), dim=0, **kwargs)
    if special:
        for dtype in (d for d in dtypes if d in FLOATS):
            yield Sample(
                as_dtype([[math.nan, 1, 2], [math.inf, 1, 2], [-math.inf, 1, 2], [math.inf, -math.inf, 1], [0.0, -0.0, 0.0]], dtype),
                dim=1,
                **kwargs,
            )


def scan(low=-2.0, high=2.0, dtypes=NUMBERS, special=True, **kwargs):
    """Samples of one tensor along one dim, for running sums and the like."""
    how = {"low": low, "high": high}
    for shape in ((), (0,), (1,), (7,), (67,), (3, 5), (2, 3, 5), (2, 0, 3)):
        for dim in range(-1, max(len(shape) - 1, 0)):
            yield Sample(floats(*shape, **how), dim=dim, **kwargs)
    for array in strided(4, 5, **how):
        yield Sample(array, dim=1, **kwargs)
        yield Sample(array, dim=0, **kwargs)
    for dtype in dtypes:
        yield Sample(floats(3, 5, dtype=dtype, **how), dim=-1, **kwargs)
        yield Sample(floats(3, 5, dtype=dtype, **how), dim=0, **kwargs)
    if special:
        for dtype in (d for d in dtypes if d in FLOATS):
            yield Sample(
                as_dtype([[1, math.nan, 2], [1, math.inf, 2], [-math.inf, 1, 2], [math.inf, -math.inf, 1]], dtype), dim=1, **kwargs
            )
    yield Sample(floats(2, 3, dtype="float64", **how), dim=1, **kwargs)


# ---- result types ----------------------------------------------------------------------------------------------------

_WIDTH = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3}


def kind_of(dtype):
    return 0 if dtype == "bool" else 1 if dtype in INTEGERS else 2


def promote(a, b):
    """The common type of two tensors (S1, S2 of docs/semantics.md)."""
    if a == b:
        return a
    if kind_of(a) != kind_of(b):
        return a if kind_of(a) > kind_of(b) else b
    if kind_of(a) == 2:
        return "float32" if _WIDTH[a] == _WIDTH[b] == 1 else max(a, b, key=_WIDTH.get)
    both = np.promote_types(a, b).name
    return "int64" if both == "float64" else both


def common_dtype(values):
    """The common type of tensors, 0-d tensors and numbers: the latter two raise the kind, not the width (S3, S5)."""
    ranks = [None, None, None]
    for value in values:
        if isinstance(value, np.ndarray):
            place, dtype = (0 if value.ndim else 1), dtype_of(value)
        elif isinstance(value, (bool, int, float)):
            place, dtype = 2, {bool: "bool", int: "int64", float: "float32"}[type(value)]
        else:
            continue
        ranks[place] = dtype if ranks[place] is None else promote(ranks[place], dtype)
    result = None
    for dtype in ranks:
        if dtype is not None and (result is None or kind_of(dtype) > kind_of(result)):
            result = dtype
    return result


def _arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _arrays(each)


def arrays_of(sample):
    yield from _arrays([*sample.args, *sample.kwargs.values()])


def _flat(value):
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _promoted(sample):
    return common_dtype(_flat(sample.args))


def _float(sample):
    dtype = _promoted(sample)
    return dtype if dtype in FLOATS else "float32"


def _summed(sample):
    dtype = dtype_of(sample.args[0])
    return dtype if dtype in FLOATS else "int64"


RESULT_RULES = {
    "promote": _promoted,  # the common type of the positional arguments
    "float": _float,  # the same, float32 for integers and bools
    "same": lambda sample: dtype_of(next(arrays_of(sample))),  # the type of the first tensor
    "sum": _summed,  # the type of the first tensor, int64 for integers and bools
}  # anything else is a dtype by name, a function of the sample, or a tuple of these, one for each result


def result_dtypes(entry, sample, rule=None):
    rule = entry.result if rule is None else rule
    if isinstance(rule, tuple):
        return tuple(result_dtypes(entry, sample, each) for each in rule)
    asked = sample.kwargs.get("dtype")
    if asked is not None and not isinstance(asked, np.ndarray):
        return str(asked)
    if callable(rule):
        return rule(sample)
    return RESULT_RULES[rule](sample) if rule in RESULT_RULES else rule


# ---- entries ---------------------------------------------------------------------------------------------------------


class Entry:
    def __init__(
        self, name, forms, samples, oracle, aliases, result, errors, tolerance, reason, gradient, gradients, check, torch, promotes
    ):
        self.name, self.oracle, self.result, self.errors, self.tolerance, self.reason = (
            name,
            oracle,
            result,
            errors,
            tolerance or {},
            reason,
        )
        self.gradient, self.own_gradients, self.check, self.torch = gradient, gradients, check, torch
        self.promotes = result in ("promote", "float", "bool") if promotes is None else promotes
        self.names = [form[:-1] + f".{name}_" if form.endswith("_") else f"{form}.{name}" for form in forms.split()] + aliases.split()
        self.make_samples = samples

    def __repr__(self):
        return self.names[0]

    def samples(self):
        return list(self.make_samples() if callable(self.make_samples) else self.make_samples)

    def differentiated(self):
        """The positions of the arguments that get a gradient."""
        return None if self.gradient in (True, "first") else self.gradient

    def gradient_samples(self):
        """Up to two small samples of finite floats, as float64."""
        if self.gradient is False:
            return []
        made = self.own_gradients
        if made is not None:
            return list(made() if callable(made) else made)
        found = []
        for sample in self.samples():
            given = list(arrays_of(sample))
            sizes = [a.size for a in given]
            fits = given and 0 < sum(sizes) <= 24 and min(sizes) > 0 and "dtype" not in sample.kwargs
            if fits and all(dtype_of(a) == "float64" or a.dtype.kind in "iub" for a in given) and any(a.dtype.kind == "f" for a in given):
                if all(np.isfinite(a).all() for a in given if a.dtype.kind == "f"):
                    found.append(sample)
        return found[:2]


def op(
    name, forms, samples, oracle=None, *, aliases="", result="promote", errors=(), tolerance=None, reason="", gradient=True,
    gradients=None, check=None, torch="same", promotes=None, torch_tolerance=None,
):  # fmt: skip
    """Registers an entry: see above."""
    if (oracle is None) == (check is None):
        raise TypeError(f"op({name!r}): give an oracle or a check")
    if (tolerance or gradient == "first" or torch is None) and not reason:
        raise TypeError(f"op({name!r}): an exception needs a reason")
    entry = Entry(name, forms, samples, oracle, aliases, result, errors, tolerance, reason, gradient, gradients, check, torch, promotes)
    entry.torch_tolerance = {**entry.tolerance, **(torch_tolerance or {})}
    ENTRIES.append(entry)
    return entry


def covered():
    """name → entry, for all names that have one; a name may have several."""
    return {name: entry for entry in ENTRIES for name in entry.names}


def find(name):
    """The function or unbound method of a name such as weft.exp, Tensor.exp, F.gelu, linalg.inv."""
    place, _, attribute = name.partition(".")
    return getattr(PLACES[place], attribute)


# ---- Weft's side -----------------------------------------------------------------------------------------------------


def with_leaves(entry, sample, tensor, convert):
    """The sample's arguments, those by name, and the leaves among them: float64 tensors, also in lists, for what `entry`
    differentiates; `tensor` makes those, and `convert` everything else."""
    leaves, only = [], entry.differentiated()

    def prepared(value, wanted):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and wanted:
            leaves.append(tensor(np.array(value, "float64"), requires_grad=True))
            return leaves[-1]
        if isinstance(value, (list, tuple)):
            return type(value)(prepared(each, wanted) for each in value)
        return convert(value)

    args = [prepared(value, only is None or i in only) for i, value in enumerate(sample.args)]
    return args, {key: prepared(value, only is None) for key, value in sample.kwargs.items()}, leaves


def to_weft(value):
    """An array as a tensor over the same memory, in the same strides; lists and tuples of arrays; dtypes by name."""
    if isinstance(value, BF16):
        return weft.tensor(np.array(value)).to(weft.bfloat16)
    if isinstance(value, np.ndarray):
        return weft.from_numpy(value).to(DEVICE)
    if isinstance(value, Raw):
        return value.array
    if isinstance(value, D):
        return getattr(weft, value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_weft, value))
    return value


def to_numpy(tensor):
    """A tensor's values; bfloat16 as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype is weft.bfloat16 else tensor).numpy()


def dtype_name(value):
    """The name of a dtype or of a tensor's, of either side."""
    return str(getattr(value, "dtype", value)).rsplit(".", 1)[-1]


def apply(name, args, kwargs):
    """The op of this name with tensors. An in-place op gets a copy of its first argument, which it must return."""
    if not name.endswith("_"):
        return find(name)(*args, **kwargs)
    first = args[0].clone()
    result = find(name)(first, *args[1:], **kwargs)
    assert result is first, f"{name} must return the tensor that it changes"
    return first


def call(name, sample):
    """The op of this name with Weft's arguments."""
    return apply(name, to_weft(list(sample.args)), {key: to_weft(value) for key, value in sample.kwargs.items()})


def runs(entry, name, sample):
    """Whether a form can take a sample: numbers have no methods, and what is done in place keeps shape and dtype."""
    first = sample.args[0] if sample.args else None
    if name.startswith("Tensor.") and not isinstance(first, np.ndarray):
        return False
    if not name.endswith("_") or entry.check:
        return True
    return result_dtypes(entry, sample) == dtype_of(first) and np.shape(expected(entry, sample)) == first.shape


# ---- the oracle's side -----------------------------------------------------------------------------------------------


def _for_oracle(value, wanted=None):
    if isinstance(value, np.ndarray):
        dtype = "float64" if value.dtype.kind == "f" or wanted in FLOATS else wanted or value.dtype
        return np.asarray(value).astype(dtype)
    if isinstance(value, Raw):
        return value.array
    if isinstance(value, D):
        return np.dtype("float32" if value == "bfloat16" else str(value))
    if isinstance(value, (list, tuple)):
        return type(value)(_for_oracle(each, wanted) for each in value)
    return value


def expected(entry, sample):
    """What the oracle says, as arrays of its own types."""
    wanted = _promoted(sample) if entry.promotes else None
    if wanted and entry.result == "float" and wanted not in FLOATS:
        wanted = "float32"
    args = [_for_oracle(value, wanted) for value in sample.args]
    kwargs = {key: _for_oracle(value, wanted) for key, value in sample.kwargs.items()}
    with np.errstate(all="ignore"):
        return entry.oracle(*args, **kwargs)


def assert_close(got, want, dtype, tolerances, what):
    """A tensor has this dtype, the oracle's shape, and its values within the tolerance of that dtype."""
    if isinstance(want, (tuple, list)):
        assert isinstance(got, (tuple, list)) and len(got) == len(want), f"{what}: {got!r} instead of {len(want)} results"
        kinds = dtype if isinstance(dtype, tuple) else [dtype] * len(want)
        for i, (g, w, d) in enumerate(zip(got, want, kinds)):
            assert_close(g, w, d, tolerances, f"{what}[{i}]")
        return
    if not isinstance(got, weft.Tensor):
        assert type(got) is type(want) and (got == want or (got != got and want != want)), f"{what}: {got!r} instead of {want!r}"
        return
    want = np.asarray(want)
    assert dtype_name(got) == dtype, f"{what}: {dtype_name(got)} instead of {dtype}"
    assert tuple(got.shape) == want.shape, f"{what}: shape {tuple(got.shape)} instead of {want.shape}"
    values = to_numpy(got)
    if dtype not in FLOATS:
        with np.errstate(invalid="ignore"):
            want = want.astype(dtype)
        wrong = values != want
    else:
        want = want.astype("float64")
        limit = weft.finfo(getattr(weft, dtype)).max
        with np.errstate(all="ignore"):
            want = np.where(np.abs(want) > limit * (1 + 2.0**-12), np.copysign(np.inf, want), want)
            rtol, atol = tolerances.get(dtype, TOLERANCES[dtype])
            near_the_limit = (np.abs(want) >= limit * (1 - rtol)) & (np.sign(values) == np.sign(want))
            wrong = ~np.isclose(values.astype("float64"), want, rtol=rtol, atol=atol, equal_nan=True) & ~(
                near_the_limit & np.isfinite(want)
            )
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(f"{what}: {int(wrong.sum())} of {want.size} elements differ; at {at} {values[at]!r} instead of {want[at]!r}")
