"""Layers in closed form: values and gradients that can be worked out by hand, state, names, text and errors."""

import copy
import pickle

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn


def close(got, want, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(want), rtol=rtol, atol=atol)


def filled(module, value=1.0):
    for parameter in module.parameters():
        nn.init.constant_(parameter, value)
    return module


# ---- convolution and pooling -----------------------------------------------------------------------------------------


def test_convolutions():
    row = weft.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    kernel = weft.tensor([[[1.0, 10.0]]])
    assert F.conv1d(row, kernel).tolist() == [[[21, 32, 43]]]
    assert F.conv1d(row, kernel, padding="same").tolist() == [[[21, 32, 43, 4]]]
    assert F.conv1d(row[0], kernel, stride=2).tolist() == [[21, 43]]
    assert F.conv_transpose1d(row, kernel, stride=2).tolist() == [[[1, 10, 2, 20, 3, 30, 4, 40]]]
    volume = filled(nn.Conv3d(1, 1, 2, bias=False))(weft.ones(1, 1, 3, 4, 5))
    assert volume.shape == (1, 1, 2, 3, 4) and set(volume.flatten().tolist()) == {8}
    x = weft.zeros(2, 4, 5, 6)
    assert nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)(x).shape == (2, 6, 10, 12)
    assert nn.ConvTranspose2d(4, 6, 3, stride=2)(x, output_size=(12, 14)).shape == (2, 6, 12, 14)
    for mode, want in (("reflect", [3, 2, 1, 2, 3, 4, 3]), ("replicate", [1, 1, 1, 2, 3, 4, 4]), ("circular", [3, 4, 1, 2, 3, 4, 1])):
        assert F.pad(row, (2, 1), mode).flatten().tolist() == want
        assert nn.Conv1d(1, 1, 3, padding=1, padding_mode=mode)(row).shape == (1, 1, 4)
    assert repr(nn.Conv2d(1, 2, 3, padding="same", bias=False)) == (
        "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding='same', bias=False)")  # fmt: skip


def test_transposed_convolution_is_a_gradient():
    weft.manual_seed(0)
    x, w = weft.randn(2, 4, 7, 6).requires_grad_(), weft.randn(6, 2, 3, 3).realize()
    y = F.conv2d(x, w, stride=2, padding=1, groups=2)
    seed = weft.randn(*y.shape).realize()
    y.backward(seed)
    close(F.conv_transpose2d(seed, w, stride=2, padding=1, output_padding=(0, 1), groups=2), x.grad.numpy())


def test_pools():
    row = weft.tensor([[[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]]])
    assert F.max_pool1d(row, 2, ceil_mode=True).tolist() == [[[3, 4, 9, 2]]]
    values, places = nn.MaxPool1d(3, 2, 1, return_indices=True)(row)
    assert values.tolist() == [[[3, 4, 9, 9]]] and places.tolist() == [[[0, 2, 5, 5]]] and places.dtype is weft.int64
    assert F.avg_pool1d(row, 2, ceil_mode=True).tolist() == [[[2, 2.5, 7, 2]]]
    close(F.avg_pool1d(row, 3, padding=1, count_include_pad=False), [[[2, 10 / 3, 11 / 2]]])
    close(F.adaptive_avg_pool1d(row, 3), [[[8 / 3, 10 / 3, 16 / 3]]])
    assert F.adaptive_max_pool1d(row, 3).tolist() == [[[4, 5, 9]]]
    image = weft.arange(24.0).reshape(1, 1, 4, 6)
    assert nn.AdaptiveAvgPool2d((2, None))(image).shape == (1, 1, 2, 6)
    assert nn.AdaptiveMaxPool2d((2, 3))(image).flatten().tolist() == [7, 9, 11, 19, 21, 23]
    assert nn.MaxPool3d(2)(weft.zeros(1, 2, 4, 4, 4)).shape == (1, 2, 2, 2, 2)
    assert nn.AvgPool2d(2, divisor_override=1)(image)[0, 0, 0, 0].item() == 14
    with pytest.raises(ValueError, match="padding 2 must be at most half"):
        F.max_pool2d(image, 2, padding=2)


