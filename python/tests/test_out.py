"""out=, memory formats, older tensor types and storages: what scripts for PyTorch ask for besides ops."""

import collections
import os
import pickle
import warnings

import numpy as np
import pytest

import weft


# ---- out -------------------------------------------------------------------------------------------------------------


def test_out_is_written_and_returned():
    a, b, place = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]), weft.empty(2)
    view = place[:1]
    assert weft.add(a, b, out=place) is place
    assert place.tolist() == [4, 6] and view.tolist() == [4]  # others that share it see it
    assert weft.mul(a, b, out=a) is a and a.tolist() == [3, 8]  # also into an argument
    assert weft.sum(b, out=weft.empty(())).item() == 7
    assert weft.cat([a, b], out=weft.empty(4)).tolist() == [3, 8, 3, 4]
    assert weft.matmul(weft.eye(2), b, out=place) is place and place.tolist() == [3, 4]
    assert weft.linalg.inv(2 * weft.eye(2), out=weft.empty(2, 2)).tolist() == [[0.5, 0], [0, 0.5]]


def test_out_takes_the_shape_of_the_result():
    place = weft.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert weft.exp(weft.zeros(2, 3), out=place) is place
    assert place.shape == (2, 3) and place.tolist() == [[1, 1, 1], [1, 1, 1]]
    with pytest.warns(UserWarning, match=r"exp\(\): 'out' has the shape \[2, 3\] and gets the result's, \[4\]"):
        weft.exp(weft.zeros(4), out=place)
    assert place.tolist() == [1, 1, 1, 1]


def test_out_converts_upwards_only():
    place = weft.zeros(2, dtype=weft.float64)
    weft.add(weft.tensor([1, 2]), 1, out=place)
    assert place.dtype is weft.float64 and place.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"div\(\): the result is f32, which cannot be stored in an 'out' of i64"):
        weft.div(weft.ones(2), 2, out=weft.zeros(2, dtype=weft.int64))
    with pytest.raises(RuntimeError, match="cannot be stored"):
        weft.add(weft.tensor([1]), 1, out=weft.zeros(1, dtype=weft.bool))


def test_out_of_what_creates_has_its_own_type():
    assert weft.zeros(3, out=weft.ones(3, dtype=weft.int64)).dtype is weft.int64
    assert weft.arange(3, out=weft.empty(0)).tolist() == [0.0, 1.0, 2.0]
    assert weft.ones(2, dtype=weft.int32, out=weft.empty(0, dtype=weft.int64)).tolist() == [1, 1]


def test_out_of_several_results():
    values, indices = weft.empty(0), weft.empty(0, dtype=weft.int64)
    result = weft.max(weft.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
    assert result.values is values and result.indices is indices
    assert values.tolist() == [5, 7] and indices.tolist() == [1, 0]
    with pytest.raises(TypeError, match=r"sort\(\): argument 'out' must have 2 tensors, not 1"):
        weft.sort(weft.ones(2), out=(values,))
    with pytest.raises(TypeError, match=r"sort\(\): argument 'out' must be a tuple of tensors, not Tensor"):
        weft.sort(weft.ones(2), out=values)


def test_out_has_no_gradient():
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"exp\(\): what requires a gradient cannot be written into 'out'"):
        weft.exp(x, out=weft.empty(2))
    with weft.no_grad():
        assert weft.exp(x * 0, out=weft.empty(2)).tolist() == [1, 1]


def test_who_has_no_out():
    for call in (
        lambda: weft.reshape(weft.ones(2), (2, 1), out=weft.empty(2, 1)),
        lambda: weft.nn.functional.relu6(weft.ones(2), out=weft.empty(2)),
        lambda: weft.ones(2).exp(out=weft.empty(2)),
    ):
        with pytest.raises(TypeError, match="has no argument named 'out'"):
            call()
    with pytest.raises(TypeError, match=r"add\(\): argument 'out' must be a Tensor, not list"):
        weft.add(weft.ones(2), 1, out=[0, 0])
    assert weft.ones(2).sum(out=None).item() == 2  # np.sum(tensor) says so


# ---- memory formats --------------------------------------------------------------------------------------------------


