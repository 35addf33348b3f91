"""Losses: values and gradients, every option, and logits of ±1e4."""

import numpy as np
import pytest
import torch
import torch.nn as tnn
import torch.nn.functional as TF
from helpers import assert_close, both, check_function, floats, integers, to_torch, to_weft

import weft
import weft.nn.functional as F
from weft import nn

REDUCTIONS = ("none", "mean", "sum")
HUGE = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 1e4], [1e4, 1e4, 1e4], [-1e4, -1e4, -1e4]], "float32")


def names(module, prefix=""):
    return getattr(F, prefix + module), getattr(TF, prefix + module)


def plain(array):
    """As an argument that is no input: the same values on both sides, without a gradient."""
    return to_weft(array, False), to_torch(array, False)


def with_extra(name, **extras):
    """Both functions with further tensors among their settings."""
    ours = {key: plain(value)[0] if isinstance(value, np.ndarray) else value for key, value in extras.items()}
    theirs = {key: plain(value)[1] if isinstance(value, np.ndarray) else value for key, value in extras.items()}
    a, b = names(name)
    return lambda *args, **kw: a(*args, **ours, **kw), lambda *args, **kw: b(*args, **theirs, **kw)


# ---- distances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name, settings", [
    ("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {}), ("smooth_l1_loss", {"beta": 0.3}), ("smooth_l1_loss", {"beta": 0.0}),
    ("huber_loss", {}), ("huber_loss", {"delta": 0.4}), ("huber_loss", {"delta": 3.0}),
])  # fmt: skip
def test_distances(name, settings, reduction, dtype):
    x, y = floats(4, 5, dtype=dtype), floats(4, 5, seed=1, dtype=dtype)
    y[0] = x[0]  # the kink of |d|
    y[1] = x[1] + np.asarray([1, -1, 0.4, 3, -3], dtype)  # the corners
    check_function(*names(name), x, y, reduction=reduction, **settings)


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1, 30, 1e4])
def test_log_cosh(scale):
    x = (floats(50) * scale).astype("float32")
    ours = to_weft(x)
    zero = weft.zeros(50)
    F.log_cosh_loss(ours, zero, reduction="sum").backward()
    wide = np.abs(x.astype("f8"))
    want = np.where(wide < 1, np.log1p(2 * np.sinh(np.minimum(wide, 1) / 2) ** 2), wide + np.log1p(np.exp(-2 * wide)) - np.log(2))
    np.testing.assert_allclose(F.log_cosh_loss(ours, zero, reduction="none").detach().numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(ours.grad.numpy(), np.tanh(x.astype("f8")), rtol=1e-6)
    assert nn.LogCoshLoss()(ours, zero).item() == pytest.approx(want.mean(), rel=1e-5)


# ---- classes ---------------------------------------------------------------------------------------------------------

SHAPES = [((6, 4), (6,)), ((4,), ()), ((3, 4, 5), (3, 5)), ((2, 4, 3, 2), (2, 3, 2))]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape, rows", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("ignored", [False, True])
def test_cross_entropy(shape, rows, reduction, weighted, smoothing, ignored):
    labels = integers(*rows, high=4)
    extras = {"weight": floats(4, low=0.1, high=2)} if weighted else {}
    if ignored and rows:
        labels.flat[0] = -100
        labels.flat[1] = 2
        extras["ignore_index"] = -100
    check_function(*with_extra("cross_entropy", **extras), floats(*shape), np.asarray(labels), reduction=reduction,
                   label_smoothing=smoothing)  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [s for s, _ in SHAPES])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities(shape, reduction, weighted, smoothing):
    extras = {"weight": floats(4, low=0.1, high=2)} if weighted else {}
    p = floats(*shape, low=0, high=1, seed=2)
    p /= p.sum(0 if len(shape) == 1 else 1, keepdims=True)
    check_function(*with_extra("cross_entropy", **extras), floats(*shape), p, reduction=reduction, label_smoothing=smoothing)


def test_cross_entropy_ignores_a_class():
    check_function(F.cross_entropy, TF.cross_entropy, floats(6, 4), integers(6, high=4), ignore_index=2)
    with pytest.raises((ValueError, RuntimeError)):
        F.cross_entropy(weft.ones(2, 3), weft.ones(2, 3), ignore_index=1)
    ours, theirs = both(floats(2, 3))
    nothing = np.full(2, -100)
    assert np.isnan(F.cross_entropy(ours, to_weft(nothing)).item()) and TF.cross_entropy(theirs, to_torch(nothing)).isnan()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape, rows", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_nll(shape, rows, reduction, weighted):
    extras = {"weight": floats(4, low=0.1, high=2)} if weighted else {}
    check_function(*with_extra("nll_loss", ignore_index=1, **extras), floats(*shape), np.asarray(integers(*rows, high=4, seed=3)),
                   reduction=reduction)  # fmt: skip


