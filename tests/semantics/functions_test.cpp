// Lines S101 to S126 and S271 to S274 of docs/semantics.md: functions of single elements, running and paired reductions.
#include "tests/semantics/lines.h"

#include <weft/special.h>
#include <weft/statistics.h>

#include <numbers>

using namespace weft;
using namespace weft::testing;

namespace {

using N = const Tensor&;

bool keeps_graph(const std::function<Tensor(N)>& function) {
    Tensor x = floats({1.5, -2});
    x.set_requires_grad();
    return function(x).requires_grad();
}

double f32_of(double x) { return static_cast<double>(static_cast<float>(x)); }

}  // namespace

LINE("S101: what is flat has a gradient of 0, and keeps the graph") {
    const auto quotient = [](N x) { return floor_divide(x, 2); };
    for (const auto& f : std::vector<std::function<Tensor(N)>>{
             [](N x) { return sign(x); }, [](N x) { return pow(x, 0); }, [](N x) { return floor(x); },
             [](N x) { return round(x); }, [](N x) { return norm(x, 0); }, quotient,
             [](N x) { return div(x, 2, Rounding::Trunc); }})
        CHECK(keeps_graph(f));
    line.is(slope({1.5, 0, kNan}, [](N x) { return sign(x); }), {0, 0, 0});
    line.is(slope({1.5, 0}, [](N x) { return pow(x, 0); }), {0, 0});
    line.is(slope({1.5, -2}, quotient), {0, 0});
    line.is(slope({1.5, 0}, [](N x) { return norm(x, 0); }), {0, 0});
}

LINE("S102: hypot: infinity wins, nothing overflows, flat at the origin") {
    const auto f = [](N a, N b) { return hypot(a, b); };
    line.is(hypot(floats({3, kInf, kNan, kNan, 3e38, 0}), floats({4, kNan, -kInf, 1, 0, -0.0})),
            {5, kInf, kInf, kNan, f32_of(3e38), 0});
    line.is(hypot(floats({3e37}), floats({4e37})), {f32_of(5e37)});
    line.is(slope_of_two({0, 3}, {0, 4}, 0, f), {0, f32_of(0.6)});
    line.is(slope_of_two({0, 3}, {0, 4}, 1, f), {0, f32_of(0.8)});
}

LINE("S103: atan2: signs of zeros, infinities, slopes near the origin") {
    const double pi = f32_of(std::numbers::pi);
    line.is(atan2(floats({0, -0.0, 0, -0.0, kNan}), floats({0, 0, -0.0, -0.0, 1})), {0, -0.0, pi, -pi, kNan});
    CHECK(atan2(floats({kInf}), kInf).item() == doctest::Approx(pi / 4));
    const auto f = [](N y, N x) { return atan2(y, x); };
    line.is(slope_of_two({0, 0}, {0, 2}, 0, f), {0, 0.5});
    line.is(slope_of_two({0}, {0x1p-100}, 0, f), {0x1p100});
}

LINE("S104: copysign and signbit see the sign of -0") {
    line.is(copysign(floats({1, -2, 0, kInf}), floats({-0.0, 0, -1, -1})), {-1, 2, -0.0, -kInf});
    line.ints(signbit(floats({-0.0, 0, -kInf, 1})), {1, 0, 1, 0});
    line.ints(signbit(tensor({-1, 0, 1})), {1, 0, 0});
    line.is(slope_of_two({1, -2, 0, kInf}, {-1, -1, -1, -1}, 0, [](N a, N b) { return copysign(a, b); }),
            {-1, 1, 0, -1});
}

LINE("S105: nextafter: one step, through 0 and the subnormals") {
    const double tiny = 0x1p-149, top = 0x1.fffffep127;
    line.is(nextafter(floats({0, -0.0, 0, 1, kInf, top, 2, kNan}), floats({1, -1, 0, 2, 0, kInf, 2, 1})),
            {tiny, -tiny, 0, 1 + 0x1p-23, top, kInf, 2, kNan});
    line.is(nextafter(tensor({1.0, -0x1p-14}, f16), tensor({2.0, 0.0}, f16)), {1 + 0x1p-10, -0x1p-14 + 0x1p-24});
    line.is(slope_of_two({1, 2}, {5, 2}, 0, [](N a, N b) { return nextafter(a, b); }), {1, 1});
    line.is(slope_of_two({1, 2}, {5, 2}, 1, [](N a, N b) { return nextafter(a, b); }), {0, 0});
}

