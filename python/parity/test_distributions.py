"""weft.distributions against torch.distributions: formulas, their gradients, divergences, transforms, and means of samples."""

import itertools

import numpy as np
import pytest
import torch
import torch.distributions as TD
from helpers import assert_close, floats, to_torch, to_weft

import weft
import weft.distributions as WD

RNG = np.random.default_rng(3)
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.0]])


def uniform(*shape, low=0.3, high=3.0):
    return RNG.uniform(low, high, shape)


# family, parameters by name; arrays become float64 tensors that require gradients
CASES = [
    ("Normal", {"loc": floats(4, 3, dtype="f8"), "scale": uniform(3)}),
    ("Normal", {"loc": 0.5, "scale": 2.0}),
    ("Categorical", {"probs": uniform(4, 5)}),
    ("Categorical", {"logits": floats(2, 4, 5, dtype="f8")}),
    ("Bernoulli", {"probs": uniform(6, low=0.05, high=0.95)}),
    ("Bernoulli", {"logits": floats(2, 3, dtype="f8")}),
    ("Uniform", {"low": floats(3, dtype="f8") - 3, "high": uniform(2, 3)}),
    ("Beta", {"concentration1": uniform(4), "concentration0": uniform(3, 4)}),
    ("Gamma", {"concentration": uniform(4), "rate": uniform(2, 4)}),
    ("Dirichlet", {"concentration": uniform(3, 4)}),
    ("Multinomial", {"total_count": 7, "probs": uniform(2, 4)}),
    ("Multinomial", {"total_count": 3, "logits": floats(4, dtype="f8")}),
    ("MultivariateNormal", {"loc": floats(2, 3, dtype="f8"), "covariance_matrix": MATRIX}),
    ("MultivariateNormal", {"loc": floats(3, dtype="f8"), "precision_matrix": MATRIX * np.array([1.0, 2.0])[:, None, None]}),
    ("MultivariateNormal", {"loc": floats(3, dtype="f8"), "scale_tril": np.linalg.cholesky(MATRIX)}),
    ("Exponential", {"rate": uniform(3)}),
    ("Laplace", {"loc": floats(3, dtype="f8"), "scale": uniform(2, 1)}),
    ("LogNormal", {"loc": floats(3, dtype="f8"), "scale": uniform(3, high=1.0)}),
    ("Poisson", {"rate": uniform(3, high=9.0)}),
    ("Geometric", {"probs": uniform(3, low=0.1, high=0.9)}),
    ("Geometric", {"logits": floats(3, dtype="f8")}),
    ("HalfNormal", {"scale": uniform(3)}),
    ("HalfCauchy", {"scale": uniform(3)}),
    ("Cauchy", {"loc": floats(3, dtype="f8"), "scale": uniform(3)}),
    ("StudentT", {"df": np.array([0.7, 1.5, 2.0, 5.0]), "loc": 1.0, "scale": uniform(4)}),
    ("Chi2", {"df": uniform(3, high=9.0)}),
    ("OneHotCategorical", {"probs": uniform(2, 4)}),
    ("Binomial", {"total_count": 9, "probs": uniform(4, low=0.1, high=0.9)}),
    ("Binomial", {"total_count": 1, "logits": floats(2, 3, dtype="f8")}),
    ("NegativeBinomial", {"total_count": 5.0, "probs": uniform(4, low=0.1, high=0.9)}),
    ("NegativeBinomial", {"total_count": 2.0, "logits": floats(3, dtype="f8")}),
    ("Gumbel", {"loc": floats(3, dtype="f8"), "scale": uniform(2, 3)}),
    ("Weibull", {"scale": uniform(3), "concentration": uniform(3, low=1.1)}),
    ("Pareto", {"scale": uniform(3), "alpha": np.array([0.8, 1.7, 3.5])}),
    ("InverseGamma", {"concentration": np.array([0.8, 1.7, 3.5]), "rate": uniform(3)}),
    ("FisherSnedecor", {"df1": np.array([1.5, 3.0, 7.0]), "df2": np.array([1.5, 3.0, 7.0])}),
    ("Kumaraswamy", {"concentration1": uniform(3), "concentration0": uniform(3)}),
]
IDS = [f"{name}-{'-'.join(parameters)}" for name, parameters in CASES]
each = pytest.mark.parametrize("name, parameters", CASES, ids=IDS)


