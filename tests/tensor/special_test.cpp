// The functions of weft/special.h: known values, types, shapes, errors. python/tests/test_special.py has wide ranges, and derivatives.
#include "tests/tensor/support.h"

#include <weft/special.h>

#include <cmath>
#include <numbers>

using namespace weft;
using namespace weft::testing;

TEST_CASE("special functions beyond the elementary ones have known values") {
    CHECK(close(special::erfcx(tensor({0, 1, -1, 50}, f64)),
                {1, 0.427583576155807, 5.00898008076228, 0.0112815362653238}, 1e-13));
    CHECK(close(special::ndtr(tensor({0, -1, 1}, f64)), {0.5, 0.158655253931457, 0.841344746068543}, 1e-14));
    CHECK(close(special::log_ndtr(tensor({-10.0}, f64)), {-53.2312851505125}, 1e-12));
    CHECK(close(special::ndtri(tensor({0.5, 0.975, 0, 1}, f64)), {0, 1.95996398454005, -kInf, kInf}, 1e-13));
    CHECK(close(special::gammainc(tensor({2.0}, f64), 1), {1 - 2 / std::numbers::e}, 1e-15));
    CHECK(close(special::gammaincc(tensor({2.0}, f64), 1), {2 / std::numbers::e}, 1e-15));
    CHECK(close(special::zeta(tensor({2.0, 4.0}, f64), 1),
                {std::pow(std::numbers::pi, 2) / 6, std::pow(std::numbers::pi, 4) / 90}, 1e-14));
    CHECK(close(special::bessel_j(tensor({1.0}, f64), 2), {0.114903484931901}, 1e-14));
    CHECK(close(special::bessel_k(tensor({1.0, 3.0}, f64), 2), {1.62483889863518, 0.0615104584717420}, 1e-13));
    CHECK(close(special::airy_ai(tensor({0.0, 1.0, -3.0}, f64)),
                {0.355028053887817, 0.135292416312881, -0.378814293677658}, 1e-14));
    CHECK(close(special::polynomial(special::Polynomial::LegendreP, tensor({0.5}, f64), 3), {-0.4375}, 1e-15));
    CHECK(special::erfcx(tensor({1, 2}, i64)).dtype() == f32);
    CHECK(special::gammainc(zeros({3, 1}), zeros({0})).shape() == Shape{3, 0});
    CHECK_THROWS_AS(special::bessel_j(tensor({1.0}), -1), ValueError);
    CHECK_THROWS_AS(special::mvlgamma(tensor({1.0}), 0), ValueError);
}

TEST_CASE("a gamma sample's gradient keeps its quantile") {
    manual_seed(1);
    Tensor shape = full({20000}, 1.7, f64);
    shape.set_requires_grad();
    const Tensor samples = standard_gamma(shape), targets[] = {shape};
    CHECK(mean(samples).item() == doctest::Approx(1.7).epsilon(0.03));
    CHECK(mean(gradient(sum(samples), targets)[0]).item() == doctest::Approx(1).epsilon(0.03));  // d(mean)/d(shape)
    const Tensor edges = log_standard_gamma(tensor({0.0, -1.0, 1e-300}, f64));
    CHECK(values(edges)[0] == -kInf);
    CHECK(std::isnan(values(edges)[1]));
    CHECK(values(edges)[2] < -1e290);
}