LINE("S145: a histogram's bins contain their lower edge, the last one its upper edge too") {
    const Tensor x = floats({0, 1, 1.5, 2, 3, -1, 4});
    line.is(histogram(x, floats({0, 1, 2, 3})).first, {1, 2, 2});
    line.is(histogram(x, 3, {.range = {{0, 3}}}).first, {1, 2, 2});
}

LINE("S106: fmax and fmin leave NaN out; the first of equal ones gets the gradient") {
    const auto f = [](N a, N b) { return fmax(a, b); };
    line.is(fmax(floats({1, kNan, kNan, 0, -0.0}), floats({kNan, 2, kNan, -0.0, 0})), {1, 2, kNan, 0, -0.0});
    line.is(fmin(floats({1, kNan, 3}), floats({kNan, 2, 2})), {1, 2, 2});
    line.is(slope_of_two({2, kNan, 1}, {2, 1, 5}, 0, f), {1, 0, 0});
    line.is(slope_of_two({2, kNan, 1}, {2, 1, 5}, 1, f), {0, 1, 1});
}

LINE("S107: logaddexp of equal infinities") {
    line.is(logaddexp(floats({kInf, -kInf, kInf, -kInf}), floats({kInf, -kInf, -kInf, 1})), {kInf, -kInf, kInf, 1});
    line.is(slope_of_two({-kInf, kInf}, {-kInf, kInf}, 0, [](N a, N b) { return logaddexp(a, b); }), {0.5, 0.5});
}

LINE("S108: xlogy is 0 for x = 0, whatever y is") {
    line.is(xlogy(floats({0, 0, 0, 1, 0}), floats({0, -1, kInf, 1, kNan})), {0, 0, 0, 0, kNan});
    line.is(slope_of_two({0, 0, 1}, {0, -1, 1}, 0, [](N a, N b) { return xlogy(a, b); }), {0, 0, 0});
}

LINE("S109: gcd and lcm are not negative, except for the lowest integer") {
    line.ints(gcd(tensor({12, -12, 0, 0, 7}), tensor({18, 18, 5, 0, 0})), {6, 6, 5, 0, 7});
    line.ints(lcm(tensor({4, -4, 0}), tensor({6, 6, 5})), {12, 12, 0});
    line.ints(gcd(tensor({-128, -128}, i8), tensor({0, 96}, i8)), {-128, 32});
    line.ints(gcd(tensor({200}, u8), tensor({150}, u8)), {50});
}

LINE("S110: lgamma is infinite at its poles and at both infinities, exact where gamma is 1") {
    line.is(lgamma(floats({0, -0.0, -1, -7, kInf, -kInf, kNan, 1, 2})),
            {kInf, kInf, kInf, kInf, kInf, kInf, kNan, 0, 0});
    const Doubles zeros = lgamma(floats({-2.4570248, -2.7476826, 1 + 0x1p-23})).to_vector<double>();
    CHECK(std::fabs(zeros[0]) < 1e-6);
    CHECK(std::fabs(zeros[1]) < 1e-6);
    CHECK(zeros[2] == doctest::Approx(-0.5772156649 * 0x1p-23).epsilon(1e-6));
}

LINE("S111: digamma at its poles, and near its zero") {
    line.is(digamma(floats({0, -0.0, -1, -2, kInf, -kInf})), {-kInf, kInf, kNan, kNan, kInf, kNan});
    CHECK(std::fabs(digamma(floats({1.4616321})).item()) < 1e-6);
}

LINE("S112: functions with ends: infinite there, NaN beyond") {
    line.is(erfinv(floats({-1, 0, 1, 2})), {-kInf, 0, kInf, kNan});
    line.is(logit(floats({0, 0.5, 1, -1, 2})), {-kInf, 0, kInf, kNan, kNan});
    line.is(atanh(floats({-1, -0.0, 1, 2})), {-kInf, -0.0, kInf, kNan});
    line.is(acosh(floats({1, 0.5, kInf, -kInf})), {0, kNan, kInf, kNan});
    line.is(slope({1, 2, -1}, [](N x) { return acosh(x) * 0 + acosh(x); }), {kInf, f32_of(1 / std::sqrt(3.0)), kNan});
    line.is(slope({0, 1, 2}, [](N x) { return logit(x); }), {kInf, kInf, kNan});
    line.is(slope({1, 2}, [](N x) { return erfinv(x); }), {kInf, kNan});
    line.is(slope({0.05, 0.5}, [](N x) { return logit(x, 0.1); }), {0, 4});
}