def made(name, parameters):
    """The distribution on both sides, and the tensors that require gradients."""
    sides = []
    for module, convert in ((WD, to_weft), (TD, to_torch)):
        tensors = {k: convert(np.array(v)) if isinstance(v, np.ndarray) else v for k, v in parameters.items()}
        leaves = [v for v in tensors.values() if hasattr(v, "requires_grad")]
        sides.append((getattr(module, name)(**tensors), leaves))
    return sides


def compared(sides, ask, what, gradients=True):
    """ask(distribution, module) gives the same on both sides, and the same gradients; or raises NotImplementedError on both."""
    results = []
    for (distribution, _), module in zip(sides, (weft, torch)):
        try:
            results.append(ask(distribution, module))
        except NotImplementedError:
            results.append(None)
    got, want = results
    if want is None:
        assert got is None, f"{what}: PyTorch has none"
        return
    assert got is not None, f"{what}: only PyTorch has one"
    exact = 1e-9 if want.dtype in (torch.float64, torch.int64) else 1e-6
    exact = 1e-7 if what == "Multinomial.entropy" else exact  # PyTorch has the logarithm of the factorial in float32
    assert_close(got, want, what, rtol=exact, atol=exact)
    if gradients and want.requires_grad:
        weights = np.random.default_rng(5).uniform(0.5, 1.5, tuple(want.shape))
        try:
            theirs = torch.autograd.grad((want * torch.tensor(weights)).sum(), sides[1][1], allow_unused=True, retain_graph=True)
        except NotImplementedError:  # igamma
            return
        ours = weft.autograd.grad((got * weft.tensor(weights)).sum(), sides[0][1], allow_unused=True)
        for a, b in zip(ours, theirs):
            if b is not None and bool(b.isfinite().all()):
                assert_close(weft.zeros_like(sides[0][1][0]) if a is None else a, b, f"gradient of {what}", rtol=1e-7, atol=1e-8)


@each
def test_formulas(name, parameters):
    sides = made(name, parameters)
    (ours, _), (theirs, _) = sides
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert set(ours.arg_constraints) == set(theirs.arg_constraints)
    assert type(ours.support).__name__.lstrip("_") == type(theirs.support).__name__.lstrip("_")
    assert ours.support.event_dim == theirs.support.event_dim and ours.support.is_discrete == theirs.support.is_discrete
    for what in ("mean", "mode", "variance", "stddev"):
        if (name, what) == ("Kumaraswamy", "mode"):  # PyTorch takes the logarithm of a negative number
            continue
        compared(sides, lambda d, _, what=what: getattr(d, what), f"{name}.{what}", gradients=what != "mode")
    compared(sides, lambda d, _: d.entropy(), f"{name}.entropy")


@each
def test_values(name, parameters):
    sides = made(name, parameters)
    torch.manual_seed(1)
    values = sides[1][0].sample((5,)).numpy()
    compared(sides, lambda d, m: d.log_prob(m.tensor(values)), f"{name}.log_prob")
    compared(sides, lambda d, m: d.cdf(m.tensor(values)), f"{name}.cdf")
    shares = np.random.default_rng(2).uniform(0.01, 0.99, values.shape)
    compared(sides, lambda d, m: d.icdf(m.tensor(shares)), f"{name}.icdf")
    compared(sides, lambda d, m: d.enumerate_support(), f"{name}.enumerate_support")
    compared(sides, lambda d, m: d.enumerate_support(expand=False), f"{name}.enumerate_support")
    if sides[1][0].has_rsample and name != "Uniform":  # gradients in the value, too
        grads = []
        for (d, _), module in zip(sides, (weft, torch)):
            value = module.tensor(values, requires_grad=True)
            grads.append(module.autograd.grad(d.log_prob(value).sum(), [value])[0])
        assert_close(grads[0], grads[1], f"gradient of {name}.log_prob", rtol=1e-7, atol=1e-9)