def torch_focal(x, y, alpha=None, gamma=2.0, reduction="mean"):
    cost = TF.cross_entropy(x, y, reduction="none")
    each = cost * (1 - (-cost).exp()) ** gamma * (1 if alpha is None else alpha[y])
    return {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0, 2.5])
def test_focal(gamma, reduction):
    x, y, alpha = floats(6, 4), integers(6, high=4), floats(4, low=0.1, high=1)
    a, b = plain(alpha)
    check_function(lambda x, y: F.focal_loss(x, y, a, gamma, reduction=reduction),
                   lambda x, y: torch_focal(x, y, b, gamma, reduction), x, y, rtol=1e-4)  # fmt: skip


# ---- yes or no -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, (5,), (4, 5)])
@pytest.mark.parametrize("pos_weight", [None, (5,)])
def test_binary(weight, pos_weight, reduction, dtype):
    x, y = floats(4, 5, dtype=dtype), floats(4, 5, seed=1, low=0, high=1, dtype=dtype)
    y[0], y[1] = 0, 1
    extras = {} if weight is None else {"weight": floats(*weight, low=0.1, high=2, dtype=dtype)}
    if pos_weight is None:
        p = floats(4, 5, seed=2, low=0.01, high=0.99, dtype=dtype)
        check_function(*with_extra("binary_cross_entropy", **extras), p, y, reduction=reduction)
    else:
        extras["pos_weight"] = floats(*pos_weight, low=0.1, high=3, seed=4, dtype=dtype)
    check_function(*with_extra("binary_cross_entropy_with_logits", **extras), x, y, reduction=reduction)


def test_binary_at_the_ends():
    p = np.array([0, 1, 0, 1, 0.5, 1e-30], "float32")
    ours, theirs = plain(np.array([0, 1, 1, 0, 1, 1], "float32"))
    check_function(lambda p: F.binary_cross_entropy(p, ours, reduction="none"),
                   lambda p: TF.binary_cross_entropy(p, theirs, reduction="none"), p)  # fmt: skip
    with pytest.raises(ValueError):
        F.binary_cross_entropy(weft.ones(2), weft.ones(2, 1))


def torch_sigmoid_focal(x, t, alpha=0.25, gamma=2.0, reduction="none"):
    p = x.sigmoid()
    cost = TF.binary_cross_entropy_with_logits(x, t, reduction="none")
    each = cost * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
    each = (alpha * t + (1 - alpha) * (1 - t)) * each if alpha >= 0 else each
    return {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("alpha", [0.25, 0.7, -1])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0, 2.5])
def test_sigmoid_focal(alpha, gamma, reduction):
    t = integers(4, 5, high=2).astype("float64")
    check_function(F.sigmoid_focal_loss, torch_sigmoid_focal, floats(4, 5, dtype="float64"), t, rtol=1e-6, alpha=alpha,
                   gamma=gamma, reduction=reduction)  # fmt: skip


# ---- large logits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_logits_of_classes(smoothing, weighted):
    extras = {"weight": floats(3, low=0.1, high=2)} if weighted else {}
    for labels in (np.array([0, 1, 2, 0]), np.array([1, 0, 0, 2])):
        got, _ = check_function(*with_extra("cross_entropy", **extras), HUGE, labels, reduction="none", label_smoothing=smoothing)
        assert np.isfinite(got.detach().numpy()).all()
    p = np.full((4, 3), 1 / 3, "float32")
    check_function(*with_extra("cross_entropy", **extras), HUGE, p, reduction="none", label_smoothing=smoothing)