LINE("S113: heaviside is 0 for NaN; the gradient of the value passes at 0") {
    line.is(heaviside(floats({-1, 0, -0.0, 2, kNan}), floats({0.25})), {0, 0.25, 0.25, 1, 0});
    line.is(slope_of_two({-1, 0, 1}, {5, 5, 5}, 1, [](N x, N v) { return heaviside(x, v); }), {0, 1, 0});
}

LINE("S114: nan_to_num takes the largest number of the type") {
    line.is(nan_to_num(floats({kNan, kInf, -kInf, 2})), {0, 0x1.fffffep127, -0x1.fffffep127, 2});
    line.is(nan_to_num(tensor({kInf, -kInf}, f16)), {65504, -65504});
    line.is(nan_to_num(floats({kNan, kInf, -kInf}), 1, 2, 3), {1, 2, 3});
    line.is(slope({kNan, kInf, 2}, [](N x) { return nan_to_num(x); }), {0, 0, 1});
}

LINE("S115: isclose: an infinity is close to itself only") {
    line.ints(isclose(floats({kInf, kInf, 1, -kInf}), floats({kInf, -kInf, kInf, 5})), {1, 0, 0, 0});
    line.ints(isclose(floats({kNan}), floats({kNan})), {0});
    line.ints(isclose(floats({kNan, kNan}), floats({kNan, 1}), 1e-5, 1e-8, true), {1, 0});
}

LINE("S116: ldexp reaches every product that the type has") {
    line.is(ldexp(floats({0x1p-100, 1, 1, 3}), tensor({200, 128, -149, 2})), {0x1p100, kInf, 0, 12});
    line.is(ldexp(floats({1, 1}), floats({kInf, -kInf})), {kInf, 0});
}

LINE("S117: round to decimals scales, rounds halves to even, and scales back") {
    line.is(round(floats({0.25, 0.75, -0.25}), 1), {f32_of(0.2f), f32_of(0.8f), f32_of(-0.2f)});
    line.is(round(floats({125, 15, -25}), -1), {120, 20, -20});
    CHECK_THROWS_AS(round(tensor({1, 2}), 1), DTypeError);
}

LINE("S118: frexp: zeros, infinities and NaN have exponent 0") {
    const auto [mantissa, exponent] = frexp(floats({0, -0.0, kInf, kNan, 12, -0.5, 0x1p-126}));
    line.is(mantissa, {0, -0.0, kInf, kNan, 0.75, -0.5, 0.5});
    line.ints(exponent, {0, 0, 0, 0, 4, 0, -125});
}

LINE_ALONE("S119: an in-place op does not store floats in integers") {
    Tensor x = tensor({1, 2});
    CHECK_THROWS_AS(x.div_(2), DTypeError);
    CHECK_THROWS_AS(x.add_(0.5), DTypeError);
    CHECK(x.to_vector<std::int64_t>() == Ints{1, 2});
}

LINE("S271: special functions at infinities and outside of their domains") {
    const Tensor ends = tensor({kInf, -kInf, kNan}, f64);
    line.is(special::bessel_i(ends, 0), {kInf, kInf, kNan});
    line.is(special::bessel_i(ends, 1), {kInf, -kInf, kNan});
    line.is(special::bessel_j(ends, 0), {0, 0, kNan});
    line.is(special::bessel_y(ends, 0), {0, kNan, kNan});
    line.is(special::bessel_k(ends, 1), {0, kNan, kNan});
    line.is(special::erfcx(ends), {0, kInf, kNan});
    line.is(special::ndtr(ends), {1, 0, kNan});
    line.is(special::log_ndtr(ends), {-0.0, -kInf, kNan});
    line.is(special::ndtri(tensor({0, 1, -0.5, 1.5}, f64)), {-kInf, kInf, kNan, kNan});
}