@each
def test_expand(name, parameters):
    (ours, _), (theirs, _) = made(name, parameters)
    shape = (2, *theirs.batch_shape)
    a, b = ours.expand(shape), theirs.expand(torch.Size(shape))
    assert tuple(a.batch_shape) == tuple(b.batch_shape) and tuple(a.event_shape) == tuple(b.event_shape)
    torch.manual_seed(1)
    values = b.sample().numpy()
    assert_close(a.log_prob(weft.tensor(values)), b.log_prob(torch.tensor(values)), name, rtol=1e-9, atol=1e-9)
    assert tuple(a.sample((3,)).shape) == tuple(b.sample((3,)).shape)


@each
def test_samples(name, parameters):
    """Types, shapes and requires_grad as PyTorch's; means within 5 standard errors."""
    (ours, _), (theirs, _) = made(name, parameters)
    weft.manual_seed(7)
    samples, other = ours.sample((4000,)), theirs.sample((4000,))
    assert tuple(samples.shape) == tuple(other.shape) and str(samples.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]
    assert not samples.requires_grad and bool(ours.support.check(samples).all())
    if theirs.has_rsample:
        wanted = theirs.rsample((2,))
        assert ours.rsample((2,)).requires_grad == wanted.requires_grad
    mean, deviation = theirs.mean.detach().numpy(), theirs.stddev.detach().numpy()
    known = np.isfinite(mean) & np.isfinite(deviation) & (name not in ("Categorical",))
    error = np.abs(samples.double().mean(0).numpy() - mean)
    assert (error <= 5 * deviation / np.sqrt(4000) + 1e-12)[known].all()




def test_divergences():
    """Every pair that PyTorch has a formula for, among the families here; and none more raises or differs."""
    found = 0
    scalar = {
        "Normal": {"loc": 0.4, "scale": 1.3}, "Bernoulli": {"probs": 0.3}, "Uniform": {"low": 0.2, "high": 0.9},
        "Beta": {"concentration1": 1.7, "concentration0": 0.8}, "Gamma": {"concentration": 2.5, "rate": 0.7}, "Exponential": {"rate": 1.4},
        "Laplace": {"loc": -0.3, "scale": 0.8}, "Poisson": {"rate": 2.5}, "Geometric": {"probs": 0.4}, "HalfNormal": {"scale": 1.2},
        "Cauchy": {"loc": 0.3, "scale": 0.9}, "Chi2": {"df": 3.0}, "LogNormal": {"loc": 0.2, "scale": 0.6}, "StudentT": {"df": 4.0},
        "Gumbel": {"loc": 0.3, "scale": 0.9}, "Pareto": {"scale": 1.2, "alpha": 2.6}, "Binomial": {"total_count": 5.0, "probs": 0.3},
    }  # fmt: skip
    other = {
        "Normal": {"loc": -0.4, "scale": 0.7}, "Bernoulli": {"probs": 0.8}, "Uniform": {"low": -0.2, "high": 1.9},
        "Beta": {"concentration1": 0.7, "concentration0": 2.8}, "Gamma": {"concentration": 0.5, "rate": 1.7}, "Exponential": {"rate": 0.4},
        "Laplace": {"loc": 0.3, "scale": 1.8}, "Poisson": {"rate": 0.5}, "Geometric": {"probs": 0.7}, "HalfNormal": {"scale": 0.2},
        "Cauchy": {"loc": -0.3, "scale": 1.9}, "Chi2": {"df": 1.5}, "LogNormal": {"loc": -0.2, "scale": 1.6}, "StudentT": {"df": 2.0},
        "Gumbel": {"loc": -0.3, "scale": 1.4}, "Pareto": {"scale": 0.1, "alpha": 1.6}, "Binomial": {"total_count": 5.0, "probs": 0.6},
    }  # fmt: skip
    for p, q in itertools.product(scalar, other):
        arrays = [{k: np.array([v, v * 1.1 if k not in ("high", "probs", "total_count") else v]) for k, v in each.items()} for each in (scalar[p], other[q])]
        (ours, own), (theirs, their) = made(p, arrays[0])
        (ours_q, own_q), (theirs_q, their_q) = made(q, arrays[1])
        try:
            want = TD.kl_divergence(theirs, theirs_q)
        except NotImplementedError:
            with pytest.raises(NotImplementedError, match="no formula"):
                WD.kl_divergence(ours, ours_q)
            continue
        found += 1
        got = WD.kl_divergence(ours, ours_q)
        assert_close(got, want, f"KL({p}, {q})", rtol=1e-9, atol=1e-10)
        if want.requires_grad and bool(want.isfinite().all()):
            theirs_g = torch.autograd.grad(want.sum(), their + their_q, allow_unused=True)
            ours_g = weft.autograd.grad(got.sum(), own + own_q, allow_unused=True)
            for a, b in zip(ours_g, theirs_g):
                assert_close(weft.zeros(2, dtype=weft.float64) if a is None else a, torch.zeros(2, dtype=torch.float64) if b is None else b, f"gradient of KL({p}, {q})", rtol=1e-8, atol=1e-9)  # fmt: skip
    assert found >= 60


