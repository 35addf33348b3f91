"""weft.func, anomalies and Variable."""

import pytest

import weft
from weft import nn
from weft.func import functional_call, grad, grad_and_value, hessian, jacrev, vjp


def test_a_module_with_other_parameters():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    x, old = weft.ones(3, 2), net[0].weight
    values = {name: weft.zeros_like(value) for name, value in net.named_parameters()}
    assert functional_call(net, values, (x,)).tolist() == [[0, 0]] * 3 and net[0].weight is old
    w = weft.ones(2, 2).requires_grad_()
    functional_call(net, {"0.weight": w}, x).sum().backward()
    assert w.grad is not None and old.grad is None
    with pytest.raises(RuntimeError, match="no parameter or buffer 'nosuch'"):
        functional_call(net, {"nosuch": w}, x)
    with pytest.raises(RuntimeError, match="is missing"):
        functional_call(net, {"0.weight": w}, x, strict=True)


def test_tied_weights_have_one_value():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    assert functional_call(net, {"0.weight": weft.eye(2) * 3}, weft.ones(1, 2)).tolist() == [[9, 9]]


def test_gradients_of_functions():
    x = weft.tensor(0.5)
    assert grad(weft.sin)(x).item() == pytest.approx(0.8775826)
    assert grad(grad(weft.sin))(x).item() == pytest.approx(-0.4794255)
    (a, b), value = grad_and_value(lambda p, q: (p * q).sum(), argnums=(0, 1))(weft.ones(2), weft.full((2,), 3.0))
    assert (a.tolist(), b.tolist(), value.item()) == ([3, 3], [1, 1], 6)
    slopes = grad(lambda d: d["w"].square().sum() + d["b"] * 2)({"w": weft.ones(2), "b": weft.tensor(1.0)})
    assert slopes["w"].tolist() == [2, 2] and slopes["b"].item() == 2
    out, back = vjp(lambda x: x**2, weft.tensor([1.0, 2.0]))
    assert out.tolist() == [1, 4] and back(weft.ones(2))[0].tolist() == [2, 4]
    assert jacrev(lambda x: x**2)(weft.tensor([1.0, 2.0])).tolist() == [[2, 0], [0, 4]]
    assert hessian(lambda x: (x**3).sum())(weft.tensor([1.0, 2.0])).tolist() == [[6, 0], [0, 12]]
    with pytest.raises(RuntimeError, match="one element"):
        grad(lambda x: x)(weft.ones(2))


def test_anomalies_raise():
    x = weft.tensor([0.0]).requires_grad_()
    with weft.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="NaN"):
        (x.sqrt() * 0).sum().backward()
    with weft.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="NaN"):
        weft.autograd.backward([(x.sqrt() * 0).sum()])
    weft.autograd.set_detect_anomaly(True)
    assert weft.autograd.is_anomaly_enabled()
    weft.autograd.set_detect_anomaly(False)
    (x.sqrt() * 0).sum().backward()  # silent again


def test_variable():
    x = weft.autograd.Variable(weft.ones(2), requires_grad=True)
    assert x.requires_grad and isinstance(x, weft.autograd.Variable) and not isinstance(1, weft.autograd.Variable)
