"""Devices from Python, with "guarded": the CPU as a device whose memory the host cannot touch."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle

import numpy as np
import pytest
import weft
import weft.distributions as D
from weft import nn

GUARDED = weft.device("guarded:0")
BOTH = pytest.mark.parametrize("default, device", [("cpu", "guarded"), ("guarded", "cpu")])


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: weft.zeros(2, 3, **k), lambda **k: weft.ones(2, **k), lambda **k: weft.empty(2, **k), lambda **k: weft.full((2,), 7.0, **k),
        lambda **k: weft.arange(4, **k), lambda **k: weft.linspace(0, 1, 5, **k), lambda **k: weft.logspace(0, 1, 5, **k), lambda **k: weft.eye(3, **k),
        lambda **k: weft.rand(3, **k), lambda **k: weft.randn(3, **k), lambda **k: weft.randint(0, 9, (3,), **k), lambda **k: weft.randperm(5, **k),
        lambda **k: weft.normal(0.0, 1.0, (3,), **k), lambda **k: weft.tensor([1.0, 2.0], **k), lambda **k: weft.as_tensor(np.ones(3), **k),
        lambda **k: weft.zeros_like(weft.ones(2), **k), lambda **k: weft.ones_like(weft.ones(2), **k), lambda **k: weft.full_like(weft.ones(2), 3, **k),
        lambda **k: weft.rand_like(weft.ones(2), **k), lambda **k: weft.randn_like(weft.ones(2), **k), lambda **k: weft.randint_like(weft.ones(2), 5, **k),
        lambda **k: weft.ones(2).new_zeros(3, **k), lambda **k: weft.ones(2).new_ones(3, **k), lambda **k: weft.ones(2).new_full((3,), 2.0, **k),
        lambda **k: weft.ones(2).new_tensor([1.0], **k), lambda **k: weft.hann_window(4, **k), lambda **k: weft.signal.windows.cosine(4, **k),
        lambda **k: weft.tril_indices(3, 3, **k), lambda **k: weft.asarray([1, 2], **k), lambda **k: weft.FloatTensor(2, **k),
        lambda **k: weft.ones(2).new(2, **k), lambda **k: weft.nn.Transformer.generate_square_subsequent_mask(3, **k),
        lambda **k: weft.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), **k), lambda **k: weft.scalar_tensor(2.0, **k),
        lambda **k: weft.frombuffer(bytes(range(8)), dtype=weft.int16, **k), lambda **k: weft.frombuffer(bytes(8), dtype=weft.bfloat16, **k),
        lambda **k: weft.from_dlpack(np.arange(6.0).reshape(2, 3), **k),
    ],
)  # fmt: skip
def test_creation_functions_make_tensors_on_a_device(make):
    weft.manual_seed(1)
    here = make()
    weft.manual_seed(1)
    there = make(device="guarded")
    assert here.device == weft.device("cpu") and there.device == GUARDED
    assert there.shape == here.shape and there.dtype is here.dtype
    if not here.is_sparse:
        assert there.tolist() == here.tolist()
    with pytest.raises((RuntimeError, ValueError), match="there is no device 'cuda:99'"):
        make(device="cuda:99")


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: nn.Linear(2, 3, **k), lambda **k: nn.Bilinear(2, 2, 3, **k), lambda **k: nn.Conv2d(1, 2, 3, **k), lambda **k: nn.ConvTranspose1d(1, 2, 3, **k),
        lambda **k: nn.BatchNorm1d(2, **k), lambda **k: nn.LayerNorm(2, **k), lambda **k: nn.GroupNorm(1, 2, **k), lambda **k: nn.RMSNorm(2, **k),
        lambda **k: nn.InstanceNorm1d(2, affine=True, **k), lambda **k: nn.Embedding(3, 2, **k), lambda **k: nn.EmbeddingBag(3, 2, **k), lambda **k: nn.LSTM(2, 3, **k),
        lambda **k: nn.GRU(2, 3, **k), lambda **k: nn.LSTMCell(2, 3, **k), lambda **k: nn.MultiheadAttention(4, 2, **k), lambda **k: nn.PReLU(**k),
        lambda **k: nn.TransformerEncoderLayer(4, 2, 8, **k), lambda **k: nn.Transformer(4, 2, 1, 1, 8, **k), lambda **k: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], **k),
    ],
)  # fmt: skip
def test_modules_make_parameters_on_a_device(make):
    there = make(device=GUARDED)
    found = [*there.parameters(), *there.buffers()]
    assert found and all(each.device == GUARDED for each in found)
    with pytest.raises(RuntimeError, match="there is no device 'mps'"):
        make(device="mps")


def test_default_devices_and_blocks():
    with weft.device("guarded"):
        assert weft.ones(2).device == GUARDED and weft.get_default_device() == GUARDED
        with weft.device("cpu"):
            assert weft.ones(2).device.type == "cpu"
        assert nn.Linear(1, 1).weight.device == GUARDED
    assert weft.ones(2).device.type == "cpu"
    weft.set_default_device("guarded")
    try:
        assert weft.tensor([1]).device == GUARDED
    finally:
        weft.set_default_device(None)
    assert weft.get_default_device() == weft.device("cpu")

    @weft.device("guarded")
    def made():
        return weft.rand(2)

    assert made().device == GUARDED and weft.rand(2).device.type == "cpu"


def test_tensors_move_and_do_not_mix():
    x = weft.arange(6.0).reshape(2, 3)
    y = x.to("guarded")
    assert y.device == GUARDED and y.get_device() == 0 and not y.is_cpu and x.get_device() == -1
    assert y.to(weft.float64).device == GUARDED and x.to("guarded", weft.float64).dtype is weft.float64
    assert x.to(y).device == GUARDED and y.cpu().device.type == "cpu" and x.cpu() is x
    assert (y * 2).tolist() == (x * 2).tolist() and y[1, 2].item() == 5.0 and int(y.argmax()) == 5
    assert (y + weft.tensor(1.0)).tolist() == (x + 1).tolist()  # a number goes anywhere
    for mixed in (lambda: x + y, lambda: x @ y.t(), lambda: weft.cat([x, y]), lambda: nn.Linear(3, 1)(y), lambda: y.index_select(0, weft.tensor([0]))):
        with pytest.raises(RuntimeError, match="cpu.*guarded:0|guarded:0.*cpu"):
            mixed()
    assert repr(y[0]) == "tensor([0., 1., 2.], device='guarded:0')"
    for foreign in (lambda: y.numpy(), lambda: np.asarray(y), lambda: memoryview(y), lambda: np.from_dlpack(y)):
        with pytest.raises((TypeError, BufferError), match="guarded:0.*cpu"):
            foreign()
    for wrong in ("cuda:99", "mps:0", "banana"):
        with pytest.raises(RuntimeError, match=f"there is no device '{wrong}'"):
            x.to(wrong)


def test_modules_move_and_keep_their_parameters():
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    before, twin = list(net.parameters()), copy.deepcopy(net)
    optimizer = weft.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    other = weft.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9)
    assert net.to("guarded") is net
    assert all(a is b for a, b in zip(before, net.parameters()))
    x, y = weft.randn(5, 3), weft.tensor([0, 1, 1, 0, 1])
    for _ in range(3):
        for model, optim, device in ((net, optimizer, "guarded"), (twin, other, "cpu")):
            optim.zero_grad()
            nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
            optim.step()
    assert all(p.grad.device == GUARDED for p in net.parameters()) and all(b.device == GUARDED for b in net.buffers())
    net.cpu()
    for a, b in zip([*net.parameters(), *net.buffers()], [*twin.parameters(), *twin.buffers()]):
        assert a.device.type == "cpu" and a.tolist() == b.tolist()
    assert all(p.grad.device.type == "cpu" for p in net.parameters())
    net.double()
    assert all(a is b and a.dtype is weft.float64 for a, b in zip(before, net.parameters()))
    with pytest.raises(TypeError, match="types of floats only"):
        net.to(weft.int64)


def test_gradients_come_back_from_a_device():
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    ((w.to("guarded") * 3) ** 2).sum().cpu().backward()
    assert w.grad.device.type == "cpu" and w.grad.tolist() == [18.0, 36.0]


def test_data_takes_over_shape_type_and_device():
    p = nn.Parameter(weft.ones(2))
    p.data = weft.zeros(3, dtype=weft.float64, device="guarded")
    assert p.shape == (3,) and p.dtype is weft.float64 and p.device == GUARDED and p.requires_grad and isinstance(p, nn.Parameter)
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2.0, 2.0, 2.0]


def test_files_copies_and_pickles():
    net = nn.Linear(2, 2, device="guarded")
    file = io.BytesIO()
    weft.save(net.state_dict(), file)
    for location, expected in ((None, "cpu"), ("guarded", "guarded"), (GUARDED, "guarded"), ("cpu", "cpu")):
        file.seek(0)
        state = weft.load(file, map_location=location)
        assert {value.device.type for value in state.values()} == {expected}
        assert state["weight"].tolist() == net.weight.tolist()
    other = nn.Linear(2, 2)
    other.load_state_dict(net.state_dict())  # copied to where the parameters are
    assert other.weight.device.type == "cpu" and other.weight.tolist() == net.weight.tolist()
    assert copy.deepcopy(net).weight.device == GUARDED
    assert pickle.loads(pickle.dumps(net.weight.detach())).tolist() == net.weight.tolist()


def test_jit_has_a_plan_for_each_device():
    f = weft.jit(lambda x: (x * 2).sum(0))
    x = weft.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert f(x).device.type == "cpu" and f(x.to("guarded")).device == GUARDED
        assert f(x.to("guarded")).tolist() == f(x).tolist()


def test_host_functions_copy_over_and_back():
    x = weft.tensor([[3.0, 1.0, 2.0]], device="guarded")
    values, order = x.sort(1)
    assert values.device == GUARDED and values.tolist() == [[1.0, 2.0, 3.0]] and order.tolist() == [[1, 2, 0]]
    a = weft.tensor([[4.0, 1.0], [1.0, 3.0]], device="guarded")
    assert weft.linalg.inv(a).device == GUARDED
    assert (weft.linalg.inv(a) @ a).round(decimals=4).abs().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert x.nonzero().device == GUARDED and x[x > 1].tolist() == [3.0, 2.0]


def positive(device, *shape):
    return weft.arange(1.0, 1 + weft.Size(shape).numel(), device=device).reshape(shape) * 0.25


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda p, q: D.Bernoulli(p), lambda p, q: D.Bernoulli(logits=p), lambda p, q: D.Beta(p, 2.0), lambda p, q: D.Binomial(4, p), lambda p, q: D.Categorical(q),
        lambda p, q: D.Categorical(logits=q), lambda p, q: D.Cauchy(0.0, p), lambda p, q: D.Chi2(p),
        lambda p, q: D.Dirichlet(q), lambda p, q: D.Exponential(p), lambda p, q: D.FisherSnedecor(p, 3.0), lambda p, q: D.Gamma(2, p), lambda p, q: D.Geometric(p),
        lambda p, q: D.Gumbel(p, 1.0), lambda p, q: D.HalfCauchy(p), lambda p, q: D.HalfNormal(p), lambda p, q: D.Independent(D.Normal(p, 1.0), 1),
        lambda p, q: D.InverseGamma(p, 1.0), lambda p, q: D.Kumaraswamy(p, 2.0), lambda p, q: D.Laplace(0.0, p), lambda p, q: D.LogNormal(p, 1.0),
        lambda p, q: D.LogisticNormal(p, 1.0), lambda p, q: D.MixtureSameFamily(D.Categorical(p), D.Normal(p, 1.0)), lambda p, q: D.Multinomial(3, q),
        lambda p, q: D.MultivariateNormal(p, covariance_matrix=p.diag()), lambda p, q: D.MultivariateNormal(p, precision_matrix=p.diag()),
        lambda p, q: D.NegativeBinomial(3.0, p), lambda p, q: D.Normal(weft.tensor(1.0, device="cpu"), p), lambda p, q: D.OneHotCategorical(q),
        lambda p, q: D.OneHotCategoricalStraightThrough(q), lambda p, q: D.Pareto(1.0, p), lambda p, q: D.Poisson(p), lambda p, q: D.RelaxedBernoulli(0.5, p),
        lambda p, q: D.RelaxedOneHotCategorical(0.5, q), lambda p, q: D.StudentT(p), lambda p, q: D.Uniform(0.0, p), lambda p, q: D.Weibull(p, 1.0),
        lambda p, q: D.TransformedDistribution(D.Exponential(p), [D.PowerTransform(2.0), D.AffineTransform(0.0, p)]),
        lambda p, q: D.TransformedDistribution(D.Normal(q, 1.0), D.ReshapeTransform((2, 3), (6,))),
    ],
)  # fmt: skip
def test_distributions_are_where_their_parameters_are(make, default, device):
    """Numbers and noise go along; the values are those of the CPU."""

    def values(device):
        d = make(positive(device, 3), positive(device, 2, 3))
        weft.manual_seed(3)
        found = [d.sample((4,))]
        found.append(d.log_prob(found[0]))
        for more in (lambda: d.rsample((4,)), lambda: d.entropy(), lambda: D.kl_divergence(d, d), lambda: d.enumerate_support(), lambda: d.mean, lambda: d.mode):
            with contextlib.suppress(NotImplementedError):  # there is no formula
                found.append(more())
        return found

    here = values("cpu")
    with weft.device(default):
        there = values(device)
    assert all(each.device.type == device for each in there)
    assert all(np.array_equal(a.numpy(), b.cpu().numpy(), equal_nan=True) for a, b in zip(here, there, strict=True))


@BOTH
@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: nn.utils.parametrizations.spectral_norm(m), lambda m: nn.utils.parametrizations.weight_norm(m), lambda m: nn.utils.spectral_norm(m),
        *(lambda m, how=how: nn.utils.parametrizations.orthogonal(m, orthogonal_map=how) for how in ("matrix_exp", "cayley", "householder")),
        lambda m: nn.utils.parametrizations.orthogonal(m, orthogonal_map="householder", use_trivialization=False),
    ],
)  # fmt: skip
def test_parametrizations_are_where_the_weight_is(wrap, default, device):
    with weft.device(default):
        module = wrap(nn.Linear(3, 5, device=device))
        module(weft.ones(2, 3, device=device)).sum().backward()
        tensors = [*module.parameters(), *module.buffers(), *(p.grad for p in module.parameters())]
    assert tensors and all(each.device.type == device for each in tensors)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adafactor", "ASGD", "Rprop", "SparseAdam", "Muon", "LBFGS"])
def test_the_state_of_optimizers_is_where_the_parameters_are(name):
    """And a state from another device goes there."""
    kept = {}
    for device in ("cpu", "guarded"):
        p = nn.Parameter(weft.arange(6.0, device=device).reshape(2, 3))
        optimizer = getattr(weft.optim, name)([p], lr=0.01, **({"momentum": 0.9} if name == "SGD" else {}))
        for _ in range(3):
            optimizer.zero_grad()
            optimizer.step(lambda: (p**2).sum().backward() or (p**2).sum())
        kept[device] = (p, optimizer)
    (p, optimizer), (q, other) = kept.values()
    assert p.tolist() == q.tolist()
    other.load_state_dict(optimizer.state_dict())
    for each, its, device in ((p, optimizer, "cpu"), (q, other, "guarded")):
        its.zero_grad()
        its.step(lambda each=each: (each**2).sum().backward() or (each**2).sum())
        assert all(value.device.type == device for value in its.state[each].values() if isinstance(value, weft.Tensor) and value.ndim)
    assert p.tolist() == q.tolist()


@BOTH
@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_leave_data_on_its_device(default, device, workers):
    data = weft.utils.data
    x, y = weft.arange(12.0, device=device).reshape(6, 2), weft.arange(6)  # the labels are on the CPU
    whole = data.TensorDataset(x, y)
    with weft.device(default):
        first, rest = data.random_split(whole, [2, 4])
        samplers = [data.RandomSampler(whole), data.RandomSampler(whole, True, 6), data.SubsetRandomSampler([4, 2]), data.WeightedRandomSampler([1.0] * 6, 6),
                    data.WeightedRandomSampler(weft.ones(6), 3, False), data.DistributedSampler(whole, 2, 0)]  # fmt: skip
        loaders = [data.DataLoader(part, 3, shuffle=shuffle, num_workers=workers) for part in (whole, rest, data.Subset(rest, [1, 0])) for shuffle in (False, True)]
        loaders += [data.DataLoader(part, 2, sampler=order) for part, order in ((first, [1, 0]), *((whole, order) for order in samplers))]
        loaders += [data.DataLoader(whole, None, shuffle=True), data.DataLoader(data.StackDataset(whole, whole), 2, shuffle=True, collate_fn=lambda b: b[0][0])]
        for loader in loaders:
            for rows, labels in loader:
                assert rows.device.type == device and labels.device.type == "cpu"
                assert (rows[..., 0] / 2).tolist() == labels.tolist()


TENSOR = weft.arange(100.0)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: weft.device(True), TypeError, "device(): argument 'type' must be a str such as 'cpu' or 'cuda:0', or a weft.device, not bool"),
        (lambda: weft.device(TENSOR), TypeError, "device(): argument 'type' must be a str such as 'cpu' or 'cuda:0', or a weft.device, not Tensor"),
        (lambda: nn.Linear(1, 1, device=TENSOR), TypeError, "Linear(): argument 'device' must be a str such as 'cpu' or 'cuda:0', or a weft.device, not Tensor"),
        (lambda: weft.device("cuda:0", 1), RuntimeError, "device(): the index is given twice: by 'cuda:0' and by index=1"),
        (lambda: weft.device("cuda:"), RuntimeError, "device(): there is no device 'cuda:': behind the colon comes a number up to 127, as in 'cuda:0'"),
        (lambda: weft.device("cuda:128"), RuntimeError, "device(): there is no device 'cuda:128': behind the colon comes a number up to 127, as in 'cuda:0'"),
        (lambda: weft.device("cuda:-1"), RuntimeError, "device(): there is no device 'cuda:-1': behind the colon comes a number up to 127, as in 'cuda:0'"),
        (lambda: weft.device("cuda", 128), RuntimeError, "device(): argument 'index' must be from 0 to 127, not 128"),
        (lambda: weft.device("cuda", "1"), TypeError, "device(): argument 'index' must be an int or None, not str"),
        (lambda: weft.device("cpu:1"), RuntimeError, "device(): there is no device 'cpu:1': there is one CPU device, 'cpu'"),
        (lambda: weft.device("cpu", 1), RuntimeError, "device(): there is no device 'cpu:1': there is one CPU device, 'cpu'"),
        (lambda: TENSOR.cuda("guarded"), RuntimeError, "cuda(): 'guarded' is no device of the type cuda; use to()"),
    ],
)  # fmt: skip
def test_what_is_no_device(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error and str(caught.value) == words


def test_a_device_of_no_type_names_those_that_there_are():
    with pytest.raises(RuntimeError) as caught:
        weft.device("cudda")
    said, _, types = str(caught.value).partition("; the types are ")
    assert type(caught.value) is RuntimeError and said == "device(): there is no device 'cudda'"
    assert types.split(", ") == sorted(types.split(", ")) and {"cpu", "cuda", "guarded", "simulated"} <= set(types.split(", "))


def test_devices_that_are_only_named():
    named = weft.device("cuda", 1)
    assert named == weft.device("cuda:1") == weft.device(named) and weft.device("mps").index is None and weft.device("cuda:127").index == 127
    with pytest.raises(RuntimeError, match="there is no device 'cuda:1'"), contextlib.ExitStack() as stack:
        stack.push(named)  # __exit__() runs, though __enter__() failed
        named.__enter__()
    assert weft.get_default_device() == weft.device("cpu")


def packed(x):
    sequence = nn.utils.rnn.pack_sequence([x[:1], x, x[1:]], enforce_sorted=False)
    output, last = nn.GRU(3, 2, device=x.device)(sequence)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, total_length=4, padding_value=1.0)
    assert lengths.tolist() == [1, 2, 1] and lengths.is_cpu
    return *sequence[::2], padded, last, sequence.to(weft.float64).sorted_indices


class Halves(weft.autograd.Function):
    """One of two outputs gets no gradient, and backward() gets zeros for it."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return a * 2 + b * 3


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda x: nn.LSTMCell(3, 2, device=x.device)(x), lambda x: nn.GRUCell(3, 2, device=x.device)(x), packed,
        lambda x: nn.functional.alpha_dropout(x, training=True), lambda x: nn.functional.feature_alpha_dropout(x, training=True),
        lambda x: nn.functional.fractional_max_pool2d(x.expand(1, 1, 2, 3), 1, 2, return_indices=True), lambda x: weft.autograd.functional.jacobian(lambda y: y[:0], x),
        lambda x: weft.autograd.grad(Halves.apply(y := x.clone().requires_grad_())[0].sum(), y),
        lambda x: weft.autograd.gradcheck(lambda y: y * 2, [x.double().requires_grad_()]) and x, lambda x: weft.angle(-x), lambda x: weft.nonzero_static(x, size=9),
        lambda x: weft.as_strided_scatter(x, x[0] * 0, (3,), (2,)), lambda x: x.clone().apply_(lambda v: v + 1), lambda x: weft.svd_lowrank(x, 2),
        lambda x: weft.linalg.lstsq(x.t(), x.t(), driver="gels"), lambda x: weft.svd(x, compute_uv=False), lambda x: weft.lu_unpack(*weft.linalg.lu_factor(x), unpack_data=False),
        lambda x: weft.array_api.repeat(x, weft.tensor([2, 1], device=x.device), axis=0), lambda x: weft.array_api.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: x.to_sparse().t().to_dense(), lambda x: weft.sparse.mm(x.to_sparse(), x.t()),
        lambda x: weft.sparse.softmax(x.to_sparse(), 1).to_dense(), lambda x: weft.sparse_coo_tensor([[0, 0]], x[0, :2], (2,)).coalesce().to_dense(),
        lambda x: x.cpu().to_sparse().to(device=x.device).to_dense(), lambda x: weft.optim.swa_utils.AveragedModel(nn.Linear(3, 2, device=x.device)).n_averaged,
        lambda x: nn.utils.fusion.fuse_linear_bn_eval(nn.Linear(3, 2, device=x.device).eval(), nn.BatchNorm1d(1, device=x.device).eval()).weight,
    ],
)  # fmt: skip
def test_helper_tensors_are_where_the_operands_are(make, default, device):
    x = weft.tensor([[1.0, 2.0, -1.0], [4.0, 0.0, 6.0]], device=device)
    with weft.device(default):
        made = make(x)
        assert weft.result_type(x, 2.5) is weft.float32
    found = [made] if isinstance(made, weft.Tensor) else list(made)
    assert found and all(each.device.type == device for each in found)


def test_memory_of_a_device_is_not_shared():
    with pytest.raises(RuntimeError, match=r"share_memory_\(\): the tensor is on guarded:0.*use cpu\(\) first"):
        nn.Linear(1, 1, device="guarded").share_memory()
