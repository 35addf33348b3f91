"""weft.special: values against SciPy over wide ranges, types, edges, derivatives by finite differences."""

import numpy as np
import pytest
from scipy import special as reference

import weft
from weft import special
from weft.autograd import gradcheck, gradgradcheck

WIDE = np.concatenate([np.linspace(-30, 30, 481), 10.0 ** np.linspace(-12, 12, 97), -(10.0 ** np.linspace(-12, 12, 97)), [0.0, -0.0, np.nan]])
POSITIVE = np.concatenate([np.linspace(0.01, 60, 480), 10.0 ** np.linspace(-12, 2.8, 97), [0.0, -1.0, np.nan]])
SHARES = np.concatenate([np.linspace(0, 1, 301), 10.0 ** np.linspace(-30, -1, 59), 1 - 10.0 ** np.linspace(-15, -1, 29), [-0.1, 1.1, np.nan]])

# name: (SciPy's function, arguments, relative error in float64). J and Y have zeros, where the error counts beside 1.
UNARY = {
    "erfcx": (reference.erfcx, WIDE, 1e-13), "ndtr": (reference.ndtr, WIDE, 3e-13), "log_ndtr": (reference.log_ndtr, WIDE, 3e-13),
    "ndtri": (reference.ndtri, SHARES, 2e-15), "i0": (reference.i0, POSITIVE, 4e-15), "i1": (reference.i1, POSITIVE, 4e-15),
    "i0e": (reference.i0e, WIDE, 4e-15), "i1e": (reference.i1e, WIDE, 4e-15), "bessel_j0": (reference.j0, WIDE[:481], 0),
    "bessel_j1": (reference.j1, WIDE[:481], 0), "bessel_y0": (reference.y0, POSITIVE, 0), "bessel_y1": (reference.y1, POSITIVE, 1e-14),
    "modified_bessel_i0": (reference.i0, POSITIVE, 4e-15), "modified_bessel_i1": (reference.i1, POSITIVE, 4e-15),
    "modified_bessel_k0": (reference.k0, POSITIVE, 4e-15), "modified_bessel_k1": (reference.k1, POSITIVE, 4e-15),
    "scaled_modified_bessel_k0": (reference.k0e, POSITIVE, 4e-15), "scaled_modified_bessel_k1": (reference.k1e, POSITIVE, 4e-15),
    "airy_ai": (lambda x: reference.airy(x)[0], np.linspace(-40, 40, 601), 2e-13),
    "spherical_bessel_j0": (lambda x: reference.spherical_jn(0, x), WIDE, 1e-15), "entr": (reference.entr, WIDE, 1e-14),
    "expit": (reference.expit, WIDE, 1e-14), "gammaln": (reference.gammaln, POSITIVE[:-2], 1e-13), "psi": (reference.psi, POSITIVE[:-2], 1e-13),
    "erf": (reference.erf, WIDE, 1e-14), "erfc": (reference.erfc, WIDE, 1e-13), "erfinv": (reference.erfinv, 2 * SHARES - 1, 1e-13),
    "exp2": (reference.exp2, WIDE[:481], 1e-14), "expm1": (reference.expm1, WIDE[:481], 1e-14), "log1p": (reference.log1p, POSITIVE, 1e-14),
    "logit": (reference.logit, SHARES, 1e-13), "sinc": (np.sinc, WIDE[:481], 1e-12), "digamma": (reference.psi, POSITIVE[:-2], 1e-13),
}  # fmt: skip


def values(array, dtype="float64"):
    return weft.tensor(np.asarray(array, dtype))


def check(got, want, relative, what, absolute=1e-14):
    got, want = got.numpy(), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, what
    tiny = np.abs(want) < np.finfo(want.dtype).tiny  # subnormals may be 0
    wrong = ~np.isclose(got, want, rtol=relative, atol=absolute, equal_nan=True) & ~(tiny & (np.abs(got) <= np.finfo(want.dtype).tiny))
    assert not wrong.any(), f"{what}: {got[wrong][:3]} instead of {want[wrong][:3]}"


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    function, at, relative = UNARY[name]
    with np.errstate(all="ignore"):
        near = 3e-14 if name.startswith(("bessel", "airy")) or name in ("psi", "digamma", "gammaln", "sinc", "logit", "entr") else 0
        check(getattr(special, name)(values(at)), function(at), max(relative, 1e-14), name, near)
        at = at.astype("float32")
        check(getattr(special, name)(values(at, "float32")), function(at.astype("f8")).astype("f4"), 1.5e-6, name, 1e-6 if near else 0)
    for shape in ((), (0,), (2, 0), (2, 3)):
        assert tuple(getattr(special, name)(weft.full(shape, 0.5)).shape) == shape
    if name != "exp2":
        assert getattr(special, name)(weft.tensor([1, 2])).dtype == weft.float32
    assert getattr(special, name)(weft.full((3,), 0.5).half()).dtype == weft.float16