# ---- norms -----------------------------------------------------------------------------------------------------------


def test_batch_norm_without_momentum():
    norm = nn.BatchNorm1d(1, momentum=None)
    for batch in (2.0, 4.0, 9.0):
        norm(weft.tensor([[batch - 1], [batch + 1]]))
    assert norm.running_mean.item() == pytest.approx(5) and norm.num_batches_tracked.item() == 3
    close(norm.eval()(weft.tensor([[5.0]])), [[0]])
    norm.reset_running_stats()
    assert norm.running_mean.item() == 0 and norm.num_batches_tracked.item() == 0


def test_instance_norm():
    norm = nn.InstanceNorm1d(1, momentum=0.5, track_running_stats=True)
    x = weft.tensor([[[0.0, 2.0]], [[4.0, 8.0]]])
    close(norm(x), [[[-1, 1]], [[-1, 1]]], rtol=1e-4)
    assert norm.running_mean.item() == pytest.approx(1.75) and norm.running_var.item() == pytest.approx(3)
    close(norm.eval()(x), (x.numpy() - 1.75) / np.sqrt(3 + 1e-5))
    assert list(nn.InstanceNorm2d(3).state_dict()) == [] and norm(x[0]).shape == (1, 2)
    with pytest.raises(ValueError, match="InstanceNorm2d: the input has 2 axes, not 3 or 4"):
        nn.InstanceNorm2d(3)(weft.ones(2, 2))


# ---- attention -------------------------------------------------------------------------------------------------------


def test_attention_masks():
    q, k, v = (weft.randn(2, 4, 3).realize() for _ in range(3))
    only = weft.tensor([[False, True, False, False]] * 4)
    close(F.scaled_dot_product_attention(q, k, v, only), np.repeat(v.numpy()[:, 1:2], 4, 1))
    none = weft.zeros(4, 4).to(weft.bool)
    assert F.scaled_dot_product_attention(q, k, v, none).abs().max().item() == 0
    x = q.detach().requires_grad_()
    F.scaled_dot_product_attention(x, k, v, weft.full((4, 4), float("-inf"))).sum().backward()
    assert x.grad.abs().max().item() == 0
    heads = F.scaled_dot_product_attention(q.reshape(4, 2, 3), k[:, :2], v[:, :2], enable_gqa=True)
    close(heads[1], F.scaled_dot_product_attention(q.reshape(4, 2, 3)[1], k[0, :2], v[0, :2]).numpy())


def test_multihead_attention():
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = weft.randn(3, 5, 8).realize()
    y, weights = attention(x, x, x)
    assert y.shape == (3, 5, 8) and weights.shape == (3, 5, 5)
    close(weights.sum(-1), np.ones((3, 5)))
    assert attention(x, x, x, average_attn_weights=False)[1].shape == (3, 2, 5, 5)
    assert attention(x, x, x, need_weights=False)[1] is None
    hidden = weft.tensor([[False, False, True, True, True]] * 3)
    masked, weights = attention(x, x, x, key_padding_mask=hidden)
    assert weights[..., 2:].abs().max().item() == 0
    close(masked, attention(x, x[:, :2], x[:, :2])[0].detach().numpy())
    with pytest.raises(ValueError, match="embed_dim 8 cannot be divided into 3 heads"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(RuntimeError, match="attn_mask must be"):
        attention(x, x, x, attn_mask=weft.zeros(4, 5))


def test_transformer():
    weft.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True)
    model = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8))
    assert [n for n in model.state_dict() if "norm1" in n] == [f"layers.{i}.norm1.{w}" for i in (0, 1) for w in ("weight", "bias")]
    x = weft.randn(2, 5, 8).realize()
    later = weft.triu(weft.ones(5, 5), 1).to(weft.bool)
    before = model(x, mask=later)[:, :4].detach().numpy()
    x[:, 4] = 0.5
    close(model(x, mask=later)[:, :4], before)  # no token sees a later one
    with pytest.raises(RuntimeError, match="activation must be 'relu', 'gelu' or a function"):
        nn.TransformerEncoderLayer(8, 2, activation="none")


