"""weft.distributions: samples against SciPy's distributions, gradients of samples against known derivatives, errors, laziness."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

import weft
import weft.distributions as D

N = 20000
UNLIKELY = 1e-6


def t(*values):
    return weft.tensor(values, dtype=weft.float64)


CONTINUOUS = {
    "Normal": (lambda: D.Normal(t(1.5), t(0.7)), stats.norm(1.5, 0.7)),
    "Uniform": (lambda: D.Uniform(t(-1.0), t(3.0)), stats.uniform(-1, 4)),
    "Beta": (lambda: D.Beta(t(0.5), t(2.5)), stats.beta(0.5, 2.5)),
    "Beta, small": (lambda: D.Beta(t(0.02), t(3.0)), stats.beta(0.02, 3)),
    "Gamma": (lambda: D.Gamma(t(2.5), t(3.0)), stats.gamma(2.5, scale=1 / 3)),
    "Gamma, below 1": (lambda: D.Gamma(t(0.3), t(2.0)), stats.gamma(0.3, scale=0.5)),
    "Gamma, large": (lambda: D.Gamma(t(1e4), t(1.0)), stats.gamma(1e4)),
    "Exponential": (lambda: D.Exponential(t(2.0)), stats.expon(scale=0.5)),
    "Laplace": (lambda: D.Laplace(t(1.0), t(2.0)), stats.laplace(1, 2)),
    "LogNormal": (lambda: D.LogNormal(t(0.5), t(0.8)), stats.lognorm(0.8, scale=math.exp(0.5))),
    "HalfNormal": (lambda: D.HalfNormal(t(1.7)), stats.halfnorm(scale=1.7)),
    "HalfCauchy": (lambda: D.HalfCauchy(t(1.7)), stats.halfcauchy(scale=1.7)),
    "Cauchy": (lambda: D.Cauchy(t(0.5), t(2.0)), stats.cauchy(0.5, 2)),
    "StudentT": (lambda: D.StudentT(t(3.5), t(1.0), t(2.0)), stats.t(3.5, 1, 2)),
    "Chi2": (lambda: D.Chi2(t(4.0)), stats.chi2(4)),
    "Gumbel": (lambda: D.Gumbel(t(0.5), t(1.4)), stats.gumbel_r(0.5, 1.4)),
    "Weibull": (lambda: D.Weibull(t(1.7), t(2.5)), stats.weibull_min(2.5, scale=1.7)),
    "Pareto": (lambda: D.Pareto(t(1.5), t(3.0)), stats.pareto(3, scale=1.5)),
    "InverseGamma": (lambda: D.InverseGamma(t(3.0), t(2.0)), stats.invgamma(3, scale=2)),
    "FisherSnedecor": (lambda: D.FisherSnedecor(t(4.0), t(9.0)), stats.f(4, 9)),
}
DISCRETE = {
    "Bernoulli": (lambda: D.Bernoulli(t(0.3)), stats.bernoulli(0.3)),
    "Bernoulli, logits": (lambda: D.Bernoulli(logits=t(0.4)), stats.bernoulli(1 / (1 + math.exp(-0.4)))),
    "Geometric": (lambda: D.Geometric(t(0.3)), stats.geom(0.3, loc=-1)),
    "Poisson": (lambda: D.Poisson(t(4.5)), stats.poisson(4.5)),
    "Binomial": (lambda: D.Binomial(20, t(0.3)), stats.binom(20, 0.3)),
    "Binomial, many": (lambda: D.Binomial(1000, t(0.013)), stats.binom(1000, 0.013)),
    "Binomial, once": (lambda: D.Binomial(1, t(0.6)), stats.binom(1, 0.6)),
    "NegativeBinomial": (lambda: D.NegativeBinomial(4.0, t(0.6)), stats.nbinom(4, 0.4)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_families(name):
    make, known = CONTINUOUS[name]
    d = make()
    weft.manual_seed(11)
    samples = d.sample((N,))[..., 0]
    assert samples.dtype == weft.float64 and samples.shape == (N,) and not samples.requires_grad
    assert stats.kstest(samples.numpy(), known.cdf).pvalue > UNLIKELY
    x = known.ppf(np.linspace(0.05, 0.95, 13))
    x = np.where(x == 0, 1e-300, x)
    assert np.allclose(d.log_prob(weft.tensor(x)).numpy(), known.logpdf(x), rtol=1e-10, atol=1e-10)
    if name != "FisherSnedecor":
        assert np.allclose(d.entropy().numpy(), known.entropy(), rtol=1e-6)
    mean, variance = known.stats("mv")
    if np.isfinite(mean) and np.isfinite(variance):
        assert np.allclose(d.mean.numpy(), mean) and np.allclose(d.variance.numpy(), variance)
        assert np.allclose(d.stddev.numpy(), np.sqrt(variance))
    for ask, wanted in ((d.cdf, known.cdf(x)), (lambda v: d.icdf(d.cdf(v)), x)):
        try:
            got = ask(weft.tensor(x))
        except NotImplementedError:
            continue
        assert np.allclose(got.numpy(), wanted, rtol=1e-8)
    assert d.rsample((3,)).shape == (3, 1) and d.has_rsample


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_families(name):
    make, known = DISCRETE[name]
    d = make()
    weft.manual_seed(12)
    samples = d.sample((N,)).numpy()[:, 0]
    top = int(samples.max())
    counts = np.bincount(samples.astype("int64"), minlength=top + 1)
    likely = known.pmf(np.arange(top + 1)) * N > 5
    rest = N - counts[likely].sum()
    want = known.pmf(np.arange(top + 1))[likely] * N
    observed, expected = (counts[likely], want) if rest == 0 else (np.append(counts[likely], rest), np.append(want, N - want.sum()))
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > UNLIKELY
    values = np.arange(2 if name in ("Bernoulli", "Bernoulli, logits", "Binomial, once") else 9).astype("f8")
    assert np.allclose(d.log_prob(weft.tensor(values)).numpy(), known.logpmf(values))
    assert np.allclose(d.mean.numpy(), known.mean()) and np.allclose(d.variance.numpy(), known.var())
    with pytest.raises(NotImplementedError, match=r"^rsample\(\)"):
        d.rsample()


def test_binomial_at_the_ends():
    d = D.Binomial(weft.tensor([0.0, 5.0, 5.0, 64.0]), weft.tensor([0.5, 0.0, 1.0, 0.5]))
    samples = d.sample((2000,))
    assert samples[:, :3].unique(dim=0).tolist() == [[0, 0, 5]] and samples[:, 3].mean().item() == pytest.approx(32, abs=0.5)
    with pytest.raises(NotImplementedError, match="must be equal"):
        d.enumerate_support()
    with pytest.raises(ValueError, match=r"^Binomial\(\): argument 'total_count' must be integers of at least 0, but holds -1"):
        D.Binomial(-1, 0.5)


def test_kumaraswamy():
    weft.manual_seed(2)
    d = D.Kumaraswamy(t(2.0), t(3.0))
    samples = d.sample((N,))[:, 0].numpy()
    assert stats.kstest(samples, lambda x: 1 - (1 - x**2) ** 3).pvalue > UNLIKELY
    x = np.linspace(0.1, 0.9, 5)
    assert np.allclose(d.log_prob(weft.tensor(x)).numpy(), np.log(6 * x * (1 - x**2) ** 2))
    assert np.allclose(d.mean.numpy(), samples.mean(), atol=0.01) and np.allclose(d.entropy().numpy(), -d.log_prob(weft.tensor(samples)).mean().item(), atol=0.02)
    grid = np.linspace(0.01, 0.99, 9999)
    assert np.allclose(d.mode.numpy(), grid[d.log_prob(weft.tensor(grid)).argmax().item()], atol=1e-3)


def test_categorical():
    weft.manual_seed(3)
    weights = np.array([[1.0, 0.0, 3.0, 0.0], [0.2, 0.2, 0.2, 0.4]])
    for d in (D.Categorical(weft.tensor(weights)), D.Categorical(logits=weft.log(weft.tensor(weights)))):
        samples = d.sample((50, 400))
        assert samples.shape == (50, 400, 2) and samples.dtype == weft.int64
        for row, w in zip(samples.reshape(-1, 2).t().numpy(), weights / weights.sum(1, keepdims=True)):
            counts = np.bincount(row, minlength=4)
            assert (counts[w == 0] == 0).all()
            assert stats.chisquare(counts[w > 0], w[w > 0] * len(row)).pvalue > UNLIKELY
        assert np.allclose(d.probs.numpy(), weights / weights.sum(1, keepdims=True))
        assert d.entropy().numpy() == pytest.approx([-(p * np.log(p)).sum() for p in ([0.25, 0.75], [0.2, 0.2, 0.2, 0.4])])
        assert d.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
        assert d.mode.tolist() == [2, 3]
    assert D.Categorical(weft.ones(3)).log_prob(weft.tensor([[0], [2]])).shape == (2, 1)
    one_hot = D.OneHotCategorical(weft.ones(2, 3)).sample((5,))
    assert one_hot.shape == (5, 2, 3) and (one_hot.sum(-1) == 1).all()
    p = weft.tensor([0.2, 0.8], requires_grad=True)
    (D.OneHotCategoricalStraightThrough(p).rsample() * weft.tensor([1.0, 3.0])).sum().backward()
    assert p.grad.tolist() == pytest.approx([-1.6, 0.4])


def test_multinomial():
    weft.manual_seed(4)
    d = D.Multinomial(6, weft.tensor([0.1, 0.2, 0.7], dtype=weft.float64))
    samples = d.sample((5000,))
    assert samples.shape == (5000, 3) and (samples.sum(-1) == 6).all()
    assert np.allclose(samples.mean(0).numpy(), [0.6, 1.2, 4.2], atol=0.1) and np.allclose(samples.var(0).numpy(), d.variance.numpy(), atol=0.1)
    known = stats.multinomial(6, [0.1, 0.2, 0.7])
    values = samples[:20].numpy()
    assert np.allclose(d.log_prob(weft.tensor(values)).numpy(), known.logpmf(values)) and np.allclose(d.entropy().numpy(), known.entropy())
    assert D.Multinomial(2, weft.ones(4, 3)).sample((5, 6)).shape == (5, 6, 4, 3)
    assert D.Multinomial(0, weft.ones(3)).sample().tolist() == [0, 0, 0]


def test_multivariate_normal():
    weft.manual_seed(5)
    matrix = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.0]])
    loc = np.array([1.0, -2.0, 0.5])
    known = stats.multivariate_normal(loc, matrix)
    ways = {
        "covariance_matrix": matrix, "precision_matrix": np.linalg.inv(matrix), "scale_tril": np.linalg.cholesky(matrix),
    }  # fmt: skip
    for name, given in ways.items():
        d = D.MultivariateNormal(weft.tensor(loc), **{name: weft.tensor(given)})
        for way, want in ways.items():
            assert np.allclose(getattr(d, way).numpy(), want), (name, way)
        x = np.random.default_rng(0).normal(size=(4, 3))
        assert np.allclose(d.log_prob(weft.tensor(x)).numpy(), known.logpdf(x)) and np.allclose(d.entropy().numpy(), known.entropy())
        samples = d.sample((N,)).numpy()
        assert np.allclose(np.cov(samples.T), matrix, atol=0.1) and np.allclose(samples.mean(0), loc, atol=0.06)
        assert np.allclose(d.variance.numpy(), np.diag(matrix))
    leaf = weft.tensor(np.linalg.cholesky(matrix), requires_grad=True)
    D.MultivariateNormal(weft.tensor(loc), scale_tril=leaf).rsample((3,)).sum().backward()
    assert leaf.grad is not None and leaf.grad.isfinite().all()


def test_dirichlet():
    weft.manual_seed(6)
    a = np.array([0.3, 1.0, 4.0])
    d = D.Dirichlet(weft.tensor(a))
    samples = d.sample((N,))
    for i in range(3):
        assert stats.kstest(samples[:, i].numpy(), stats.beta(a[i], a.sum() - a[i]).cdf).pvalue > UNLIKELY
    x = samples[:5].numpy()
    x = x / x.sum(-1, keepdims=True)
    assert np.allclose(d.log_prob(weft.tensor(x)).numpy(), [stats.dirichlet(a).logpdf(row) for row in x])
    assert np.allclose(d.entropy().numpy(), stats.dirichlet(a).entropy())
    tiny = D.Dirichlet(weft.full((1000, 3), 1e-3)).sample()  # each gamma sample may be below the smallest number
    assert tiny.isfinite().all() and (tiny.sum(-1) - 1).abs().max() < 1e-6


# ---- gradients of samples --------------------------------------------------------------------------------------------


def mean_gradient(make, *parameters, count=100000, of=lambda x: x):
    """The gradient of the mean of samples in each parameter, and its standard error."""
    weft.manual_seed(8)
    leaves = [weft.full((count,), p, dtype=weft.float64, requires_grad=True) for p in parameters]
    of(make(*leaves).rsample()).sum().backward()
    return [(float(leaf.grad.mean()), float(leaf.grad.std()) / math.sqrt(count)) for leaf in leaves]


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 2.5, 20.0, 3000.0, 4e6])
def test_gamma_samples_have_the_gradient_of_their_mean(a):
    rate = 1.7
    (by_shape, error), (by_rate, error_of_rate) = mean_gradient(D.Gamma, a, rate, count=20000 if a > 100 else 100000)
    assert abs(by_shape - 1 / rate) < 6 * error + 1e-9 / rate  # the mean is a / rate
    assert abs(by_rate + a / rate**2) < 6 * error_of_rate
    (of_log, error), _ = mean_gradient(D.Gamma, a, rate, count=20000 if a > 100 else 100000, of=lambda x: x.log())
    trigamma = float(weft.polygamma(1, weft.tensor(a, dtype=weft.float64)))  # of digamma(a) - log(rate)
    assert abs(of_log - trigamma) < 6 * error + 1e-6 * trigamma


def test_a_gamma_sample_moves_with_its_quantile():
    """The derivative of the quantile function, which SciPy has, at each sample."""
    for a in (0.1, 0.9, 3.0, 50.0, 2000.0):
        weft.manual_seed(1)
        leaf = weft.full((50,), a, dtype=weft.float64, requires_grad=True)
        samples = D.Gamma(leaf, 1.0).rsample()
        samples.sum().backward()
        x, step = samples.detach().numpy(), 1e-4 * a
        keep = x > 1e-12
        share = stats.gamma(a).cdf(x)
        upper = stats.gamma(a).sf(x)
        def quantile(b):
            return np.where(share < 0.5, stats.gamma(b).ppf(share), stats.gamma(b).isf(upper))
        want = (quantile(a + step) - quantile(a - step)) / (2 * step)
        assert np.allclose(leaf.grad.numpy()[keep], want[keep], rtol=1e-4), a


def test_beta_and_dirichlet_samples_have_the_gradient_of_their_mean():
    for a, b in ((0.4, 0.8), (2.0, 3.0), (30.0, 5.0)):
        (by_a, error_a), (by_b, error_b) = mean_gradient(D.Beta, a, b)
        total = a + b
        assert abs(by_a - b / total**2) < 6 * error_a and abs(by_b + a / total**2) < 6 * error_b
    weft.manual_seed(9)
    a = np.array([0.5, 1.5, 4.0])
    leaf = weft.tensor(np.tile(a, (100000, 1)), requires_grad=True)
    weights = np.array([1.0, -2.0, 3.0])
    (D.Dirichlet(leaf).rsample() * weft.tensor(weights)).sum().backward()
    got, error = leaf.grad.mean(0).numpy(), leaf.grad.std(0).numpy() / math.sqrt(100000)
    want = weights / a.sum() - (weights * a).sum() / a.sum() ** 2
    assert (np.abs(got - want) < 6 * error).all()


def test_other_samples_have_the_gradient_of_their_mean():
    for make, parameters, want in (
        (D.Normal, (1.0, 2.0), (1, 0)), (D.Uniform, (1.0, 2.0), (0.5, 0.5)), (D.Exponential, (2.0,), (-0.25,)), (D.Laplace, (1.0, 2.0), (1, 0)),
        (D.HalfNormal, (2.0,), (math.sqrt(2 / math.pi),)), (D.LogNormal, (0.2, 0.5), (math.exp(0.325), 0.5 * math.exp(0.325))), (D.Chi2, (3.0,), (1,)),
        (D.StudentT, (5.0, 1.0, 2.0), (0, 1, 0)),
    ):  # fmt: skip
        for (got, error), known in zip(mean_gradient(make, *parameters), want):
            assert abs(got - known) < 6 * error + 1e-9, make.__name__


def test_second_derivatives():
    a = weft.tensor([0.7, 2.0, 9.0], dtype=weft.float64, requires_grad=True)
    b = weft.tensor([1.7, 0.5, 3.0], dtype=weft.float64, requires_grad=True)
    x = weft.tensor([0.2, 0.5, 0.9], dtype=weft.float64)
    for make in (D.Beta, D.Gamma, D.Normal, D.Laplace, D.Cauchy, lambda p, q: D.StudentT(p, 0.0, q)):
        assert weft.autograd.gradgradcheck(lambda p, q, make=make: make(p, q).log_prob(x), [a, b])
        assert weft.autograd.gradgradcheck(lambda p, q, make=make: make(p, q).entropy(), [a, b])
    assert weft.autograd.gradgradcheck(lambda p: D.Categorical(logits=p).entropy(), [a])
    assert weft.autograd.gradgradcheck(lambda p: D.Dirichlet(p).entropy(), [a])
    samples = D.Gamma(a, b).rsample()
    (slope,) = weft.autograd.grad(samples.sum(), [a], create_graph=True)
    with pytest.raises(RuntimeError, match="no derivative"):
        weft.autograd.grad(slope.sum(), [a])


# ---- what distributions are like -------------------------------------------------------------------------------------


def test_divergences_are_means_over_samples():
    weft.manual_seed(10)
    pairs = [
        (D.Normal(t(0.3), t(1.2)), D.Normal(t(-0.5), t(0.8))), (D.Gamma(t(2.0), t(1.5)), D.Gamma(t(3.0), t(1.0))), (D.Beta(t(2.0), t(3.0)), D.Beta(t(1.0), t(1.5))),
        (D.Normal(t(0.3), t(1.2)), D.Laplace(t(0.1), t(1.8))), (D.Laplace(t(0.1), t(1.8)), D.Normal(t(0.3), t(2.2))), (D.Gamma(t(2.0), t(1.5)), D.Exponential(t(1.0))),
        (D.Poisson(t(3.0)), D.Poisson(t(4.0))), (D.Bernoulli(t(0.3)), D.Bernoulli(t(0.6))), (D.Geometric(t(0.3)), D.Geometric(t(0.6))),
        (D.Cauchy(t(0.3), t(1.0)), D.Cauchy(t(0.0), t(2.0))), (D.Uniform(t(0.2), t(0.7)), D.Beta(t(2.0), t(1.5))), (D.HalfNormal(t(1.0)), D.HalfNormal(t(2.0))),
        (D.Dirichlet(t(1.0, 2.0, 3.0)), D.Dirichlet(t(2.0, 2.0, 1.0))), (D.Exponential(t(1.0)), D.Gamma(t(2.0), t(1.5))), (D.Uniform(t(0.2), t(0.7)), D.Normal(t(0.0), t(1.0))),
        (D.LogNormal(t(0.3), t(1.2)), D.LogNormal(t(-0.5), t(0.8))), (D.Beta(t(2.0), t(3.0)), D.Normal(t(0.0), t(1.0))),
        (D.MultivariateNormal(t(1.0, 0.0), scale_tril=weft.eye(2).double()), D.MultivariateNormal(t(0.0, 0.5), scale_tril=2 * weft.eye(2).double())),
    ]  # fmt: skip
    for p, q in pairs:
        x = p.sample((N,))
        if isinstance(p, D.Dirichlet):
            x = x / x.sum(-1, keepdim=True)
        difference = p.log_prob(x) - q.log_prob(x)
        error = 5 * float(difference.std()) / math.sqrt(N)
        assert abs(float(D.kl_divergence(p, q).sum()) - float(difference.mean())) < error + 1e-12, (p, q)


def test_own_divergences():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def mine(p, q):
        return weft.tensor(42.0)

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 42
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0  # the base class's formula
    with pytest.raises(NotImplementedError, match=r"^kl_divergence\(\): there is no formula for Normal and Poisson"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(TypeError, match="subclass of Distribution"):
        D.register_kl(int, D.Normal)


def test_sampling_is_lazy():
    for d in (
        D.Normal(0.0, 1.0), D.Categorical(weft.ones(3)), D.Bernoulli(0.5), D.Gamma(2.0, 1.0), D.Beta(2.0, 1.0), D.Dirichlet(weft.ones(3)), D.Poisson(3.0),
        D.Multinomial(5, weft.ones(3)), D.StudentT(3.0), D.Binomial(9, 0.5), D.NegativeBinomial(3.0, 0.5), D.OneHotCategorical(weft.ones(3)), D.Geometric(0.5),
    ):  # fmt: skip
        before = weft.counters()["runs"]
        d.sample((1000,))
        assert weft.counters()["runs"] == before, d


def test_a_captured_function_draws_anew():
    d = D.Gamma(weft.tensor(2.0), weft.tensor(1.0), validate_args=False)

    @weft.jit
    def step(x):
        return d.sample((4,)) + x

    zero = weft.zeros(4)
    results = [tuple(step(zero).tolist()) for _ in range(4)]
    assert len(set(results)) == 4


def test_seeds_repeat():
    for make in (lambda: D.Gamma(t(2.0), t(1.0)), lambda: D.Categorical(weft.ones(5)), lambda: D.Normal(0.0, 1.0)):
        draws = []
        for _ in range(2):
            weft.manual_seed(3)
            draws.append(make().sample((20,)).tolist())
        assert draws[0] == draws[1]


def test_types_and_shapes():
    assert D.Normal(0.0, 1.0).sample().dtype == weft.float32 and D.Normal(0.0, 1.0).sample().shape == ()
    assert D.Normal(weft.zeros(3).half(), 1.0).sample((2,)).dtype == weft.float16
    assert D.Gamma(weft.ones(3).half(), 1.0).rsample().dtype == weft.float16
    assert D.Normal(weft.zeros(3, 1), weft.ones(4)).batch_shape == (3, 4)
    assert D.Normal(weft.zeros(0), 1.0).sample((2,)).shape == (2, 0) and D.Categorical(weft.ones(0, 3)).sample((2,)).shape == (2, 0)
    assert D.Categorical(weft.ones(3)).sample((0,)).shape == (0,) and D.Dirichlet(weft.ones(2, 3)).sample((0,)).shape == (0, 2, 3)
    d = D.Independent(D.Normal(weft.zeros(5, 4, 3), 1.0), 2)
    assert (d.batch_shape, d.event_shape) == ((5,), (4, 3)) and d.log_prob(d.sample((2,))).shape == (2, 5) and d.has_rsample
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert D.Normal.support is D.constraints.real and D.Normal.arg_constraints["scale"] is D.constraints.positive
    copied = pickle.loads(pickle.dumps(D.Normal(1.0, 2.0)))
    assert copied.log_prob(weft.tensor(0.5)).item() == D.Normal(1.0, 2.0).log_prob(weft.tensor(0.5)).item()


def test_transforms_with_a_cache_return_what_they_got():
    transform = D.TanhTransform(cache_size=1)
    x = weft.tensor([30.0])  # tanh is 1
    assert transform.inv(transform(x)) is x
    assert D.TanhTransform().inv(D.TanhTransform()(x)).item() == math.inf
    squashed = D.TransformedDistribution(D.Normal(weft.zeros(3), 1.0), [D.AffineTransform(0.5, 2.0), D.TanhTransform(cache_size=1)])
    samples = squashed.rsample((4,))
    assert squashed.log_prob(samples).isfinite().all()


MISTAKES = [
    (lambda: D.Normal(0.0, -1.0), ValueError, r"^Normal\(\): argument 'scale' must be greater than 0, but holds -1$"),
    (lambda: D.Normal(weft.tensor([0.0, math.nan]), 1.0), ValueError, r"^Normal\(\): argument 'loc' must be numbers, not NaN, but holds nan"),
    (lambda: D.Normal("a", 1.0), TypeError, "must be numbers or Tensors, not str"),
    (lambda: D.Normal(weft.zeros(2), weft.ones(3)), ValueError, "broadcast"),
    (lambda: D.Bernoulli(1.5), ValueError, r"^Bernoulli\(\): argument 'probs' must lie between 0 and 1, but holds 1.5"),
    (lambda: D.Bernoulli(), ValueError, "either 'probs' or 'logits'"),
    (lambda: D.Bernoulli(0.5, 0.5), ValueError, "either 'probs' or 'logits'"),
    (lambda: D.Categorical(weft.tensor([0.5, -0.5, 1.0])), ValueError, r"^Categorical\(\): argument 'probs' must be non-negative and sum to 1"),
    (lambda: D.Categorical(0.5), ValueError, "at least one dimension"),
    (lambda: D.Uniform(1.0, 1.0), ValueError, r"^Uniform\(\): argument 'low' must be less than 'high'"),
    (lambda: D.Dirichlet(weft.tensor([1.0, 0.0])), ValueError, r"must be greater than 0, but holds \[1.0, 0.0\]"),
    (lambda: D.MultivariateNormal(weft.zeros(2)), ValueError, "exactly one of"),
    (lambda: D.MultivariateNormal(weft.zeros(2), weft.eye(3)), ValueError, "2 by 2 matrices"),
    (lambda: D.MultivariateNormal(weft.zeros(2), weft.tensor([[1.0, 2.0], [2.0, 1.0]])), ValueError, "positive definite"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "from 0 to 0"),
    (lambda: D.Multinomial(-1, weft.ones(3)), ValueError, "must not be negative"),
    (lambda: D.Normal(0.0, 1.0).sample(3), TypeError, r"'sample_shape' must be a tuple of ints such as \(3,\), not int"),
    (lambda: D.Normal(weft.zeros(2), 1.0).log_prob(weft.zeros(3)), ValueError, "does not broadcast"),
    (lambda: D.Normal(0.0, 1.0).log_prob(0.5), TypeError, "must be a Tensor, not float"),
    (lambda: D.Dirichlet(weft.ones(3)).log_prob(weft.zeros(2)), ValueError, "event shape"),
    (lambda: D.Gamma(1.0, 1.0).log_prob(weft.tensor(-1.0)), ValueError, r"^Gamma.log_prob\(\): argument 'value' must be at least 0, but holds -1"),
    (lambda: D.Categorical(weft.ones(3)).log_prob(weft.tensor(3)), ValueError, "integers from 0 to 2, but holds 3"),
    (lambda: D.MixtureSameFamily(D.Categorical(weft.ones(3)), D.Normal(weft.zeros(2), 1.0)), ValueError, "among 3 components, but there are 2"),
    (lambda: D.MixtureSameFamily(D.Categorical(weft.ones(3)), D.Normal(0.0, 1.0)), ValueError, "batch dimension"),
    (lambda: D.kl_divergence(D.Normal(0.0, 1.0), 3), TypeError, "'q' must be a Distribution"),
    (lambda: D.Poisson(1.0).cdf(weft.tensor(1.0)), NotImplementedError, r"^cdf\(\): Poisson has no formula"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_without_validation_nothing_is_read():
    before = weft.counters()["runs"]
    d = D.Normal(0.0, weft.tensor(-1.0), validate_args=False)
    d.log_prob(weft.tensor(0.0))
    assert weft.counters()["runs"] == before
    D.Distribution.set_default_validate_args(False)
    try:
        assert math.isnan(D.Normal(0.0, -1.0).log_prob(weft.tensor(0.0)).item())
    finally:
        D.Distribution.set_default_validate_args(True)


def test_policy_gradient():
    """A small program: the better of two arms is found by following the gradient of log_prob."""
    weft.manual_seed(0)
    logits = weft.zeros(2, requires_grad=True)
    optimizer = weft.optim.SGD([logits], lr=0.5)
    for _ in range(60):
        d = D.Categorical(logits=logits)
        arm = d.sample((16,))
        reward = weft.where(arm == 1, 1.0, 0.2)
        loss = -(d.log_prob(arm) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert D.Categorical(logits=logits).probs[1].item() > 0.9