def test_float32_is_rounded_once():
    """What is computed in float64 is the nearest float32, or next to it where that was a tie."""
    for name, at in (("erfcx", WIDE), ("ndtri", SHARES), ("i0e", WIDE), ("modified_bessel_k0", POSITIVE), ("log_ndtr", WIDE)):
        at = at.astype("float32")
        with np.errstate(all="ignore"):
            want = UNARY[name][0](at.astype("f8")).astype("f4")
        got = getattr(special, name)(values(at, "float32")).numpy()
        normal = np.isfinite(want) & (np.abs(want) > np.finfo("f4").tiny)
        assert (np.abs(got - want)[normal] <= np.spacing(np.abs(want[normal]))).all(), name


def test_known_values():
    cases = {
        "erfcx": ([-1.0, 0.0, 50.0], [5.008980080762283, 1.0, 0.011281536265323772]),
        "log_ndtr": ([-1e5, -10.0, 0.0], [-5000000012.431864, -53.231285150512469, -0.6931471805599453]),
        "modified_bessel_k0": ([0.1, 1.0, 10.0], [2.4270690247020164, 0.42102443824070834, 1.778006231616765e-05]),
        "airy_ai": ([-2.338107410459767, 0.0, 5.0], [0.0, 0.355028053887817239, 0.00010834442813607442]),
        "bessel_y1": ([0.5, 3.0, 40.0], [-1.4714723926702430, 0.324674424791799978, -0.00579350582154963294]),
        "bessel_j0": ([52.25], [0.0403331880598399513]),
        "ndtr": ([-37.5, -30.0], [4.60535300958195484e-308, 4.90671392714818706e-198]),  # SciPy loses three digits here
    }
    for name, (at, want) in cases.items():
        check(getattr(special, name)(values(at)), np.array(want), 2e-15, name, 1e-15 if name == "airy_ai" else 0)
    check(special.log_ndtr(values([7.25])), np.array([-2.08385815867228655e-13]), 2e-15, "log_ndtr", 0)
    check(special.airy_ai(values([-7.5])), np.array([0.321775716380647875]), 2e-15, "airy_ai", 0)
    check(special.gammainc(values([74.0]), values([10.0])), np.array([1.58313715801427334e-38]), 3e-14, "gammainc", 0)
    check(special.gammaincc(values([67.0]), values([500.0])), np.array([2.04283867027039512e-132]), 1e-13, "gammaincc", 0)


def test_ends():
    inf = weft.tensor([weft.inf, -weft.inf, weft.nan], dtype=weft.float64)
    want = {
        "erfcx": [0, np.inf], "ndtr": [1, 0], "log_ndtr": [0, -np.inf], "ndtri": [np.nan, np.nan], "i0": [np.inf, np.inf], "i1": [np.inf, -np.inf],
        "i0e": [0, 0], "i1e": [0, 0], "bessel_j0": [0, 0], "bessel_y0": [0, np.nan], "modified_bessel_k0": [0, np.nan],
        "scaled_modified_bessel_k1": [0, np.nan], "airy_ai": [0, 0], "spherical_bessel_j0": [0, 0],
    }  # fmt: skip
    for name, ends in want.items():
        assert np.array_equal(getattr(special, name)(inf).numpy(), [*ends, np.nan], equal_nan=True), name
    assert special.ndtri(weft.tensor([0.0, 1.0])).tolist() == [-np.inf, np.inf]
    assert special.bessel_y0(weft.tensor(0.0)).item() == -np.inf and special.modified_bessel_k1(weft.tensor(0.0)).item() == np.inf