@pytest.mark.parametrize("settings", [{}, {"pos_weight": np.array([2, 0.5, 3], "float32")}])
def test_large_logits_of_yes_or_no(settings):
    for target in (0.0, 1.0, 0.25):
        t = np.full((4, 3), target, "float32")
        got, _ = check_function(*with_extra("binary_cross_entropy_with_logits", **settings), HUGE, t, reduction="none")
        assert np.isfinite(got.detach().numpy()).all()


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0, 2.5])
def test_large_logits_of_the_focal_losses(gamma):
    for target in (0.0, 1.0):
        x = to_weft(HUGE)
        loss = F.sigmoid_focal_loss(x, weft.full((4, 3), target), gamma=gamma)
        loss.sum().backward()
        right = (HUGE > 0) == (target == 1)
        scale = 0.25 if target else 0.75
        want = np.where(right, 0, scale * 1e4)
        want[HUGE == 0] = scale * np.log(2) * 0.5**gamma
        np.testing.assert_allclose(loss.detach().numpy(), want, rtol=1e-6)
        slope = x.grad.numpy()
        assert np.isfinite(slope).all()
        np.testing.assert_allclose(slope[(HUGE != 0) & ~right], (-1 if target else 1) * scale, rtol=1e-6)
        np.testing.assert_allclose(slope[(HUGE != 0) & right], 0, atol=1e-6)
    x = to_weft(HUGE)
    loss = F.focal_loss(x, weft.tensor([0, 0, 1, 2]), gamma=gamma, reduction="none")
    loss.sum().backward()
    even = np.log(3) * (2 / 3) ** gamma
    np.testing.assert_allclose(loss.detach().numpy(), [0, 2e4 + np.log(2), even, even], rtol=1e-5)
    assert np.isfinite(x.grad.numpy()).all()
    np.testing.assert_allclose(x.grad.numpy()[1], [-1, 0.5, 0.5], rtol=1e-5)


# ---- distributions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div(reduction, log_target):
    target = floats(4, 5, seed=1, low=0.01, high=1)
    check_function(F.kl_div, TF.kl_div, floats(4, 5), target, reduction=reduction, log_target=log_target)
    if not log_target:
        target[0, :2] = 0
        ours, theirs = plain(target)
        check_function(lambda x: F.kl_div(x, ours, reduction=reduction), lambda x: TF.kl_div(x, theirs, reduction=reduction), floats(4, 5))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("log_input", [False, True])
def test_poisson_nll(reduction, full, log_input):
    target = integers(4, 5, high=6).astype("float32")
    check_function(lambda x, t: F.poisson_nll_loss(x, t, log_input, full, reduction=reduction),
                   lambda x, t: TF.poisson_nll_loss(x, t.detach(), log_input, full, reduction=reduction) + 0 * t.sum(),
                   floats(4, 5, low=0.1, high=2), target, gradients=False)  # fmt: skip
    a, b = plain(target)
    check_function(lambda x: F.poisson_nll_loss(x, a, log_input, full, reduction=reduction),
                   lambda x: TF.poisson_nll_loss(x, b, log_input, full, reduction=reduction), floats(4, 5, low=0.1, high=2))  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(4, 5), (4,), (4, 1), (1, 5)])
def test_gaussian_nll(reduction, full, shape):
    check_function(F.gaussian_nll_loss, TF.gaussian_nll_loss, floats(4, 5), floats(4, 5, seed=1),
                   floats(*shape, seed=2, low=0.1, high=2), full=full, reduction=reduction)  # fmt: skip


def test_gaussian_nll_of_one_variance():
    check_function(lambda x, y: F.gaussian_nll_loss(x, y, 0.5), lambda x, y: TF.gaussian_nll_loss(x, y, 0.5), floats(4), floats(4, seed=1))
    tiny = np.zeros((4, 5), "float32")
    check_function(F.gaussian_nll_loss, TF.gaussian_nll_loss, floats(4, 5), floats(4, 5, seed=1), tiny)
    for shape in ((5,), (3, 5), (1, 1), (2, 4, 5)):
        with pytest.raises(ValueError, match="variance"):
            F.gaussian_nll_loss(weft.ones(4, 5), weft.ones(4, 5), weft.ones(shape))


# ---- pairs and triples -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cosine_similarity(dim):
    x, y = floats(4, 5, 3), floats(4, 5, 3, seed=1)
    check_function(F.cosine_similarity, TF.cosine_similarity, x, y, dim=dim)
    check_function(F.cosine_similarity, TF.cosine_similarity, x, y[:1], dim=dim, atol=1e-6)
    x[:, :2] = 0
    y[0] *= 1e-9
    check_function(F.cosine_similarity, TF.cosine_similarity, x, y, dim=dim)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("keepdim", [False, True])