# ---- recurrent -------------------------------------------------------------------------------------------------------


def test_recurrent_by_hand():
    net = filled(nn.RNN(1, 1, bias=False, nonlinearity="relu"))
    output, last = net(weft.tensor([[[1.0]], [[2.0]], [[3.0]]]))
    assert output.flatten().tolist() == [1, 3, 6] and last.tolist() == [[[6]]]
    both = filled(nn.RNN(1, 1, bias=False, nonlinearity="relu", bidirectional=True))
    output, last = both(weft.tensor([[1.0], [2.0], [3.0]]))
    assert output.tolist() == [[1, 6], [3, 5], [6, 3]] and last.tolist() == [[6], [6]]
    lstm = filled(nn.LSTM(1, 1), 0.0)
    output, (h, c) = lstm(weft.ones(2, 1, 1), (weft.zeros(1, 1, 1), weft.full((1, 1, 1), 4.0)))
    assert c.item() == 1 and h.item() == pytest.approx(0.5 * np.tanh(1))  # every gate is 1/2
    gru = filled(nn.GRU(1, 1), 0.0)
    assert gru(weft.ones(3, 1, 1), weft.full((1, 1, 1), 8.0))[0].flatten().tolist() == [4, 2, 1]


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_a_sequence_is_its_cell_step_by_step(kind):
    layer, cell = getattr(nn, kind)(3, 4), getattr(nn, kind + "Cell")(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x, state = weft.randn(5, 2, 3).realize(), None
    output, _ = layer(x)
    for t in range(5):
        state = cell(x[t], state)
        close(state[0] if kind == "LSTM" else state, output[t].detach().numpy())


def test_recurrent_state_and_errors():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    assert list(layer.state_dict())[:6] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0",
                                            "weight_ih_l0_reverse"]  # fmt: skip
    assert layer.weight_ih_l1.shape == (16, 4) and len(layer.all_weights) == 4
    twin = pickle.loads(pickle.dumps(copy.deepcopy(layer)))
    x = weft.randn(3, 2, 3).realize()
    assert twin(x)[0].tolist() == layer(x)[0].tolist()
    assert repr(nn.GRU(3, 4, 2, batch_first=True)) == "GRU(3, 4, num_layers=2, batch_first=True)"
    for wrong in ({"dropout": 2.0}, {"proj_size": 4}, {"num_layers": 0}):
        with pytest.raises(ValueError, match="LSTM"):
            nn.LSTM(3, 4, **wrong)
    with pytest.raises(RuntimeError, match="the input has 5 features, the weights take 3"):
        layer(weft.zeros(3, 2, 5))


def test_recurrent_training():
    weft.manual_seed(1)
    model, out = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
    optimizer = weft.optim.Adam([*model.parameters(), *out.parameters()], lr=0.03)
    x = weft.rand(16, 6, 1).realize()
    losses = []
    for _ in range(40):  # the sum of a sequence
        optimizer.zero_grad()
        loss = F.mse_loss(out(model(x)[0][:, -1]), x.sum(1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


# ---- the rest --------------------------------------------------------------------------------------------------------


def test_embedding_padding():
    table = nn.Embedding(5, 2, padding_idx=-1)
    assert table.weight[4].tolist() == [0, 0] and table.padding_idx == 4
    table(weft.tensor([[4, 0], [4, 1]])).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0]]
    assert not nn.Embedding.from_pretrained(weft.ones(3, 2)).weight.requires_grad
    with pytest.raises(ValueError, match="padding_idx 5 is out of range"):
        nn.Embedding(5, 2, padding_idx=5)