def test_incomplete_gamma():
    rng = np.random.default_rng(0)
    a = 10.0 ** rng.uniform(-3, 5, 400)
    x = a * np.exp(rng.normal(size=400) / np.sqrt(1 + a))
    check(special.gammainc(values(a), values(x)), reference.gammainc(a, x), 2e-12, "gammainc", 1e-300)
    check(special.gammaincc(values(a), values(x)), reference.gammaincc(a, x), 2e-12, "gammaincc", 1e-300)
    a = 10.0 ** rng.uniform(5.5, 12, 100)
    x = a + np.sqrt(a) * rng.normal(size=100)
    check(special.gammainc(values(a), values(x)), reference.gammainc(a, x), 1e-9, "gammainc of large shapes")
    check(special.gammainc(values(a), values(x)) + special.gammaincc(values(a), values(x)), np.ones(100), 1e-15, "both shares")
    assert special.gammainc(2.0, weft.tensor([1.0])).item() == pytest.approx(1 - 2 / np.e)


def test_zeta():
    rng = np.random.default_rng(0)
    s, q = 1 + 10.0 ** rng.uniform(-3, 1.5, 300), 10.0 ** rng.uniform(-3, 3, 300)
    check(special.zeta(values(s), values(q)), reference.zeta(s, q), 1e-13, "zeta", 0)
    assert special.zeta(2, weft.tensor(1.0, dtype=weft.float64)).item() == pytest.approx(np.pi**2 / 6, rel=1e-15)
    edges = special.zeta(weft.tensor([1.0, 0.5, 2.0, 3.0, 2.5]), weft.tensor([1.0, 1.0, -1.5, -2.0, -1.5])).tolist()
    assert edges[0] == edges[3] == np.inf and np.isnan(edges[1]) and np.isnan(edges[4]) and edges[2] == pytest.approx(9.379246648)


POLYNOMIALS = {
    "chebyshev_polynomial_t": reference.eval_chebyt, "chebyshev_polynomial_u": reference.eval_chebyu, "hermite_polynomial_h": reference.eval_hermite,
    "hermite_polynomial_he": reference.eval_hermitenorm, "laguerre_polynomial_l": reference.eval_laguerre, "legendre_polynomial_p": reference.eval_legendre,
    "shifted_chebyshev_polynomial_t": reference.eval_sh_chebyt, "shifted_chebyshev_polynomial_u": reference.eval_sh_chebyu,
}  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    x, n = np.linspace(-1.5, 2.5, 41), np.arange(25)
    got = getattr(special, name)(values(x)[:, None], weft.tensor(n))
    want = POLYNOMIALS[name](n, x[:, None])
    scale = np.maximum(np.abs(want), np.abs(POLYNOMIALS[name](n, 1.0 + np.abs(x[:, None]))) * 1e-2)
    assert (np.abs(got.numpy() - want) <= 1e-12 * np.maximum(scale, 1)).all()
    assert getattr(special, name)(values(x), -1).abs().sum().item() == 0
    assert np.allclose(getattr(special, name)(values(x), 3).numpy(), POLYNOMIALS[name](3, x))
    assert getattr(special, name)(0.5, weft.tensor([2.0])).shape == (1,)


def test_chebyshev_polynomials_of_high_degree():
    angle = np.linspace(0.01, 3.1, 37)
    x = np.cos(angle)
    for n in (65, 200, 1001):
        near = 1e-12 * n
        check(special.chebyshev_polynomial_t(values(x), n), np.cos(n * angle), near, "t", near)
        check(special.chebyshev_polynomial_u(values(x), n), np.sin((n + 1) * angle) / np.sin(angle), near, "u", near * 100)
        check(special.chebyshev_polynomial_v(values(x), n), np.cos((n + 0.5) * angle) / np.cos(angle / 2), near, "v", near * 100)
        check(special.chebyshev_polynomial_w(values(x), n), np.sin((n + 0.5) * angle) / np.sin(angle / 2), near, "w", near * 100)
    for name in "tuvw":  # the same by the recurrence, of degrees on both sides of the limit, beyond ±1 too
        function = getattr(special, f"chebyshev_polynomial_{name}")
        at = values([-1.2, -1.0, -0.3, 0.4, 1.0, 1.1])
        below, here, above = (function(at, n).numpy() for n in (64, 65, 66))
        assert np.allclose(above, 2 * at.numpy() * here - below, rtol=1e-9)


