"""autocast and GradScaler."""

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn


def test_autocast_computes_products_in_bfloat16_and_losses_in_float32():
    x, w = weft.randn(4, 8), weft.randn(8, 8)
    with weft.autocast("cpu"):
        y = x @ w
        kinds = [y.dtype, weft.mm(x, w).dtype, F.linear(x, w).dtype, weft.einsum("ij,jk", x, w).dtype, x.matmul(w).dtype]
        assert kinds == [weft.bfloat16] * 5
        assert (y + 1).dtype == weft.bfloat16 and (x + y).dtype == weft.float32  # the rest follows its arguments
        assert F.mse_loss(y, x).dtype == weft.float32 and weft.cat([x, y]).dtype == weft.float32
        assert (x.double() @ w.double()).dtype == weft.float64
        with weft.autocast("cpu", enabled=False):
            assert (x @ w).dtype == weft.float32
        with weft.autocast("cpu", dtype=weft.float16):
            assert (x @ w).dtype == weft.float16
        assert weft.is_autocast_enabled() and weft.get_autocast_dtype("cpu") == weft.bfloat16
    assert (x @ w).dtype == weft.float32 and not weft.is_autocast_enabled()
    np.testing.assert_array_equal(y.float().numpy(), (x.bfloat16() @ w.bfloat16()).float().numpy())


def test_autocast_trains_parameters_of_float32():
    weft.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
    x, y = weft.randn(16, 1, 8, 8), weft.randint(0, 2, (16,))
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        with weft.autocast("cpu", dtype=weft.bfloat16):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0] and all(p.grad.dtype == weft.float32 for p in net.parameters())


def test_a_captured_function_knows_autocast():
    double = weft.jit(lambda x: x @ x)
    x = weft.randn(3, 3)
    with weft.autocast("cpu"):
        assert double(x).dtype == weft.bfloat16
    assert double(x).dtype == weft.float32


def test_autocast_for_a_device_that_is_not_there_warns_and_is_off():
    with pytest.warns(UserWarning, match="there is no device 'mps'"):
        context = weft.autocast("mps")
    with context:
        assert (weft.ones(2, 2) @ weft.ones(2, 2)).dtype == weft.float32
    with pytest.raises(RuntimeError, match="there is no device 'gpu'"):
        weft.autocast("gpu")
    with pytest.warns(UserWarning, match="bfloat16 or weft.float16"):
        weft.autocast("cpu", dtype=weft.int32)


def test_a_scaler_scales_skips_and_adapts():
    w = nn.Parameter(weft.ones(2))
    optimizer, scaler = weft.optim.SGD([w], lr=1.0), weft.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.tolist() == [24.0, 24.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [-2.0, -2.0] and scaler.get_scale() == 8.0
    optimizer.zero_grad()
    scaler.scale((w * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [-2.0, -2.0] and scaler.get_scale() == 4.0
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(w.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert w.tolist() == [-4.0, -4.0] and scaler.get_scale() == 8.0
    again = weft.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == 8.0
    off = weft.amp.GradScaler("cpu", enabled=False)
    assert off.scale(w) is w and off.get_scale() == 1.0


def test_custom_functions_choose_their_type():
    class Twice(weft.autograd.Function):
        @staticmethod
        @weft.amp.custom_fwd(device_type="cpu", cast_inputs=weft.float32)
        def forward(ctx, x):
            ctx.seen = x.dtype
            Twice.seen = x.dtype, (x @ x).dtype
            return x * 2

        @staticmethod
        @weft.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2

    x = weft.ones(2, 2, dtype=weft.bfloat16).requires_grad_()
    with weft.autocast("cpu"):
        y = Twice.apply(x)
    y.sum().backward()
    assert Twice.seen == (weft.float32, weft.float32) and x.grad.tolist() == [[2.0, 2.0]] * 2
