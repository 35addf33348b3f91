"""kl_divergence: how far one distribution is from another, by formulas for pairs of families."""

from __future__ import annotations

import math

import weft

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .distribution import Distribution, event_sum
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal, squared_distance
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from weft import Tensor

    _F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["kl_divergence", "register_kl"]

_FORMULAS: dict[tuple[type, type], Any] = {}
_LOG_TWO_PI = math.log(2 * math.pi)


def register_kl(type_p: type, type_q: type) -> Callable[[_F], _F]:
    """A decorator: this function of (p, q) is the divergence for these two families and their subclasses.

    >>> @weft.distributions.register_kl(MyNormal, weft.distributions.Normal)
    ... def kl_mine_normal(p, q): ...
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"register_kl(): argument '{name}' must be a subclass of Distribution, not {kind!r}")

    def decorator(function: _F) -> _F:
        _FORMULAS[type_p, type_q] = function
        return function

    return decorator


def _formula(p: type, q: type) -> Any:
    """Of the registered pairs of base classes the most special one: p's nearest class first, then q's."""
    places = [(p.__mro__.index(a), q.__mro__.index(b), f) for (a, b), f in _FORMULAS.items() if issubclass(p, a) and issubclass(q, b)]
    if not places:
        raise NotImplementedError(
            f"kl_divergence(): there is no formula for {p.__name__} and {q.__name__}; register_kl() adds one, or take the mean of "
            "p.log_prob(x) - q.log_prob(x) over samples x of p"
        )
    return min(places, key=lambda place: place[:2])[2]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of log(p(x) / q(x)) over samples x of p, for each element of the batch."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, Distribution):
            raise TypeError(f"kl_divergence(): argument '{name}' must be a Distribution, not {type(value).__name__}")
    result: Tensor = _formula(type(p), type(q))(p, q)
    return result


def _infinite(like: Tensor) -> Tensor:
    return weft.full_like(like, weft.inf)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return weft.lgamma(a) + weft.lgamma(b) - weft.lgamma(a + b)


# ---- pairs of one family ---------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = weft.nn.functional.softplus
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    value = weft.where(p.probs == 0, 0.0, weft.where(q.probs == 0, weft.inf, yes))
    return value + weft.where(p.probs == 1, 0.0, weft.where(q.probs == 1, weft.inf, no))


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> Tensor:
    a, b = p.concentration1, p.concentration0
    total = a + b
    moved = (a - q.concentration1) * weft.digamma(a) + (b - q.concentration0) * weft.digamma(b)
    moved = moved + (q.concentration1 + q.concentration0 - total) * weft.digamma(total)
    return _log_beta(q.concentration1, q.concentration0) - _log_beta(a, b) + moved


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("kl_divergence(): there is no formula where q's 'total_count' is larger than p's")
    value = p.total_count * (p.probs * (p.logits - q.logits) + weft.log1p(-p.probs) - weft.log1p(-q.probs))
    return weft.where(p.total_count > q.total_count, weft.inf, value)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = weft.where(q.probs == 0, weft.inf, terms)
    return weft.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    over = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return over.log() - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norm = weft.lgamma(total) - weft.lgamma(b.sum(-1)) - (weft.lgamma(a) - weft.lgamma(b)).sum(-1)
    return norm + ((a - b) * (weft.digamma(a) - weft.digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    value = b * (p.rate / q.rate).log() + weft.lgamma(b) - weft.lgamma(a)
    return value + (a - b) * weft.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - weft.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, moved = p.scale / q.scale, (q.loc - p.loc) / q.scale
    power = (moved + weft.lgamma(1 + ratio)).exp()
    return power - moved + ratio * euler_constant - ratio.log() - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence(): both Independents must have the same 'reinterpreted_batch_ndims'")
    return event_sum(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc).abs()
    return (q.scale / p.scale).log() - 1 + distance / q.scale + p.scale / q.scale * (-distance / p.scale).exp()


@register_kl(MultivariateNormal, MultivariateNormal)
def _mvn_mvn(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(f"kl_divergence(): the event shapes {list(p.event_shape)} and {list(q.event_shape)} differ")
    n = p.event_shape.numel()
    shape = weft.broadcast_shapes(p.batch_shape, q.batch_shape)
    own, other = p.scale_tril.expand(*shape, n, n), q.scale_tril.expand(*shape, n, n)
    volume = (other.diagonal(dim1=-2, dim2=-1).log() - own.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
    trace = weft.linalg.solve_triangular(other, own, upper=False).square().sum((-2, -1))
    return volume + 0.5 * (trace + squared_distance(other, q.loc - p.loc) - n)


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return weft.where(p.scale < q.scale, weft.inf, value)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return weft.xlogy(p.rate, p.rate / q.rate) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence(): both distributions must have the same transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return weft.where((q.low > p.low) | (q.high < p.high), weft.inf, value)


# ---- pairs of two families -------------------------------------------------------------------------------------------


@register_kl(Beta, Exponential)
def _beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    log_mean = weft.digamma(p.concentration1) - weft.digamma(p.concentration1 + p.concentration0)
    norm = weft.lgamma(q.concentration) - q.concentration * q.rate.log()
    return -p.entropy() + norm - (q.concentration - 1) * log_mean + q.rate * p.mean


@register_kl(Beta, Normal)
def _beta_normal(p: Beta, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    value = -p.entropy() + (q.high - q.low).log()
    return weft.where((q.low > 0) | (q.high < 1), weft.inf, value)


def _normal_cross(mean: Tensor, variance: Tensor, q: Normal) -> Tensor:
    """The mean of -log q over numbers of this mean and variance."""
    return 0.5 * ((variance + (mean - q.loc).square()) / q.scale.square() + _LOG_TWO_PI) + q.scale.log()


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    value = -q.concentration * ratio.log() + ratio + weft.lgamma(q.concentration)
    return value + (q.concentration - 1) * euler_constant - 1


def _gumbel_cross(mean: Tensor, log_power: Tensor, q: Gumbel) -> Tensor:
    """The mean of -log q, given that of the numbers x and the logarithm of that of exp(-x / q.scale)."""
    return q.scale.log() + (mean - q.loc) / q.scale + (log_power + q.loc / q.scale).exp()


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    return -p.entropy() + _gumbel_cross(p.mean, -weft.log1p((p.rate * q.scale).reciprocal()), q)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    return -p.entropy() + _gumbel_cross(p.mean, -p.concentration * weft.log1p((p.rate * q.scale).reciprocal()), q)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    return -p.entropy() + _gumbel_cross(p.mean, -p.loc / q.scale + 0.5 * (p.scale / q.scale).square(), q)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    width = (p.high - p.low) / q.scale
    return -p.entropy() + _gumbel_cross(p.mean, -p.low / q.scale + (-weft.expm1(-width)).log() - width.log(), q)


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    value = -p.entropy() - q.rate.log() + q.rate * p.scale * p.alpha / (p.alpha - 1)
    return weft.where(p.alpha <= 1, weft.inf, value)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    norm = weft.lgamma(q.concentration) - q.concentration * q.rate.log()
    logs = (q.concentration - 1) * (p.scale.log() + p.alpha.reciprocal())
    value = -p.entropy() + norm - logs + q.rate * p.alpha * p.scale / (p.alpha - 1)
    return weft.where(p.alpha <= 1, weft.inf, value)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    return weft.where(p.alpha <= 2, weft.inf, -p.entropy() + _normal_cross(p.mean, p.variance, q))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    log_mean = (weft.xlogy(p.high, p.high) - weft.xlogy(p.low, p.low) - width) / width
    value = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * log_mean
    return weft.where(p.low < q.scale, weft.inf, value)


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Normal)
def _gamma_normal(p: Gamma, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    difference = p.loc - q.loc
    z = difference / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * (-0.5 * z.square()).exp() + difference * weft.erf(z * math.sqrt(0.5))
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    log_mean = (weft.xlogy(p.high, p.high) - weft.xlogy(p.low, p.low) - width) / width
    above, below = 1 - p.low, 1 - p.high
    log_rest = (weft.xlogy(above, above) - weft.xlogy(below, below) - width) / width
    value = -width.log() - (q.concentration1 - 1) * log_mean - (q.concentration0 - 1) * log_rest
    value = value + _log_beta(q.concentration1, q.concentration0)
    return weft.where((p.high > 1) | (p.low < 0), weft.inf, value)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    value = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    return weft.where(p.low < 0, weft.inf, value)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    log_mean = (weft.xlogy(p.high, p.high) - weft.xlogy(p.low, p.low) - width) / width
    value = -width.log() - q.concentration * q.rate.log() + weft.lgamma(q.concentration)
    return weft.where(p.low < 0, weft.inf, value + (1 - q.concentration) * log_mean + q.rate * p.mean)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance, q)


# ---- p has samples where q has none ----------------------------------------------------------------------------------


def _always_infinite(p: Distribution, q: Distribution) -> Tensor:
    parameter: Tensor = next(p.__dict__[name] for name in (*p.arg_constraints, "concentration") if name in p.__dict__)
    return _infinite(parameter.expand(weft.broadcast_shapes(p.batch_shape, q.batch_shape)))


for _p, _qs in {
    Beta: (Pareto,), Exponential: (Beta, Pareto, Uniform), Gamma: (Beta, Pareto, Uniform), Gumbel: (Beta, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, Exponential, Gamma, Pareto, Uniform), Normal: (Beta, Exponential, Gamma, Pareto, Uniform), Pareto: (Beta, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():  # fmt: skip
    for _q in _qs:
        register_kl(_p, _q)(_always_infinite)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