def test_xlog1py():
    x, y = np.array([0.0, 0.0, 2.0, -1.0]), np.array([-1.0, np.nan, 0.5, -1.0])
    check(special.xlog1py(values(x), values(y)), reference.xlog1py(x, y), 1e-15, "xlog1py")
    check(special.xlog1py(2.0, values(y[2:])), reference.xlog1py(2.0, y[2:]), 1e-15, "xlog1py")
    check(special.xlog1py(values(x), 3.0), reference.xlog1py(x, 3.0), 1e-15, "xlog1py")


def leaf(*numbers):
    return weft.tensor(numbers, dtype=weft.float64, requires_grad=True)


@pytest.mark.parametrize(
    "name", ["erfcx", "ndtr", "log_ndtr", "entr", "i0", "i1", "i0e", "i1e", "bessel_j0", "bessel_j1", "spherical_bessel_j0", "expit"]
)
def test_derivatives(name):
    at = leaf(0.2, 0.7, 3.0) if name == "entr" else leaf(-3.0, -0.4, 0.7, 12.0)
    assert gradcheck(getattr(special, name), [at])
    if name != "spherical_bessel_j0":
        assert gradgradcheck(getattr(special, name), [at])


@pytest.mark.parametrize("name", ["bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"])
def test_derivatives_of_positive_numbers(name):
    assert gradcheck(getattr(special, name), [leaf(0.4, 0.7, 5.0)]) and gradgradcheck(getattr(special, name), [leaf(0.4, 0.7, 5.0)])


def test_derivatives_of_two():
    assert gradcheck(special.ndtri, [leaf(0.1, 0.5, 0.8)]) and gradgradcheck(special.ndtri, [leaf(0.1, 0.5, 0.8)])
    for function in (special.gammainc, special.gammaincc):
        assert gradcheck(function, [leaf(0.05, 0.5, 2.0, 10.0, 300.0), leaf(0.3, 0.3, 3.0, 9.0, 310.0)])  # in the shape, too
    assert gradcheck(special.zeta, [leaf(2.5, 3.0, 10.0), leaf(0.3, 3.0, 9.0)])
    assert gradgradcheck(lambda q: special.zeta(2.5, q), [leaf(0.3, 3.0)])
    assert gradcheck(lambda x: special.multigammaln(x, 3), [leaf(2.5, 3.0)])
    steep = leaf(1e4)
    special.erfcx(steep).backward()  # 2 x erfcx(x) - 2/√π would have lost all digits
    assert steep.grad.item() == pytest.approx(-1 / (np.sqrt(np.pi) * 1e8), rel=1e-7)


def test_functions_without_derivatives_say_so():
    for call in (lambda x: special.airy_ai(x), lambda x: special.legendre_polynomial_p(x, 2)):
        with pytest.raises(RuntimeError, match=r"^\w+ has no derivative; detach\(\)"):
            call(leaf(0.5)).sum().backward()


def test_mistakes():
    for call, message in (
        (lambda: special.erfcx(3.0), r"^erfcx\(\): argument 'input' must be a Tensor"),
        (lambda: special.zeta(weft.ones(2), "a"), r"^zeta\(\): argument 'other' must be a Tensor or a number"),
        (lambda: special.gammainc(weft.ones(2), weft.ones(3)), r"^gammainc\(.*do not broadcast"),
        (lambda: weft.igamma(weft.ones(2), weft.ones(3)), r"^igamma\(.*do not broadcast"),
        (lambda: special.multigammaln(weft.ones(2), 0), r"^mvlgamma\(.*at least 1"),
        (lambda: special.xlog1py(1.0, 2.0), r"^xlog1py\(\): one of the arguments"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_inside_a_captured_function():
    @weft.jit
    def step(x):
        return special.erfcx(x) * 2 + special.i0e(x)

    for shift in (0.0, 1.0):
        x = weft.linspace(0, 5, 9) + shift
        want = reference.erfcx(x.numpy().astype("f8")) * 2 + reference.i0e(x.numpy().astype("f8"))
        assert np.allclose(step(x).numpy(), want, rtol=1e-6)