@pytest.mark.parametrize("name", ["Categorical", "Dirichlet", "MultivariateNormal", "OneHotCategorical"])
def test_divergences_of_vectors(name):
    first, second = [parameters for n, parameters in CASES if n == name][0], None
    second = {k: (v * 1.3 if k != "loc" else v + 0.5) for k, v in first.items()}
    if name in ("Categorical", "OneHotCategorical"):
        second = {"probs": np.flip(first["probs"], -1).copy()}
    (ours, own), (theirs, their) = made(name, first)
    (ours_q, own_q), (theirs_q, their_q) = made(name, second)
    got, want = WD.kl_divergence(ours, ours_q), TD.kl_divergence(theirs, theirs_q)
    assert_close(got, want, name, rtol=1e-9)
    for a, b in zip(weft.autograd.grad(got.sum(), own + own_q), torch.autograd.grad(want.sum(), their + their_q)):
        assert_close(a, b, f"gradient of KL({name})", rtol=1e-7, atol=1e-9)


def test_divergences_at_the_edges():
    for p, q in itertools.product([0.0, 0.3, 1.0], [0.0, 0.6, 1.0]):
        got = WD.kl_divergence(WD.Bernoulli(p), WD.Bernoulli(q))
        assert_close(got, TD.kl_divergence(TD.Bernoulli(p), TD.Bernoulli(q)), f"{p} {q}", rtol=1e-5)
    some = [[0.0, 0.5, 0.5], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]]
    for p, q in itertools.product(some, some):
        got = WD.kl_divergence(WD.Categorical(weft.tensor(p)), WD.Categorical(weft.tensor(q)))
        assert_close(got, TD.kl_divergence(TD.Categorical(torch.tensor(p)), TD.Categorical(torch.tensor(q))), f"{p} {q}", rtol=1e-5)
    a, b = WD.Independent(WD.Normal(weft.zeros(2, 3), 1.0), 1), WD.Independent(WD.Normal(weft.ones(2, 3), 2.0), 1)
    c, d = TD.Independent(TD.Normal(torch.zeros(2, 3), 1.0), 1), TD.Independent(TD.Normal(torch.ones(2, 3), 2.0), 1)
    assert_close(WD.kl_divergence(a, b), TD.kl_divergence(c, d))


# ---- transforms ------------------------------------------------------------------------------------------------------