def test_dropout_of_channels():
    weft.manual_seed(0)
    for layer, shape in ((nn.Dropout1d(0.4), (50, 20, 3)), (nn.Dropout2d(0.4), (50, 20, 2, 3)), (nn.Dropout3d(0.4), (50, 20, 2, 2, 2))):
        channels = layer(weft.ones(*shape)).numpy().reshape(1000, -1)
        assert (channels == channels[:, :1]).all() and abs((channels[:, 0] == 0).mean() - 0.4) < 0.06
        assert layer.eval()(weft.ones(*shape)).min().item() == 1
    with pytest.raises(ValueError, match="Dropout2d: p must be between 0 and 1"):
        nn.Dropout2d(1.5)


def test_activations_by_hand():
    x = weft.tensor([-4.0, -1.0, 0.0, 1.0, 8.0])
    want = {
        F.relu6: [0, 0, 0, 1, 6], F.hardshrink: [-4, -1, 0, 1, 8], F.softshrink: [-3.5, -0.5, 0, 0.5, 7.5],
        F.softsign: [-0.8, -0.5, 0, 0.5, 8 / 9], F.hardsigmoid: [0, 1 / 3, 0.5, 2 / 3, 1], F.hardswish: [0, -1 / 3, 0, 2 / 3, 8],
        F.celu: [*np.expm1([-4, -1]), 0, 1, 8], F.mish: x.numpy() * np.tanh(np.log1p(np.exp(x.numpy()))),
        F.tanhshrink: x.numpy() - np.tanh(x.numpy()),
    }  # fmt: skip
    for function, values in want.items():
        close(function(x), values)
    assert F.threshold(x, 0.5, 9).tolist() == [9, 9, 9, 1, 8] and F.prelu(x, weft.tensor([0.25])).tolist() == [-1, -0.25, 0, 1, 8]
    close(F.glu(weft.tensor([[2.0, 6.0, 0.0, 0.0]])), [[1, 3]])
    with pytest.raises(RuntimeError, match="axis 0 of size 5 has no halves"):
        F.glu(x)
    y = x * 1
    assert nn.ReLU(inplace=True)(y).tolist() == y.tolist() == [0, 0, 0, 1, 8]
    layer = nn.Threshold(1.0, 2.0)
    assert (layer.threshold, layer.value) == (1.0, 2.0) and repr(nn.LeakyReLU(0.2, inplace=True)) == (
        "LeakyReLU(negative_slope=0.2, inplace=True)")  # fmt: skip
    with pytest.raises(TypeError, match="needs value"):
        nn.Threshold(1.0)


def test_parameter_containers():
    listed = nn.ParameterList([weft.ones(2), weft.zeros(3)])
    named = nn.ParameterDict({"a": weft.ones(2), "b": nn.Parameter(weft.zeros(1), requires_grad=False)})
    assert list(nn.ModuleList([listed, named]).state_dict()) == ["0.0", "0.1", "1.a", "1.b"]
    listed[1] = weft.ones(4)
    assert isinstance(listed[1], nn.Parameter) and len(listed[:1]) == 1 and not named["b"].requires_grad
    assert "a" in named and named.pop("a").shape == (2,) and list(named.keys()) == ["b"]


def test_summary():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    model[0].requires_grad_(False)
    table = model.summary((2, 1, 8, 8))
    assert table.total_params == 40 + 8 + 1450 and table.trainable_params == 8 + 1450 and table.buffers == 9
    lines = str(table).splitlines()
    assert lines[2].split() == ["Sequential", "(2,", "10)"] and lines[3].split() == ["0:", "Conv2d", "(2,", "4,", "6,", "6)", "40"]
    assert lines[-1] == "parameters: 1,498, trained 1,458, frozen 40; in buffers: 9"
    assert model.training and model[1].num_batches_tracked.item() == 0  # nothing was trained
    assert "output" not in str(nn.summary(model)) and not model[0]._hooks
    pair = nn.Bilinear(2, 3, 4)
    assert "(5, 4)" in str(nn.summary(pair, [(5, 2), (5, 3)])) and "(1, 4)" in str(nn.summary(pair, input_data=(weft.ones(1, 2), weft.ones(1, 3))))