def test_pairwise_distance(p, keepdim):
    check_function(F.pairwise_distance, TF.pairwise_distance, floats(4, 5), floats(4, 5, seed=1), p=p, keepdim=keepdim)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_losses_with_a_margin(reduction, margin):
    signs = integers(6, high=2) * 2 - 1
    a, b = floats(6, 4), floats(6, 4, seed=1)
    check_function(F.cosine_embedding_loss, TF.cosine_embedding_loss, a, b, signs, margin=margin, reduction=reduction)
    check_function(F.cosine_embedding_loss, TF.cosine_embedding_loss, a[0], b[0], np.asarray(-1), margin=margin, reduction=reduction)
    ours, theirs = plain(signs.astype("float32"))
    check_function(lambda x, y: F.margin_ranking_loss(x, y, ours, margin, reduction=reduction),
                   lambda x, y: TF.margin_ranking_loss(x, y, theirs, margin, reduction=reduction), floats(6), floats(6, seed=1))  # fmt: skip
    check_function(lambda x: F.hinge_embedding_loss(x, ours, margin, reduction=reduction),
                   lambda x: TF.hinge_embedding_loss(x, theirs, margin, reduction=reduction), floats(6))  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_triplet_margin(reduction, swap, p):
    check_function(F.triplet_margin_loss, TF.triplet_margin_loss, floats(6, 4), floats(6, 4, seed=1), floats(6, 4, seed=2),
                   margin=0.7, p=p, swap=swap, reduction=reduction)  # fmt: skip


# ---- modules ---------------------------------------------------------------------------------------------------------


def test_modules():
    x, y, labels = floats(6, 4), floats(6, 4, seed=1), integers(6, high=4)
    p, signs, w = floats(6, 4, seed=2, low=0.01, high=0.99), integers(6, high=2) * 2 - 1, floats(4, low=0.1, high=2)
    ours, theirs = plain(w)
    cases = [
        ("MSELoss", {}, (x, y)), ("L1Loss", {"reduction": "sum"}, (x, y)), ("SmoothL1Loss", {"beta": 0.5}, (x, y)),
        ("HuberLoss", {"delta": 0.5}, (x, y)), ("CrossEntropyLoss", {"label_smoothing": 0.1}, (x, labels)),
        ("NLLLoss", {"ignore_index": 1}, (x, labels)), ("BCELoss", {}, (p, p[::-1].copy())), ("BCEWithLogitsLoss", {}, (x, p)),
        ("KLDivLoss", {"reduction": "batchmean"}, (x, p)), ("PoissonNLLLoss", {}, (x, p)), ("GaussianNLLLoss", {}, (x, y, p)),
        ("CosineSimilarity", {"dim": 1}, (x, y)), ("PairwiseDistance", {}, (x, y)), ("CosineEmbeddingLoss", {"margin": 0.1}, (x, y, signs)),
        ("TripletMarginLoss", {}, (x, y, p)),
    ]  # fmt: skip
    for name, settings, inputs in cases:
        check_function(getattr(nn, name)(**settings), getattr(tnn, name)(**settings), *inputs)
    for name, target in (("CrossEntropyLoss", labels), ("NLLLoss", labels), ("BCEWithLogitsLoss", p), ("BCELoss", p)):
        a, b = getattr(nn, name)(weight=ours), getattr(tnn, name)(weight=theirs)
        check_function(a, b, p if name == "BCELoss" else x, target)
        assert list(a.state_dict()) == list(b.state_dict()) == ["weight"]
    one, other = plain(np.float32(1) * signs)
    check_function(lambda a, b: nn.MarginRankingLoss(0.1)(a, b, one), lambda a, b: tnn.MarginRankingLoss(0.1)(a, b, other), x[:, 0].copy(), y[:, 0].copy())
    check_function(lambda a: nn.HingeEmbeddingLoss()(a, one), lambda a: tnn.HingeEmbeddingLoss()(a, other), x[:, 0].copy())
    assert nn.FocalLoss()(*[to_weft(v) for v in (x, labels)]).item() == pytest.approx(torch_focal(to_torch(x), to_torch(labels)).item(), rel=1e-5)
    binary = (p > 0.5).astype("float32")
    want = torch_sigmoid_focal(to_torch(x), to_torch(binary), reduction="mean")
    assert_close(nn.SigmoidFocalLoss()(to_weft(x), to_weft(binary)), want)


def test_halves():
    x, y = floats(4, 5), floats(4, 5, seed=1)
    for name in ("mse_loss", "huber_loss", "smooth_l1_loss"):
        a, b = names(name)
        assert_close(a(to_weft(x).half(), to_weft(y).half()), b(to_torch(x).half(), to_torch(y).half()))
    assert F.cross_entropy(to_weft(x).half(), weft.tensor([0, 1, 2, 3])).dtype == weft.float16
    assert TF.cross_entropy(to_torch(x).half(), torch.tensor([0, 1, 2, 3])).dtype == torch.float16