TRANSFORMS = {
    "exp": lambda m, d: d.ExpTransform(),
    "sigmoid": lambda m, d: d.SigmoidTransform(),
    "tanh": lambda m, d: d.TanhTransform(),
    "softplus": lambda m, d: d.SoftplusTransform(),
    "affine": lambda m, d: d.AffineTransform(m.tensor([1.0, -2.0, 0.5]).double(), m.tensor([2.0, -0.5, 3.0]).double()),
    "affine of vectors": lambda m, d: d.AffineTransform(0.5, 2.0, event_dim=1),
    "power": lambda m, d: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(m.tensor(2.5).double())]),
    "composed": lambda m, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.TanhTransform(), d.AffineTransform(1.0, -0.5)]),
    "inverse": lambda m, d: d.ComposeTransform([d.ExpTransform(), d.SoftplusTransform().inv]),
    "stick breaking": lambda m, d: d.StickBreakingTransform(),
    "softmax": lambda m, d: d.SoftmaxTransform(),
    "abs": lambda m, d: d.AbsTransform(),
    "independent": lambda m, d: d.transforms.IndependentTransform(d.ExpTransform(), 1),
    "reshape": lambda m, d: d.ReshapeTransform((3,), (3, 1)),
    "stack": lambda m, d: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.AffineTransform(1.0, 2.0)], dim=-1),
    "cdf": lambda m, d: d.transforms.CumulativeDistributionTransform(d.Normal(m.tensor(0.5).double(), m.tensor(1.5).double())),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    x = floats(4, 3, dtype="f8")
    ours, theirs = TRANSFORMS[name](weft, WD), TRANSFORMS[name](torch, TD)
    (a, b) = to_weft(x), to_torch(x)
    y, want = ours(a), theirs(b)
    assert_close(y, want, name, rtol=1e-9)
    assert ours.bijective == theirs.bijective
    assert (ours.domain.event_dim, ours.codomain.event_dim) == (theirs.domain.event_dim, theirs.codomain.event_dim)
    assert tuple(ours.forward_shape((4, 3))) == tuple(theirs.forward_shape((4, 3)))
    assert_close(ours.inv(y.detach()), theirs.inv(want.detach()), f"{name}, inverse", rtol=1e-7, atol=1e-9)
    try:
        jacobian = theirs.log_abs_det_jacobian(b, want)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            ours.log_abs_det_jacobian(a, y)
        return
    assert_close(ours.log_abs_det_jacobian(a, y), jacobian, f"{name}, Jacobian", rtol=1e-9, atol=1e-9)


def test_transformed_distributions():
    for name, transform in TRANSFORMS.items():
        if name in ("softmax", "abs", "stack"):  # not bijective, or PyTorch does not sum its Jacobian
            continue
        try:
            theirs = TD.TransformedDistribution(TD.Normal(torch.zeros(4, 3).double(), 1.3), [transform(torch, TD)])
        except ValueError:
            continue
        ours = WD.TransformedDistribution(WD.Normal(weft.zeros(4, 3).double(), 1.3), [transform(weft, WD)])
        assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == (tuple(theirs.batch_shape), tuple(theirs.event_shape)), name
        torch.manual_seed(0)
        values = theirs.sample((2,)).numpy()
        assert_close(ours.log_prob(weft.tensor(values)), theirs.log_prob(torch.tensor(values)), name, rtol=1e-8, atol=1e-9)
        assert tuple(ours.sample((2,)).shape) == values.shape, name
        try:
            want = theirs.cdf(torch.tensor(values))
        except NotImplementedError:
            continue
        assert_close(ours.cdf(weft.tensor(values)), want, f"{name}, cdf", rtol=1e-8, atol=1e-9)


def test_transforms_onto_constraints():
    x = floats(5, 3, 3, dtype="f8")
    for name in ("real", "positive", "unit_interval", "simplex", "lower_cholesky", "positive_definite", "nonnegative"):
        ours, theirs = WD.transform_to(getattr(WD.constraints, name)), TD.transform_to(getattr(TD.constraints, name))
        assert_close(ours(weft.tensor(x)), theirs(torch.tensor(x)), name, rtol=1e-9)
        assert bool(getattr(WD.constraints, name).check(ours(weft.tensor(x))).all())
    ours = WD.biject_to(WD.constraints.interval(-1.0, 3.0))(weft.tensor(x))
    assert_close(ours, TD.biject_to(TD.constraints.interval(-1.0, 3.0))(torch.tensor(x)), "interval", rtol=1e-9)


