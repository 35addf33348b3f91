"""Runs the registry of ops (registry.py): values, dtypes and shapes against NumPy and SciPy, errors, first and second derivatives by
finite differences; and looks for public ops without an entry."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import weft

from . import registry
from .pending import PENDING
from .registry import ENTRIES, apply, assert_close, call, expected, result_dtypes, runs, to_weft

# Public names that take or make no tensors, or that do no arithmetic, with the reason in one word.
NOT_OPS = {
    "type": "ArgumentError BackendError DTypeError Explanation Generator GradError GradFn Kernel LinAlgError linalg.LinAlgError RemovableHandle ShapeError Size Tensor device dtype "
    "OutOfMemoryError finfo iinfo layout memory_format BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor",
    "setting": "get_default_device set_default_device set_default_tensor_type counters enable_grad get_default_dtype get_num_threads get_rng_state inference_mode initial_seed is_grad_enabled "
    "manual_seed no_grad set_debug_level set_default_dtype set_printoptions set_grad_enabled set_memory_limit set_num_threads set_rng_state trim_memory",
    "tool": "describe_api jit load realize save search_api",
    "property": "Tensor.data_ptr Tensor.dim Tensor.element_size Tensor.is_contiguous Tensor.is_floating_point Tensor.nelement "
    "Tensor.numel Tensor.size is_floating_point is_tensor isdtype numel promote_types "
    "Tensor.get_device Tensor.is_complex Tensor.is_nonzero Tensor.is_same_size Tensor.is_signed Tensor.ndimension Tensor.storage_offset "
    "Tensor.stride Tensor.type is_complex is_nonzero is_same_size is_signed can_cast result_type "
    "Tensor.is_conj Tensor.is_inference Tensor.is_neg is_conj is_inference is_neg",
    "autograd": "Tensor.backward Tensor.detach_ Tensor.register_hook Tensor.register_post_accumulate_grad_hook Tensor.requires_grad_ Tensor.retain_grad",
    "storage": "Tensor.apply_ Tensor.cuda Tensor.is_pinned Tensor.is_shared Tensor.map_ Tensor.new Tensor.pin_memory Tensor.record_stream Tensor.resize_ Tensor.resize_as_ Tensor.set_ Tensor.share_memory_ "
    "Tensor.storage Tensor.untyped_storage is_storage",
    "sparse": "Tensor.to_dense Tensor.to_sparse Tensor.to_sparse_coo",  # test_sparse.py
    "exit": "Tensor.item Tensor.numpy Tensor.realize Tensor.tolist",
}  # fmt: skip
NOT_OPS = {name if "." in name else f"weft.{name}" for names in NOT_OPS.values() for name in names.split()}


def public():
    """All public callables of the places where ops live."""
    for place, owner in registry.PLACES.items():
        for name in dir(owner):
            if not name.startswith("_") and callable(getattr(owner, name)) and not inspect.ismodule(getattr(owner, name)):
                yield f"{place}.{name}"


def test_every_public_op_has_an_entry():
    known = registry.covered().keys() | NOT_OPS | set(PENDING)
    missing = sorted(set(public()) - known)
    assert not missing, f"no entry in python/tests/ops/: {' '.join(missing)}"


def test_pending_names_have_no_entry():
    stale = [name for name in PENDING if name in registry.covered()]
    assert not stale, f"have an entry, so take them out of pending.py: {' '.join(stale)}"


def test_names_exist():
    wanted = set(public())
    for entry in ENTRIES:
        for name in entry.names:
            assert name in wanted, f"{name} does not exist"
    gone = sorted((NOT_OPS | set(PENDING)) - wanted)
    assert not gone, f"are not public, so take them out of the lists: {' '.join(gone)}"


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_values(entry):
    samples = entry.samples()
    assert len(samples) >= 10, f"{len(samples)} samples say little"
    for sample in samples:
        want = None if entry.check else expected(entry, sample)
        dtypes = None if entry.check else result_dtypes(entry, sample)
        for name in entry.names:
            if not runs(entry, name, sample):
                continue
            what = f"{name}{sample}"
            try:
                got = call(name, sample)
                if entry.check:
                    entry.check(got, *sample.args, **sample.kwargs)
                else:
                    assert_close(got, want, dtypes, entry.tolerance, what)
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(f"{what} raised {error!r}") from error


def read(result):
    """What is wrong with an index may be told only where the values are read, on a device that the program runs ahead of."""
    for each in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(each, weft.Tensor) and registry.DEVICE != "cpu":
            each.cpu().realize()


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.errors], ids=repr)
def test_errors(entry):
    for error in entry.errors:
        with pytest.raises(error.kind) as caught:
            read(call(entry.names[0], error.sample))
            pytest.fail(f"{entry}{error.sample} raised nothing")
        message = str(caught.value)
        assert error.text and error.text in message, f"{entry}{error.sample}: '{error.text}' is not in '{message}'"
        assert re.match(r"[\w.]+\(", message), f"{entry}{error.sample}: '{message}' does not open with the call"


def differentiable(entry, sample):
    """(a function of the differentiated tensors, these tensors): float64 arguments, also those in lists; the result has weights, so
    that no second derivative vanishes by symmetry."""
    args, kwargs, leaves = registry.with_leaves(entry, sample, weft.tensor, to_weft)

    def replaced(value, values):
        if isinstance(value, weft.Tensor):
            return next((new for old, new in zip(leaves, values) if old is value), value)
        if isinstance(value, (list, tuple)):
            return type(value)(replaced(each, values) for each in value)
        return value

    def function(*values):
        result = apply(entry.names[0], replaced(args, values), {key: replaced(value, values) for key, value in kwargs.items()})
        results = result if isinstance(result, (tuple, list)) else [result]
        weighted = []
        for i, each in enumerate(results):
            if each.is_floating_point():
                weights = registry.floats(*each.shape, low=0.5, high=1.5, dtype="float64", seed=i)
                weighted.append(each * weft.tensor(weights, device=each.device))
        return tuple(weighted)

    return function, leaves


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.gradient], ids=repr)
def test_gradients(entry):
    samples = entry.gradient_samples()
    assert samples, "no sample is small, of float64 and finite: give some with gradients="
    for sample in samples:
        function, leaves = differentiable(entry, sample)
        try:
            assert weft.autograd.gradcheck(function, leaves)
            if entry.gradient != "first":
                assert weft.autograd.gradgradcheck(function, leaves)
        except RuntimeError as error:
            raise AssertionError(f"{entry}{sample}: {error}") from error


def test_exceptions_from_the_tolerances_are_written_down():
    text = (Path(__file__).parents[3] / "docs" / "semantics.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text.partition("Exceptions, with the larger bound")[2].partition("\n## ")[0], re.M)
    wider = {e.name for e in ENTRIES for dtype, (rtol, atol) in e.tolerance.items() if (rtol, atol) > registry.TOLERANCES[dtype]}
    assert set(listed) == wider


def test_the_checks_notice():
    x = np.array([1.0, 2.0], "float32")
    for got, want, dtype in (
        (x, x + 1e-4, "float32"), (x, x.astype("float64"), "float64"), (x, x[:1], "float32"), (x, [x, x], "float32"),
        (x, x * np.nan, "float32"), (x * np.inf, x * 1e30, "float32"), (x.astype("int64"), x + 1, "int64"),
    ):  # fmt: skip
        with pytest.raises(AssertionError):
            assert_close(weft.tensor(got), want, dtype, {}, "x")
    assert_close(weft.tensor(x).half() * 1e5, x * 1e5, "float16", {}, "overflow gives infinity")
    wrong = registry.Entry("log1p", "weft", [], None, "", "float", (), None, "", True, None, None, "same", None)
    function, leaves = differentiable(wrong, registry.Sample(np.array([0.5, 1.0])))
    with pytest.raises(RuntimeError, match="differences"):
        weft.autograd.gradcheck(lambda v: v.detach() * function(v)[0], leaves)