LINE("S272: gammainc at the ends") {
    line.is(special::gammainc(tensor({2, 2, 0, 0, kInf, -1, 1}, f64), tensor({0, kInf, 1, 0, kInf, 1, -1}, f64)),
            {0, 1, 1, kNan, kNan, kNan, kNan});
    line.is(special::gammaincc(tensor({2, 2, 0}, f64), tensor({0, kInf, 1}, f64)), {1, 0, 0});
}

LINE("S273: zeta at its poles and below") {
    line.is(special::zeta(tensor({1, 2, 0.5, 2.5}, f64), tensor({1, -3, 1, -0.5}, f64)), {kInf, kInf, kNan, kNan});
}

LINE("S274: polynomials of odd degrees") {
    line.is(
        special::polynomial(special::Polynomial::LegendreP, tensor({0.5, 0.5, 0.5}, f64), tensor({2.9, 2, -1}, f64)),
        {-0.125, -0.125, 0});
}

LINE("S120: reductions without NaN, of NaN alone") {
    const Tensor x = floats({{1, kNan, 3}, {kNan, kNan, kNan}});
    line.is(nansum(x, 1), {4, 0});
    line.is(nanmean(x, 1), {2, kNan});
    line.is(nanmax(x, 1), {3, kNan});
    line.is(nanmin(x, 1), {1, kNan});
    line.is(slope({1, kNan, 3}, [](N y) { return nanmean(y); }), {0.5, 0, 0.5});
    line.is(slope({1, kNan, 3}, [](N y) { return nanmax(y); }), {0, 0, 1});
}

LINE("S121: cummax and cummin: the last of equal ones; NaN from the first one on") {
    const auto [values, indices] = cummax(floats({1, 3, 3, kNan, 5, kNan}), 0);
    line.is(values, {1, 3, 3, kNan, kNan, kNan});
    line.ints(indices, {0, 1, 2, 3, 3, 5});
    line.ints(cummin(tensor({3, 1, 1, 2}), 0).indices, {0, 1, 2, 2});
    line.is(slope({1, 3, 3, 2}, [](N x) { return cummax(x, 0).values; }), {1, 1, 2, 0});
}

LINE("S122: logcumsumexp keeps small terms beside large ones") {
    line.is(logcumsumexp(floats({-kInf, -kInf, -1000, 1000, 0}), 0), {-kInf, -kInf, -1000, 1000, 1000});
    line.is(slope({-1000, 1000}, [](N x) { return logcumsumexp(x, 0); }), {1, 1});
}

LINE("S123: distances of equal rows are 0 and flat") {
    const Nested rows = {{1, 2}, {4, 6}};
    const auto f = [](N a, N b) { return cdist(a, b); };
    line.is(cdist(floats(rows), floats(rows)), {0, 5, 5, 0});
    line.is(slope_of_two({{1, 2}}, {{1, 2}}, 0, f), {0, 0});
    line.is(cdist(zeros({2, 0}), zeros({1, 0})), {0, 0});
}

LINE("S124: diff of bools, and of too few elements") {
    line.ints(diff(tensor({true, true, false})), {0, 1});
    line.is(diff(floats({1, 2}), 5), {});
    CHECK(diff(floats({1, 2}), 5).shape() == Shape{0});
}

LINE_ALONE("S125: aminmax of nothing raises") {
    CHECK_THROWS_AS(aminmax(zeros({0})), ValueError);
    CHECK_THROWS_AS(aminmax(zeros({0, 3}), 0), ValueError);
    CHECK(aminmax(zeros({0, 3}), 1).first.shape() == Shape{0});
}

LINE_ALONE("S126: rrelu has the mean slope out of training, and the forward's slopes in backward") {
    CHECK(rrelu(floats({-8, 8}), 0.25, 0.75).to_vector<double>() == Doubles{-4, 8});
    Tensor x = floats({-1, -1, -1, -1, -1, -1, -1, -1});
    x.set_requires_grad();
    const Tensor y = rrelu(x, 0.25, 0.75, true), targets[] = {x};
    const Doubles slopes = gradient(sum(y), targets)[0].to_vector<double>(), values = y.to_vector<double>();
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        CHECK(slopes[i] == -values[i]);
        CHECK((slopes[i] >= 0.25 && slopes[i] < 0.75));
    }
    CHECK(slopes[0] != slopes[1]);
}