def test_memory_formats():
    x = weft.rand(2, 3, 4, 4)
    for same in (
        x.contiguous(memory_format=weft.channels_last), x.to(memory_format=weft.channels_last), x.clone(memory_format=weft.preserve_format),
        x.float(memory_format=weft.contiguous_format), x.to("cpu", weft.float32, True, True, memory_format=weft.preserve_format),
    ):  # fmt: skip
        assert weft.equal(same, x)
    assert weft.empty_like(x, memory_format=weft.channels_last).shape == x.shape
    assert weft.zeros(2, layout=weft.strided, pin_memory=False).tolist() == [0, 0]
    assert x.layout is weft.strided and repr(weft.channels_last) == "weft.channels_last"
    assert pickle.loads(pickle.dumps(weft.channels_last)) is weft.channels_last
    with pytest.raises(TypeError, match="'memory_format' must be a memory format, not str"):
        x.contiguous(memory_format="channels_last")
    with pytest.raises(TypeError, match="'layout' must be weft.strided, not str"):
        weft.zeros(2, layout="strided")
    with pytest.raises(TypeError, match="has no argument named 'memory_format'"):
        x.exp(memory_format=weft.channels_last)


@pytest.mark.parametrize(
    "shape, last, last_3d",
    [((2, 3, 4, 4), False, False), ((2, 1, 4, 4), True, False), ((2, 3, 1, 1), True, False), ((3, 4), False, False), ((2, 1, 3, 3, 3), False, True)],
)
def test_is_contiguous_is_true_to_the_strides(shape, last, last_3d):
    x = weft.zeros(shape)
    assert x.is_contiguous() and x.is_contiguous(memory_format=weft.contiguous_format)
    assert x.is_contiguous(memory_format=weft.channels_last) is last
    assert x.is_contiguous(memory_format=weft.channels_last_3d) is last_3d


# ---- older types -----------------------------------------------------------------------------------------------------


def test_tensor_types_make_tensors():
    assert weft.FloatTensor(2, 3).shape == (2, 3) and weft.FloatTensor(2, 3).dtype is weft.float32
    assert weft.LongTensor([1, 2]).tolist() == [1, 2] and weft.LongTensor([1, 2]).dtype is weft.int64
    assert weft.DoubleTensor(np.array([1.5])).dtype is weft.float64 and weft.ByteTensor().shape == (0,)
    assert weft.BoolTensor([0, 2]).tolist() == [False, True] and weft.HalfTensor(weft.Size([2, 1])).shape == (2, 1)
    assert isinstance(weft.ones(1), weft.FloatTensor) and not isinstance(weft.ones(1), weft.LongTensor)
    assert repr(weft.FloatTensor) == "<class 'weft.FloatTensor'>"
    x = weft.ones(2)
    weft.FloatTensor(x)[0] = 5
    assert x.tolist() == [5, 1]  # the same values
    with pytest.raises(TypeError, match=r"LongTensor\(\): the tensor is weft.float32"):
        weft.LongTensor(x)
    with pytest.raises(TypeError, match=r"FloatTensor\(\) takes sizes, or data in one argument"):
        weft.FloatTensor([1], [2])
    with pytest.raises(RuntimeError, match="there is no device 'mps'"):
        weft.FloatTensor(2, device="mps")


def test_type_by_name():
    x = weft.tensor([1.9, -1.0])
    for kind in ("torch.LongTensor", "weft.LongTensor", weft.LongTensor, weft.int64):
        assert x.type(kind).tolist() == [1, -1] and x.type(kind).dtype is weft.int64
    assert x.type() == "weft.FloatTensor"
    with pytest.raises(ValueError, match="there is no type 'torch.Longtensor'"):
        x.type("torch.Longtensor")


def test_constructors_of_tensors():
    assert weft.Tensor(2, 3).shape == (2, 3) and weft.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert weft.Tensor(weft.Size([2, 3])).shape == (2, 3) and weft.Tensor().shape == (0,)
    x = weft.tensor([1, 2])
    assert x.new([3]).dtype is weft.int64 and x.new(2, 2).tolist() == [[0, 0], [0, 0]] and x.new().shape == (0,)


def test_default_device_and_type():
    assert weft.get_default_device() == weft.device("cpu")
    weft.set_default_device("cpu")
    with pytest.raises(RuntimeError, match=r"set_default_device\(\): there is no device 'mps'"):
        weft.set_default_device("mps")
    try:
        weft.set_default_tensor_type("torch.DoubleTensor")
        assert weft.zeros(1).dtype is weft.float64
        weft.set_default_tensor_type(weft.FloatTensor)
        assert weft.zeros(1).dtype is weft.float32
    finally:
        weft.set_default_dtype(weft.float32)
    with pytest.raises(TypeError, match="must be a type of float tensors"):
        weft.set_default_tensor_type(weft.LongTensor)


