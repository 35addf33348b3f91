"""Modules: registration, state, modes, layers against NumPy, and training."""

import copy
import pickle

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm = nn.Linear(4, 8), nn.BatchNorm1d(8)
        self.scale = nn.Parameter(weft.ones(1))
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.register_buffer("steps", weft.zeros(1))
        self.register_buffer("cache", weft.zeros(1), persistent=False)

    def forward(self, x):
        x = self.norm(self.hidden(x))
        for block in self.blocks:
            x = block(x).relu() + x
        return x * self.scale


def test_registration():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "hidden.weight", "hidden.bias", "norm.weight", "norm.bias",
        "blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias"]  # fmt: skip
    assert {name for name, _ in net.named_buffers()} >= {"steps", "cache", "norm.running_mean"}
    assert [name for name, _ in net.named_modules()][:3] == ["", "hidden", "norm"] and len(list(net.children())) == 3
    assert isinstance(net.scale, nn.Parameter) and net.scale.requires_grad and net.get_submodule("blocks.1") is net.blocks[1]
    net.scale = None
    assert "scale" not in dict(net.named_parameters()) and net.scale is None
    with pytest.raises(TypeError, match="'weight' is a parameter"):
        net.hidden.weight = weft.ones(8, 4)
    net.hidden.weight = nn.Parameter(weft.ones(8, 4))
    del net.blocks
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'blocks'"):
        net.blocks  # noqa: B018

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="call super"):
        Early()
    shared = nn.Linear(2, 2)
    assert len(list(nn.Sequential(shared, shared).parameters())) == 2


def test_state_dict_round_trip():
    a, b = Net(), Net()
    x = weft.rand(5, 4).realize()
    a(x).sum().backward()
    state = a.state_dict()
    assert "steps" in state and "cache" not in state and "norm.num_batches_tracked" in state
    assert repr(b.load_state_dict(pickle.loads(pickle.dumps(state)))) == "<All keys matched successfully>"
    a.eval(), b.eval()
    assert a(x).tolist() == b(x).tolist()
    before = b.scale.item()
    with pytest.raises(RuntimeError, match="missing: hidden.bias; unexpected: extra; scale has the shape"):
        b.load_state_dict({**{k: v for k, v in state.items() if k != "hidden.bias"}, "extra": x, "scale": weft.zeros(3)})
    assert b.scale.item() == before
    result = b.load_state_dict({"extra": x}, strict=False)
    assert result.unexpected_keys == ["extra"] and "scale" in result.missing_keys


def test_modes_and_conversions():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.1)))
    assert all(module.training for module in net.modules())
    assert not any(module.training for module in net.eval().modules())
    x = weft.ones(3, 2)
    assert net(x).tolist() == net[0](x).tolist()
    assert net.double()[0].weight.dtype is weft.float64 and net.to(weft.float32)[0].bias.dtype is weft.float32
    assert net.to("cpu") is net and isinstance(net[0].weight, nn.Parameter)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Dropout", "Dropout", "Sequential", "Sequential"]
    net.requires_grad_()
    net(x).sum().backward()
    net.zero_grad()
    assert net[0].weight.grad is None
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)")  # fmt: skip
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential()\n)"
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    assert repr(normed).startswith("ParametrizedLinear(\n  in_features=2, out_features=3, bias=True\n  (parametrizations): ModuleDict(\n")


def test_copies():
    net = Net()
    twin = copy.deepcopy(net)
    assert isinstance(twin.scale, nn.Parameter) and twin.hidden.weight.tolist() == net.hidden.weight.tolist()
    with weft.no_grad():
        twin.hidden.weight += 1
    assert twin.hidden.weight.tolist() != net.hidden.weight.tolist()
    again = pickle.loads(pickle.dumps(net))
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in net.named_parameters()]


def test_hooks():
    layer, seen = nn.Linear(2, 2), []
    first = layer.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    second = layer.register_forward_hook(lambda module, args, output: seen.append(args[0].sum().item()))
    assert layer(weft.ones(1, 2)).tolist() == [layer.bias.tolist()] and seen == [0]
    first.remove(), second.remove()
    layer(weft.ones(1, 2))
    assert seen == [0]


