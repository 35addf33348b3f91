"""autograd.Function, hooks, gradients of several outputs, gradcheck. Values are worked out by hand."""

import gc

import pytest

import weft
from weft import nn
from weft.autograd import Function, grad, gradcheck, gradgradcheck, once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):  # saves its output
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class SumAndProduct(Function):
    calls = 0

    @staticmethod
    def forward(ctx, a, b, scale):
        ctx.save_for_backward(a, None, b)
        ctx.scale = scale
        count = (a > 0).sum()
        ctx.mark_non_differentiable(count)
        return (a + b) * scale, a * b, count

    @staticmethod
    def backward(ctx, g_sum, g_product, g_count):
        SumAndProduct.calls += 1
        a, none, b = ctx.saved_tensors
        assert none is None and g_count.dtype is weft.int64 and tuple(g_count.shape) == ()
        return g_sum * ctx.scale + g_product * b, g_sum * ctx.scale + g_product * a, None


class Split(Function):  # the other form
    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return g * ctx.power * x ** (ctx.power - 1), None


def leaf(values, dtype=None):
    return weft.tensor(values, dtype=dtype, requires_grad=True)


def test_function():
    x = leaf([1.0, 2.0, -3.0])
    y = Cube.apply(x)
    assert y.requires_grad and not y.is_leaf and y.grad_fn.name() == "CubeBackward" and repr(y.grad_fn) == "<CubeBackward>"
    assert y.tolist() == [1, 8, -27]
    (y * weft.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [3, 120, 2700]
    with weft.no_grad():
        assert not Cube.apply(x).requires_grad
    assert not Cube.apply(weft.tensor([1.0])).requires_grad
    with pytest.raises(RuntimeError, match="apply"):
        Cube()


def test_values_are_kept_as_they_were():
    x = leaf([2.0])
    y = Cube.apply(x)
    with weft.no_grad():
        x.copy_(weft.tensor([100.0]))
    y.sum().backward()
    assert x.grad.tolist() == [12]


def test_several_outputs_call_backward_once():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    total, product, count = SumAndProduct.apply(a, b, 2.0)
    assert not count.requires_grad and count.item() == 2
    SumAndProduct.calls = 0
    (total.sum() + 10 * product.sum()).backward()
    assert SumAndProduct.calls == 1
    assert a.grad.tolist() == [32, 42] and b.grad.tolist() == [12, 22]
    a.grad = b.grad = None
    SumAndProduct.apply(a, b, 2.0)[1].sum().backward()  # the other one gets zeros
    assert a.grad.tolist() == [3, 4]
    SumAndProduct.calls = 0
    total, product, _ = SumAndProduct.apply(a, b, 2.0)
    found = grad([total, product], [a, b], [weft.tensor([1.0, 1.0]), weft.tensor([10.0, 10.0])])
    assert SumAndProduct.calls == 1 and [g.tolist() for g in found] == [[32, 42], [12, 22]]


def test_setup_context_none_and_unmaterialised():
    x = leaf([3.0])
    Split.apply(x, 4).backward()
    assert x.grad.tolist() == [108]

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            assert a is None and b is not None
            return None

    y = leaf([1.0])
    z = y * 3
    (Two.apply(y)[1] + z).sum().backward()
    assert y.grad.tolist() == [3]


def test_twice():
    for function in (Cube, Exp):
        x = leaf([0.5, -1.0], weft.float64)
        assert gradcheck(function.apply, x) and gradgradcheck(function.apply, x)
    x = leaf(2.0)
    (first,) = grad(Cube.apply(x), x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    assert first.item() == 12 and second.item() == 12 and grad(second, x)[0].item() == 6
    y = Exp.apply(x)
    assert y.requires_grad
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(g, x, create_graph=True)
    assert h.item() == pytest.approx(weft.e**2, rel=1e-6)

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    (g,) = grad(Once.apply(x), x, create_graph=True)
    assert g.item() == 4
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g, x)


def test_numpy_inside():
    np = pytest.importorskip("numpy")

    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            order = np.argsort(x.numpy())
            ctx.save_for_backward(weft.tensor(order))
            return weft.tensor(np.sort(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            (order,) = ctx.saved_tensors
            result = np.zeros(g.shape, np.float32)
            result[order.numpy()] = g.numpy()
            return weft.from_numpy(result)

    x = leaf([3.0, 1.0, 2.0])
    (Sort.apply(x) * weft.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100, 1, 10]


def test_inside_jit():
    w = nn.Parameter(weft.tensor([1.0, 2.0]))
    optimizer = weft.optim.SGD([w], lr=0.125)

    @weft.jit
    def step(x):
        optimizer.zero_grad()
        loss = Cube.apply(w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(weft.tensor([1.0, 0.5])).item() for _ in range(3)]
    w2 = weft.tensor([1.0, 2.0])
    expected = []
    for _ in range(3):
        x = weft.tensor([1.0, 0.5])
        expected.append(((w2 * x) ** 3).sum().item())
        w2 = w2 - 0.125 * 3 * (w2 * x) ** 2 * x
    assert losses == pytest.approx(expected) and step.traces() <= 2


def test_mark_dirty():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf([1.0])
    y = x * 1
    z = AddOne.apply(y)
    assert z is y and y.tolist() == [2]
    z.sum().backward()
    assert x.grad.tolist() == [7]


def test_wrong_backwards():
    def function(result):
        class Wrong(Function):
            @staticmethod
            def forward(ctx, x, n):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return result

        return lambda: Wrong.apply(leaf([1.0, 2.0]), 3).sum().backward()

    g = weft.ones(2)
    function((g, None, None))()  # None may be left over
    function((weft.ones(5, 2), None))()  # summed, as if it was broadcast
    for result, error, text in [
        (g, RuntimeError, "for each of the 2 arguments"),
        ((g, g), RuntimeError, "argument 1"),
        ((3.0, None), TypeError, "gradient 0 must be a Tensor or None, not float"),
        ((weft.ones(3), None), RuntimeError, r"gradient 0 has the shape \[3\], which does not fit the input f32\[2\]"),
    ]:
        with pytest.raises(error, match=text):
            function(result)()

    class Raises(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    x = leaf([1.0])
    with pytest.raises(KeyError, match="mine"):
        Raises.apply(x).sum().backward()
    assert x.grad is None


def live():
    gc.collect()
    weft.realize()
    return weft.counters()["live_nodes"], weft.counters()["live_buffers"]


def test_nothing_is_left_behind():
    x = leaf([1.0, 2.0])

    def once(function):
        y = function(x)
        handle = y.register_hook(lambda g: g * 2 if y is not None else g)  # a cycle through the graph
        (y * 2).sum().backward()
        assert handle is not None
        x.grad = None

    functions = [Cube.apply, Exp.apply, lambda x: SumAndProduct.apply(x, x, 2.0)[1]]
    for function in functions:
        for _ in range(3):
            once(function)
        before = live()
        for _ in range(100):
            once(function)
        assert live() <= (before[0] + 5, before[1] + 5)
    for _ in range(100):  # without backward()
        Exp.apply(x)
    assert live() <= (before[0] + 5, before[1] + 5)


# ---- grad and backward ------------------------------------------------------------------------------------------------


def test_grad_arguments():
    x, y = leaf([1.0, 2.0]), leaf([3.0])
    loss = (x * x).sum()
    with pytest.raises(RuntimeError, match="not used"):
        grad(loss, [x, y])
    assert grad(loss, [x, y], allow_unused=True)[1] is None
    found = grad(loss, [x, y], materialize_grads=True)
    assert found[0].tolist() == [2, 4] and found[1].tolist() == [0]
    with pytest.raises(ValueError, match="allow_unused"):
        grad(loss, x, allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        grad(loss, weft.ones(2))
    with pytest.raises(RuntimeError, match="requires a gradient"):
        grad(weft.ones(1), x)
    with pytest.raises(RuntimeError, match="one element"):
        grad(x * 2, x)
    with pytest.raises(ValueError, match="2 gradients were given for 1 outputs"):
        grad(loss, x, [None, None])
    assert not grad(loss, x)[0].requires_grad and grad(loss, x, create_graph=True)[0].requires_grad
    assert grad([loss, y * 2], [x, y])[1].tolist() == [2] and x.grad is None


def test_backward_create_graph_and_inputs():
    x = leaf(3.0)
    (x**3).backward(create_graph=True)
    assert x.grad.item() == 27 and x.grad.requires_grad
    (second,) = grad(x.grad, x)
    assert second.item() == 18
    (x * x).backward(create_graph=True)
    assert x.grad.item() == 33 and grad(x.grad, x)[0].item() == 20
    a, b = leaf([1.0]), leaf([2.0])
    product = a * b
    product.sum().backward(inputs=[a], retain_graph=True)
    assert a.grad.tolist() == [2] and b.grad is None
    weft.autograd.backward([product, a * 3], [weft.tensor([10.0]), None], inputs=b)
    assert b.grad.tolist() == [10] and a.grad.tolist() == [2]
    with pytest.raises(RuntimeError, match="empty"):
        (a * 1).backward(inputs=[])


def test_gradient_penalty_trains():
    x = weft.tensor([[0.5, -1.0]])
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    z = x.clone().requires_grad_()
    out = (z @ w).tanh().sum()
    (g,) = grad(out, z, create_graph=True)
    (g * g).sum().backward()
    assert tuple(w.grad.shape) == (2, 2)
    assert gradgradcheck(lambda z, w: (z @ w).tanh().sum(), [leaf([[0.5, -1.0]], weft.float64), leaf([[1.0, 2.0], [3.0, 4.0]], weft.float64)])


# ---- hooks ------------------------------------------------------------------------------------------------------------


def test_hook_on_a_leaf():
    x = leaf([1.0, 2.0])
    seen = []
    first = x.register_hook(lambda g: seen.append(g.tolist()))
    second = x.register_hook(lambda g: g * 10)
    (x * 3).sum().backward()
    assert seen == [[3, 3]] and x.grad.tolist() == [30, 30]
    second.remove()
    second.remove()
    (x * 3 + x).sum().backward()
    assert seen[-1] == [4, 4] and x.grad.tolist() == [34, 34]
    with first:
        pass
    (x * 3).sum().backward()
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="requires no gradient"):
        weft.ones(2).register_hook(print)
    with pytest.raises(TypeError, match="hook"):
        x.register_hook(3)


@pytest.mark.parametrize("late", [False, True])
def test_hook_on_a_computed_tensor(late):
    x = leaf([1.0, 2.0])
    y = x * 2
    if late:
        loss = (y * 5).sum()
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g + 1)
    if not late:
        loss = (y * 5).sum()
    loss.backward()
    assert seen == [[5, 5]] and y.grad.tolist() == [6, 6] and x.grad.tolist() == [12, 12]


def test_hook_outlives_its_tensor_and_leaves_equals_alone():
    x = leaf([1.0])

    def hidden():
        y = x * 2
        y.register_hook(lambda g: g * 100)
        return y.sum()

    loss = hidden() + (x * 2).sum()  # the same expression, without the hook
    loss.backward()
    assert x.grad.tolist() == [202]
    with pytest.raises(RuntimeError, match="shape"):
        z = x * 2
        z.register_hook(lambda g: weft.ones(7))
        z.sum().backward()


def test_post_accumulate_hook_gets_the_parameter():
    layer = nn.Linear(2, 1)
    optimizers = {p: weft.optim.SGD([p], lr=0.5) for p in layer.parameters()}

    def step(p):
        optimizers[p].step()
        p.grad = None

    handles = [p.register_post_accumulate_grad_hook(step) for p in layer.parameters()]
    before = layer.bias.item()
    layer(weft.ones(1, 2)).sum().backward()
    assert layer.bias.item() == pytest.approx(before - 0.5) and layer.bias.grad is None
    for handle in handles:
        handle.remove()
    layer(weft.ones(1, 2)).sum().backward()
    assert layer.bias.grad.item() == 1
    with pytest.raises(RuntimeError, match="leaf"):
        (layer.bias * 2).register_post_accumulate_grad_hook(print)


def test_module_backward_hooks():
    layer = nn.Linear(2, 2, bias=False)
    with weft.no_grad():
        layer.weight.copy_(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    seen = []
    hook = layer.register_full_backward_hook(lambda module, gi, go: seen.append((module is layer, gi[0].tolist(), go[0].tolist())))
    x = leaf([[1.0, 1.0]])
    layer(x).sum().backward()
    assert seen == [(True, [[4, 6]], [[1, 1]])] and x.grad.tolist() == [[4, 6]]
    hook.remove()
    layer.register_full_backward_pre_hook(lambda module, go: (go[0] * 10,))
    layer.register_full_backward_hook(lambda module, gi, go: (gi[0] + 1,))
    x.grad = None
    layer(x).sum().backward()
    assert x.grad.tolist() == [[41, 61]]
    layer(weft.ones(1, 2)).sum()  # nothing to differentiate for but the weight
    inner = []
    other = nn.Linear(2, 1)
    other.register_full_backward_hook(lambda module, gi, go: inner.append((gi, go[0].item())))
    other(weft.ones(1, 2)).sum().backward()
    assert inner == [((None,), 1)]


def test_grad_fn():
    x = leaf([1.0])
    assert x.grad_fn is None and weft.ones(1).grad_fn is None and x.detach().grad_fn is None
    assert (x * 2).grad_fn.name() == "MulBackward0" and "grad_fn=<MulBackward0>" in repr(x * 2)
    assert repr(x) == "tensor([1.], requires_grad=True)"


# ---- functional -------------------------------------------------------------------------------------------------------


def test_jacobian_and_hessian():
    from weft.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

    x, y = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 5.0])
    assert jacobian(lambda x: x * x, x).tolist() == [[2, 0], [0, 4]]
    a, b = jacobian(lambda x, y: (x * y).sum(), (x, y))
    assert a.tolist() == [3, 5] and b.tolist() == [1, 2]
    both = jacobian(lambda x: (x.sum(), x * 2), x)
    assert both[0].tolist() == [1, 1] and both[1].tolist() == [[2, 0], [0, 2]]
    assert hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    table = hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert table[0][0].tolist() == [[6, 0], [0, 10]] and table[0][1].tolist() == [[2, 0], [0, 4]] and table[1][1].tolist() == [[0, 0], [0, 0]]
    v = weft.tensor([1.0, 10.0])
    assert vjp(lambda x: x * x, x, v)[1].tolist() == [2, 40]
    value, product = jvp(lambda x: x * x.sum(), x, v)
    assert value.tolist() == [3, 6] and product.tolist() == [14, 52]
    assert vhp(lambda x: (x**3).sum(), x, v)[1].tolist() == [6, 120] == hvp(lambda x: (x**3).sum(), x, v)[1].tolist()
    with pytest.raises(RuntimeError, match="strict"):
        jacobian(lambda x, y: x * 2, (x, y), strict=True)


def test_gradcheck_finds_mistakes():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = leaf([1.0, 2.0], weft.float64)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(RuntimeError, match=r"element 0\)/d\(input 0, element 0\) is 3, but differences give 2"):
        gradcheck(Wrong.apply, x)
    with pytest.raises(ValueError, match="float64"):
        gradcheck(Wrong.apply, leaf([1.0]))
    assert gradcheck(lambda x, y: (x @ y).softmax(-1), [leaf([[0.1, 0.2], [0.3, -0.4]], weft.float64), leaf([[1.0, 2.0], [0.5, 1.0]], weft.float64)])


def test_threads_with_functions_and_hooks():
    import threading

    def train(results, place):
        w = leaf([1.0, 2.0])
        total = 0.0
        for i in range(100):
            y = Exp.apply(Cube.apply(w) * 0.01)
            y.register_hook(lambda g: g * 0.5)
            loss = y.sum()
            loss.backward()
            with weft.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
            if i % 10 == 0:
                total += loss.item()
        results[place] = (total, w.tolist())

    results = [None] * 5
    train(results, 4)
    threads = [threading.Thread(target=train, args=(results, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert results[:4] == [results[4]] * 4