# ---- storages and shapes in place ------------------------------------------------------------------------------------


def test_storages():
    x = weft.tensor([[1, 2], [3, 4]], dtype=weft.int32)
    bytes_of, values = x.untyped_storage(), x.storage()
    assert bytes_of.nbytes() == len(bytes_of) == 16 and bytes_of.data_ptr() == x.data_ptr()
    assert bytes_of.tolist() == list(np.array([1, 2, 3, 4], "int32").tobytes()) and bytes_of[4] == 2
    assert list(values) == values.tolist() == [1, 2, 3, 4] and len(values) == 4 and values[2] == 3
    assert values.dtype is weft.int32 and values.untyped().nbytes() == 16 and weft.is_storage(values) and not weft.is_storage(x)


def test_resize():
    x = weft.arange(6.0)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_((2, 3)).tolist() == [[0, 1, 2], [3, 0, 0]]
    assert x.resize_as_(weft.ones(3)).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match=r"resize_\(\): a tensor that requires a gradient"):
        weft.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(ValueError, match="must not be negative"):
        x.resize_(-1)


def test_set():
    x, y = weft.ones(3), weft.zeros(2, 2)
    assert x.set_(y) is x and x.shape == (2, 2)
    y[0, 0] = 5
    assert x.tolist() == [[5, 0], [0, 0]]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match=r"set_\(\): the source is i64, but the tensor is f32"):
        x.set_(weft.tensor([1]))


def test_functions_of_elements():
    x = weft.tensor([[1.0, 2.0]])
    assert x.apply_(lambda v: v + 1) is x and x.tolist() == [[2, 3]]
    assert x.map_(weft.tensor([10.0, 20.0]), lambda a, b: a * b).tolist() == [[20, 60]]
    assert weft.empty(0).apply_(abs).shape == (0,)
    with pytest.raises(TypeError, match=r"map_\(\): argument 'tensor' must be a Tensor, not float"):
        x.map_(1.0, max)


def test_small_questions():
    x = weft.ones(2, requires_grad=True)
    assert not x.is_pinned() and not x.is_shared() and not x.is_inference() and x.pin_memory() is x
    assert x.numpy(force=True).tolist() == [1, 1]
    upwards = [(weft.int64, weft.int8), (weft.bool, weft.uint8), (weft.int64, weft.float16), (weft.float64, weft.float16)]
    assert all(weft.can_cast(*pair) for pair in upwards)
    assert not weft.can_cast(weft.float16, weft.int64) and not weft.can_cast(weft.uint8, weft.bool)
    assert weft.result_type(weft.tensor([1, 2]), 1.5) is weft.float32 and weft.result_type(weft.tensor([1], dtype=weft.uint8), weft.tensor(1)) is weft.uint8
    assert weft.result_type(1, 2.5) is weft.float32 and weft.result_type(weft.ones(1).half(), weft.ones(1)) is weft.float32
    with pytest.raises(TypeError, match=r"result_type\(\): argument 'tensor2' must be a Tensor or a number, not str"):
        weft.result_type(x, "a")


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_tensors_of_other_sequences():
    assert weft.tensor(collections.deque([1.0, 2.0], maxlen=2)).tolist() == [1, 2]
    assert weft.tensor(range(3)).tolist() == [0, 1, 2] and weft.tensor([range(2), range(2)]).shape == (2, 2)
    assert weft.tensor(collections.deque([weft.ones(2), weft.zeros(2)])).tolist() == [[1, 1], [0, 0]]

    class Column:  # of a table
        def __array__(self, dtype=None, copy=None):
            return np.array([1.5, 2.5])

    assert weft.tensor(Column()).tolist() == [1.5, 2.5]
    for wrong in ("12", b"12", {1: 2}, {1, 2}):
        with pytest.raises(TypeError, match="numbers in nested lists"):
            weft.tensor(wrong)


def test_numbers_may_be_tensors_of_one_element():
    a, b = weft.tensor([1.0, 2.0]), weft.tensor([10.0, 20.0])
    assert weft.add(a, b, alpha=weft.tensor(0.5)).tolist() == [6, 12]
    assert a.sub(b, alpha=weft.tensor([1])).tolist() == [-9, -18]
    with pytest.raises(TypeError, match=r"add\(\): argument 'alpha' must be a number, not a tensor of the shape \[2\]"):
        weft.add(a, b, alpha=b)


