"""Bad arguments: the right exception, and one sentence that names the function and the argument."""

import re

import pytest

import weft
import weft.nn.functional as F

X = weft.ones(2, 3)
CASES = [
    (lambda: weft.softmax(X, "a"), TypeError, "softmax(): argument 'dim' must be an int, not str"),
    (lambda: weft.softmax(X), TypeError, "softmax() needs the argument 'dim'"),
    (lambda: X.softmax(along=1), TypeError, "softmax() has no argument named 'along'"),
    (lambda: weft.softmax(X, 1, dim=1), TypeError, "softmax(): argument 'dim' was given twice"),
    (lambda: weft.exp(X, 1), TypeError, "exp() takes at most 1 positional argument, but 2 were given"),
    (lambda: X.transpose(0, 1, 2), TypeError, "transpose() takes at most 2 positional arguments, but 3 were given"),
    (lambda: weft.exp([1]), TypeError, "exp(): argument 'input' must be a Tensor, not list"),
    (lambda: weft.add(X, "1"), TypeError, "add(): argument 'other' must be a Tensor or a number, not str"),
    (lambda: weft.zeros("2"), TypeError, "zeros(): argument 'size' must be a tuple of ints, but one of them is str"),
    (lambda: weft.zeros(2, 1.5), TypeError, "zeros(): argument 'size' must be a tuple of ints, but one of them is float"),
    (lambda: weft.zeros(2, dtype="f4"), TypeError, "zeros(): argument 'dtype' must be a dtype such as weft.float32, not str"),
    (lambda: weft.zeros(2, device="mps"), RuntimeError, "zeros(): there is no device 'mps'; Weft runs on 'cpu' and 'cuda'"),
    (lambda: weft.cat([X, 1]), TypeError, "cat(): argument 'tensors' must be a list of tensors, but one of them is int"),
    (lambda: weft.cat(X), TypeError, "cat(): argument 'tensors' must be a list or tuple of tensors, not Tensor"),
    (lambda: weft.tensor("a"), TypeError, "tensor(): argument 'data' must be numbers in nested lists, or an array, not str"),
    (lambda: weft.tensor([[1], [1, 2]]), ValueError, "tensor(): a list of 2 stands where one of 1 is expected"),
    (lambda: weft.zeros(2**62, 8), ValueError, "zeros("),
    (lambda: weft.rand(1, 1).expand(2**40, 1) + weft.rand(1).expand(2**40), ValueError, "add("),
    (lambda: weft.ones(3).expand(2**40, 2**40, 3), ValueError, "expand("),
    (lambda: weft.cat([weft.ones(1).expand(2**59), weft.ones(1).expand(2**59)]), ValueError, "cat("),
    (lambda: weft.ones(3).repeat(2**62, 2**62), ValueError, "repeat("),
    (lambda: weft.diag_embed(weft.ones(3), 2**63 - 2), ValueError, "diag_embed("),
    (lambda: F.pad(X, (2**62, 2**62)), ValueError, "pad("),
    (lambda: weft.kron(weft.rand(1).expand(2**40), weft.rand(1).expand(2**40)), ValueError, "kron("),
    (lambda: weft.outer(weft.rand(1).expand(2**40), weft.rand(1).expand(2**40)), ValueError, "outer("),
    (lambda: weft.nn.utils.clip_grad_norm_([1], 1.0), TypeError, "clip_grad_norm_(): argument 'parameters' must be a list of tensors, but one of them is int"),
    (lambda: weft.nn.utils.clip_grad_value_(["a"], 1.0), TypeError, "clip_grad_value_(): argument 'parameters'"),
    (lambda: weft.nn.utils.parameters_to_vector([1]), TypeError, "parameters_to_vector(): argument 'parameters'"),
    (lambda: weft.nn.utils.vector_to_parameters(1, [X]), TypeError, "vector_to_parameters(): argument 'vec' must be a Tensor, not int"),
    (lambda: weft.linalg.svd([1]), TypeError, "svd(): argument 'A' must be a Tensor, not list"),
    (lambda: weft.autograd.backward(1), TypeError, "backward(): argument 'tensors' must be a list of tensors, but one of them is int"),
    (lambda: weft.nn.utils.clip_grad_norm_(5, 1.0), TypeError, "clip_grad_norm_(): argument 'parameters' must be a list of tensors, but one of them is int"),
    (lambda: F.max_pool2d(weft.ones(1, 1, 4, 4), 2, stride=0), ValueError, "stride must be at least 1, not 0"),
    (lambda: weft.hann_window(2**40), MemoryError, "hann_window(length: 1099511627776, dtype: f32): cannot allocate a table"),
    (lambda: X + "a", TypeError, "Tensor' and 'str'"),
    (lambda: X @ 2, TypeError, "Tensor' and 'int'"),
    (lambda: X @ X, RuntimeError, "matmul(a: f32[2, 3], b: f32[2, 3]): a's last size 3 must equal b's second-last 2"),
    (lambda: X + weft.ones(2), ValueError, "add(a: f32[2, 3], b: f32[2])"),
    (lambda: X.reshape(5), RuntimeError, "reshape(x: f32[2, 3], shape: [5])"),
    (lambda: X.sum(2), IndexError, "axis 2 is out of range"),
    (lambda: X.sum(2**40), IndexError, "sum"),
    (lambda: X.unsqueeze(2**40), IndexError, "unsqueeze(): argument 'dim' is out of range"),
    (lambda: weft.zeros(2**70), OverflowError, "zeros(): argument 'size' does not fit 64 bits"),
    (lambda: X.item(), ValueError, "exactly one is needed"),
    (lambda: bool(X), ValueError, "exactly one is needed"),
    (lambda: len(weft.tensor(1)), TypeError, "len() of a 0-d tensor"),
    (lambda: list(weft.tensor(1)), TypeError, "iteration over a 0-d tensor"),
    (lambda: weft.arange(3).mean(), TypeError, "mean"),
    (lambda: F.cross_entropy(X, weft.tensor([0, 1]), reduction="avg"), ValueError, "must be 'none', 'mean' or 'sum', not 'avg'"),
    (lambda: F.gelu(X, approximate="x"), ValueError, "gelu(): argument 'approximate' must be 'none' or 'tanh', not 'x'"),
    (lambda: F.conv2d(X, X), ValueError, "conv2d"),
    (lambda: X.to("gpu"), RuntimeError, "to(): there is no device 'gpu'"),
    (lambda: X.to(3.5), TypeError, "to(): argument 'dtype' must be a dtype such as weft.float32, not float"),
    (lambda: weft.Tensor(a=1), TypeError, "Tensor() takes no keyword arguments"),
    (lambda: setattr(X, "grad", 3), TypeError, "grad(): argument 'value' must be a Tensor or None, not int"),
    (lambda: setattr(X, "requires_grad", "a"), TypeError, "must be a bool, not str"),
    (lambda: weft.randint(5), TypeError, "randint() needs the argument 'size'"),
    (lambda: weft.set_num_threads(0), ValueError, "set_num_threads(): argument 'num' must be at least 1, not 0"),
    (lambda: weft.full((2,), X), TypeError, "full(): argument 'fill_value' must be a number, not a tensor of the shape [2, 3]"),
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_error(case):
    call, error, message = case
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and "std::" not in text and "nanobind" not in text and "overload" not in text
    assert not re.search(r"(?<![A-Za-z0-9_])_[a-z]\w*\(", text), "a name that is not public"


def test_a_failed_run_raises_and_leaves_the_rest():
    x = weft.arange(3)
    bad = x[weft.tensor([7])]
    with pytest.raises(IndexError):
        bad.tolist()
    assert x.tolist() == [0, 1, 2]


def test_memory_error():
    with pytest.raises(MemoryError):
        weft.ones(2**40).cumsum(0).realize()


def test_children_parameters_and_optimisers_of_the_wrong_kind():
    from weft import nn

    with pytest.raises(TypeError, match="Sequential\\(\\): child '0' must be a Module, not list"):
        nn.Sequential([nn.Linear(2, 2)])
    with pytest.raises(TypeError, match="ModuleList\\(\\): child '0' must be a Module, not relu"):
        nn.ModuleList([nn.functional.relu])
    with pytest.raises(TypeError, match="Parameter\\(\\): argument 'data' must be a Tensor, not list"):
        nn.Parameter([1.0, 2.0])
    with pytest.raises(TypeError, match="SGD\\(\\): argument 'params' is a Linear; pass its parameters"):
        weft.optim.SGD(nn.Linear(2, 2))


def test_lists_that_contain_themselves():
    inside = [1.0]
    inside.append(inside)
    arrays = [X]
    arrays.append(arrays)
    pair = [[]]
    pair[0].append(pair)
    deep = 1.0
    for _ in range(1000):
        deep = [deep]
    for data in (inside, arrays, pair, deep):
        for function in (weft.tensor, weft.as_tensor, weft.asarray, X.new_tensor):
            with pytest.raises((ValueError, TypeError)):
                function(data)
        with pytest.raises((ValueError, TypeError, IndexError)):
            X[data]
    with pytest.raises(ValueError, match="tensor\\(\\): argument 'data' has lists in lists more than 64 deep; does one contain itself"):
        weft.tensor(inside)
    deep = 1.0
    for _ in range(30):
        deep = [deep]
    assert weft.tensor(deep).ndim == 30