def test_layers():
    weft.manual_seed(0)
    x = weft.rand(2, 3, 8, 8).realize()
    assert nn.Conv2d(3, 6, 3, padding=1, groups=3)(x).shape == (2, 6, 8, 8)
    assert nn.Conv2d(3, 4, (3, 1), stride=(2, 1), padding="valid", bias=False)(x).shape == (2, 4, 3, 8)
    assert nn.Conv2d(3, 4, 3, padding="same")(x).shape == (2, 4, 8, 8)
    assert nn.Conv1d(3, 5, 3, padding=1)(x[..., 0]).shape == (2, 5, 8)
    assert nn.MaxPool2d(2)(x).shape == (2, 3, 4, 4) and nn.AvgPool2d(3, 2, 1)(x).shape == (2, 3, 4, 4)
    np.testing.assert_allclose(nn.AdaptiveAvgPool2d(1)(x).numpy()[..., 0, 0], x.numpy().mean((2, 3)), rtol=1e-5)
    assert nn.Flatten()(x).shape == (2, 192) and nn.Unflatten(1, (1, 3))(x).shape == (2, 1, 3, 8, 8)
    for layer in (nn.BatchNorm2d(3), nn.GroupNorm(1, 3), nn.LayerNorm((3, 8, 8))):
        y = layer(x).detach().numpy()
        assert abs(y.mean()) < 1e-5 and abs(y.std() - 1) < 1e-2
    assert nn.RMSNorm(8)(x).shape == x.shape and nn.Embedding(5, 3)(weft.tensor([[0, 4]])).shape == (1, 2, 3)
    assert nn.Bilinear(2, 3, 4)(weft.ones(5, 2), weft.ones(5, 3)).shape == (5, 4)
    bound = 1 / np.sqrt(100)
    weight = nn.Linear(100, 50).weight.detach().numpy()
    assert np.abs(weight).max() <= bound and weight.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)
    norm = nn.BatchNorm2d(3)
    norm(x)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.1 * x.numpy().mean((0, 2, 3)), rtol=1e-4)
    assert norm.num_batches_tracked.item() == 1
    with pytest.raises(ValueError, match="BatchNorm2d: the input has 2 axes, not 4"):
        norm(weft.ones(2, 3))


@pytest.mark.parametrize("kind", [nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.SiLU, nn.Mish, nn.GELU, nn.Sigmoid,
                                  nn.LogSigmoid, nn.Tanh, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Softplus, nn.Softsign,
                                  nn.Tanhshrink, nn.Softmax, nn.LogSoftmax, nn.RReLU])  # fmt: skip
def test_activations(kind):
    x = weft.linspace(-3, 3, 7).requires_grad_()
    y = kind()(x)
    y.sum().backward()
    assert y.shape == x.shape and np.isfinite(y.detach().numpy()).all() and np.isfinite(x.grad.numpy()).all()
    with pytest.raises(TypeError, match=kind.__name__):
        kind(nonsense=1)


def test_random_slopes():
    layer, x = nn.RReLU(0.25, 0.75), weft.full((1000,), -1.0)
    slopes = -layer(x).numpy()
    assert slopes.min() >= 0.25 and slopes.max() < 0.75 and abs(slopes.mean() - 0.5) < 0.03
    assert layer.eval()(x).tolist() == [-0.5] * 1000 and repr(layer) == "RReLU(lower=0.25, upper=0.75)"


def test_losses():
    x, t = weft.tensor([0.2, 2.5]), weft.tensor([0.0, 0.0])
    assert nn.MSELoss()(x, t).item() == pytest.approx((0.04 + 6.25) / 2)
    assert nn.L1Loss(reduction="sum")(x, t).item() == pytest.approx(2.7)
    assert nn.SmoothL1Loss()(x, t).item() == pytest.approx((0.02 + 2.0) / 2)
    assert nn.HuberLoss(delta=2.0)(x, t).item() == pytest.approx((0.02 + 2 * 1.5) / 2)
    logits = weft.tensor([[1e4, -1e4], [0.0, 0.0]])
    assert nn.CrossEntropyLoss(reduction="none")(logits, weft.tensor([0, 1])).tolist() == pytest.approx([0, np.log(2)])
    assert nn.CrossEntropyLoss(label_smoothing=0.1)(weft.zeros(1, 2), weft.tensor([0])).item() == pytest.approx(np.log(2))
    assert nn.BCEWithLogitsLoss()(weft.tensor([1e4, -1e4]), weft.tensor([1.0, 0.0])).item() == 0
    p = weft.tensor([[0.5, 0.5]])
    assert nn.KLDivLoss(reduction="batchmean")(p.log(), p).item() == pytest.approx(0)
    with pytest.raises(ValueError, match="must be 'none', 'mean' or 'sum', not 'x'"):
        nn.HuberLoss(reduction="x")(x, t)


def test_attention_and_similarity():
    q = weft.randn(2, 5, 4)
    y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    np.testing.assert_allclose(y[:, 0].numpy(), q[:, 0].numpy(), rtol=1e-5)
    np.testing.assert_allclose(F.cosine_similarity(q, 2 * q, dim=-1).numpy(), np.ones((2, 5)), rtol=1e-5)
    np.testing.assert_allclose(F.normalize(q, dim=-1).norm(dim=-1).numpy(), np.ones((2, 5)), rtol=1e-5)