def test_max_and_min_of_two():
    x = weft.tensor([[1.0, 5.0], [3.0, 2.0]])
    for other in (weft.tensor(2.0), weft.tensor([2.0, 2.0]), weft.tensor(2)):
        want_max, want_min = np.maximum(x.numpy(), other.numpy()).tolist(), np.minimum(x.numpy(), other.numpy()).tolist()
        assert weft.max(x, other).tolist() == x.max(other).tolist() == weft.max(x, other=other).tolist() == want_max
        assert weft.min(x, other).tolist() == x.min(other).tolist() == x.min(other=other).tolist() == want_min
    assert weft.max(weft.tensor(3.0), weft.tensor(1.0)).item() == 3


def test_out_of_functions_in_python():
    a = weft.tensor([[2.0, 0.0], [0.0, 4.0]])
    sign, log = weft.empty(()), weft.empty(())
    result = weft.linalg.slogdet(a, out=(sign, log))
    assert result.sign is sign and sign.item() == 1 and result.logabsdet is log and abs(log.item() - np.log(8)) < 1e-6
    place = weft.empty(0)
    assert weft.t_copy(a, out=place) is place and place.tolist() == [[2, 0], [0, 4]]
    with pytest.raises(TypeError, match=r"slogdet\(\): argument 'out' must have 2 tensors, not 1"):
        weft.linalg.slogdet(a, out=(sign,))
    with pytest.raises(TypeError, match=r"qr\(\): argument 'out' must be a tuple of tensors, not Tensor"):
        weft.qr(a, out=place)


def test_memory_that_processes_share():
    x, p = weft.zeros(2, 2), weft.nn.Parameter(weft.ones(3, dtype=weft.float64))
    p.grad = weft.ones(3, dtype=weft.float64)
    assert x.share_memory_() is x and p.share_memory_() is p and x.share_memory_() is x
    assert x.is_shared() and p.is_shared() and not weft.zeros(2).is_shared()
    assert p.requires_grad and p.is_leaf and type(p) is weft.nn.Parameter and p.grad.tolist() == [1, 1, 1]
    child = os.fork()
    if child == 0:  # what it writes is seen here
        try:
            x[1, 0] = 5
            with weft.no_grad():
                p.sub_(p * 0.5)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [[0, 0], [5, 0]] and p.tolist() == [0.5, 0.5, 0.5]
    (p * 2).sum().backward()
    assert p.grad.tolist() == [3, 3, 3]
    assert weft.zeros(0).share_memory_().shape == (0,)
    with pytest.raises(RuntimeError, match=r"share_memory_\(\): a result of an op cannot be moved"):
        (p * 2).share_memory_()
    with pytest.raises(TypeError, match="bfloat16 cannot be shared"):
        weft.zeros(2).bfloat16().share_memory_()


def test_modules_share_their_parameters():
    model = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.BatchNorm1d(2))
    optimizer = weft.optim.SGD(model.share_memory().parameters(), lr=0.5)
    before = model[0].weight.tolist()
    child = os.fork()
    if child == 0:
        try:
            model(weft.rand(4, 2)).square().sum().backward()
            optimizer.step()
            weft.realize()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert all(each.is_shared() for each in model.parameters()) and model[1].bias.tolist() != [0, 0]
    assert model[0].weight.tolist() != before and model[1].num_batches_tracked.item() == 1


def test_mistakes_are_named():
    for call, message in (
        (lambda: weft.expand_copy([1], 2), r"expand_copy\(\): argument 'input' must be a Tensor, not list"),
        (lambda: weft.conj(3), r"conj\(\): argument 'input' must be a Tensor, not int"),
        (lambda: weft.t_copy(), r"t_copy\(\) needs the argument 'input'"),
        (lambda: weft.linalg.slogdet(None), r"slogdet\(\): argument 'A' must be a Tensor, not None"),
        (lambda: weft.svd_lowrank(weft.ones(2)), r"svd_lowrank\(\): a matrix is needed, not a tensor of the shape \[2\]"),
        (lambda: weft.nonzero_static(weft.ones(2), size=1.5), r"nonzero_static\(\): argument 'size' must be an int, not float"),
        (lambda: weft.ones(2).apply_(3), r"apply_\(\): argument 'callable' must be a function, not int"),
        (lambda: weft.FloatTensor(2.5), r"FloatTensor\(\) takes sizes, which are ints, or data in a list"),
        (lambda: weft.gradient(weft.ones(3, 3), spacing=[1.0, weft.ones(3)]), r"gradient\(\): argument 'spacing' must have numbers or tensors, not both"),
    ):
        with pytest.raises((TypeError, RuntimeError), match=message):
            call()
