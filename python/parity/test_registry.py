"""The registry of ops (python/tests/ops/) against PyTorch: values, dtypes, shapes and gradients."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import weft

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ops import registry  # noqa: E402

PLACES = {"weft": torch, "Tensor": torch.Tensor, "F": torch.nn.functional, "linalg": torch.linalg}
# PyTorch has few kernels for these, and promotes them otherwise (S1).
RARE = {"uint16", "uint32", "uint64"}

HALVES = {"float16": (1e-2, 2e-3), "bfloat16": (5e-2, 2e-2)}

ENTRIES = [e for e in registry.ENTRIES if e.torch is not None and not e.check]


def theirs(entry):
    """The call in PyTorch, as a function of the arguments."""
    if callable(entry.torch):
        return lambda *args, **kwargs: entry.torch(torch, *args, **kwargs)
    place, _, name = entry.names[0].partition(".")
    function = getattr(PLACES[place], name)
    return (lambda first, *args, **kwargs: function(first.clone(), *args, **kwargs)) if name.endswith("_") else function


def weft_call(entry, *args, **kwargs):
    return registry.apply(entry.names[0], args, kwargs)


def to_torch(value):
    if isinstance(value, registry.BF16):
        return torch.tensor(np.array(value)).to(torch.bfloat16)
    if isinstance(value, np.ndarray):
        return torch.tensor(np.array(value, order="C"))
    if isinstance(value, registry.Raw):
        return np.array(value.array)
    if isinstance(value, registry.D):
        return getattr(torch, value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_torch, value))
    return value


def assert_same(got, want, tolerances, what):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{what}: {len(got)} results instead of {len(want)}"
        for i, (g, w) in enumerate(zip(got, want)):
            assert_same(g, w, tolerances, f"{what}[{i}]")
    elif isinstance(want, torch.Tensor):
        values = want.detach()
        dtype = registry.dtype_name(want)
        values = (values.float() if dtype == "bfloat16" else values).numpy()
        # PyTorch may be as far from the truth as Weft, on the other side; of f16 and bf16 it rounds between the steps of some ops.
        wider = {name: (2 * r, 2 * a) for name, (r, a) in {**registry.TOLERANCES, **tolerances}.items()}
        registry.assert_close(got, values, dtype, {**wider, **HALVES}, what)
    else:
        registry.assert_close(got, want, None, tolerances, what)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_values(entry):
    compared = 0
    for sample in entry.samples():
        if sample.unlike or not registry.runs(entry, entry.names[0], sample):
            continue
        if any(registry.dtype_of(a) in RARE for a in registry.arrays_of(sample)):
            continue
        want = theirs(entry)(*to_torch(list(sample.args)), **{key: to_torch(value) for key, value in sample.kwargs.items()})
        assert_same(registry.call(entry.names[0], sample), want, entry.torch_tolerance, f"{entry}{sample}")
        compared += 1
    assert compared, "every sample is unlike PyTorch: say torch=None"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.gradient], ids=repr)
def test_gradients(entry):
    for sample in entry.gradient_samples():
        if sample.unlike:
            continue
        totals, leaves = [], []
        for side, convert, function in ((weft, registry.to_weft, functools.partial(weft_call, entry)), (torch, to_torch, theirs(entry))):
            args, kwargs, found = registry.with_leaves(entry, sample, side.tensor, convert)
            result = function(*args, **kwargs)
            results = result if isinstance(result, (tuple, list)) else [result]
            total = 0
            for i, each in enumerate(results):
                if each.requires_grad:
                    total = total + (each * side.tensor(registry.floats(*each.shape, dtype="float64", seed=i))).sum()
            totals.append(total)
            leaves.append(found)
        for total in totals:
            if not isinstance(total, int):  # a result without a gradient: zeros
                total.backward()
        for i, (ours, other) in enumerate(zip(*leaves)):
            want = torch.zeros_like(other) if other.grad is None else other.grad
            got = weft.zeros_like(ours) if ours.grad is None else ours.grad
            assert_same(got, want, {}, f"gradient of tensor {i} of {entry}{sample}")