def test_constraints_check_alike():
    values = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.5, -1.0]], [[0.3, 0.7], [np.nan, 1.0]], [[1.0, 3.0], [3.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    for name in ("boolean", "one_hot", "real", "real_vector", "simplex", "nonnegative_integer", "positive_integer", "positive", "nonnegative",
                 "unit_interval", "lower_triangular", "lower_cholesky", "square", "symmetric"):  # fmt: skip
        got = getattr(WD.constraints, name).check(weft.tensor(values))
        want = getattr(TD.constraints, name).check(torch.tensor(values))
        assert got.tolist() == want.tolist(), name
    for name, bounds in {"interval": (0, 1), "half_open_interval": (0, 1), "greater_than": (0.5,), "greater_than_eq": (0.5,), "less_than": (0.5,),
                         "integer_interval": (0, 2), "multinomial": (2,)}.items():  # fmt: skip
        got = getattr(WD.constraints, name)(*bounds).check(weft.tensor(values))
        assert got.tolist() == getattr(TD.constraints, name)(*bounds).check(torch.tensor(values)).tolist(), name
    for name in ("positive_definite", "positive_semidefinite"):
        good = np.stack([MATRIX, MATRIX - 2 * np.eye(3)])
        assert getattr(WD.constraints, name).check(weft.tensor(good)).tolist() == getattr(TD.constraints, name).check(torch.tensor(good)).tolist()


def test_mixtures():
    weights, loc, scale = uniform(2, 3), floats(2, 3, dtype="f8"), uniform(3)
    ours = WD.MixtureSameFamily(WD.Categorical(weft.tensor(weights)), WD.Normal(weft.tensor(loc), weft.tensor(scale)))
    theirs = TD.MixtureSameFamily(TD.Categorical(torch.tensor(weights)), TD.Normal(torch.tensor(loc), torch.tensor(scale)))
    values = floats(5, 2, dtype="f8")
    for ask in (lambda d, m: d.log_prob(m.tensor(values)), lambda d, m: d.cdf(m.tensor(values)), lambda d, m: d.mean, lambda d, m: d.variance):
        assert_close(ask(ours, weft), ask(theirs, torch), rtol=1e-9)
    assert tuple(ours.sample((7,)).shape) == (7, 2) and tuple(ours.expand((4, 2)).sample((7,)).shape) == (7, 4, 2)
    vectors = WD.MixtureSameFamily(WD.Categorical(weft.ones(4)), WD.Independent(WD.Normal(weft.randn(4, 3), 1.0), 1))
    assert tuple(vectors.sample((6,)).shape) == (6, 3) and tuple(vectors.log_prob(weft.zeros(6, 3)).shape) == (6,)


def test_wrong_parameters_raise_on_both_sides():
    for name, parameters in (
        ("Normal", {"loc": 0.0, "scale": -1.0}), ("Bernoulli", {"probs": 1.5}), ("Bernoulli", {}), ("Bernoulli", {"probs": 0.5, "logits": 0.0}),
        ("Uniform", {"low": 1.0, "high": 1.0}), ("Gamma", {"concentration": 0.0, "rate": 1.0}), ("Beta", {"concentration1": np.nan, "concentration0": 1.0}),
        ("Exponential", {"rate": 0.0}), ("Poisson", {"rate": -1.0}), ("Geometric", {"probs": 0.0}), ("HalfNormal", {"scale": 0.0}),
        ("StudentT", {"df": 0.0}), ("Chi2", {"df": -2.0}), ("Normal", {"loc": np.nan, "scale": 1.0}),
    ):  # fmt: skip
        for module in (TD, WD):
            with pytest.raises(ValueError):
                getattr(module, name)(**parameters)
    for name, value in (("Bernoulli", 0.5), ("Poisson", 1.5), ("Poisson", -1.0), ("Gamma", -1.0), ("Beta", 1.5), ("Exponential", -0.5), ("Geometric", 0.2)):
        parameters = next({k: 0.5 for k in p} for n, p in CASES if n == name)
        for module, side in ((TD, torch), (WD, weft)):
            with pytest.raises(ValueError):
                getattr(module, name)(**parameters).log_prob(side.tensor(value))