def test_init():
    weft.manual_seed(0)
    w = weft.empty(200, 100)
    assert nn.init.xavier_uniform_(w) is w and w.abs().max().item() <= np.sqrt(6 / 300)
    assert nn.init.kaiming_normal_(w, nonlinearity="relu").std().item() == pytest.approx(np.sqrt(2 / 100), rel=0.05)
    assert nn.init.xavier_normal_(w).std().item() == pytest.approx(np.sqrt(2 / 300), rel=0.05)
    assert nn.init.kaiming_uniform_(w, a=5**0.5).abs().max().item() <= 0.1 + 1e-6
    assert nn.init.trunc_normal_(w, std=1, a=-1, b=1).abs().max().item() <= 1
    assert nn.init.constant_(w, 3).mean().item() == 3 and nn.init.zeros_(w).sum().item() == 0
    assert nn.init.eye_(weft.empty(2, 2)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="has no fan"):
        nn.init.xavier_uniform_(weft.empty(3))


def test_a_child_or_parameter_that_is_replaced_keeps_its_place():
    """Optimisers go by the order of parameters(), so fine-tuning with a new layer must not reorder it."""
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    model[0] = nn.Linear(2, 3, bias=False)
    setattr(model, "1", nn.Tanh())
    assert list(model.state_dict()) == ["0.weight", "2.weight", "2.bias"] and isinstance(model[1], nn.Tanh)
    model[2].weight = nn.Parameter(weft.ones(2, 3))
    assert [name for name, _ in model[2].named_parameters()] == ["weight", "bias"]
    held = nn.ParameterList([weft.zeros(1), weft.ones(1)])
    held[0] = weft.full((1,), 3.0)
    assert [p.item() for p in held] == [3.0, 1.0] and isinstance(held[:1], nn.ParameterList)
    with pytest.raises(TypeError, match="must be a Module"):
        model[0] = 3
    model[2].bias = None
    model[2].register_module("weight", nn.ReLU())  # what was a parameter is a child now
    assert list(model[2].named_parameters()) == [] and [name for name, _ in model[2].named_children()] == ["weight"]


def test_a_module_under_two_names_is_stored_under_both_and_walked_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = self.a
            self.c = nn.Sequential(self.a, nn.BatchNorm1d(2))

    model = Tied()
    state = model.state_dict()
    assert list(state) == ["a.weight", "a.bias", "b.weight", "b.bias", "c.0.weight", "c.0.bias", "c.1.weight", "c.1.bias",
                           "c.1.running_mean", "c.1.running_var", "c.1.num_batches_tracked"]  # fmt: skip
    assert [name for name, _ in model.named_children()] == ["a", "c"] and len(list(model.children())) == 2
    assert [name for name, _ in model.named_modules()] == ["", "a", "c", "c.1"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "a", "b", "c", "c.0", "c.1"]
    assert [name for name, _ in model.named_parameters()] == ["a.weight", "a.bias", "c.1.weight", "c.1.bias"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 8
    assert len(list(model.named_buffers(remove_duplicate=False))) == 3
    calls = []
    model.apply(lambda module: calls.append(module))
    assert calls.count(model.a) == 2  # once as a child, once as a child of c, as in PyTorch
    other = Tied()
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert weft.equal(other.a.weight, model.a.weight)
    with pytest.raises(RuntimeError, match="missing: b.weight, b.bias"):
        other.load_state_dict({name: value for name, value in state.items() if not name.startswith("b.")})


def test_states_that_are_none():
    model, optimizer = nn.Linear(2, 1), weft.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    scheduler = weft.optim.lr_scheduler.StepLR(optimizer, 1)
    for wrong in ([1], None, 5, "state"):
        with pytest.raises(TypeError, match=r"load_state_dict\(\) of Linear: the state must be a dict, .*not \w+"):
            model.load_state_dict(wrong)
        with pytest.raises(TypeError, match=r"load_state_dict\(\) of SGD: the state must be a dict, .*not \w+"):
            optimizer.load_state_dict(wrong)
        with pytest.raises(TypeError, match=r"load_state_dict\(\) of StepLR: the state must be a dict, .*not \w+"):
            scheduler.load_state_dict(wrong)
    with pytest.raises(RuntimeError, match=r"missing: weight, bias; unexpected: 1, \(2, 3\)"):
        model.load_state_dict({1: 2, (2, 3): 4})
    with pytest.raises(RuntimeError, match="weight must be a tensor, not int"):
        model.load_state_dict({"weight": 1, "bias": weft.zeros(1)})
    with pytest.raises(KeyError, match=r"load_state_dict\(\) of SGD: the state has no 'param_groups'"):
        optimizer.load_state_dict({"state": {}})
    with pytest.raises(KeyError, match=r"load_state_dict\(\) of SGD: the state has no 'state'"):
        optimizer.load_state_dict(model.state_dict())
