// The functions of weft/elementwise.h: values, types, shapes, errors, derivatives.
#include "tests/tensor/support.h"

#include <numbers>

using namespace weft;
using namespace weft::testing;

namespace {

using N = const Tensor&;

// d(sum f)/dx and the derivative of that, at each of the points, by central differences in f64.
void check_slopes(const std::function<Tensor(N)>& f, const Doubles& at) {
    constexpr double kStep = 1e-5;
    const auto made = [&](double by) {
        std::vector<double> moved = at;
        for (double& x : moved) x += by;
        Tensor x = from_data(moved);
        x.set_requires_grad();
        return x;
    };
    const auto slope_of = [](N x, N y) {
        const Tensor targets[] = {x};
        return gradient(sum(y), targets)[0];
    };
    const Tensor x = made(0), high = made(kStep), low = made(-kStep);
    const Doubles above = values(f(high)), below = values(f(low)), slopes = values(slope_of(x, f(x))),
                  slopes_above = values(slope_of(high, f(high))), slopes_below = values(slope_of(low, f(low))),
                  bends = values(slope_of(x, slope_of(x, f(x))));
    for (std::size_t i = 0; i < at.size(); ++i) {
        CAPTURE(at[i]);
        CHECK(slopes[i] == doctest::Approx((above[i] - below[i]) / (2 * kStep)).epsilon(1e-6));
        CHECK(bends[i] == doctest::Approx((slopes_above[i] - slopes_below[i]) / (2 * kStep)).epsilon(1e-6));
    }
}

}  // namespace

TEST_CASE("special functions have known values") {
    CHECK(close(asinh(tensor({0, 1, -1e10, 1e-10}, f64)), {0, 0.881373587019543, -23.719, 1e-10}, 1e-4));
    CHECK(close(acosh(tensor({1, 2, 1e20}, f64)), {0, 1.3169578969248166, 46.744849}, 1e-7));
    CHECK(close(atanh(tensor({0.5, -0.5})), {0.5493061443, -0.5493061443}));
    CHECK(close(cbrt(tensor({27, -8, 0, 1e-30})), {3, -2, 0, 1e-10}));
    CHECK(close(sinc(tensor({0, 0.5, 1, 1e10})), {1, 2 / std::numbers::pi, 0, 0}));
    CHECK(close(erfc(tensor({0, 1, -1, 5}, f64)), {1, 0.15729920705028513, 1.8427007929497148, 1.5374597944280349e-12},
                1e-15));
    CHECK(erfc(tensor({9.0}, f64)).item() == doctest::Approx(4.13703174e-37).epsilon(1e-8));
    CHECK(close(erfinv(tensor({0.5, -0.999})), {0.4769362762, -2.326753766}));
    CHECK(close(lgamma(tensor({0.5, 10, -1.5})), {0.5723649429, 12.80182748, 0.8600470154}));
    CHECK(close(digamma(tensor({1, 10, -1.5})), {-0.5772156649, 2.251752589, 0.7031566406}));
    CHECK(close(polygamma(1, tensor({1.0, -0.5})), {1.6449340668, 8.9348022005}));
    CHECK(close(polygamma(3, tensor({1.0, 2.5}, f64)), {6.493939402266829, 0.2233}, 5e-3));
    CHECK(close(entr(tensor({0, 1, 0.5, -1})), {0, 0, 0.3465735903, -kInf}));
    CHECK(close(deg2rad(tensor({180})), {std::numbers::pi}));
    CHECK(values(frac(tensor({1.5, -1.5}))) == Doubles{0.5, -0.5});
}

TEST_CASE("special functions have first and second derivatives") {
    check_slopes([](N x) { return asinh(x); }, {-3, 0.1, 20});
    check_slopes([](N x) { return acosh(x); }, {1.5, 20});
    check_slopes([](N x) { return atanh(x); }, {-0.7, 0.2});
    check_slopes([](N x) { return cbrt(x); }, {-3, 0.5});
    check_slopes([](N x) { return sinc(x); }, {-2.3, 0.3, 0.49, 0.51});
    check_slopes([](N x) { return erfc(x); }, {-1, 0.5, 2});
    check_slopes([](N x) { return erfinv(x); }, {-0.7, 0.2});
    check_slopes([](N x) { return lgamma(x); }, {0.3, 1.5, 9, -1.4});
    check_slopes([](N x) { return digamma(x); }, {0.3, 1.5, 9, -1.4});
    check_slopes([](N x) { return polygamma(2, x); }, {0.8, 3, -1.4});
    check_slopes([](N x) { return logit(x); }, {0.2, 0.7});
    check_slopes([](N x) { return entr(x); }, {0.2, 3});
    check_slopes([](N x) { return atan2(x, x * x + 1); }, {-2, 0.5});
    check_slopes([](N x) { return hypot(x, x * x + 1); }, {-2, 0.5});
    check_slopes([](N x) { return logaddexp(x, x * x); }, {-2, 0.5});
    check_slopes([](N x) { return logaddexp2(x, x * x); }, {-2, 0.5});
    check_slopes([](N x) { return xlogy(x, x * x + 1); }, {-2, 0.5});
    check_slopes([](N x) { return lerp(x, x * x, x); }, {-2, 0.3, 0.7});
    check_slopes([](N x) { return ldexp(x, x); }, {-2, 0.5, 3});
    check_slopes([](N x) { return logcumsumexp(x.reshape({1, 3}), 0).reshape({3}); }, {-2, 0.5, 1});
}

TEST_CASE("types: floats stay, integers give f32, halves round once") {
    CHECK(asinh(tensor({1, 2})).dtype() == f32);
    CHECK(hypot(tensor({3}, i32), 4).item() == 5);
    CHECK(hypot(tensor({3.0}, f16), 4).dtype() == f16);
    CHECK(atan2(tensor({1.0}, f64), tensor({1.0})).dtype() == f64);
    CHECK(float_power(tensor({2}, i8), 3).dtype() == f64);
    CHECK(gcd(tensor({4}, i8), tensor({6}, i32)).dtype() == i32);
    CHECK(fmax(tensor({4}), tensor({6})).dtype() == i64);
    CHECK(frexp(tensor({4.0}, f16)).second.dtype() == i32);
    CHECK(copysign(tensor({1}), -1).item() == -1);
    CHECK(lerp(tensor({0.0}, f16), tensor({1.0}, f16), 0.3).item() == static_cast<double>(0.300048828125));
}

TEST_CASE("operands broadcast, and what does not raises with the call") {
    CHECK(hypot(zeros({3, 1}), zeros({4})).shape() == Shape{3, 4});
    CHECK(addcmul(zeros({3, 1}), zeros({4}), zeros({2, 1, 1})).shape() == Shape{2, 3, 4});
    CHECK(lerp(zeros({3, 1}), zeros({4}), 0.5).shape() == Shape{3, 4});
    CHECK(error_of<ShapeError>([] { hypot(zeros({3}), zeros({4})); }).starts_with("hypot(a: f32[3], b: f32[4]): "));
    CHECK_THROWS_AS(gcd(zeros({3}), 2), DTypeError);
    CHECK_THROWS_AS(frac(tensor({1})), DTypeError);
    CHECK_THROWS_AS(addcdiv(tensor({1}), tensor({1}), tensor({1})), DTypeError);
    CHECK_THROWS_AS(polygamma(-1, zeros({3})), ValueError);
    CHECK_THROWS_AS(isclose(zeros({3}), zeros({3}), -1), ValueError);
}

TEST_CASE("whether tensors are alike") {
    const Tensor x = tensor({{1, 2, 3, 4}, {0, 0, 2, 2}}, f32);
    CHECK(equal(x, x.clone()));
    CHECK_FALSE(equal(x, x.reshape({4, 2})));
    CHECK(allclose(x, x + 1e-9));
}
